"""`plan_repair`: the public entry point of plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deltaspec.repair.context import Choices, parse_choices
from deltaspec.repair.plan_format import RepairPlan
from deltaspec.repair.plan_writer import require_empty, write_plan_folder
from deltaspec.repair.planning import plan_table
from deltaspec.repair.verdicts import MAX_FINDINGS, Validate, validate_store
from deltaspec.validation.options import Options
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.settings import StorageSettings


def plan_repair(
    table: str,
    *,
    output: str | None = None,
    level: str = "rows",
    choose: Iterable[str] = (),
    storage_options: Mapping[str, str] | StorageSettings | None = None,
    progress: Progress | None = None,
    allow_outside: bool = False,
    writer_time_zone: str | None = None,
) -> RepairPlan:
    """Plan the repair of a table. `deltaspec.plan_repair` documents arguments and errors."""
    settings = storage_options if isinstance(storage_options, StorageSettings) else StorageSettings(storage_options)
    choices = parse_choices(choose)
    return plan_store(
        open_store(table, settings),
        choices,
        output=output,
        level=level,
        progress=progress,
        allow_outside=allow_outside,
        writer_time_zone=writer_time_zone,
    )


def plan_store(
    store: Store,
    choices: Choices,
    *,
    output: str | None,
    level: str,
    progress: Progress | None,
    allow_outside: bool,
    writer_time_zone: str | None,
    validate: Validate = validate_store,
) -> RepairPlan:
    """Plan the repair of the table that a store shows, and write the plan. Otherwise as `plan_repair`."""
    if output is not None:
        require_outside_table(output, store.root)
        require_empty(output)
    options = Options.create(
        level=level, samples=MAX_FINDINGS, allow_outside=allow_outside, writer_time_zone=writer_time_zone
    )
    proved = plan_table(store, options, choices, progress or ignore_progress, validate)
    if output is not None and proved.plan.repairs:
        write_plan_folder(output, proved.plan, proved.files)
    return proved.plan

"""Apply a plan with validations on Spark. The driver writes, as in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Any

from deltaspec.repair.apply import Applied, apply_plan, ignore, undo_plan
from deltaspec.repair.on_spark import validate_on_spark
from deltaspec.report.report_types import Report
from deltaspec.validation.options import Options
from deltaspec.validation.progress import Progress
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.settings import StorageSettings


def apply_repair_on_spark(
    session: Any,
    plan: str | PathLike[str],
    *,
    undo: bool = False,
    storage_options: Mapping[str, str] | None = None,
    allow_outside: bool = False,
    say: Callable[[str], object] = ignore,
) -> Applied:
    """Apply a plan, or undo it. `deltaspec.spark.apply_repair` documents arguments and errors."""
    storage = StorageSettings(storage_options)

    def validate(store: Store, options: Options, progress: Progress) -> Report:
        return validate_on_spark(session, store.uri, storage, store, options, progress)

    run = undo_plan if undo else apply_plan
    return run(fspath(plan), storage=storage, allow_outside=allow_outside, say=say, validate=validate)

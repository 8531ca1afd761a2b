"""Plans for tables that are too large for one process: all validations of a plan and of its overlay run on Spark.

The driver streams the log, and holds in memory only the files that findings concern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from msgspec.structs import replace

from deltaspec.errors import TableUnreadable
from deltaspec.repair.context import parse_choices
from deltaspec.repair.overlay_store import OverlayStore
from deltaspec.repair.plan_format import RepairPlan
from deltaspec.repair.planner import plan_store
from deltaspec.report.report_types import Report
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.progress import Progress
from deltaspec.validation.spark.catalog import find_table_uri
from deltaspec.validation.spark.jobs import Jobs, translating_spark_errors
from deltaspec.validation.spark.run import run_on_spark
from deltaspec.validation.spark.table_access import TableAccess, find_table_access
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.settings import StorageSettings


def plan_repair_on_spark(
    session: Any,
    table: str,
    *,
    output: str | None = None,
    level: str = "rows",
    choose: Iterable[str] = (),
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    allow_outside: bool = False,
    writer_time_zone: str | None = None,
) -> RepairPlan:
    """Plan the repair of a table. `deltaspec.spark.plan_repair` documents arguments and errors."""
    choices = parse_choices(choose)
    storage = StorageSettings(storage_options)
    with translating_spark_errors(), closing(Jobs(session)) as jobs:
        uri = find_table_uri(session, table)
        access = find_table_access(jobs, uri, storage)
    if not access.driver_can_read:
        reason = access.executors_blocked_reason
        raise TableUnreadable(f"{access.store.uri}: the driver must read the log to plan a repair, but {reason}")
    return plan_store(
        access.store,
        choices,
        output=output,
        level=level,
        progress=progress,
        allow_outside=allow_outside,
        writer_time_zone=writer_time_zone,
        validate=partial(validate_on_spark, session, uri, storage),
    )


def validate_on_spark(
    session: Any, uri: str, storage: StorageSettings, store: Store, options: Options, progress: Progress
) -> Report:
    """Validate a table on Spark, or the overlay that a store shows."""
    overlay = partial(_lay_over, store) if isinstance(store, OverlayStore) else None
    return run_on_spark(session, uri, options, RunSettings(progress), storage=storage, overlay=overlay)


def _lay_over(overlay: OverlayStore, access: TableAccess) -> TableAccess:
    """Return access to a table as a plan would leave it."""
    executor_store = overlay if access.executors_can_read else access.executor_store
    return replace(access, store=overlay, listing=load_pinned_listing(overlay), executor_store=executor_store)

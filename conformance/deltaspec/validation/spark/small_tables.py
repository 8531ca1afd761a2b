"""Validate small tables inside of executors, with the embedded backend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from deltaspec.report.report_types import Report, SparkAccess
from deltaspec.validation.log.catalog import open_catalog
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.log.new_files import plan_run
from deltaspec.validation.request import Outcome, ValidateRequest, run_request
from deltaspec.validation.spark.payloads import Payload, payload_to_value, value_to_payload
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Entry, Store

SMALL_LOG_BYTES = 16 << 20
"""Bytes of the log that a run reads up to which a table is small: about 100,000 files in checkpoints."""
SMALL_DATA_BYTES = 1 << 30
"""Size of the files outside the log up to which a table is small, at the levels that open data files."""
SMALL_DATA_FILES = 10_000
"""Number of files outside the log up to which a table is small, at the same levels."""
OUTCOME = "outcome"
"""Tag of the result of a table."""
_NEEDS_SPARK = re.compile(r" needs Spark( and --[a-z-]+)?: ")
_EXECUTORS = SparkAccess(log="executors", files="executors")


class SmallTableTask(msgspec.Struct, frozen=True):
    """Validates the tables in the rows of a partition. A row is a list of numbers and requests."""

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        for row in rows:
            for number, request in payload_to_value(row.payload):
                yield value_to_payload(OUTCOME, number, validate_small_table(request))


def validate_small_table(request: ValidateRequest) -> Outcome | None:
    """Validate a table in this process; return None if Spark has to validate it.

    That is the case if the table is not small, has expressions that only Spark evaluates, or fails here: the driver may
    be able to read it, and otherwise knows the reason.
    """
    try:
        if not is_small(request):
            return None
        outcome = run_request(replace(request, backend="embedded"))
    except BaseException:  # noqa: BLE001 - panics of native code are not of class Exception
        return None
    if _has_expressions_for_spark(outcome.report):
        return None
    return replace(outcome, report=replace(outcome.report, engine="spark", access=_EXECUTORS))


def is_small(request: ValidateRequest) -> bool:
    """Return whether one task can validate a table: from the listing of its log, and of its files if they are opened.

    Raises:
        DeltaspecError: the table cannot be listed, or the request is invalid for it.
    """
    options = request.options
    store = open_store(request.table, request.storage)
    listing = load_pinned_listing(store)
    plan, _ = plan_run(open_catalog(store, options.ratified), listing, options)
    if sum(entry.size_bytes for entry in plan.entries.values()) > SMALL_LOG_BYTES:
        return False
    return options.level in ("log", "files") or _has_few_files(store)


def _has_few_files(store: Store) -> bool:
    size = 0
    for number, entry in enumerate(store.list_files(), 1):
        size += entry.size_bytes if isinstance(entry, Entry) else 0
        if number > SMALL_DATA_FILES or size > SMALL_DATA_BYTES:
            return False
    return True


def _has_expressions_for_spark(report: Report) -> bool:
    return any(_NEEDS_SPARK.search(each.reason) for each in report.checked.not_checked)

"""How a run gets at a table: on the driver, and on executors by the kit's own storage where that leads there.

Where it does not, the log comes as bytes that Spark reads, and what lies beside the log is read by the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltaspec import __version__
from deltaspec.errors import DeltaspecError, InvalidUsage, TableUnreadable
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.spark.hadoop_store import driver_store
from deltaspec.validation.spark.jobs import ExecutorMismatch, Jobs
from deltaspec.validation.spark.log_fetch import fetch, list_log
from deltaspec.validation.spark.payloads import Payload, payload_to_value, value_to_payload
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LISTED_FOLDERS, LOG_DIRECTORY, Entry, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROBE = "probe"
_PROBED = 20
"""Files of the log that are tried for one to ask executors about."""
_GIVEN_BYTES = 64 << 20
"""Of single files that the driver is handed where it cannot read the table itself."""


@dataclass(frozen=True)
class TableAccess:
    """The stores of a run."""

    uri: str
    """As it was given; it may hold secrets."""
    store: Store
    """For the driver."""
    listing: list[Entry]
    """The log directory, pinned."""
    executor_store: Store
    """For tasks; it reads nothing where executors do not reach the table."""
    executors_blocked_reason: str | None
    """Why executors do not reach it; None where they do."""
    driver_can_read: bool = True
    """The driver can read files beside the log."""

    @property
    def executors_can_read(self) -> bool:
        """Executors read the table by the kit's own storage."""
        return self.executors_blocked_reason is None


def find_table_access(jobs: Jobs, uri: str) -> TableAccess:
    """Find out how a table is reached.

    Raises:
        InvalidUsage: nothing has a storage for the URI.
        TableUnreadable: there is no table, or nothing reaches it.
        SparkFailed: executors lack deltaspec.
    """
    try:
        store = open_store(uri)
        listing = load_pinned_listing(store)
    except DeltaspecError as fault:
        return _through_spark(jobs, uri, fault)
    executors_blocked_reason = _ask_executors(jobs, store, listing)
    executor_store = store if executors_blocked_reason is None else _nothing(store)
    return TableAccess(uri, store, listing, executor_store, executors_blocked_reason)


def _through_spark(jobs: Jobs, uri: str, fault: DeltaspecError) -> TableAccess:
    """The table by Spark's own ways, where the kit's storage does not lead there."""
    executors_blocked_reason = f"the kit's own storage does not lead there: {fault}"
    _ask_executors(jobs, None, [])
    try:
        store = driver_store(jobs.session, uri)
    except (InvalidUsage, TableUnreadable):
        return _by_bytes_alone(jobs.session, uri, fault, executors_blocked_reason)
    return TableAccess(uri, store, load_pinned_listing(store), _nothing(store), executors_blocked_reason)


def _by_bytes_alone(
    session: SparkSession, uri: str, fault: DeltaspecError, executors_blocked_reason: str
) -> TableAccess:
    """The log as Spark shows it; nothing beside it."""
    try:
        listing = list_log(session, uri)
    except TableUnreadable:
        raise fault from None
    small = {each.name: each.size_bytes for each in listing if _is_for_the_driver(each)}
    found = fetch(session, uri, small, _GIVEN_BYTES)
    files = {f"{LOG_DIRECTORY}/{name}": why for name, why in found.faults.items()}
    given = {f"{LOG_DIRECTORY}/{row['name']}": bytes(row["content"]) for row in found.frame.toLocalIterator()}
    store = InMemoryStore(uri, {**files, **given}, log=listing)
    return TableAccess(uri, store, listing, _nothing(store), executors_blocked_reason, driver_can_read=False)


def _is_for_the_driver(entry: Entry) -> bool:
    """Version checksums and staged commits, of which the driver looks at some."""
    return entry.name.endswith(".crc") or entry.name.startswith(LISTED_FOLDERS[1])


def _nothing(store: Store) -> InMemoryStore:
    return InMemoryStore(store.uri, {}, root=store.root)


def _ask_executors(jobs: Jobs, store: Store | None, listing: list[Entry]) -> str | None:
    """Why some executor does not reach the table; None where all do.

    Raises:
        SparkFailed: they have no deltaspec.
        ExecutorMismatch: they have another release of it.
    """
    file = None if store is None else _probed(store, listing)
    rows = [Payload(_PROBE, number, b"") for number in range(jobs.parallelism)]
    frame = jobs.run(jobs.frame(rows, len(rows)), _Probe(store, file))
    try:
        told = [payload_to_value(row.payload) for row in jobs.rows(frame, len(rows))]
    finally:
        jobs.unpersist_frame(frame)
    for release, _ in told:
        if release != __version__:
            raise ExecutorMismatch(f"executors have deltaspec {release}, the driver {__version__}: install the same")
    return next((why for _, why in told if why is not None), None)


def _probed(store: Store, listing: list[Entry]) -> str | None:
    """The first file of the log that the driver can ask about: what is no regular file says nothing of executors."""
    for each in listing[:_PROBED]:
        with suppress(DeltaspecError):
            store.size(f"{LOG_DIRECTORY}/{each.name}")
            return f"{LOG_DIRECTORY}/{each.name}"
    return f"{LOG_DIRECTORY}/{listing[0].name}" if listing else None


@dataclass(frozen=True)
class _Probe:
    """Asks for the length of a file of the log."""

    store: Store | None
    file: str | None

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        for row in rows:
            why = None
            try:
                if self.store is not None and self.file is not None:
                    self.store.size(self.file)
            except DeltaspecError as fault:
                why = str(fault)
            yield value_to_payload(_PROBE, row.bucket, (__version__, why))

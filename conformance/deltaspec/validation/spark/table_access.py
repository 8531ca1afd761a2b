"""Find out how driver and executors can read a table.

Executors use the storage clients of the kit, if these can read the table. Otherwise Spark reads the log as bytes, and
the driver reads the files outside the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from deltaspec.errors import DeltaspecError, InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.report.report_types import SparkAccess
from deltaspec.validation.log.catalog import open_catalog
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.options import Options
from deltaspec.validation.spark.hadoop_store import driver_store
from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.log_fetch import fetch, list_log
from deltaspec.validation.spark.payloads import Payload, payload_to_value, value_to_payload
from deltaspec.wire.storage.factory import is_uri, open_store
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LISTED_FOLDERS, LOG_DIRECTORY, Entry, Store, redact_uri
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROBE = "probe"
_MAX_PROBED = 20
"""Number of files of the log that are tried as a probe."""
_MAX_DRIVER_BYTES = 64 << 20
"""Size up to which the driver receives a file through Spark, if it cannot read the table itself."""


class TableAccess(msgspec.Struct, frozen=True):
    """The stores of a run for driver and executors."""

    uri: str
    """As the user gave it, but an existing local path is absolute; it may contain secrets."""
    store: Store
    """Store for the driver."""
    listing: list[Entry]
    """The pinned listing of the log."""
    executor_store: Store
    """Store for tasks; it is empty if executors cannot read the table."""
    executors_blocked_reason: str | None
    """Why executors cannot read the table; None if they can."""
    driver_can_read: bool = True
    """The driver can read files outside the log."""

    @property
    def executors_can_read(self) -> bool:
        """Executors can read the table with the storage clients of the kit."""
        return self.executors_blocked_reason is None

    @property
    def description(self) -> SparkAccess:
        """The way in which the table is read, for the report."""
        if self.executors_can_read:
            return SparkAccess(log="executors", files="executors")
        files: Literal["driver", "not read"] = "driver" if self.driver_can_read else "not read"
        return SparkAccess(log="spark", files=files, reason=self.executors_blocked_reason)


def find_table_access(jobs: Jobs, uri: str, settings: StorageSettings = ENVIRONMENT) -> TableAccess:
    """Find out how a table can be read.

    Raises:
        InvalidUsage: there is no storage client for the URI, or executors have another build of deltaspec.
        TableUnreadable: there is no table, or it cannot be read.
        StorageUnavailable: the storage did not answer.
        SparkFailed: a Spark job failed.
    """
    try:
        store = open_store(uri, settings)
        listing = load_pinned_listing(store)
    except DeltaspecError as fault:
        return _access_through_spark(jobs, uri, settings, fault)
    uri = resolve_local_path(uri)
    executors_blocked_reason = probe_executors(jobs, store, listing)
    executor_store = store if executors_blocked_reason is None else _build_empty_store(store)
    return TableAccess(uri, store, listing, executor_store, executors_blocked_reason)


def resolve_local_path(uri: str) -> str:
    """Return an absolute path for a relative one that exists here, because others have other working directories.

    URIs are returned unchanged, and paths that only Spark's default file system may know.
    """
    return os.path.join(os.getcwd(), uri) if not is_uri(uri) and os.path.lexists(uri) else uri


def ask_catalog(access: TableAccess, options: Options) -> TableAccess:
    """Return access to the table as readers that asked its catalog see it, with the listing of the log."""
    store, executor_store = (open_catalog(each, options.ratified) for each in (access.store, access.executor_store))
    return replace(access, store=store, executor_store=executor_store)


def _access_through_spark(jobs: Jobs, uri: str, settings: StorageSettings, fault: DeltaspecError) -> TableAccess:
    """Access the table through Spark, if the storage clients of the kit cannot read it."""
    executors_blocked_reason = f"the storage clients of deltaspec cannot read it: {fault}"
    probe_executors(jobs, None, [])
    try:
        store = driver_store(jobs.session, uri, settings)
    except TableUnreadable as other:
        reason = str(other).removeprefix(f"{redact_uri(uri)}: ")
        error = StorageUnavailable if isinstance(fault, StorageUnavailable) else TableUnreadable
        raise error(f"{fault}; Spark cannot read it either: {reason}") from None
    except InvalidUsage:  # Spark Connect
        if not jobs.limits_batches:
            raise fault from None
        return _access_log_bytes(jobs.session, uri, fault, executors_blocked_reason)
    try:
        listing = load_pinned_listing(store)
    except DeltaspecError:
        if store.is_remote and not isinstance(fault, StorageUnavailable):
            raise
        raise fault from None  # the same directory; this message names it as the user did
    return TableAccess(uri, store, listing, _build_empty_store(store), executors_blocked_reason)


def _access_log_bytes(
    session: SparkSession, uri: str, fault: DeltaspecError, executors_blocked_reason: str
) -> TableAccess:
    """Access only the log, as bytes that Spark reads."""
    try:
        listing = list_log(session, uri)
    except TableUnreadable:
        raise fault from None
    small = {each.name: each.size_bytes for each in listing if _is_for_the_driver(each)}
    found = fetch(session, uri, small, _MAX_DRIVER_BYTES)
    files = {f"{LOG_DIRECTORY}/{name}": why for name, why in found.faults.items()}
    given = {f"{LOG_DIRECTORY}/{row['name']}": bytes(row["content"]) for row in found.frame.toLocalIterator()}
    store = InMemoryStore(uri, {**files, **given}, log=listing)
    return TableAccess(uri, store, listing, _build_empty_store(store), executors_blocked_reason, driver_can_read=False)


def _is_for_the_driver(entry: Entry) -> bool:
    """Return whether a file is a version checksum or a staged commit, which the driver checks."""
    return entry.name.endswith(".crc") or entry.name.startswith(LISTED_FOLDERS[1])


def _build_empty_store(store: Store) -> InMemoryStore:
    return InMemoryStore(store.uri, {}, root=store.root)


def probe_executors(jobs: Jobs, store: Store | None, listing: list[Entry]) -> str | None:
    """Return why an executor cannot read the table; None if all can.

    Raises:
        ExecutorMismatch: executors do not have deltaspec, or another build.
    """
    file = None if store is None else _find_probe_file(store, listing)
    rows = [Payload(_PROBE, number, b"") for number in range(jobs.parallelism)]
    frame = jobs.run(jobs.frame(rows, len(rows)), _Probe(store, file))
    try:
        results = [payload_to_value(row.payload) for row in jobs.rows(frame, 1)]
    finally:
        jobs.unpersist_frame(frame)
    return next((why for why in results if why is not None), None)


def _find_probe_file(store: Store, listing: list[Entry]) -> str | None:
    """Return the first regular file of the log, because executors cannot be tested with any other."""
    for each in listing[:_MAX_PROBED]:
        with suppress(DeltaspecError):
            store.size(f"{LOG_DIRECTORY}/{each.name}")
            return f"{LOG_DIRECTORY}/{each.name}"
    return f"{LOG_DIRECTORY}/{listing[0].name}" if listing else None


class _Probe(msgspec.Struct, frozen=True):
    """Reads the size of a file of the log."""

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
            yield value_to_payload(_PROBE, row.bucket, why)

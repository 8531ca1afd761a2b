"""Provide files of the log to tasks: as names that executors read, or as content that Spark reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.log_fetch import fetch, find_missing_reason
from deltaspec.validation.spark.payloads import Payload, payload_to_value, value_to_payload
from deltaspec.validation.spark.table_access import TableAccess
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.supplied_files import SupplyingStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNIT = "unit"
"""Tag of a file that the task reads itself."""
FETCHED_BYTES = 1 << 30
"""Largest file that Spark reads as a row, because executors copy it in memory several times."""


class Unit(Protocol):
    """A file of the log that a task reads."""

    @property
    def number(self) -> int:
        """Number of the unit in its task."""
        ...

    @property
    def file(self) -> str:
        """Path relative to the table."""
        ...


U = TypeVar("U", bound=Unit)


class LogRequest(msgspec.Struct, frozen=True):
    """The input of a job."""

    frame: DataFrame
    """Rows for the reader. Rows without content are not distributed over tasks."""
    reader: Reader
    has_content: bool = False
    """Rows have the content of files, which Spark has distributed."""
    faults: dict[int, StorageError] = msgspec.field(default_factory=dict)
    """Why a unit has no row, by its number."""


class Reader(msgspec.Struct, frozen=True):
    """Converts a row into the units of a file, each with a store that contains it."""

    store: Store
    units: Mapping[str, list[Unit]] | None = None
    """Units by file, if rows contain the content. Several checkpoints may list the same sidecar."""

    def __call__(self, row: Payload) -> list[tuple[Unit, Store]]:
        if self.units is None:
            return [(payload_to_value(row.payload), self.store)]
        file = f"{LOG_DIRECTORY}/{row.tag}"
        store = InMemoryStore(self.store.uri, {file: row.payload}, root=self.store.root)
        return [(unit, store) for unit in self.units[file]]


class Sources:
    """The files of the log, for the tasks of one run."""

    def __init__(self, jobs: Jobs, access: TableAccess) -> None:
        self._jobs = jobs
        self._access = access

    def request(self, units: Iterable[U], sizes: Mapping[str, int], used: Container[int] = ()) -> LogRequest:
        """Build the rows for a task, one for each unit.

        Args:
            units: files of the log.
            sizes: size in bytes of each, by name relative to `_delta_log`.
            used: buckets of other rows of the task; rows without content get the first other numbers.
        """
        wanted = list(units)
        if self._access.executors_can_read:
            free = (bucket for bucket in count() if bucket not in used)
            rows = [value_to_payload(UNIT, next(free), unit) for unit in wanted]
            return LogRequest(self._jobs.frame(rows), Reader(self._access.executor_store))
        by_file: dict[str, list[Unit]] = defaultdict(list)
        for unit in wanted:
            by_file[unit.file].append(unit)
        names = {
            file.removeprefix(f"{LOG_DIRECTORY}/"): sizes[file.removeprefix(f"{LOG_DIRECTORY}/")] for file in by_file
        }
        supplied = self._read_supplied(names)
        names = {name: size for name, size in names.items() if name not in supplied}
        found = fetch(self._jobs.session, self._access.uri, names, FETCHED_BYTES)
        frame = found.frame.selectExpr("name AS tag", "CAST(0 AS INT) AS bucket", "content AS payload")
        odd = self._find_unreadable(found.empty)
        rows = [Payload(name, 0, b"") for name in sorted(found.empty - odd.keys())]
        rows += [Payload(name, 0, content) for name, content in supplied.items() if isinstance(content, bytes)]
        if rows:
            frame = frame.unionAll(self._jobs.frame(rows))
        unread = {name: fault for name, fault in supplied.items() if isinstance(fault, StorageError)}
        whys = {**found.faults, **odd, **unread}
        faults = {unit.number: why for name, why in whys.items() for unit in by_file[f"{LOG_DIRECTORY}/{name}"]}
        return LogRequest(frame, Reader(self._access.executor_store, dict(by_file)), has_content=True, faults=faults)

    def _read_supplied(self, names: Iterable[str]) -> dict[str, bytes | StorageError]:
        """Read the files that a catalog or a repair plan supplies, which Spark does not find under these names."""
        store = self._access.store
        found: dict[str, bytes | StorageError] = {}
        if not isinstance(store, SupplyingStore):
            return found
        for name in names:
            if store.is_supplied(file := f"{LOG_DIRECTORY}/{name}"):
                try:
                    found[name] = store.read(file, FETCHED_BYTES)
                except StorageError as fault:
                    found[name] = fault
        return found

    def _find_unreadable(self, empty: Iterable[str]) -> dict[str, StorageError]:
        """Return why some files without content must not be read: a FIFO is listed like an empty file."""
        found: dict[str, StorageError] = {}
        for name in empty if self._access.driver_can_read else ():
            try:
                self._access.store.size(f"{LOG_DIRECTORY}/{name}")
            except StorageError as fault:
                found[name] = fault
        return found

    def find_missing_reason(self, unit: Unit) -> StorageError:
        """Return why a job has no result for a unit."""
        if self._access.executors_can_read:
            return StorageError(f"{unit.file}: was not read")
        return find_missing_reason(self._jobs.session, self._access.uri, unit.file.removeprefix(f"{LOG_DIRECTORY}/"))

    def partition(self, request: LogRequest, rows: int) -> tuple[DataFrame, int]:
        """Distribute a number of rows over tasks, unless they have the content of files.

        Returns:
            The rows, and the number of tasks.
        """
        tasks = max(1, min(rows, 4 * self._jobs.parallelism))
        return (request.frame if request.has_content else self._jobs.partition(request.frame, tasks)), tasks

"""Readers with one fault each, made from the reference reader. Each must fail in the suites that it names."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LogReader, TableState, build_state
from deltaspec.candidates.reference.row_reader import RowReader
from deltaspec.model.actions import Add, Cdc, Remove
from deltaspec.model.json_values import parse_lossless
from deltaspec.model.log.reconciliation import replay_commit
from deltaspec.model.rows.predicates import Predicate
from deltaspec.model.schema.data_types import DataType, get_type_name
from deltaspec.wire.data.column_resolution import FileColumn, resolve_columns
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.storage.interface import LOG_DIRECTORY

FileAction = Add | Remove | Cdc


class _IgnoringVectors(RowReader):
    def read_deleted_rows(self, action: FileAction) -> set[int]:
        return set()


class IgnoresVectors(Engine):
    """Returns rows that deletion vectors mark."""

    row_reader = _IgnoringVectors


class _ReversingBits(RowReader):
    def read_deleted_rows(self, action: FileAction) -> set[int]:
        return {index // 8 * 8 + 7 - index % 8 for index in super().read_deleted_rows(action)}


class ReversesBits(Engine):
    """Reads the bits of each byte of a deletion vector in the wrong order."""

    row_reader = _ReversingBits


class _KeepingRemovedFiles(LogReader):
    def read_commit(self, version: int) -> list[Any]:
        return [each for each in super().read_commit(version) if not isinstance(each, Remove)]


class KeepsRemovedFiles(Engine):
    """Does not apply removes."""

    log_reader = _KeepingRemovedFiles


class _MappingByLogicalName(RowReader):
    def resolve_columns(self, file_schema: pa.Schema) -> tuple[FileColumn, ...]:
        mapping = None if self.state.mapping == "id" else self.state.mapping
        return resolve_columns(file_schema, self.state.schema, mapping)


class MapsByNameInsteadOfId(Engine):
    """Finds columns by their display names in id mode."""

    row_reader = _MappingByLogicalName


class _DroppingLastSidecar(LogReader):
    def list_checkpoint_batches(self, read: ParsedCheckpoint) -> list[Any]:
        if len(read.sidecars) > 1:
            read.sidecars.pop()
        return super().list_checkpoint_batches(read)


class DropsLastSidecar(Engine):
    """Ignores the last of several sidecars."""

    log_reader = _DroppingLastSidecar


class SkipsOnTruncatedBounds(Engine):
    """Takes a maximum that was cut off for the largest value: compares with it without the characters after it."""

    def skips(self, condition: Predicate | None, add: Add, state: TableState) -> bool:
        if add.stats is not None:
            stats = msgspec.json.decode(add.stats)
            stats["maxValues"] = {name: _cut(value) for name, value in (stats.get("maxValues") or {}).items()}
            add = msgspec.structs.replace(add, stats=msgspec.json.encode(stats).decode())
        return super().skips(condition, add, state)


def _cut(value: Any) -> Any:
    """Replace a cut maximum by a string just below what remains of it, which is not a prefix of the values."""
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    is_cut = isinstance(value, str) and value[-1:] in ("\x7f", "\U0010ffff")
    return f"{value[:-2]}{chr(ord(value[-2]) - 1)}\U0010ffff" if is_cut and len(value) > 1 else value


class _KeepingEmptyTexts(RowReader):
    def parse_partition_value(self, text: str | None, kind: DataType) -> Any:
        if get_type_name(kind) == "string" and not text:
            return ""
        return super().parse_partition_value(text, kind)


class ReadsNullPartitionAsEmpty(Engine):
    """Returns an empty string for a null partition value."""

    row_reader = _KeepingEmptyTexts


class IgnoresUnknownFeatures(Engine):
    """Reads tables with features that it does not know."""

    def check_supported(self, state: TableState) -> None:
        pass


class _TrustingHint(LogReader):
    def read_state(self, version: int | None = None) -> TableState:
        hint = f"{LOG_DIRECTORY}/_last_checkpoint"
        if version is None and "_last_checkpoint" in self.entries:
            stated = parse_lossless(self.store.read(hint, 1 << 20).decode()).value
            version = int(stated["version"]) if isinstance(stated, dict) else None
        return super().read_state(version)


class TrustsStaleHint(Engine):
    """Takes the version in `_last_checkpoint` for the newest."""

    log_reader = _TrustingHint


class _TravellingTooFar(LogReader):
    def read_state(self, version: int | None = None) -> TableState:
        state = super().read_state(version)
        if version is None or version == self.find_versions()[1]:
            return state
        return build_state(replay_commit(state.snapshot, version, self.read_commit(version + 1)))


class TravelsTooFar(Engine):
    """Returns the version after the one that was asked for."""

    log_reader = _TravellingTooFar


@dataclass(frozen=True)
class FaultyReader:
    """A reader with a fault, and the suites that must notice."""

    engine: type[Engine]
    suites: tuple[str, ...]


FAULTY_READERS = (
    FaultyReader(IgnoresVectors, ("read", "time-travel")),
    FaultyReader(ReversesBits, ("read", "time-travel")),
    FaultyReader(KeepsRemovedFiles, ("snapshot", "read", "time-travel")),
    FaultyReader(MapsByNameInsteadOfId, ("read",)),
    FaultyReader(DropsLastSidecar, ("snapshot", "read")),
    FaultyReader(SkipsOnTruncatedBounds, ("predicates",)),
    FaultyReader(ReadsNullPartitionAsEmpty, ("read",)),
    FaultyReader(IgnoresUnknownFeatures, ("refuse",)),
    FaultyReader(TrustsStaleHint, ("snapshot", "read")),
    FaultyReader(TravelsTooFar, ("time-travel",)),
)

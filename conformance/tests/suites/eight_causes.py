"""A reader with eight faults at once, as an author's first version may have them, and what each of them breaks."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.row_reader import FileRows, RowReader
from deltaspec.candidates.serve import EngineError
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Action, Add, Cdc, DeletionVectorDescriptor, Remove
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.schema.data_types import DataType, Field, get_type_name
from deltaspec.wire.data.column_resolution import FileColumn

EXPECTED_CAUSES = {
    "dates of partitions one day late": "partition-values.serialization",
    "empty text of a partition is no null": "partition-values.empty-is-null",
    "inline vectors are ignored": "deletion-vectors.honoured",
    "removes go by path, and come last": "add.logical-file-key",
    "structs are never null": "parquet.column-types",
    "timestamps of data files cut to milliseconds": "parquet.timestamps",
    "time travel by file times only": "in-commit-timestamp.used-for-time-travel",
    "a file without a column is an error": "refused as internal",
}
"""Each fault with the first requirement that it breaks, or with the start of the title of its cause."""


class FaultyRows(RowReader):
    """Faults in reading rows."""

    def parse_partition_value(self, text: str | None, data_type: DataType) -> Any:
        value = super().parse_partition_value(text, data_type)
        name = get_type_name(data_type)
        if name == "string" and text == "":
            return ""
        return value + 1 if name == "date" and value is not None else value

    def read_vector(self, vector: DeletionVectorDescriptor) -> set[int]:
        return set() if vector.storage_type == "i" else super().read_vector(vector)

    def convert_primitive(self, array: pa.Array, data_type: DataType) -> pa.Array:
        converted = super().convert_primitive(array, data_type)
        if get_type_name(data_type) != "timestamp":
            return converted
        kind = pa.timestamp("ms", "UTC")
        return converted.cast(kind, safe=False).cast(converted.type)

    def convert(self, array: pa.Array, column: FileColumn, field: Field) -> pa.Array:
        converted = super().convert(array, column, field)
        if not pa.types.is_struct(converted.type) or get_type_name(field.type) == "variant":
            return converted
        return pa.StructArray.from_arrays(converted.flatten(), fields=list(converted.type))

    def read(self, action: Add | Remove | Cdc, **options: Any) -> FileRows:
        self._path = action.path
        return super().read(action, **options)

    def resolve_columns(self, file_schema: pa.Schema) -> Any:
        found = super().resolve_columns(file_schema)
        for field, column in zip(self.state.schema.fields, found, strict=True):
            is_partition = field.name in self.state.partition_columns
            if column.place is None and not is_partition and get_type_name(field.type) != "void":
                raise EngineError("internal", f"{self._path}: no column {field.name} among {len(file_schema)}")
        return found


class FaultyLog(LogReader):
    """Faults in reading the log."""

    def replay_commit(self, snapshot: Snapshot, version: int, actions: Sequence[Action]) -> Snapshot:
        removed = {each.path for each in actions if isinstance(each, Remove)}
        kept = [each for each in actions if not (isinstance(each, Add) and each.path in removed)]
        return super().replay_commit(snapshot, version, kept)

    def get_timestamp_ms(self, state: LoadedTable) -> int:
        return self.entries[commit_name(state.snapshot.version)].modified_ms


class EightCauses(Engine):
    """The reference reader with all these faults."""

    row_reader = FaultyRows
    log_reader = FaultyLog

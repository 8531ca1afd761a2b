"""Write data files, change data files and deletion vectors of a table, and build their actions."""

import io
import os
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.reference.log_reader import LoadedTable
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Add, Cdc, DeletionVectorDescriptor
from deltaspec.protocol.features.change_data import CHANGE_TYPE
from deltaspec.protocol.files import deletion_vectors
from deltaspec.protocol.files.partition_values import serialize_partition_value
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.property_names import PARQUET_CODEC
from deltaspec.protocol.schema.column_mapping import column_id, physical_name
from deltaspec.protocol.schema.data_types import Decimal, Field, Primitive, Struct

CHANGE_DATA = "_change_data"
_MOST_CHARACTERS = 32
"""Longer strings have no bounds."""
CODECS = {"uncompressed": "none", "none": "none", "snappy": "snappy", "gzip": "gzip", "zstd": "zstd", "lz4_raw": "lz4"}
"""PyArrow's name of each codec; its `lz4` is `LZ4_RAW`."""
_BOUNDED = ("byte", "short", "integer", "long", "string", "date")
_JSON = msgspec.json.Encoder(decimal_format="number")


class FileWriter:
    """Writes files below a table's directory, with the schema and partition columns of a state.

    The public methods can be replaced, to build faulty writers.
    """

    def __init__(self, table: str, state: LoadedTable) -> None:
        self.root, self.state = Path(table), state

    def add(self, rows: pa.Table, *, data_change: bool, hidden: Mapping[str, Sequence[int | None]]) -> list[Add]:
        """Write rows into one new file for each partition.

        Args:
            rows: rows with logical names.
            data_change: whether the rows are new or changed.
            hidden: values of hidden columns, such as materialized row ids.

        Returns:
            Actions without row tracking fields, in the order in which the rows of a partition occur first.
        """
        found = []
        for values, part in self.split(self._append(rows, hidden)):
            name = f"{uuid.uuid4()}.parquet"
            size = self._write(name, part, hidden)
            found.append(
                Add(
                    path=name,
                    partition_values=values,
                    size=size,
                    modification_time=get_clock_ms(),
                    data_change=data_change,
                    stats=self.compute_statistics(part),
                )
            )
        return found

    def add_changes(self, rows: pa.Table, kinds: Sequence[str]) -> list[Cdc]:
        """Write changed rows with their change types into change data files."""
        table = rows.append_column(CHANGE_TYPE, pa.array(kinds, pa.string()))
        found = []
        for values, part in self.split(table):
            name = f"{CHANGE_DATA}/{uuid.uuid4()}.parquet"
            size = self._write(name, part, (CHANGE_TYPE,))
            found.append(Cdc(path=name, partition_values=values, size=size, data_change=False))
        return found

    def write_vector(self, rows: Iterable[int]) -> DeletionVectorDescriptor:
        """Write a deletion vector into a separate file."""
        indexes = sorted(set(rows))
        name = uuid.uuid4()
        bitmap = deletion_vectors.encode_bitmap(indexes)
        data, (offset,) = deletion_vectors.build_file([bitmap])
        found = deletion_vectors.build_file_descriptor(name, offset, bitmap, len(indexes))
        write_new_file(self.root / deletion_vectors.build_relative_path(found), data)
        return found

    def locate(self, path: str) -> Path:
        """Return the file of a path in the log."""
        return self.root / path_key(path, str(self.root))

    def compute_statistics(self, rows: pa.Table) -> str:
        """Return the statistics of a new file, except for fields of structs."""
        low, high, nulls = {}, {}, {}
        for field in self.state.schema.fields:
            if field.name in self.state.partition_columns or isinstance(field.type, Struct):
                continue
            name, column = physical_name(field, self.state.mapping), rows.column(field.name)
            nulls[name] = column.null_count
            if (bounds := _compute_bounds(field, column)) is not None:
                low[name], high[name] = bounds
        found = {"numRecords": rows.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls,
                 "tightBounds": True}  # fmt: skip
        return _JSON.encode(found).decode()

    def _append(self, rows: pa.Table, hidden: Mapping[str, Sequence[int | None]]) -> pa.Table:
        for name, values in hidden.items():
            rows = rows.append_column(name, pa.array(values, pa.int64()))
        return rows

    def split(self, rows: pa.Table) -> list[tuple[dict[str, str | None], pa.Table]]:
        """Split rows by partition; return the serialized partition values and the rows of each."""
        fields = [each for each in self.state.schema.fields if each.name in self.state.partition_columns]
        parts: dict[tuple[str | None, ...], list[int]] = {}
        for index, row in enumerate(list_model_rows(rows.select([each.name for each in fields]))):
            key = tuple(self.serialize(row[each.name], each) for each in fields)
            parts.setdefault(key, []).append(index)
        names = [physical_name(each, self.state.mapping) for each in fields]
        return [(dict(zip(names, key, strict=True)), rows.take(indexes)) for key, indexes in parts.items()]

    def serialize(self, value: Any, field: Field) -> str | None:
        """Return the text of a partition value."""
        return serialize_partition_value(value, field.type)

    def _write(self, name: str, rows: pa.Table, hidden: Iterable[str]) -> int:
        """Write a Parquet file with physical names and field ids, and return its size."""
        arrays, fields = [], []
        for field in self.state.schema.fields:
            if field.name not in self.state.partition_columns:
                column = rows.column(field.name)
                arrays.append(column)
                fields.append(self.build_field(field, column.type))
        for each in hidden:
            arrays.append(rows.column(each))
            fields.append(pa.field(each, rows.column(each).type))
        return write_new_file(self.root / name, self.encode(pa.Table.from_arrays(arrays, schema=pa.schema(fields))))

    def encode(self, rows: pa.Table) -> bytes:
        """Return a Parquet file with the codec of the table. Raises `EngineError` if it is not supported."""
        text = self.state.metadata.configuration.get(PARQUET_CODEC, "snappy").lower()
        if text not in CODECS:
            raise EngineError("unsupported", f"the codec {text} is not supported", phase="commit")
        sink = io.BytesIO()
        pq.write_table(rows, sink, compression=CODECS[text])
        return sink.getvalue()

    def build_field(self, field: Field, kind: pa.DataType) -> pa.Field:
        """Return the Arrow field of a column, with its physical name and field id."""
        number = column_id(field) if self.state.mapping else None
        metadata = None if number is None else {"PARQUET:field_id": str(number)}
        return pa.field(physical_name(field, self.state.mapping), kind, True, metadata)


def write_new_file(path: Path, data: bytes) -> int:
    """Write a file that must not exist and return its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb") as sink:
        sink.write(data)
        sink.flush()
        os.fsync(sink.fileno())
    return len(data)


def get_clock_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def _compute_bounds(field: Field, column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """Return exact bounds; None for types and values whose bounds need rounding, or without values."""
    match field.type:
        case Primitive(name) if name in _BOUNDED:
            pass
        case Decimal():
            pass
        case _:
            return None
    found = pc.min_max(column).as_py()
    low, high = found["min"], found["max"]
    if low is None or (isinstance(low, str) and max(len(low), len(high)) > _MOST_CHARACTERS):
        return None
    if isinstance(low, str | int | Exact):
        return low, high
    return low.isoformat(), high.isoformat()

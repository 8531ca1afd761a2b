"""Helpers to read rows of data files and query the result."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from deltaspec.protocol.schema.data_types import DataType, Field, Primitive, Struct
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec.wire.data.row_reader import DataFileRows, read_rows

LONG, INTEGER, STRING = Primitive("long"), Primitive("integer"), Primitive("string")


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def fields(**kinds: DataType) -> Struct:
    return Struct(tuple(Field(name, kind, True) for name, kind in kinds.items()))


def read_file_rows(
    data: bytes | pa.Table,
    schema: Struct,
    *,
    mapping: str | None = None,
    partition: dict[str, str | None] | None = None,
    deleted: Sequence[int] | None = None,
) -> DataFileRows:
    content = parquet_bytes(data) if isinstance(data, pa.Table) else data
    vector = None if deleted is None else BitMap64(deleted)
    columns = list(partition or {})
    return read_rows(pa.BufferReader(content), len(content), schema, mapping, columns, partition or {}, vector)


def find_leaf(rows: DataFileRows, *path: str) -> LeafValues:
    return next(each for each in rows.leaves if each.path == path)


def find_bounds(rows: DataFileRows, *path: str) -> tuple[Any, Any]:
    found = find_leaf(rows, *path)
    return found.minimum, found.maximum


def find_broken_checks(rows: DataFileRows) -> dict[tuple[str, str], tuple[int, int | None]]:
    """Return (check, column) -> (number of violating rows, first row), for violated checks."""
    return {
        (each.check, each.column.name): (each.violating_rows, each.first_row)
        for each in rows.checks
        if each.violating_rows
    }


def to_micros(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    delta = datetime(year, month, day, hour, minute, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86400 + delta.seconds) * 10**6 + delta.microseconds

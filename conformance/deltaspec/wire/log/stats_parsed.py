"""Convert statistics that a checkpoint has as columns only into JSON, as in a commit. Source: Checkpoint Schema.

If `delta.checkpoint.writeStatsAsJson` is false, an add has `stats_parsed` and no `stats`. Bounds of variants are left
out, because their columns have another encoding.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.model.rows import ordering
from deltaspec.model.rows.statistics import LeafColumn
from deltaspec.model.schema.data_types import DataType, Primitive
from deltaspec.wire.log.parquet_actions import UnreadableParquet
from deltaspec.wire.parquet.arrow_schema import open_by_parquet_schema
from deltaspec.wire.storage.interface import StorageError

BATCH_ROWS = 1 << 14
_PARSED = "stats_parsed"
_MEMBERS = ("minValues", "maxValues", "nullCount")
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Metadata keys of files that use another calendar for old dates; their dates and times are left out."""

Node: TypeAlias = "dict[str, Node] | str"
"""A JSON value as text, or an object of them."""


def iter_parsed_statistics(
    source: Any, columns: list[LeafColumn], lines: Sequence[int] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield row number, from 1, and statistics JSON of each add that has its statistics as columns only.

    Args:
        source: a checkpoint or a sidecar, as input of `pyarrow.parquet.ParquetFile`.
        columns: leaf columns of the table; statistics of other columns are left out.
        lines: row numbers to read, from 1; None for all.

    Raises:
        UnreadableParquet: the file cannot be decoded.
        StorageError: the file cannot be read.
    """
    try:
        parquet = open_by_parquet_schema(
            source,
            thrift_string_size_limit=64 << 20,
            thrift_container_size_limit=1 << 22,
            pre_buffer=False,
            coerce_int96_timestamp_unit="us",
        )
        if not _is_struct_of(parquet.schema_arrow, "add", _PARSED):
            return
        is_legacy = any(key in (parquet.metadata.metadata or {}) for key in _LEGACY)
        requested = None if lines is None else pa.array(lines, pa.int64())
        offset = 0
        for batch in parquet.iter_batches(batch_size=BATCH_ROWS, columns=["add.stats", f"add.{_PARSED}"]):
            batch.validate(full=True)
            adds, numbers = batch.column("add"), pa.array(range(offset + 1, offset + len(batch) + 1), pa.int64())
            if requested is not None:
                chosen = pc.is_in(numbers, requested)
                adds, numbers = adds.filter(chosen), numbers.filter(chosen)
            yield from _build_statistics(adds, numbers, columns, is_legacy=is_legacy)
            offset += len(batch)
    except StorageError:
        raise
    except Exception as fault:
        raise UnreadableParquet(" ".join(str(fault).split())[:200] or type(fault).__name__) from fault


def _is_struct_of(schema: pa.Schema, name: str, member: str) -> bool:
    kind = schema.field(name).type if name in schema.names else pa.null()
    return bool(pa.types.is_struct(kind) and kind.get_field_index(member) >= 0)


def _build_statistics(
    adds: pa.Array, numbers: pa.Array, columns: list[LeafColumn], *, is_legacy: bool
) -> Iterator[tuple[int, str]]:
    parsed = _member(adds, (_PARSED,))
    written = _member(adds, ("stats",))
    if parsed is None:
        return
    requested = parsed.is_valid() if written is None else pc.and_(parsed.is_valid(), written.is_null())
    rows = pc.indices_nonzero(requested)
    chosen_rows = parsed.take(rows)
    found: list[dict[str, Node]] = [{} for _ in range(len(rows))]
    for name in ("numRecords", "tightBounds"):
        _set_values(found, (name,), chosen_rows, Primitive("long"))
    for name in _MEMBERS:
        for column in columns:
            kind = Primitive("long") if name == "nullCount" else column.type
            if not (is_legacy and kind in (Primitive("date"), Primitive("timestamp"), Primitive("timestamp_ntz"))):
                _set_values(found, (name, *column.path), chosen_rows, kind)
    for number, statistics in zip(numbers.take(rows).to_pylist(), found, strict=True):
        yield number, _encode_json(statistics)


def _set_values(found: list[dict[str, Node]], path: tuple[str, ...], parsed: pa.Array, kind: DataType) -> None:
    """Set the values of a statistics column at its path, in every row where it is not null."""
    column = _member(parsed, path)
    if column is None or pa.types.is_nested(column.type):
        return
    for row, value in zip(found, _format_values(column, kind), strict=True):
        if value is None:
            continue
        for step in path[:-1]:
            inner = row.setdefault(step, {})
            if isinstance(inner, str):
                break
            row = inner
        else:
            row[path[-1]] = value


def _member(array: pa.Array, path: tuple[str, ...]) -> pa.Array | None:
    for step in path:
        if not pa.types.is_struct(array.type) or array.type.get_field_index(step) < 0:
            return None
        array = pc.struct_field(array, step)
    return array


def _format_values(column: pa.Array, kind: DataType) -> list[str | None]:
    """Return values as JSON. The stored type of the column decides, which may differ from the table's."""
    stored = column.type
    if pa.types.is_timestamp(stored):
        primitive = kind if kind == Primitive("timestamp_ntz") else Primitive("timestamp")
        return [
            None if each is None else _quote(ordering.format_lexeme(each, primitive))
            for each in _to_microseconds(column)
        ]
    if pa.types.is_date32(stored):
        days = column.cast(pa.int32()).to_pylist()
        return [None if each is None else _quote(ordering.format_lexeme(each, Primitive("date"))) for each in days]
    return [_format_value(each) for each in column.to_pylist()]


def _to_microseconds(column: pa.Array) -> list[int | None]:
    times, parts = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}[column.type.unit]
    return [None if each is None else each * times // parts for each in column.cast(pa.int64()).to_pylist()]


def _format_value(value: Any) -> str | None:
    if value is None or isinstance(value, bytes):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return _quote(ordering.format_lexeme(value, Primitive("double")))
    if isinstance(value, str):
        return _quote(value)
    return repr(value) if isinstance(value, (int, float)) else format(value, "f")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _encode_json(node: Node) -> str:
    if isinstance(node, str):
        return node
    return "{" + ",".join(f"{_quote(name)}:{_encode_json(each)}" for name, each in node.items()) + "}"

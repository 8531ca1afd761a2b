"""Statistics that a checkpoint holds as columns only, as the texts that a commit would have. Source: Checkpoint Schema.

Where `delta.checkpoint.writeStatsAsJson` is false, an add has `stats_parsed` and no `stats`. Bounds of variants stay
out: as columns they have another form.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaspec.model.rows import ordering
from deltaspec.model.rows.statistics import LeafColumn
from deltaspec.model.schema.data_types import DataType, Primitive
from deltaspec.wire.log.parquet_actions import UnreadableParquet
from deltaspec.wire.storage.interface import StorageError

BATCH_ROWS = 1 << 14
_PARSED = "stats_parsed"
_MEMBERS = ("minValues", "maxValues", "nullCount")
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Marks of files whose old days are in another calendar: then days and times are left out."""

Node: TypeAlias = "dict[str, Node] | str"
"""A JSON text, or an object of them."""


def iter_parsed_statistics(
    source: Any, columns: list[LeafColumn], lines: Sequence[int] | None = None
) -> Iterator[tuple[int, str]]:
    """The row, counted from 1, and the statistics text of each add that has its statistics as columns only.

    Args:
        source: of a checkpoint or a sidecar, what `pyarrow.parquet.ParquetFile` opens.
        columns: of the table; entries of others are left out.
        lines: rows that are wanted, counted from 1; None for all.

    Raises:
        UnreadableParquet: it cannot be read.
        StorageError: the storage did not give it.
    """
    try:
        parquet = pq.ParquetFile(
            source,
            thrift_string_size_limit=64 << 20,
            thrift_container_size_limit=1 << 22,
            pre_buffer=False,
            coerce_int96_timestamp_unit="us",
        )
        if not _is_struct_of(parquet.schema_arrow, "add", _PARSED):
            return
        is_legacy = any(mark in (parquet.metadata.metadata or {}) for mark in _LEGACY)
        wanted = None if lines is None else pa.array(lines, pa.int64())
        offset = 0
        for batch in parquet.iter_batches(batch_size=BATCH_ROWS, columns=["add.stats", f"add.{_PARSED}"]):
            batch.validate(full=True)
            adds, numbers = batch.column("add"), pa.array(range(offset + 1, offset + len(batch) + 1), pa.int64())
            if wanted is not None:
                chosen = pc.is_in(numbers, wanted)
                adds, numbers = adds.filter(chosen), numbers.filter(chosen)
            yield from _texts(adds, numbers, columns, is_legacy=is_legacy)
            offset += len(batch)
    except StorageError:
        raise
    except Exception as fault:
        raise UnreadableParquet(" ".join(str(fault).split())[:200] or type(fault).__name__) from fault


def _is_struct_of(schema: pa.Schema, name: str, member: str) -> bool:
    kind = schema.field(name).type if name in schema.names else pa.null()
    return bool(pa.types.is_struct(kind) and kind.get_field_index(member) >= 0)


def _texts(
    adds: pa.Array, numbers: pa.Array, columns: list[LeafColumn], *, is_legacy: bool
) -> Iterator[tuple[int, str]]:
    parsed = _member(adds, (_PARSED,))
    written = _member(adds, ("stats",))
    if parsed is None:
        return
    wanted = parsed.is_valid() if written is None else pc.and_(parsed.is_valid(), written.is_null())
    rows = pc.indices_nonzero(wanted)
    taken = parsed.take(rows)
    found: list[dict[str, Node]] = [{} for _ in range(len(rows))]
    for name in ("numRecords", "tightBounds"):
        _enter(found, (name,), taken, Primitive("long"))
    for name in _MEMBERS:
        for column in columns:
            kind = Primitive("long") if name == "nullCount" else column.type
            if not (is_legacy and kind in (Primitive("date"), Primitive("timestamp"), Primitive("timestamp_ntz"))):
                _enter(found, (name, *column.path), taken, kind)
    for number, statistics in zip(numbers.take(rows).to_pylist(), found, strict=True):
        yield number, _text(statistics)


def _enter(found: list[dict[str, Node]], path: tuple[str, ...], parsed: pa.Array, kind: DataType) -> None:
    """Put what a column of statistics holds at its path, in every row that it is set in."""
    column = _member(parsed, path)
    if column is None or pa.types.is_nested(column.type):
        return
    for row, value in zip(found, _json_values(column, kind), strict=True):
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


def _json_values(column: pa.Array, kind: DataType) -> list[str | None]:
    """Values as JSON texts. Where the column is of another type than the table's, its own decides."""
    held = column.type
    if pa.types.is_timestamp(held):
        whose = kind if kind == Primitive("timestamp_ntz") else Primitive("timestamp")
        return [
            None if each is None else _quoted(ordering.format_lexeme(each, whose)) for each in _microseconds(column)
        ]
    if pa.types.is_date32(held):
        days = column.cast(pa.int32()).to_pylist()
        return [None if each is None else _quoted(ordering.format_lexeme(each, Primitive("date"))) for each in days]
    return [_json_value(each) for each in column.to_pylist()]


def _microseconds(column: pa.Array) -> list[int | None]:
    times, parts = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}[column.type.unit]
    return [None if each is None else each * times // parts for each in column.cast(pa.int64()).to_pylist()]


def _json_value(value: Any) -> str | None:
    if value is None or isinstance(value, bytes):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return _quoted(ordering.format_lexeme(value, Primitive("double")))
    if isinstance(value, str):
        return _quoted(value)
    return repr(value) if isinstance(value, (int, float)) else format(value, "f")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _text(node: Node) -> str:
    if isinstance(node, str):
        return node
    return "{" + ",".join(f"{_quoted(name)}:{_text(each)}" for name, each in node.items()) + "}"

"""The rows of a large golden table, which follow from their number, and the aggregates over them."""

import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.golden.scale.options import ScaleOptions

TYPES = ("long", "string", "double", "date")
"""Types of the columns after `id`, in turn."""
_ARROW = {"long": pa.int64(), "string": pa.string(), "double": pa.float64(), "date": pa.date32()}
_HASH_MODULUS = 1 << 64
HASH_TEXT = (
    "sum of the CRC-32 of the UTF-8 text of each value that is not null, modulo 2^64; integers and dates (YYYY-MM-DD) "
    "as usual, doubles as in Python"
)
"""Definition of `hash`, which is part of each answer."""


def list_columns(options: ScaleOptions) -> list[tuple[str, str]]:
    """Return name and type of the columns, without the nested one."""
    return [("id", "long"), *((f"c{number}", TYPES[number % 4]) for number in range(options.columns - 1))]


def build_rows(options: ScaleOptions, first: int, count: int) -> pa.Table:
    """Build consecutive rows; every eleventh value of a column other than `id` is null."""
    ids = np.arange(first, first + count, dtype=np.int64)
    arrays: list[pa.Array] = [pa.array(ids)]
    for number, (_, kind) in enumerate(list_columns(options)[1:]):
        arrays.append(_build_column(ids, number, kind))
    names = [name for name, _ in list_columns(options)]
    if options.depth:
        arrays.append(_nest(pa.array(ids), options.depth))
        names.append("nested")
    return pa.Table.from_arrays(arrays, names)


def _build_column(ids: np.ndarray, number: int, kind: str) -> pa.Array:
    shifted = ids + number
    is_null = shifted % 11 == 0
    match kind:
        case "long":
            return pa.array(ids * (2 * number + 1) % 1009 - 500, mask=is_null)
        case "string":
            words = pa.array([f"word {each}" for each in range(997)])
            return words.take(pa.array(shifted % 997, mask=is_null))
        case "double":
            return pa.array((shifted % 1024) / 8.0, mask=is_null)
    return pa.array((19_000 + shifted % 3650).astype(np.int32), pa.int32(), mask=is_null).cast(pa.date32())


def _nest(leaf: pa.Array, depth: int) -> pa.Array:
    for level in range(depth, 0, -1):
        leaf = pa.StructArray.from_arrays([leaf], [f"f{level}"])
    return leaf


def select_live(table: pa.Table, options: ScaleOptions, first: int) -> pa.Table:
    """Return the rows that no deletion vector deletes; `first` is the number of the first row."""
    if first >= 2 * options.deleted:
        return table
    numbers = np.arange(first, first + table.num_rows)
    return table.filter(pa.array((numbers % 2 == 0) | (numbers >= 2 * options.deleted)))


class ColumnAnswer(msgspec.Struct, frozen=True):
    """Aggregates of a column over the live rows."""

    type: str
    values: int
    """Values that are not null."""
    nulls: int
    min: Any
    max: Any
    sum: int | float | None
    """None for strings and dates."""
    hash: int


class Aggregates:
    """Aggregates that grow batch by batch. Only as many values as a batch has are in memory."""

    def __init__(self, options: ScaleOptions) -> None:
        self.rows = 0
        self._columns = dict(list_columns(options))
        self._found: dict[str, list[ColumnAnswer]] = {name: [] for name in self._columns}

    def add(self, live: pa.Table) -> None:
        """Add live rows; columns without an answer are ignored."""
        self.rows += live.num_rows
        for name, kind in self._columns.items():
            parts = [*self._found[name], _aggregate(live.column(name), kind)]
            self._found[name] = [parts[0] if len(parts) == 1 else _combine(*parts)]

    def answer(self) -> dict[str, Any]:
        """Return the answer of an aggregates question."""
        columns = {name: parts[0] for name, parts in self._found.items() if parts}
        return {"rows": self.rows, "hash": HASH_TEXT, "columns": msgspec.to_builtins(columns)}


def _aggregate(column: pa.ChunkedArray, kind: str) -> ColumnAnswer:
    bounds = pc.min_max(column).as_py()
    is_number = kind in ("long", "double")
    low, high = (_format_bound(bounds[name]) for name in ("min", "max"))
    total = (pc.sum(column).as_py() or 0) if is_number else None
    digest = 0
    for value, count in _iter_counts(column):
        digest += count * zlib.crc32(str(value).encode())
    return ColumnAnswer(
        kind, len(column) - column.null_count, column.null_count, low, high, total, digest % _HASH_MODULUS
    )


def _iter_counts(column: pa.ChunkedArray) -> Iterator[tuple[Any, int]]:
    counted = column.drop_null().value_counts()
    yield from zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)


def _format_bound(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else str(value)


def _combine(first: ColumnAnswer, second: ColumnAnswer) -> ColumnAnswer:
    lows = [each for each in (first.min, second.min) if each is not None]
    highs = [each for each in (first.max, second.max) if each is not None]
    return ColumnAnswer(
        first.type,
        first.values + second.values,
        first.nulls + second.nulls,
        min(lows, default=None),
        max(highs, default=None),
        None if first.sum is None or second.sum is None else first.sum + second.sum,
        (first.hash + second.hash) % _HASH_MODULUS,
    )


def arrow_schema(options: ScaleOptions) -> pa.Schema:
    """Return the schema of `build_rows`."""
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in list_columns(options)])
    nested = pa.int64()
    for level in range(options.depth, 0, -1):
        nested = pa.struct([(f"f{level}", nested)])
    return schema.append(pa.field("nested", nested)) if options.depth else schema

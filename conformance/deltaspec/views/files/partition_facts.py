"""Partition values of file actions beside the partition columns of the table."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.model.schema.data_types import DataType, Primitive
from deltaspec.model.schema.partition_values import PartitionValueError, is_canonical, is_in_utc, parse_partition_value

_COLUMNS = (
    "missing_partition_columns",
    "extra_partition_columns",
    "logical_partition_keys",
    "invalid_partition_values",
    "non_canonical_partition_values",
)
_FORMS = ("utc_partition_value", "zoneless_partition_value")
_TIMESTAMP = Primitive("timestamp")


def columns(
    values: pa.ChunkedArray, partition_columns: dict[str, DataType] | None, logical: Mapping[str, str]
) -> list[pl.Series]:
    """The seven partition columns of `file_actions`.

    Args:
        values: `partitionValues`, a map array, null where the action has none.
        partition_columns: physical name to type; None where the metadata is not known, which makes all null.
        logical: logical to physical name of those that have two.
    """
    maps = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    known = maps.is_valid() if partition_columns is not None else pa.nulls(len(maps), pa.bool_()).fill_null(False)
    found: dict[str, dict[int, list[str]]] = {name: {} for name in _COLUMNS}
    forms = dict.fromkeys(_FORMS, pl.Series([None], dtype=pl.String).new_from_index(0, len(maps)))
    if partition_columns is not None and len(maps):
        _compare(maps, partition_columns, found)
        _tell_logical_keys(found, logical)
        for column, kind in partition_columns.items():
            if kind == _TIMESTAMP:
                _tell_forms(pc.map_lookup(maps, pa.scalar(column), "first"), column, forms)
    lists = [sparse_lists(name, len(maps), rows, known) for name, rows in found.items()]
    return [*lists, *(texts.alias(name) for name, texts in forms.items())]


def _tell_forms(texts: Any, column: str, forms: dict[str, pl.Series]) -> None:
    """Which timestamps are spelled in UTC, and which without a zone; each distinct text is looked at once."""
    seen: dict[str, list[str]] = {name: [] for name in _FORMS}
    for text in texts.unique().to_pylist():
        if text and is_canonical(text, _TIMESTAMP):
            seen[_FORMS[0] if is_in_utc(text) else _FORMS[1]].append(text)
    for name, those in seen.items():
        if those:
            told = pc.if_else(pc.is_in(texts, value_set=pa.array(those, texts.type)), texts, None)
            here = f"{column}=" + pl.Series(name, pl.from_arrow(told), dtype=pl.String)
            forms[name] = pl.DataFrame([forms[name].alias("before"), here.alias("here")]).select(
                pl.coalesce("before", "here")
            )["before"]


def sparse_lists(name: str, length: int, rows: dict[int, list[str]], known: Any) -> pl.Series:
    """A list column that is empty but for `rows`, and null where `known` is false."""
    lists: list[list[str] | None] | None = None
    if rows or pc.min(known).as_py() is False:
        lists = [[] if there else None for there in known.to_pylist()]
        for row, texts in rows.items():
            lists[row] = texts
        return pl.Series(name, lists, dtype=pl.List(pl.String))
    return pl.Series(name, [[]], dtype=pl.List(pl.String)).new_from_index(0, length)


def _compare(maps: Any, partition_columns: dict[str, DataType], found: dict[str, dict[int, list[str]]]) -> None:
    in_step = _values_in_step(maps, partition_columns)
    if in_step is not None:
        for column, kind in partition_columns.items():
            _judge_values(in_step[column], column, kind, found)
        return
    expected = pa.nulls(len(maps), pa.int32()).fill_null(0)
    for column, kind in partition_columns.items():
        texts = pc.map_lookup(maps, pa.scalar(column), "first")
        here = texts.is_valid()
        if texts.null_count:  # a key with a null, or no key
            here = pc.map_lookup(maps, pa.scalar(column), "all").is_valid()
            _note(found["missing_partition_columns"], pc.and_(maps.is_valid(), pc.invert(here)), column)
        expected = pc.add(expected, here.cast(pa.int32()))
        _judge_values(texts, column, kind, found)
    for row in pc.indices_nonzero(pc.greater(_sizes(maps).fill_null(0), expected)).to_pylist():
        keys = [key for key, _ in maps[row].as_py()]
        extra = [key for key in keys if key not in partition_columns]
        if extra:
            found["extra_partition_columns"][row] = extra


def _tell_logical_keys(found: dict[str, dict[int, list[str]]], logical: Mapping[str, str]) -> None:
    """A value under the logical name of its column is one fault, not one that is missing and one too many."""
    extra, missing = found["extra_partition_columns"], found["missing_partition_columns"]
    for row, keys in list(extra.items()) if logical else ():
        told = [key for key in keys if key in logical]
        if told:
            found["logical_partition_keys"][row] = told
            extra[row] = [key for key in keys if key not in logical]
            meant = {logical[key] for key in told}
            missing[row] = [column for column in missing.get(row, ()) if column not in meant]


def _values_in_step(maps: Any, partition_columns: Mapping[str, DataType]) -> dict[str, Any] | None:
    """Values by column where every map has just the partition columns, in one order: as engines write them.

    A look-up in each map takes twenty times as long.
    """
    count, width = len(maps), len(partition_columns)
    if not width or maps.null_count or maps.offsets[0].as_py() != 0 or len(maps.keys) != count * width:
        return None
    if not pc.all(pc.equal(_sizes(maps), width)).as_py():
        return None
    if width == 1:
        return {maps.keys[0].as_py(): maps.items} if maps.keys.unique().to_pylist() == [*partition_columns] else None
    found = {}
    first = pa.array(range(0, count * width, width), pa.int64())
    for place in range(width):
        entries_there = pc.add(first, place)
        names = maps.keys.take(entries_there).unique().to_pylist()
        if len(names) != 1:
            return None
        found[names[0]] = maps.items.take(entries_there)
    return found if found.keys() == partition_columns.keys() else None


def entries(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Maps as lists of `{key, value}`: not every Polars has a type for maps."""
    return values.cast(pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])))


def _sizes(maps: Any) -> Any:
    """Number of entries, map by map."""
    ends = maps.offsets
    return pc.subtract(ends.slice(1), ends.slice(0, len(maps)))


def _judge_values(texts: Any, column: str, kind: DataType, found: dict[str, dict[int, list[str]]]) -> None:
    bad, odd = [], []
    for text in texts.unique().to_pylist():
        if text is None:
            continue
        try:
            parse_partition_value(text, kind)
        except PartitionValueError:
            bad.append(text)
            continue
        if not is_canonical(text, kind):
            odd.append(text)
    for name, those in (("invalid_partition_values", bad), ("non_canonical_partition_values", odd)):
        for text in those:
            _note(found[name], pc.equal(texts, text).fill_null(False), f"{column}={text}")


def _note(rows: dict[int, list[str]], mask: Any, text: str) -> None:
    for row in pc.indices_nonzero(mask).to_pylist():
        rows.setdefault(row, []).append(text)

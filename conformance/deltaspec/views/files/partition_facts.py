"""Partition columns of `file_actions`: partition values compared with the partition columns of the table."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.protocol.files.partition_values import (
    Deviation,
    PartitionValueError,
    find_deviation,
    is_canonical,
    is_in_utc,
    parse_partition_value,
)
from deltaspec.protocol.schema.data_types import DataType, Primitive
from deltaspec.wire import arrow_compute as pc

_COLUMNS = (
    "missing_partition_columns",
    "extra_partition_columns",
    "logical_partition_keys",
    "invalid_partition_values",
    "non_canonical_partition_values",
    "ambiguous_partition_values",
    "high_byte_partition_values",
    "undefined_partition_values",
)
_COLUMN_OF_DEVIATION: dict[Deviation, str] = {
    "lenient": "non_canonical_partition_values",
    "ambiguous": "ambiguous_partition_values",
    "high bytes": "high_byte_partition_values",
    "undefined": "undefined_partition_values",
}
_FORMS = ("utc_partition_value", "zoneless_partition_value")
ENTRY_END, VALUE_BEGIN = "\x1f", "\x1e"
_TIMESTAMP = Primitive("timestamp")


def columns(
    values: pa.ChunkedArray,
    partition_columns: dict[str, DataType] | None,
    logical: Mapping[str, str],
    earlier_types: Mapping[str, Sequence[DataType]],
) -> list[pl.Series]:
    """Return the ten partition columns of `file_actions`, and `partition_text`.

    `partition_text` is the map as one string: its entries, sorted by key. A null value and the empty string are the
    same. The text is null without a map, and empty for an empty map.

    Args:
        values: `partitionValues`, a map array; null if the action has none.
        partition_columns: physical name to type; None if the metadata is unknown, which makes the ten columns null.
        logical: logical to physical name of the partition columns whose names differ.
        earlier_types: physical name to the types that a partition column had before it was widened; values of these
            types may stay as they were written.
    """
    maps = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    aligned_values = _align_values(maps)
    known = pc.is_valid(maps) if partition_columns is not None else pa.repeat(False, len(maps))
    found: dict[str, dict[int, list[str]]] = {name: {} for name in _COLUMNS}
    forms = dict.fromkeys(_FORMS, pl.Series([None], dtype=pl.String).new_from_index(0, len(maps)))
    if partition_columns is not None and len(maps):
        types = {name: (kind, *earlier_types.get(name, ())) for name, kind in partition_columns.items()}
        _compare(maps, aligned_values, types, found)
        _move_logical_keys(found, logical)
        for column, kind in partition_columns.items():
            if kind == _TIMESTAMP:
                _find_timestamp_forms(pc.map_lookup(maps, column, "first"), column, forms)
    nothing = sparse_lists("", len(maps), {}, known)
    lists = [
        sparse_lists(name, len(maps), rows, known) if rows else nothing.alias(name) for name, rows in found.items()
    ]
    return [*lists, *(texts.alias(name) for name, texts in forms.items()), _partition_text(maps, aligned_values)]


def _find_timestamp_forms(texts: Any, column: str, forms: dict[str, pl.Series]) -> None:
    """Find timestamps written in UTC and timestamps without a zone; each distinct string is parsed once."""
    texts_by_form: dict[str, list[str]] = {name: [] for name in _FORMS}
    for text in pc.unique(texts).to_pylist():
        if text and is_canonical(text, _TIMESTAMP):
            texts_by_form[_FORMS[0] if is_in_utc(text) else _FORMS[1]].append(text)
    for name, matching in texts_by_form.items():
        if matching:
            matches = pc.if_else(pc.is_in(texts, matching), texts, None)
            entries_of_column = f"{column}=" + pc.to_series(matches).alias(name)
            forms[name] = pl.DataFrame([forms[name].alias("found"), entries_of_column.alias("new")]).select(
                pl.coalesce("found", "new")
            )["found"]


def sparse_lists(name: str, length: int, rows: dict[int, list[str]], known: Any) -> pl.Series:
    """Build a list column that is empty except in `rows`, and null where `known` is false."""
    lists: list[list[str] | None] | None = None
    if rows or pc.min(known).as_py() is False:
        lists = [[] if is_known else None for is_known in known.to_pylist()]
        for row, texts in rows.items():
            lists[row] = texts
        return pl.Series(name, lists, dtype=pl.List(pl.String))
    return pl.Series(name, [[]], dtype=pl.List(pl.String)).new_from_index(0, length)


def parse_partition_text(text: str) -> dict[str, str]:
    """Parse `partition_text` into values by key. A value may itself contain a separator of entries."""
    found: dict[str, str] = {}
    current = None
    for part in text.split(ENTRY_END) if text else ():
        key, separator, value = part.partition(VALUE_BEGIN)
        if separator or current is None:
            current, found[key] = key, value
        else:
            found[current] += ENTRY_END + part
    return found


def _partition_text(maps: Any, aligned_values: Mapping[str, Any] | None) -> pl.Series:
    if aligned_values is not None:
        return _join_aligned_values(len(maps), aligned_values)
    if not maps.null_count and not len(maps.keys):
        return pl.Series("partition_text", [""]).new_from_index(0, len(maps))
    listed = pc.to_series(entries(maps)).to_frame("partition_text")
    entry = pl.element().struct.field("key") + VALUE_BEGIN + pl.element().struct.field("value").fill_null("")
    return listed.select(pl.col("partition_text").list.eval(entry).list.sort().list.join(ENTRY_END)).to_series()


def _join_aligned_values(count: int, aligned_values: Mapping[str, Any]) -> pl.Series:
    """Build `partition_text` once for each value or combination of values: equal rows then share their memory."""
    names = sorted(aligned_values, key=lambda name: name + VALUE_BEGIN)  # entries are sorted in this order
    if len(names) == 1:
        return _format_entries(names[0], aligned_values[names[0]]).alias("partition_text")
    distinct: dict[str, pl.Series] = {}
    combination: pl.Series | None = None
    combinations = 1
    for name in names:
        values = pc.to_series(aligned_values[name].dictionary).cast(pl.String).fill_null("")
        indexes = pc.to_series(aligned_values[name].indices)
        distinct[name] = name + VALUE_BEGIN + values
        combination = indexes if combination is None else combination.cast(pl.Int64) * len(values) + indexes
        combinations *= len(values)
        if combinations > max(count, 1000):
            return _join([_format_entries(each, aligned_values[each]) for each in names])
    every = pl.int_range(combinations, eager=True)
    columns: list[pl.Series] = []
    for name in reversed(names):
        size = len(distinct[name])
        columns.insert(0, distinct[name].gather(every % size))
        every = every // size
    assert combination is not None
    return _join(columns).gather(combination)


def _format_entries(name: str, encoded: Any) -> pl.Series:
    values = pc.to_series(encoded.dictionary).cast(pl.String).fill_null("")
    return (name + VALUE_BEGIN + values).gather(pc.to_series(encoded.indices))


def _join(parts: list[pl.Series]) -> pl.Series:
    frame = pl.DataFrame([part.alias(str(number)) for number, part in enumerate(parts)])
    return frame.select(partition_text=pl.concat_str(pl.all(), separator=ENTRY_END)).to_series()


def _compare(
    maps: Any,
    aligned_values: Mapping[str, Any] | None,
    partition_columns: dict[str, tuple[DataType, ...]],
    found: dict[str, dict[int, list[str]]],
) -> None:
    """Compare partition values with the columns; the first type of each column is its current type."""
    if aligned_values is not None and aligned_values.keys() == partition_columns.keys():
        for column, types in partition_columns.items():
            _check_values(aligned_values[column], column, types, found)
        return
    expected = pa.repeat(pa.scalar(0, pa.int32()), len(maps))
    for column, types in partition_columns.items():
        texts = pc.map_lookup(maps, column, "first")
        present = pc.is_valid(texts)
        if texts.null_count:  # a key with a null, or no key
            present = pc.is_valid(pc.map_lookup(maps, column, "all"))
            _add_to_rows(found["missing_partition_columns"], pc.and_(pc.is_valid(maps), pc.invert(present)), column)
        expected = pc.add(expected, pc.cast(present, pa.int32()))
        _check_values(texts, column, types, found)
    for row in pc.indices_nonzero(pc.greater(_sizes(maps), expected)).to_pylist():
        keys = [key for key, _ in maps[row].as_py()]
        extra = [key for key in keys if key not in partition_columns]
        if extra:
            found["extra_partition_columns"][row] = extra


def _move_logical_keys(found: dict[str, dict[int, list[str]]], logical: Mapping[str, str]) -> None:
    """Report a value under the logical name of its column as one fault, instead of one missing and one extra column."""
    extra, missing = found["extra_partition_columns"], found["missing_partition_columns"]
    for row, keys in list(extra.items()) if logical else ():
        logical_keys = [key for key in keys if key in logical]
        if logical_keys:
            found["logical_partition_keys"][row] = logical_keys
            extra[row] = [key for key in keys if key not in logical]
            physical_names = {logical[key] for key in logical_keys}
            missing[row] = [column for column in missing.get(row, ()) if column not in physical_names]


def _align_values(maps: Any) -> dict[str, Any] | None:
    """Return the values by key if every map has the same keys in the same order, and at least one; otherwise None.

    Engines write maps in this form. A lookup in each map takes twenty times as long. The values are dictionary arrays,
    whose dictionary may contain a null.
    """
    count = len(maps)
    width = len(maps[0]) if count and maps[0].is_valid else 0
    if not width or maps.null_count or maps.offsets[0].as_py() != 0 or len(maps.keys) != count * width:
        return None
    if not pc.all(pc.equal(_sizes(maps), width)).as_py():
        return None
    if width == 1:
        names = pc.unique(maps.keys).to_pylist()
        return {names[0]: pc.encode_with_nulls(maps.items)} if len(names) == 1 else None
    keys, items = pc.encode_with_nulls(maps.keys), pc.encode_with_nulls(maps.items)
    found = {}
    for position in range(width):
        entry_indices = pl.int_range(position, count * width, width, eager=True).to_arrow()
        (key, *others) = pc.unique(pc.take(keys.indices, entry_indices)).to_pylist()
        if others:
            return None
        values = pc.encode_with_nulls(pc.take(items.indices, entry_indices))
        dictionary = pc.take(items.dictionary, values.dictionary)
        found[keys.dictionary[key].as_py()] = pa.DictionaryArray.from_arrays(values.indices, dictionary)
    return found if len(found) == width else None


def entries(values: Any) -> Any:
    """Convert maps to lists of `{key, value}`: not every Polars version has a map type."""
    return pc.cast(values, pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])))


def _sizes(maps: Any) -> Any:
    """Return the number of entries of each map."""
    ends = maps.offsets
    return pc.subtract(ends.slice(1), ends.slice(0, len(maps)))


def _check_values(texts: Any, column: str, types: tuple[DataType, ...], found: dict[str, dict[int, list[str]]]) -> None:
    faults: dict[str, str] = {}
    for text in (texts.dictionary if pa.types.is_dictionary(texts.type) else pc.unique(texts)).to_pylist():
        if text is None:
            continue
        try:
            parse_partition_value(text, types[0])
        except PartitionValueError:
            faults[text] = "invalid_partition_values"
            continue
        deviation = find_deviation(text, types[0], types[1:])
        if deviation is not None:
            faults[text] = _COLUMN_OF_DEVIATION[deviation]
    if faults:
        plain = pc.cast(texts, pa.string())
        for row in pc.indices_nonzero(pc.is_in(plain, list(faults))).to_pylist():
            text = plain[row].as_py()
            found[faults[text]].setdefault(row, []).append(f"{column}={text}")


def _add_to_rows(rows: dict[int, list[str]], mask: Any, text: str) -> None:
    for row in pc.indices_nonzero(mask).to_pylist():
        rows.setdefault(row, []).append(text)

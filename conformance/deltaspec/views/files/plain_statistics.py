"""Statistics strings in the form that most writers use, read in columns instead of one by one.

A string is plain if regular expressions show that it is valid JSON with the known keys in their usual order, without
escapes, without names that begin with a colon, and with counts of at most 18 digits. All others are left to the decoder
of `statistics_facts`. The expressions need two thirds of its time, and work without the interpreter lock. Null counts
repeat between files; each distinct text is read once.
"""

from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec
import polars as pl

_AT_ONCE = 1 << 15
"""Rows that are read together, as many as a checkpoint batch has. A commit may have any number."""
_MOST_END_BYTES = 4 << 20
"""Bytes of different null counts above which strings are decoded one by one: reading them takes much more memory."""
_LONG = 256
"""Bytes of null counts of which few are kept: those of a thousand columns take 100 kB."""


def _object_of(value: str) -> str:
    """Return the expression of an object whose values match an expression, or are objects of such values."""
    return _flat_object_of(f"(?:{value}|{_flat_object_of(value)})")


def _flat_object_of(value: str) -> str:
    return rf"\{{(?:{_NAME}:{value}(?:,{_NAME}:{value})*)?\}}"


_COUNT = r"(?:0|[1-9][0-9]{0,17})"
_TEXT = r'"[^"\\\x00-\x1f]*"'
_NAME = r'"(?:[^":\\\x00-\x1f][^"\\\x00-\x1f]*)?"'
"""It does not begin with a colon: only the quote at its end may precede one."""
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_BOUNDS = _object_of(f"(?:{_TEXT}|{_NUMBER}|true|false|null)")
_NULL_COUNT = '"nullCount":'
_END = r'(?:,"tightBounds":(?:true|false))?\}'
_NUM_RECORDS = '{"numRecords":'
_MOST_DIGITS = 18
_BEFORE_COUNTS = (
    rf'^\{_NUM_RECORDS}{_COUNT}(?:,"minValues":{_BOUNDS})?(?:,"maxValues":{_BOUNDS})?(?:,{_NULL_COUNT}|{_END}$)'
)
_COUNTS = rf"^{_object_of(_COUNT)}{_END}$"
_POSITIVE = '":[1-9][0-9]*'
"""A count above 0 with the end of its name."""
_WIDE_BOUNDS = '"tightBounds":false}'


class PlainCounts(NamedTuple):
    """Flat null counts above 0."""

    largest: int
    by_name: dict[str, int]
    encoded_paths: str
    """The paths of all names as in `null_columns`."""


PositiveCounts = PlainCounts | bool
"""False without a null count above 0, True if the counts are nested or invalid."""
_decode_plain_nulls = msgspec.json.Decoder(dict[str, Annotated[int, msgspec.Meta(ge=0)]] | None).decode
_encode = msgspec.json.Encoder().encode


def read_plain_statistics(texts: pl.Series, deleted_rows: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Read the plain strings among statistics.

    Args:
        texts: statistics strings; null without statistics.
        deleted_rows: cardinality of the deletion vector; null without one.

    Returns:
        `numRecords` (Int64), null if the string must be decoded, and `null_columns` as in `statistics_facts.columns`.
        Strings that are not plain must be decoded, and null counts above 0 of files with a deletion vector, with wide
        bounds, or above `numRecords`.
    """
    starts = range(0, max(len(texts), 1), _AT_ONCE)
    found = pl.concat(
        [_read_rows(texts.slice(start, _AT_ONCE), deleted_rows.slice(start, _AT_ONCE)) for start in starts]
    )
    return found["records"], found["null_columns"]


def _read_rows(texts: pl.Series, deleted_rows: pl.Series) -> pl.DataFrame:
    is_plain = texts.str.contains(_BEFORE_COUNTS)
    counted = texts.str.slice(len(_NUM_RECORDS), _MOST_DIGITS + 1)
    first = counted.str.splitn(",", 2).struct.field("field_0").str.strip_suffix("}")
    records = first.cast(pl.Int64, strict=False)
    # a column of this name begins the end too early: then it closes more objects than `_COUNTS` allows
    starts: Any = texts.str.find(_NULL_COUNT, literal=True) + len(_NULL_COUNT)
    ends = texts.cast(pl.Binary).bin.slice(starts).cast(pl.String)  # slices of bytes copy nothing
    distinct = ends.unique().drop_nulls()
    if distinct.str.len_bytes().cast(pl.Int64).sum() > _MOST_END_BYTES:
        return pl.DataFrame({"records": records, "null_columns": ends}).clear(len(texts))
    read = _read_ends(distinct).select(pl.all().gather(ends.cast(pl.Enum(distinct)).to_physical()))
    largest = read["largest"]
    is_tight = (deleted_rows.fill_null(0) == 0) & (largest <= records)
    is_read = is_plain & (ends.is_null() | (largest == 0) | is_tight).fill_null(False)
    found = pl.DataFrame({"records": records, "null_columns": read["null_columns"]})
    return found.select(pl.when(is_read).then(pl.all()))


def _read_ends(ends: pl.Series) -> pl.DataFrame:
    """Return what different ends of statistics say, from the null counts on.

    `largest` is the largest null count; null if the strings with this end must be decoded.
    """
    counts = ends.str.extract_all(_POSITIVE).list.eval(pl.element().str.slice(2).cast(pl.Int64, strict=False))
    largest = counts.list.max().fill_null(0)
    is_plain = ends.str.contains(_COUNTS)
    patterns = ends.str.replace_all(_POSITIVE, '":1')
    null_columns: dict[str, str] = {}
    for pattern in patterns.filter(is_plain & (largest > 0)).unique().to_list():
        found = find_plain_counts(pattern[: pattern.rindex("}", 0, -1) + 1].encode())
        if isinstance(found, PlainCounts) and not pattern.endswith(_WIDE_BOUNDS):
            null_columns[pattern] = found.encoded_paths
    columns = patterns.replace_strict(null_columns, default=None, return_dtype=pl.String)
    is_read = is_plain & ((largest == 0) | columns.is_not_null())
    return pl.DataFrame({"largest": largest.set(~is_read, None), "null_columns": columns})


def find_plain_counts(nulls: bytes) -> PositiveCounts:
    """Return the null counts above 0 of the JSON text of null counts."""
    return (_find_positive_counts if len(nulls) < _LONG else _find_long_positive_counts)(nulls)


def _decode_positive_counts(nulls: bytes) -> PositiveCounts:
    if not nulls:
        return False
    try:
        counts = _decode_plain_nulls(nulls)
    except msgspec.ValidationError:
        return True
    positive = {name: count for name, count in (counts or {}).items() if count}
    return (
        PlainCounts(max(positive.values()), positive, encode_paths([(name,) for name in positive]))
        if positive
        else False
    )


_find_positive_counts = lru_cache(16_384)(_decode_positive_counts)
_find_long_positive_counts = lru_cache(64)(_decode_positive_counts)


def encode_paths(paths: list[tuple[str, ...]]) -> str:
    """Encode paths as JSON; empty without any."""
    return _encode(paths).decode() if paths else ""

"""Statistics strings in the form that most writers use, read in columns instead of one by one.

A string is plain if regular expressions show that it is valid JSON with the known keys in their usual order, without
escapes, without names that begin with a colon, and with counts of at most 18 digits. All others are left to the decoder
of `statistics_facts`. The expressions need two thirds of its time, and work without the interpreter lock. Null counts
repeat between files; each distinct text is read once.
"""

from functools import lru_cache
from typing import Annotated, NamedTuple

import msgspec
import polars as pl

ROWS_AT_ONCE = 1 << 15
"""Rows that are read together, as many as a checkpoint batch has. A commit may have any number."""
MOST_END_BYTES = 4 << 20
"""Bytes of different null counts above which strings are decoded one by one: reading them takes much more memory."""
_LONG = 256
"""Length from which on few null counts are cached: null counts of a thousand columns take 100 kB."""


def _object_of(value: str) -> str:
    """Return the expression of an object whose values match an expression, or are objects of such values."""
    return _flat_object_of(f"(?:{value}|{_flat_object_of(value)})")


def _flat_object_of(value: str) -> str:
    return rf"\{{(?:{_NAME}:{value}(?:,{_NAME}:{value})*)?\}}"


_COUNT = r"(?:0|[1-9][0-9]{0,17})"
_TEXT = r'"[^"\\\x00-\x1f]*"'
_NAME = r'"(?:[^":\\\x00-\x1f][^"\\\x00-\x1f]*)?"'
"""A name does not begin with a colon: only the quote at its end may precede one."""
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_BOUNDS = _object_of(f"(?:{_TEXT}|{_NUMBER}|true|false|null)")
_NULL_COUNT = '"nullCount":'
_END = r'(?:,"tightBounds":(?:true|false))?\}'
_NUM_RECORDS = '{"numRecords":'
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
    starts = range(0, max(len(texts), 1), ROWS_AT_ONCE)
    found = pl.concat(
        [_read_rows(texts.slice(start, ROWS_AT_ONCE), deleted_rows.slice(start, ROWS_AT_ONCE)) for start in starts]
    )
    return found["records"], found["null_columns"]


def _read_rows(texts: pl.Series, deleted_rows: pl.Series) -> pl.DataFrame:
    text = pl.col("text")
    # a column of this name begins the end too early: then it closes more objects than `_COUNTS` allows
    end_start = text.str.find(_NULL_COUNT, literal=True) + len(_NULL_COUNT)
    rows = pl.DataFrame([texts.alias("text"), deleted_rows.alias("deleted_rows")]).select(
        "text",
        pl.col("deleted_rows").fill_null(0),
        is_plain=text.str.contains(_BEFORE_COUNTS),
        end=text.cast(pl.Binary).bin.slice(end_start).cast(pl.String),  # slices of bytes copy nothing
    )
    ends = rows.get_column("end")
    distinct = ends.unique().drop_nulls()
    if distinct.str.len_bytes().cast(pl.Int64).sum() > MOST_END_BYTES:
        return pl.DataFrame(schema={"records": pl.Int64, "null_columns": pl.String}).clear(len(rows))
    indices = ends.cast(pl.Enum(distinct)).to_physical()
    rows = rows.hstack(_read_ends(distinct).select(pl.all().gather(indices))).with_columns(records=_read_records())
    largest = pl.col("largest")
    is_tight = (pl.col("deleted_rows") == 0) & (largest <= pl.col("records"))
    is_read = pl.col("is_plain") & (pl.col("end").is_null() | (largest == 0) | is_tight).fill_null(False)
    return rows.select(pl.when(is_read).then(pl.col("records", "null_columns")))


def _read_records() -> pl.Expr:
    """Build the number of records of plain strings; in others, the bytes may begin or end within a character."""
    length = pl.col("text").str.find(",", literal=True).fill_null(pl.col("text").str.len_bytes() - 1)
    plain = pl.when("is_plain").then(pl.col("text").cast(pl.Binary))
    digits = plain.bin.slice(len(_NUM_RECORDS), length - len(_NUM_RECORDS)).cast(pl.String)
    return digits.cast(pl.Int64, strict=False)


def _read_ends(ends: pl.Series) -> pl.DataFrame:
    """Return the facts in distinct ends of statistics, from the null counts on.

    `largest` is the largest null count; null if the strings with this end must be decoded.
    """
    end = pl.col("end")
    counts = end.str.extract_all(_POSITIVE).list.eval(pl.element().str.slice(2).cast(pl.Int64, strict=False))
    rows = ends.to_frame("end").select(
        largest=counts.list.max().fill_null(0),
        is_plain=end.str.contains(_COUNTS),
        pattern=end.str.replace_all(_POSITIVE, '":1'),
    )
    null_columns: dict[str, str] = {}
    for pattern in rows.filter("is_plain", pl.col("largest") > 0).get_column("pattern").unique().to_list():
        found = find_plain_counts(pattern[: pattern.rindex("}", 0, -1) + 1].encode())
        if isinstance(found, PlainCounts) and not pattern.endswith(_WIDE_BOUNDS):
            null_columns[pattern] = found.encoded_paths
    columns = pl.col("pattern").replace_strict(null_columns, default=None, return_dtype=pl.String)
    is_read = pl.col("is_plain") & ((pl.col("largest") == 0) | columns.is_not_null())
    return rows.select(largest=pl.when(is_read).then("largest"), null_columns=columns)


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

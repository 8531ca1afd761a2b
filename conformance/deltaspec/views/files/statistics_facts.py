"""Statistics columns of `file_actions`. Each string is decoded separately, so a bad one affects only its own row."""

from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec
import polars as pl

from deltaspec.model.actions import Int64
from deltaspec.model.json_values import parse_lossless, replace_lone_surrogates
from deltaspec.model.rows.statistics import (
    Statistics,
    StatisticsError,
    find_null_columns,
    find_null_count_faults,
    proves_null,
)
from deltaspec.wire import arrow_compute as pc

_ABSENT = msgspec.Raw()
_LONG = 256
"""Bytes of null counts of which few are kept: those of a thousand columns take 100 kB."""


class _Counts(msgspec.Struct, rename="camel", gc=False):
    """The part of a statistics string that rules of level `log` read; bounds are skipped without parsing."""

    num_records: Int64 | None = None
    tight_bounds: bool | None = None
    null_count: msgspec.Raw = _ABSENT
    null_counts: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Counts).decode
_encode_paths = msgspec.json.Encoder().encode
_Paths = list[tuple[str, ...]]


class _PlainCounts(NamedTuple):
    """Flat null counts above 0."""

    largest: int
    by_name: dict[str, int]
    encoded_paths: str
    """The paths of all names as in `null_columns`."""


_PositiveCounts = _PlainCounts | bool
"""False without a null count above 0, True if the counts are nested or invalid."""
_decode_plain_nulls = msgspec.json.Decoder(dict[str, Annotated[int, msgspec.Meta(ge=0)]] | None).decode


def columns(stats: Any, deleted_rows: pl.Series) -> list[pl.Series]:
    """Return the columns of `file_actions` that depend on the statistics, and `null_columns`.

    `null_columns` is a JSON list of the paths of the columns that null counts prove to be null in a row; null without
    any. Null counts repeat between files, so the most recently used distinct strings are kept.

    Args:
        stats: statistics strings, an Arrow array or chunked array; null without statistics.
        deleted_rows: cardinality of the deletion vector; null without one.
    """
    length = len(stats)
    records: list[int | None] = [None] * length
    faults: dict[int, str] = {}
    null_faults: dict[int, str] = {}
    misspelled_rows: list[int] = []
    surrogate_rows: list[int] = []
    null_texts: dict[str, int] = {}
    null_numbers: list[int | None] = [None] * length
    deleted_by_row = deleted_rows.to_list() if deleted_rows.null_count() < length else None
    for row, text in enumerate(stats.to_pylist()):
        if text is None:
            continue
        deleted = (deleted_by_row[row] or 0) if deleted_by_row else 0
        try:
            counts = _decode(text)
            nulls = bytes(counts.null_count)
            if positive := (_find_positive_counts if len(nulls) < _LONG else _find_long_positive_counts)(nulls):
                if not isinstance(positive, bool) and positive.largest <= (counts.num_records or 0):
                    if deleted or counts.tight_bounds is False:
                        encoded = _encode_plain_null_columns(counts, positive.by_name, deleted)
                    else:
                        encoded = positive.encoded_paths
                else:
                    null_faults.update((row, fault) for fault in _null_count_faults(counts, nulls)[:1])
                    encoded = _encode(find_null_columns(_build_statistics(counts, nulls), deleted))
                if encoded:
                    null_numbers[row] = null_texts.setdefault(encoded, len(null_texts))
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            found = _read_with_lone_surrogates(text, deleted)
            if found is None:
                faults[row] = _reason(error)
                continue
            counts, null_fault, proven = found
            surrogate_rows.append(row)
            if encoded := _encode(proven):
                null_numbers[row] = null_texts.setdefault(encoded, len(null_texts))
            null_faults.update({} if null_fault is None else {row: null_fault})
        records[row] = counts.num_records
        if counts.null_counts != _ABSENT:
            misspelled_rows.append(row)
    return [
        sparse("stats_fault", length, faults),
        pl.Series("num_records", records, dtype=pl.Int64),
        sparse_flags("has_null_counts_key", pc.to_series(pc.is_valid(stats)), misspelled_rows),
        sparse("null_count_fault", length, null_faults),
        sparse_flags("stats_have_lone_surrogate", pc.to_series(pc.is_valid(stats)), surrogate_rows),
        _share_texts("null_columns", list(null_texts), null_numbers),
    ]


def _read_with_lone_surrogates(text: str, deleted_rows: int) -> tuple[_Counts, str | None, _Paths] | None:
    """Return the counts of statistics whose only fault are escaped lone surrogates.

    Also return the first fault of the null counts, and the columns that they prove to be null.
    """
    plain = replace_lone_surrogates(text)
    if plain == text:
        return None
    try:
        counts = _decode(plain)
        nulls = bytes(counts.null_count)
        if not nulls:
            return counts, None, []
        statistics = _build_statistics(counts, nulls)
        faults = find_null_count_faults(statistics)
        return counts, faults[0] if faults else None, find_null_columns(statistics, deleted_rows)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None


def _decode_positive_counts(nulls: bytes) -> _PositiveCounts:
    if not nulls:
        return False
    try:
        counts = _decode_plain_nulls(nulls)
    except msgspec.ValidationError:
        return True
    positive = {name: count for name, count in (counts or {}).items() if count}
    return (
        _PlainCounts(max(positive.values()), positive, _encode([(name,) for name in positive])) if positive else False
    )


_find_positive_counts = lru_cache(16_384)(_decode_positive_counts)
_find_long_positive_counts = lru_cache(64)(_decode_positive_counts)


def _encode_plain_null_columns(counts: _Counts, positive: dict[str, int], deleted_rows: int) -> str:
    """Return what `find_null_columns` returns for flat counts, encoded."""
    is_tight = counts.tight_bounds is not False
    return _encode(
        [
            (name,)
            for name, count in positive.items()
            if proves_null(count, counts.num_records, deleted_rows, has_tight_bounds=is_tight)
        ]
    )


def _encode(paths: _Paths) -> str:
    """Encode paths as JSON; empty without any."""
    return _encode_paths(paths).decode() if paths else ""


def _null_count_faults(counts: _Counts, nulls: bytes) -> list[str]:
    """Return the model's faults for null counts that the fast path cannot accept."""
    return find_null_count_faults(_build_statistics(counts, nulls))


def _build_statistics(counts: _Counts, nulls: bytes) -> Statistics:
    found = parse_lossless(nulls).value
    if found is not None and not isinstance(found, dict):
        raise StatisticsError("nullCount has the wrong type")
    return Statistics(num_records=counts.num_records, tight_bounds=counts.tight_bounds, null_count=found)


def _share_texts(name: str, texts: list[str], numbers: list[int | None]) -> pl.Series:
    """Build a string column from the number of the text of each row. Equal texts share their memory."""
    if not texts:
        return sparse(name, len(numbers), {})
    return pl.Series(name, texts, dtype=pl.String).gather(pl.Series(numbers, dtype=pl.UInt32))


def sparse(name: str, length: int, rows: dict[int, str]) -> pl.Series:
    """Build a string column that is null except in `rows`."""
    column = pl.Series(name, [None], dtype=pl.String).new_from_index(0, length)
    if rows:
        column = column.scatter(list(rows), pl.Series(list(rows.values()), dtype=pl.String))
    return column


def sparse_flags(name: str, is_known: pl.Series, rows: list[int]) -> pl.Series:
    """Build a boolean column that is false except in `rows`, and null where `is_known` is false."""
    flags = pl.Series(name, [False]).new_from_index(0, len(is_known))
    if rows:
        flags = flags.scatter(rows, True)
    return flags.set(~is_known, None)


def _reason(fault: Exception) -> str:
    return "nested too deeply" if isinstance(fault, RecursionError) else str(fault)

"""Statistics columns of `file_actions`. Each string is decoded separately, so a bad one affects only its own row."""

from typing import Annotated, Any

import msgspec
import polars as pl

from deltaspec.model.actions import Int64
from deltaspec.model.json_values import parse_lossless, replace_lone_surrogates
from deltaspec.model.rows.statistics import Statistics, StatisticsError, find_null_count_faults

_ABSENT = msgspec.Raw()
_CACHE_SIZE = 10_000


class _Counts(msgspec.Struct, rename="camel"):
    """The part of a statistics string that rules of level `log` read; bounds are skipped without parsing."""

    num_records: Int64 | None = None
    tight_bounds: bool | None = None
    null_count: msgspec.Raw = _ABSENT
    null_counts: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Counts).decode
_decode_plain_nulls = msgspec.json.Decoder(dict[str, Annotated[int, msgspec.Meta(ge=0)]] | None).decode


def columns(stats: Any) -> list[pl.Series]:
    """Return the columns of `file_actions` that depend on the statistics.

    Null counts repeat between files, so the largest count of each distinct string is cached.

    Args:
        stats: statistics strings, an Arrow array or chunked array; null without statistics.
    """
    length = len(stats)
    records: list[int | None] = [None] * length
    faults: dict[int, str] = {}
    null_faults: dict[int, str] = {}
    misspelled_rows: list[int] = []
    surrogate_rows: list[int] = []
    max_counts: dict[bytes, int] = {}
    for row, text in enumerate(stats.to_pylist()):
        if text is None:
            continue
        try:
            counts = _decode(text)
            nulls = bytes(counts.null_count)
            max_count = max_counts.get(nulls)
            if max_count is None:
                if len(max_counts) > _CACHE_SIZE:
                    max_counts.clear()
                max_count = max_counts[nulls] = _find_max_count(nulls)
            if max_count and max_count > (counts.num_records or 0):
                null_faults.update((row, fault) for fault in _null_count_faults(counts, nulls)[:1])
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            found = _read_with_lone_surrogates(text)
            if found is None:
                faults[row] = _reason(error)
                continue
            counts, null_fault = found
            surrogate_rows.append(row)
            null_faults.update({} if null_fault is None else {row: null_fault})
        records[row] = counts.num_records
        if counts.null_counts != _ABSENT:
            misspelled_rows.append(row)
    return [
        sparse("stats_fault", length, faults),
        pl.Series("num_records", records, dtype=pl.Int64),
        sparse_flags("has_null_counts_key", pl.Series(stats.is_valid()), misspelled_rows),
        sparse("null_count_fault", length, null_faults),
        sparse_flags("stats_have_lone_surrogate", pl.Series(stats.is_valid()), surrogate_rows),
    ]


def _read_with_lone_surrogates(text: str) -> tuple[_Counts, str | None] | None:
    """Return the counts of statistics whose only fault are escaped lone surrogates, and the first null count fault."""
    plain = replace_lone_surrogates(text)
    if plain == text:
        return None
    try:
        counts = _decode(plain)
        nulls = bytes(counts.null_count)
        return counts, next(iter(_null_count_faults(counts, nulls)), None) if nulls else None
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None


def _find_max_count(nulls: bytes) -> int:
    """Return the largest of flat null counts; for nested or invalid ones a number above any record count."""
    if not nulls:
        return 0
    try:
        counts = _decode_plain_nulls(nulls)
    except msgspec.ValidationError:
        return 2**63
    return max(counts.values(), default=0) if counts else 0


def _null_count_faults(counts: _Counts, nulls: bytes) -> list[str]:
    """Return the model's faults for null counts that the fast path cannot accept."""
    found = parse_lossless(nulls).value
    if found is not None and not isinstance(found, dict):
        raise StatisticsError("nullCount has the wrong type")
    statistics = Statistics(num_records=counts.num_records, tight_bounds=counts.tight_bounds, null_count=found)
    return find_null_count_faults(statistics)


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

"""Statistics of file actions, decoded text by text: one bad text spoils one row, never a column."""

from typing import Annotated, Any

import msgspec
import polars as pl

from deltaspec.model.actions import Int64

_ABSENT = msgspec.Raw()


class _Counts(msgspec.Struct, rename="camel"):
    """The part of a statistics text that rules of level `log` look at; bounds are passed over unparsed."""

    num_records: Int64 | None = None
    tight_bounds: bool | None = None
    null_count: dict[str, Any] | None = None
    min_values: msgspec.Raw = _ABSENT
    max_values: msgspec.Raw = _ABSENT
    null_counts: msgspec.Raw = _ABSENT


class _FlatCounts(_Counts):
    """The same where no column is nested and every null count is a count: nearly all statistics there are."""

    null_count: dict[str, Annotated[int, msgspec.Meta(ge=0)]] | None = None


def columns(stats: pl.Series) -> list[pl.Series]:
    """`stats_fault`, `num_records`, `null_counts_key` and `null_count_fault` of `file_actions`."""
    length = len(stats)
    records: list[int | None] = [None] * length
    faults: dict[int, str] = {}
    null_faults: dict[int, str] = {}
    misspelt: list[int] = []
    decode_flat = msgspec.json.Decoder(_FlatCounts).decode
    decode = msgspec.json.Decoder(_Counts).decode
    for row, text in enumerate(stats.to_list()):
        if text is None:
            continue
        try:
            counts: _Counts = decode_flat(text)
            flat = counts.null_count
            doubtful = bool(flat) and max(flat.values()) > (counts.num_records or 0)  # type: ignore[union-attr]
        except (msgspec.DecodeError, RecursionError, ValueError):
            try:
                counts, doubtful = decode(text), True
            except (msgspec.DecodeError, RecursionError, ValueError) as fault:
                faults[row] = _reason(fault)
                continue
        records[row] = counts.num_records
        if counts.null_counts != _ABSENT:
            misspelt.append(row)
        if doubtful and (fault_text := null_count_fault(counts.null_count or {}, counts.num_records)):
            null_faults[row] = fault_text
    there = stats.is_not_null()
    return [
        sparse("stats_fault", length, faults),
        pl.Series("num_records", records, dtype=pl.Int64),
        sparse_flags("null_counts_key", there, misspelt),
        sparse("null_count_fault", length, null_faults),
    ]


def null_count_fault(counts: dict[str, Any], records: int | None, *, at: str = "nullCount") -> str | None:
    """The first entry that is no count of nulls in a file of so many records, in words; None if all are."""
    for name, value in counts.items():
        place = f"{at}.{name}"
        if isinstance(value, dict):
            inner = null_count_fault(value, records, at=place)
            if inner:
                return inner
        elif value is not None and (type(value) is not int or value < 0):
            return f"{place} is {value!r}"
        elif value is not None and records is not None and value > records:
            return f"{place} is {value} of {records} records"
    return None


def sparse(name: str, length: int, rows: dict[int, str]) -> pl.Series:
    """A text column that is null but for `rows`."""
    column = pl.Series(name, [None], dtype=pl.String).new_from_index(0, length)
    if rows:
        column = column.scatter(list(rows), pl.Series(list(rows.values()), dtype=pl.String))
    return column


def sparse_flags(name: str, there: pl.Series, rows: list[int]) -> pl.Series:
    """A claim that is false but for `rows`, and null where `there` is false."""
    flags = pl.Series(name, [False]).new_from_index(0, len(there))
    if rows:
        flags = flags.scatter(rows, True)
    return flags.set(~there, None)


def _reason(fault: Exception) -> str:
    return "nested too deeply" if isinstance(fault, RecursionError) else str(fault)

"""Statistics of file actions, decoded text by text: one bad text spoils one row, never a column."""

from typing import Annotated, Any

import msgspec
import polars as pl

from deltaspec.model.actions import Int64
from deltaspec.model.json_values import parse_lossless
from deltaspec.model.rows.statistics import Statistics, StatisticsError, find_null_count_faults

_ABSENT = msgspec.Raw()
_REMEMBERED = 10_000


class _Counts(msgspec.Struct, rename="camel"):
    """The part of a statistics text that rules of level `log` look at; bounds are passed over unparsed."""

    num_records: Int64 | None = None
    tight_bounds: bool | None = None
    null_count: msgspec.Raw = _ABSENT
    null_counts: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Counts).decode
_decode_plain_nulls = msgspec.json.Decoder(dict[str, Annotated[int, msgspec.Meta(ge=0)]] | None).decode


def columns(stats: Any) -> list[pl.Series]:
    """`stats_fault`, `num_records`, `has_null_counts_key` and `null_count_fault` of `file_actions`.

    Null counts repeat from file to file, so the largest of each distinct text is remembered.

    Args:
        stats: statistics texts, an Arrow array or chunked array of strings.
    """
    length = len(stats)
    records: list[int | None] = [None] * length
    faults: dict[int, str] = {}
    null_faults: dict[int, str] = {}
    misspelt: list[int] = []
    largest: dict[bytes, int] = {}
    for row, text in enumerate(stats.to_pylist()):
        if text is None:
            continue
        try:
            counts = _decode(text)
            nulls = bytes(counts.null_count)
            most = largest.get(nulls)
            if most is None:
                if len(largest) > _REMEMBERED:
                    largest.clear()
                most = largest[nulls] = _largest(nulls)
            if most and most > (counts.num_records or 0):
                null_faults.update((row, fault) for fault in _null_count_faults(counts, nulls)[:1])
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            faults[row] = _reason(error)
            continue
        records[row] = counts.num_records
        if counts.null_counts != _ABSENT:
            misspelt.append(row)
    return [
        sparse("stats_fault", length, faults),
        pl.Series("num_records", records, dtype=pl.Int64),
        sparse_flags("has_null_counts_key", pl.Series(stats.is_valid()), misspelt),
        sparse("null_count_fault", length, null_faults),
    ]


def _largest(nulls: bytes) -> int:
    """The largest of plain null counts; where they are nested or odd, more than any number of records."""
    if not nulls:
        return 0
    try:
        counts = _decode_plain_nulls(nulls)
    except msgspec.ValidationError:
        return 2**63
    return max(counts.values(), default=0) if counts else 0


def _null_count_faults(counts: _Counts, nulls: bytes) -> list[str]:
    """What the model says of null counts that may be at fault."""
    found = parse_lossless(nulls).value
    if found is not None and not isinstance(found, dict):
        raise StatisticsError("nullCount has the wrong type")
    return find_null_count_faults(Statistics(num_records=counts.num_records, null_count=found))


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

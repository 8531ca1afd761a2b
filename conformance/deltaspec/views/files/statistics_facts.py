"""Statistics columns of `file_actions`. A bad string affects only its own row."""

from typing import Any, NamedTuple

import msgspec
import polars as pl

from deltaspec.protocol.actions import Int64
from deltaspec.protocol.files.statistics import (
    Statistics,
    StatisticsError,
    find_null_columns,
    find_null_count_faults,
    proves_null,
)
from deltaspec.protocol.json_values import MAX_DEPTH, parse_lossless, prune_deep_values, replace_lone_surrogates
from deltaspec.views.files.plain_statistics import encode_paths, find_plain_counts, read_plain_statistics
from deltaspec.views.files.repeated_keys import find_repeated_keys
from deltaspec.wire import arrow_compute as pc

FEWEST_PLAIN = 2_000
"""Rows from which on it is faster to read plain strings in columns than to decode each string."""
_LONG_TEXTS = 1_000
"""Mean length from which on plain strings are decoded too: with many columns, reading them takes much memory."""
_ABSENT = msgspec.Raw()
TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
"""Fault of statistics that may be valid: JSON does not limit the depth. They are read without their deepest values."""


class _Counts(msgspec.Struct, rename="camel", gc=False):
    """The part of a statistics string that rules of level `log` read; bounds are skipped without parsing."""

    num_records: Int64 | None = None
    tight_bounds: bool | None = None
    null_count: msgspec.Raw = _ABSENT
    null_counts: msgspec.Raw = _ABSENT
    min_values: msgspec.Raw = _ABSENT
    max_values: msgspec.Raw = _ABSENT


class _OnlyCounts(_Counts, rename="camel", gc=False, forbid_unknown_fields=True):
    """Statistics with only the keys that the protocol, an example or a proposal defines."""

    stats_with_collation: msgspec.Raw = _ABSENT
    expression_stats: msgspec.Raw = _ABSENT


_decode_known = msgspec.json.Decoder(_OnlyCounts).decode
_decode_any = msgspec.json.Decoder(_Counts).decode
_decode_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_KNOWN_KEYS = frozenset(_OnlyCounts.__struct_encode_fields__)
_Paths = list[tuple[str, ...]]


def columns(stats: Any, deleted_rows: pl.Series) -> list[pl.Series]:
    """Return the columns of `file_actions` that depend on the statistics, and `null_columns`.

    `null_columns` is a JSON list of the paths of the columns that null counts prove to be null in a row; null without
    any.

    Args:
        stats: statistics strings, an Arrow array or chunked array; null without statistics.
        deleted_rows: cardinality of the deletion vector; null without one.
    """
    texts = pc.to_series(stats)
    length, is_known = len(texts), texts.is_not_null()
    if length < FEWEST_PLAIN or _compute_mean_length(texts) > _LONG_TEXTS:
        records, null_columns = _create_nulls(pl.Int64, length), _create_nulls(pl.String, length)
    else:
        records, null_columns = read_plain_statistics(texts, deleted_rows)
    rows = is_known & records.is_null() if records.null_count() < length else is_known
    decoded = _decode_each(*_list_texts(texts, deleted_rows, rows))
    if decoded.records:
        records = records.scatter(list(decoded.records), pl.Series(list(decoded.records.values()), dtype=pl.Int64))
    if decoded.null_columns:
        null_columns = null_columns.zip_with(null_columns.is_not_null(), _share_texts(length, decoded.null_columns))
    return [
        sparse("stats_fault", length, decoded.faults),
        records.alias("num_records"),
        sparse_flags("has_null_counts_key", is_known, decoded.misspelled_rows),
        sparse("unknown_statistics_key", length, decoded.unknown_keys),
        sparse("null_count_fault", length, decoded.null_faults),
        sparse_flags("stats_have_lone_surrogate", is_known, decoded.surrogate_rows),
        null_columns.alias("null_columns"),
        sparse("stats_repeated_key", length, find_repeated_keys(texts)),
    ]


def _list_texts(texts: pl.Series, deleted_rows: pl.Series, rows: pl.Series) -> tuple[list[int], list[str], list[Any]]:
    """Return the selected rows: their numbers, texts and numbers of deleted rows."""
    if rows.all():
        return list(range(len(texts))), texts.to_list(), deleted_rows.to_list()
    numbers = rows.arg_true()
    return numbers.to_list(), texts.gather(numbers).to_list(), deleted_rows.gather(numbers).to_list()


def _compute_mean_length(texts: pl.Series) -> float:
    """Return the mean length in bytes of the strings that are not null."""
    return int(texts.str.len_bytes().cast(pl.Int64).sum()) / max(len(texts) - texts.null_count(), 1)


class _Decoded(NamedTuple):
    """Facts of single strings by row; a row without facts is absent."""

    faults: dict[int, str]
    records: dict[int, int | None]
    misspelled_rows: list[int]
    null_faults: dict[int, str]
    surrogate_rows: list[int]
    null_columns: dict[int, str]
    unknown_keys: dict[int, str]

    def add(self, other: "_Decoded") -> None:
        """Add the facts of other strings."""
        self.faults.update(other.faults)
        self.records.update(other.records)
        self.misspelled_rows.extend(other.misspelled_rows)
        self.null_faults.update(other.null_faults)
        self.surrogate_rows.extend(other.surrogate_rows)
        self.null_columns.update(other.null_columns)
        self.unknown_keys.update(other.unknown_keys)


def _decode(text: str) -> tuple[_Counts, str | None]:
    """Decode statistics. Return them and the first key that is not known.

    Raises:
        StatisticsError: bounds are not an object.
        msgspec.DecodeError: it is not JSON, or a count has the wrong type.
    """
    unknown = None
    try:
        counts: _Counts = _decode_known(text)
    except msgspec.ValidationError:
        counts = _decode_any(text)
        unknown = next((key for key in _decode_keys(text) if key not in _KNOWN_KEYS), None)
    for name, bounds in (("minValues", counts.min_values), ("maxValues", counts.max_values)):
        if bytes(bounds)[:1] not in (b"", b"{", b"n"):
            raise StatisticsError(f"{name} has the wrong type")
    return counts, unknown


def _decode_each(rows: list[int], texts: list[str], deleted_rows: list[int | None]) -> _Decoded:
    decoded = _Decoded({}, {}, [], {}, [], {}, {})
    for row, text, deleted_or_none in zip(rows, texts, deleted_rows, strict=True):
        deleted = deleted_or_none or 0
        try:
            counts, unknown_key = _decode(text)
            if unknown_key is not None:
                decoded.unknown_keys[row] = unknown_key
            nulls = bytes(counts.null_count)
            if positive := find_plain_counts(nulls):
                if not isinstance(positive, bool) and positive.largest <= (counts.num_records or 0):
                    if deleted or counts.tight_bounds is False:
                        encoded = _encode_plain_null_columns(counts, positive.by_name, deleted)
                    else:
                        encoded = positive.encoded_paths
                else:
                    decoded.null_faults.update((row, fault) for fault in _null_count_faults(counts, nulls)[:1])
                    encoded = encode_paths(find_null_columns(_build_statistics(counts, nulls), deleted))
                if encoded:
                    decoded.null_columns[row] = encoded
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            pruned = prune_deep_values(text)
            if pruned != text:
                decoded.add(_decode_each([row], [pruned], [deleted]))
                decoded.faults.setdefault(row, TOO_DEEP)
                continue
            found = _read_with_lone_surrogates(text, deleted)
            if found is None:
                decoded.faults[row] = _reason(error)
                continue
            counts, null_fault, proven = found
            decoded.surrogate_rows.append(row)
            if encoded := encode_paths(proven):
                decoded.null_columns[row] = encoded
            decoded.null_faults.update({} if null_fault is None else {row: null_fault})
        decoded.records[row] = counts.num_records
        if counts.null_counts != _ABSENT:
            decoded.misspelled_rows.append(row)
    return decoded


def _read_with_lone_surrogates(text: str, deleted_rows: int) -> tuple[_Counts, str | None, _Paths] | None:
    """Return the counts of statistics whose only fault are escaped lone surrogates.

    Also return the first fault of the null counts, and the columns that they prove to be null.
    """
    plain = replace_lone_surrogates(text)
    if plain == text:
        return None
    try:
        counts, _ = _decode(plain)
        nulls = bytes(counts.null_count)
        if not nulls:
            return counts, None, []
        statistics = _build_statistics(counts, nulls)
        faults = find_null_count_faults(statistics)
        return counts, faults[0] if faults else None, find_null_columns(statistics, deleted_rows)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None


def _encode_plain_null_columns(counts: _Counts, positive: dict[str, int], deleted_rows: int) -> str:
    """Return what `find_null_columns` returns for flat counts, encoded."""
    is_tight = counts.tight_bounds is not False
    return encode_paths(
        [
            (name,)
            for name, count in positive.items()
            if proves_null(count, counts.num_records, deleted_rows, has_tight_bounds=is_tight)
        ]
    )


def _null_count_faults(counts: _Counts, nulls: bytes) -> list[str]:
    """Return the faults of null counts that the fast path cannot accept."""
    return find_null_count_faults(_build_statistics(counts, nulls))


def _build_statistics(counts: _Counts, nulls: bytes) -> Statistics:
    found = parse_lossless(nulls).value
    if found is not None and not isinstance(found, dict):
        raise StatisticsError("nullCount has the wrong type")
    return Statistics(num_records=counts.num_records, tight_bounds=counts.tight_bounds, null_count=found)


def _share_texts(length: int, texts: dict[int, str]) -> pl.Series:
    """Build a string column that is null except in some rows. Equal texts share their memory."""
    numbers_by_text = {text: number for number, text in enumerate(dict.fromkeys(texts.values()))}
    numbers = _create_nulls(pl.UInt32, length)
    numbers = numbers.scatter(
        list(texts), pl.Series([numbers_by_text[text] for text in texts.values()], dtype=pl.UInt32)
    )
    return pl.Series(list(numbers_by_text), dtype=pl.String).gather(numbers)


def _create_nulls(dtype: Any, length: int) -> pl.Series:
    return pl.Series([None], dtype=dtype).new_from_index(0, length)


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

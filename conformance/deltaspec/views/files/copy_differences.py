"""Compare the two copies of a fact in a checkpoint row: as text and as typed column.

`stats_parsed` and `partitionValues_parsed` repeat `stats` and `partitionValues`. Source: Checkpoints; Checkpoint
Schema; Per-file Statistics; Partition Value Serialization.

Interpretations: the protocol does not require that both copies have the same entries, so an entry that only one copy
has is not a difference. A bound may be truncated in one copy as the footnote describes: a timestamp to milliseconds, a
string to a prefix. From `current` on, statistics without `tightBounds` are tight.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from deltaspec.protocol.files import bounds
from deltaspec.protocol.files.partition_values import (
    PartitionValueError,
    canonicalize_partition_value,
    has_zone,
    parse_partition_value,
)
from deltaspec.protocol.files.statistics import LeafColumn, StatisticsError, get_entry
from deltaspec.protocol.json_values import Number
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive
from deltaspec.protocol.variants.values import Scalar
from deltaspec.views.data import variant_bounds

Object = dict[str, Any]
_NANOSECONDS = 10**6
"""Nanoseconds in a millisecond."""
_TIMESTAMPS = (Primitive("timestamp"), Primitive("timestamp_ntz"))


class CopyDifference(msgspec.Struct, frozen=True):
    """A fact of which a row has two contradicting copies."""

    statistic: str
    """`numRecords`, `tightBounds`, `nullCount`, `minValues` or `maxValues`."""
    column: LeafColumn | None
    """None for a statistic of the complete file."""
    text: str
    """Value in the JSON copy."""
    typed: str
    """Value in the typed copy."""


def iter_differences(
    text: Object, typed: Object, columns: Sequence[LeafColumn], revision: Revision = Revision.CURRENT
) -> Iterator[CopyDifference]:
    """Yield the statistics that differ between two copies.

    Args:
        text: statistics as JSON: dicts, strings, integers, other numbers as `Number`, booleans, None.
        typed: statistics of the typed columns in the same form.
        columns: columns of the table; entries of other columns are ignored.
        revision: protocol revision, which defines statistics without `tightBounds`.
    """
    # [Changed in current] missing tightBounds means true
    default = True if revision.since(Revision.CURRENT) else None
    for name, is_same in FILE_STATISTICS.items():
        one, other = text.get(name), typed.get(name)
        if name == "tightBounds":
            one, other = (_get_flag(copy, default) for copy in (text, typed))
        if one is not None and other is not None and not is_same(one, other):
            yield CopyDifference(name, None, _spell(text.get(name)), _spell(typed.get(name)))
    for name, is_same_entry in COLUMN_STATISTICS.items():
        here, there = text.get(name), typed.get(name)
        if not isinstance(here, dict) or not isinstance(there, dict) or here == there:
            continue
        for column in columns:
            if here.get(column.path[0]) == there.get(column.path[0]):
                continue
            try:
                one, other = get_entry(here, column), get_entry(there, column)
            except StatisticsError:  # a rule of level `rows` reports it
                continue
            if one is not None and other is not None and one != other and not is_same_entry(one, other, column.type):
                yield CopyDifference(name, column, _spell(one), _spell(other))


def has_more_entries(typed: Object, text: Object) -> bool:
    """Return whether the typed copy has entries that the JSON copy does not have."""
    for name, value in typed.items():
        present = text.get(name)
        if present is None or (
            isinstance(value, dict) and isinstance(present, dict) and has_more_entries(value, present)
        ):
            return True
    return False


def merge_copies(text: Object, typed: Object) -> dict[str, Any]:
    """Return the entries of the JSON copy, and the entries that only the typed copy has."""
    merged = dict(text)
    for name, value in typed.items():
        present = merged.get(name)
        if present is None:
            merged[name] = value
        elif isinstance(present, dict) and isinstance(value, dict):
            merged[name] = merge_copies(present, value)
    return merged


def _get_flag(copy: Object, default: bool | None) -> Any:
    """Return `tightBounds`; the default if it is missing and the copy has statistics that it applies to."""
    flag = copy.get("tightBounds")
    return default if flag is None and any(copy.get(name) for name in COLUMN_STATISTICS) else flag


def _spell(value: Any) -> str:
    if value is None:
        return "missing"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_same_count(one: Any, other: Any, _: DataType | None = None) -> bool:
    """Compare counts; another rule reports values that are not counts."""
    counts = [value for value in (one, other) if isinstance(value, int) and not isinstance(value, bool)]
    return len(counts) < 2 or counts[0] == counts[1]


def _is_same_flag(one: Any, other: Any) -> bool:
    return one is other or not (isinstance(one, bool) and isinstance(other, bool))


def _is_same_bound(one: Any, other: Any, data_type: DataType, *, is_maximum: bool) -> bool:
    """Compare bounds as values; another rule reports bounds that are not values of the type."""
    compare = BOUNDS.get(_family(data_type))
    if compare is None:
        return True
    if data_type == Primitive("variant"):
        return compare(one, other, is_maximum)
    if data_type in _TIMESTAMPS and _is_same_iso_moment(one, other):
        return True
    first, second = (bounds.read_bound(_as_number(value), data_type) for value in (one, other))
    if first.value is None or second.value is None or (first.is_nan and second.is_nan):
        return True
    return compare(first.value, second.value, is_maximum)


def _is_same_iso_moment(one: Any, other: Any) -> bool:
    """Return whether two usual timestamps are equal; most copies are, in another time zone."""
    try:
        return datetime.fromisoformat(one) == datetime.fromisoformat(other)
    except (TypeError, ValueError):
        return False


def _as_number(value: Any) -> Any:
    return Number(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _family(data_type: DataType) -> str:
    if isinstance(data_type, Decimal):
        return "decimal"
    return data_type.name if isinstance(data_type, Primitive) else ""


def _is_equal(one: Any, other: Any, _: bool) -> bool:
    return bool(one == other)


def _is_same_double(one: float, other: float, _: bool) -> bool:
    """Return whether the values are equal, or one is a float and the other the shortest text of that float.

    The text of the bounds of a float column stays when the column is widened.
    """
    if one == other:
        return True
    floats = {_round_to_float(value) for value in (one, other)}
    return len(floats) == 1 and not floats.isdisjoint((one, other))


def _round_to_float(value: float) -> float | None:
    """Return the nearest 32-bit float; None above their range."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return None


def _is_same_millisecond(one: int, other: int, _: bool, unit: int = bounds.MILLISECOND) -> bool:
    """Return whether the values are equal, or one is the other truncated to milliseconds of `unit` units."""
    truncated = {value - value % unit for value in (one, other)}
    return one == other or (len(truncated) == 1 and not truncated.isdisjoint((one, other)))


def _is_same_prefix(one: str, other: str, is_maximum: bool) -> bool:
    """Return whether the values are equal, or one is a truncation of the other."""
    return any(
        short == long or bounds.is_truncated(short, long) or (is_maximum and _is_incremented_truncation(short, long))
        for short, long in ((one, other), (other, one))
    )


def _is_incremented_truncation(short: str, long: str) -> bool:
    """Return whether a maximum is a truncation that was incremented; an increment without truncation is not."""
    is_shorter = len(short) < len(long) or short[-1:] >= bounds.TIE_BREAKER
    return is_shorter and bounds.is_incremented_truncation(short, long)


def _is_same_variant(one: Any, other: Any, is_maximum: bool) -> bool:
    """Compare the bounds of the paths that both copies have; another rule reports unreadable bounds."""
    try:
        first, second = variant_bounds.read_variant_bound(one), variant_bounds.read_variant_bound(other)
    except variant_bounds.VariantBoundError:
        return True
    return all(_is_same_scalar(first[path], second[path], is_maximum) for path in first.keys() & second.keys())


def _is_same_scalar(one: Scalar, other: Scalar, is_maximum: bool) -> bool:
    if one.kind != other.kind:
        return False
    match one.kind:
        case "string":
            return _is_same_prefix(one.value.decode(), other.value.decode(), is_maximum)
        case "timestamp" | "timestamp_ntz":
            return _is_same_millisecond(one.value, other.value, is_maximum, _NANOSECONDS)
    return bool(one.value == other.value) or (one.value != one.value and other.value != other.value)


FILE_STATISTICS: dict[str, Callable[[Any, Any], bool]] = {
    "numRecords": _is_same_count,
    "tightBounds": _is_same_flag,
}
"""Statistics of a complete file, with the comparison of two values."""
COLUMN_STATISTICS: dict[str, Callable[[Any, Any, DataType], bool]] = {
    "minValues": lambda one, other, kind: _is_same_bound(one, other, kind, is_maximum=False),
    "maxValues": lambda one, other, kind: _is_same_bound(one, other, kind, is_maximum=True),
    "nullCount": _is_same_count,
}
"""Statistics of a column, with the comparison of two entries of a type."""
BOUNDS: dict[str, Callable[[Any, Any, bool], bool]] = {
    "byte": _is_equal,
    "short": _is_equal,
    "integer": _is_equal,
    "long": _is_equal,
    "float": _is_equal,
    "double": _is_same_double,
    "decimal": _is_equal,
    "boolean": _is_equal,
    "date": _is_equal,
    "timestamp": _is_same_millisecond,
    "timestamp_ntz": _is_same_millisecond,
    "string": _is_same_prefix,
    "variant": _is_same_variant,
}
"""Types whose bounds are compared, with the comparison of two values; its last argument marks a maximum."""


def is_same_partition_value(text: str | None, typed: Any, data_type: DataType) -> bool:
    """Return whether both copies of a partition value may be equal.

    A timestamp without a time zone is local time of its writer, so the typed value may differ by a UTC offset.

    Args:
        text: value of `partitionValues`; null and the empty string are SQL NULL.
        typed: JSON value of the typed column, numbers as in `iter_differences`; binary has one character per byte.
        data_type: type of the partition column.
    """
    family = _family(data_type)
    if family not in PARTITION_VALUES:
        return True
    spelled = None if typed is None else _spell(typed)
    if not text or not spelled:
        return not text and not spelled
    return PARTITION_VALUES[family](text, spelled, data_type)


def _has_same_canonical_text(text: str, typed: str, data_type: DataType) -> bool:
    """Compare values; another rule reports text that is not a value of the type."""
    try:
        parse_partition_value(text, data_type)
        parse_partition_value(typed, data_type)
    except PartitionValueError:
        return True
    return canonicalize_partition_value(text, data_type) == canonicalize_partition_value(typed, data_type)


def _is_same_moment(text: str, typed: str, data_type: DataType) -> bool:
    try:
        stated, stored = parse_partition_value(text, data_type), parse_partition_value(typed, data_type)
    except PartitionValueError:
        return True
    return stated == stored or (not has_zone(text) and _is_utc_offset(stated - stored, stored))


_HOUR_US = 3600 * 10**6
_EASTERNMOST_US, _WESTERNMOST_US = 16 * _HOUR_US, -16 * _HOUR_US
"""Local mean time reached beyond today's offsets, +14 and -12 hours, when the date line was elsewhere."""
_QUARTERS_SINCE_US = 2 * 365 * 24 * _HOUR_US
"""1972: since then every offset is a multiple of 15 minutes; before, of a second."""


def _is_utc_offset(difference_us: int, moment_us: int) -> bool:
    unit = _HOUR_US // 4 if moment_us >= _QUARTERS_SINCE_US else 10**6
    return difference_us % unit == 0 and _WESTERNMOST_US <= difference_us <= _EASTERNMOST_US


def _has_same_bytes(text: str, typed: str, _: DataType) -> bool:
    """Return whether the characters of the text are the bytes, or their UTF-8 is (the protocol does not say which)."""
    return text == typed or text.encode(errors="surrogatepass") == typed.encode("latin-1", errors="replace")


PARTITION_VALUES: dict[str, Callable[[str, str, DataType], bool]] = {
    "byte": _has_same_canonical_text,
    "short": _has_same_canonical_text,
    "integer": _has_same_canonical_text,
    "long": _has_same_canonical_text,
    "float": _has_same_canonical_text,
    "double": _has_same_canonical_text,
    "decimal": _has_same_canonical_text,
    "boolean": _has_same_canonical_text,
    "date": _has_same_canonical_text,
    "timestamp": _is_same_moment,
    "timestamp_ntz": _has_same_canonical_text,
    "string": _has_same_canonical_text,
    "binary": _has_same_bytes,
}
"""Types whose partition values are compared, with the comparison of text and typed value."""

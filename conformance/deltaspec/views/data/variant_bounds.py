"""Bounds of a variant column: one variant with a bound for each path. Source: Statistics for Variant Columns.

In JSON a bound is the variant's metadata followed by its value, in Z85. The protocol's example has them in reverse
order, and its length is not valid Z85 (E18). Input that matches the example is ambiguous, not a fault.
"""

import re
from typing import Any

import msgspec

from deltaspec.protocol.files import z85
from deltaspec.protocol.files.bounds import is_incremented_truncation, is_truncated
from deltaspec.protocol.variants.encoding import (
    VariantError,
    VariantUndecided,
    check_value,
    find_end,
    is_array,
    is_object,
    read_value,
    split_metadata,
)
from deltaspec.protocol.variants.values import FRACTIONS, MOMENTS, STRING, Scalar, Value, get_kind

_PLAIN = r"[^\x00-\x1f'\\\ud800-\udfff]"
_ESCAPE = r"\\(?:[bfnrt'\\]|u00[01][0-9a-f])"
_NORMALIZED_PATH = re.compile(rf"\$(?:\['(?:{_PLAIN}|{_ESCAPE})*'\]|\[(?:0|[1-9]\d*)\])*")
"""RFC 9535, 2.7: names in single quotes, indexes in brackets. Control characters other than \\b \\t \\n \\f \\r are
escaped by number.
"""
_MILLISECOND = 10**6


class VariantBoundError(ValueError):
    """Text that is not a bound of a variant column."""


class AmbiguousVariantBound(VariantBoundError):
    """Text that does not follow the protocol's description, but may follow its example (E18)."""


def read_variant_bound(text: Any) -> dict[str, Scalar]:
    """Return the bound of each path.

    Raises:
        AmbiguousVariantBound: The text is not Z85, or the value precedes its metadata.
        VariantBoundError: The text is not a string with a variant object, a path is not normalized, or a bound is
            nested.
    """
    if type(text) is not str:
        raise VariantBoundError("is not a string")
    try:
        data = z85.decode(text)
    except z85.Z85Error as fault:
        raise AmbiguousVariantBound(str(fault)) from fault
    try:
        return check_paths(_read(data))
    except (VariantError, VariantUndecided) as fault:
        if _has_value_first(data):
            raise AmbiguousVariantBound("has the value before the metadata") from None
        raise VariantBoundError(str(fault)) from fault


def _read(data: bytes) -> Value:
    """Decode metadata, a value, and the padding that Z85 needs."""
    names, start = split_metadata(data)
    value = data[start : find_end(data, start)]
    check_value(value, names)
    return read_value(value, names)


def check_paths(found: Value) -> dict[str, Scalar]:
    """Return the bounds in a variant. Raise `VariantBoundError` if they are not an object of scalars by path."""
    if not isinstance(found, dict):
        raise VariantBoundError(f"is not an object but {get_kind(found)}")
    bounds: dict[str, Scalar] = {}
    for path, bound in found.items():
        if not _NORMALIZED_PATH.fullmatch(path):
            raise VariantBoundError(f"{path[:80]!r} is not a normalized path")
        if not isinstance(bound, Scalar):
            raise VariantBoundError(f"{path[:80]} has {get_kind(bound)} as a bound")
        bounds[path] = bound
    return bounds


def find_type_mismatches(minimum: dict[str, Scalar], maximum: dict[str, Scalar]) -> list[str]:
    """Describe the paths whose bounds have two types. A path may occur in only one of the bounds."""
    both = sorted(minimum.keys() & maximum.keys())
    return [
        f"{path}: minimum is {minimum[path].kind}, maximum is {maximum[path].kind}"
        for path in both
        if minimum[path].kind != maximum[path].kind
    ]


def _has_value_first(data: bytes) -> bool:
    """Return whether a value is followed by metadata."""
    try:
        length = find_end(data, 0)
        split_metadata(data[length:])
    except (VariantError, VariantUndecided):
        return False
    return is_object(data) or is_array(data)


# bounds and data


class PathValues(msgspec.Struct):
    """The values at one path in the rows of a file. Missing and null values do not count."""

    kinds: set[str] = msgspec.field(default_factory=set)
    """Of all rows, including deleted ones."""
    minimum: Scalar | None = None
    """Smallest scalar of a valid row, except NaN."""
    maximum: Scalar | None = None
    has_nan: bool = False

    def add(self, value: Value | None, *, valid: bool) -> None:
        """Add the value of a row; `valid`: the row is not deleted."""
        if value is None:
            return
        self.kinds.add(get_kind(value))
        if not valid or not isinstance(value, Scalar) or len(self.kinds) > 1:
            return
        if value.kind in FRACTIONS and value.value != value.value:
            self.has_nan = True
            return
        if self.minimum is None or value.value < self.minimum.value:
            self.minimum = value
        if self.maximum is None or value.value > self.maximum.value:
            self.maximum = value


def find_contradiction(minimum: Scalar | None, maximum: Scalar | None, values: PathValues) -> str | None:
    """Describe how the bounds of a path exclude a value at the path; None if they do not.

    A path whose values or bounds have several types has no order, so its bounds are not compared.
    """
    if len(values.kinds) != 1 or (minimum is not None and maximum is not None and minimum.kind != maximum.kind):
        return None
    (kind,) = values.kinds
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound is not None and bound.kind not in (kind, "null"):
            return f"{name} is {bound.kind}, the values are {kind}"
    low, high = _pair(minimum, values.minimum), _pair(maximum, values.maximum)
    if low is not None and low[0].value > low[1].value:
        return f"minimum {low[0]}, smallest value {low[1]}"
    if high is not None and not _covers(*high):
        return f"maximum {high[0]}, largest value {high[1]}"
    return None


def find_loose_bound(minimum: Scalar | None, maximum: Scalar | None, values: PathValues) -> str | None:
    """Describe a bound that is not tight; None if all are, apart from truncated strings and timestamps (E50).

    NaN may be the largest value (S12), so data with NaN has no loose maximum.
    """
    if len(values.kinds) != 1:
        return None
    low, high = _pair(minimum, values.minimum), _pair(maximum, values.maximum)
    if low is not None and not _is_near(*low):
        return f"minimum {low[0]}, smallest value {low[1]}"
    if high is None or values.has_nan or _is_near(*high) or _is_incremented(*high):
        return None
    return f"maximum {high[0]}, largest value {high[1]}"


def _pair(bound: Scalar | None, value: Scalar | None) -> tuple[Scalar, Scalar] | None:
    """Return bound and value if they can be compared."""
    is_ordered = bound is not None and value is not None and bound.kind == value.kind and bound.value == bound.value
    return (bound, value) if bound is not None and value is not None and is_ordered else None


def _is_incremented(bound: Scalar, value: Scalar) -> bool:
    return bound.kind == STRING and is_incremented_truncation(bound.value.decode(), value.value.decode())


def _covers(bound: Scalar, value: Scalar) -> bool:
    """Return whether a maximum covers a value, if it may have been truncated (E50)."""
    if bound.kind == STRING and is_truncated(bound.value.decode(), value.value.decode()):
        return True
    if bound.kind in MOMENTS and bound.value % _MILLISECOND == 0:
        return bool(value.value < bound.value + _MILLISECOND)
    return bool(value.value <= bound.value)


def _is_near(bound: Scalar, value: Scalar) -> bool:
    """Return whether a bound is the value or its truncation."""
    if bound.kind == STRING:
        return bool(bound.value == value.value) or is_truncated(bound.value.decode(), value.value.decode())
    if bound.kind in MOMENTS:
        return bool(abs(bound.value - value.value) < _MILLISECOND)
    return bool(bound.value == value.value)

"""Bounds in statistics, and how they may relate to the data. Source: Per-file Statistics.

Interpretations: the protocol only says that bounds mirror the schema (S12). A bound that is not a value of the column's
type is a fault where JSON has such values (numbers, strings). Unreadable dates, timestamps, booleans and binary values
only give a warning. A footnote truncates strings to a prefix and timestamps to milliseconds, although the table above
it does not allow that (E50). Both are accepted as bounds of the original value.
"""

import math
import re
from typing import Any

import msgspec

from deltaspec.protocol.files import ordering
from deltaspec.protocol.json_values import Number
from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Decimal, Primitive, get_type_name

_ZONED = re.compile(r".+[ T]\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?(Z|[+-]\d{2}:?\d{2}(:\d{2})?)", re.ASCII)
_UTC = re.compile(r".*(Z|[+-]00:?00)", re.ASCII)
MILLISECOND = 1000
TIE_BREAKER = "\x7f"
"""A truncated maximum ends with this character or a higher one; some writers increment the last kept character."""
_SURROGATES = range(0xD800, 0xE000)


class Bound(msgspec.Struct, frozen=True):
    """One bound from the statistics."""

    text: str
    """As the statistics spell it."""
    value: Any = None
    """Value from `ordering.parse_lexeme`, NaN included; None if it is unreadable or ambiguous."""
    fault: str | None = None
    """Why it cannot be a value of the column's type."""
    warning: str | None = None
    """Why readers may interpret it differently; the protocol does not define its form."""

    @property
    def is_nan(self) -> bool:
        return isinstance(self.value, float) and math.isnan(self.value)


def read_bound(value: Any, data_type: DataType) -> Bound:
    """Read a bound from its JSON value: a string, a `Number` or a boolean. See `variant_bounds` for variants."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    match data_type:
        case Primitive(name) if name in INTEGER_BITS:
            return _number(value, text, data_type)
        case Primitive("float" | "double") | Decimal():
            return _number(value, text, data_type)
        case Primitive("string"):
            if type(value) is not str:
                return Bound(text, fault=f"{text[:80]} is not a string")
            return _decoded(text, data_type, None)
        case Primitive("boolean"):
            found = _decoded(text, data_type, None if isinstance(value, bool) else "a boolean in another form")
            return Bound(text, warning="a boolean in another form") if found.fault else found
        case Primitive("date"):
            found = _decoded(text, data_type, None)
            return Bound(text, warning="a date in another form") if found.fault or type(value) is not str else found
        case Primitive("timestamp" | "timestamp_ntz" as name):
            if type(value) is not str:
                return Bound(text, warning="a timestamp in another form")
            return _timestamp(text, data_type, zoned=name == "timestamp")
        case Primitive("binary"):
            return Bound(text, warning="the protocol defines no form for binary")
    return Bound(text)


def _decoded(text: str, data_type: DataType, warning: str | None) -> Bound:
    try:
        return Bound(text, ordering.parse_lexeme(text, data_type), warning=warning)
    except ordering.LexemeError as fault:
        return Bound(text, fault=str(fault))


def _number(value: Any, text: str, data_type: DataType) -> Bound:
    """Read a number. JSON has no NaN or infinities, which are strings; decimals may be strings to avoid rounding."""
    if isinstance(value, bool):
        return Bound(text, fault=f"{text} is not of type {get_type_name(data_type)}")
    may_be_text = isinstance(data_type, Decimal) or text in ("NaN", "Infinity", "-Infinity")
    found = _decoded(text, data_type, None if isinstance(value, Number) or may_be_text else "a number as a string")
    if (
        isinstance(data_type, Decimal)
        and found.value
        and found.value.adjusted() >= data_type.precision - data_type.scale
    ):
        return Bound(text, fault=f"{text[:80]} has too many digits for {get_type_name(data_type)}")
    return found


def _timestamp(text: str, data_type: DataType, *, zoned: bool) -> Bound:
    """Read a timestamp. With a zone it is one instant; without, it is only a value of timestamp_ntz."""
    found = _decoded(text, data_type, None)
    if found.fault:
        return Bound(text, warning="a timestamp in another form")
    has_zone = _ZONED.fullmatch(text) is not None
    if zoned and not has_zone:
        return Bound(text, warning="a timestamp without zone")
    if has_zone and not zoned:
        value = found.value if _UTC.fullmatch(text) else None
        return Bound(text, value, warning="a timestamp without time zone has a zone")
    return found


def is_truncated(bound: str, value: str) -> bool:
    """Return whether a bound is a truncation of a value: a proper prefix that is not empty."""
    return bound != "" and bound != value and value.startswith(bound)


def is_incremented_truncation(bound: str, value: str) -> bool:
    """Return whether a bound is a prefix plus a tie-breaker, or a prefix with its last character incremented."""
    common = 0
    while common < min(len(bound), len(value)) and bound[common] == value[common]:
        common += 1
    if common == len(value) or len(bound) != common + 1:
        return False
    last = bound[common]
    return last > value[common] and ((common > 0 and last >= TIE_BREAKER) or last == _next(value[common]))


def _next(character: str) -> str | None:
    """Return the next code point that is not a surrogate; None after the last one."""
    code = ord(character) + 1
    code = _SURROGATES.stop if code in _SURROGATES else code
    return chr(code) if code < 0x110000 else None


def is_tight_minimum(bound: Any, value: Any, data_type: DataType) -> bool:
    """Return whether a bound is the smallest value, or its truncation for strings and timestamps."""
    match data_type:
        case Primitive("string"):
            return bool(bound == value) or is_truncated(bound, value)
        case Primitive("timestamp" | "timestamp_ntz"):
            return bool(abs(bound - value) < MILLISECOND)
    return bool(bound == value)


def is_tight_maximum(bound: Any, value: Any, data_type: DataType) -> bool:
    """Return whether a bound is the largest value, or its truncation or increment."""
    return is_tight_minimum(bound, value, data_type) or (
        data_type == Primitive("string") and is_incremented_truncation(bound, value)
    )


def compute_upper_limit(bound: Any, data_type: DataType) -> Any:
    """Return the largest value within a maximum; a timestamp in whole milliseconds may have been truncated."""
    match data_type:
        case Primitive("timestamp" | "timestamp_ntz") if bound % MILLISECOND == 0:
            return min(bound + MILLISECOND - 1, 2**63 - 1)
    return bound


def is_finer_than_milliseconds(bound: Bound, data_type: DataType) -> bool:
    """Return whether a timestamp bound has digits below milliseconds, which the footnote truncates."""
    is_timestamp = data_type in (Primitive("timestamp"), Primitive("timestamp_ntz"))
    return is_timestamp and bound.value is not None and bound.value % MILLISECOND != 0

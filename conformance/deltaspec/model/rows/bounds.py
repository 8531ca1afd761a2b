"""Bounds of a column as statistics claim them, and what they may be beside the data. Source: Per-file Statistics.

Readings: the text says no more of the form of bounds than that they mirror the schema (S12). So a bound that is no
value of its column's type is at fault where JSON itself has such values (numbers, strings); of dates, timestamps,
booleans and binary what cannot be read is odd. A footnote has strings cut to a prefix and timestamps cut down to
milliseconds, which the table above it does not allow for (E50): both are taken for bounds of what they were cut from.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from deltaspec.model.json_values import Number
from deltaspec.model.rows import ordering
from deltaspec.model.schema.data_types import DataType, Decimal, Primitive, get_type_name

_INTEGERS = ("byte", "short", "integer", "long")
_ZONED = re.compile(r".+[ T]\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?(Z|[+-]\d{2}:?\d{2}(:\d{2})?)", re.ASCII)
_UTC = re.compile(r".*(Z|[+-]00:?00)", re.ASCII)
MILLISECOND = 1000
_TIE_BREAKER = "\x7f"
"""What a cut maximum ends with, or a character above it; some writers raise the last character that they keep."""
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True)
class Bound:
    """One claimed bound."""

    text: str
    """As the statistics spell it."""
    value: Any = None
    """As `ordering.decode` gives it, NaN included; None if it cannot be read, or may mean more than one value."""
    fault: str | None = None
    """Why it is no value of the column's type, under any reading."""
    warning: str | None = None
    """What the text gives no form for, and readers may take differently."""

    @property
    def is_nan(self) -> bool:
        return isinstance(self.value, float) and math.isnan(self.value)


def read_bound(value: Any, kind: DataType) -> Bound:
    """A bound from its JSON value: a string, a `Number` or a boolean. Variants are read by `variant_bounds`."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    match kind:
        case Primitive(name) if name in _INTEGERS:
            return _number(value, text, kind)
        case Primitive("float" | "double") | Decimal():
            return _number(value, text, kind)
        case Primitive("string"):
            if type(value) is not str:
                return Bound(text, fault=f"{text[:80]} is no string")
            return _decoded(text, kind, None)
        case Primitive("boolean"):
            found = _decoded(text, kind, None if isinstance(value, bool) else "a boolean in another form")
            return Bound(text, warning="a boolean in another form") if found.fault else found
        case Primitive("date"):
            found = _decoded(text, kind, None)
            return Bound(text, warning="a date in another form") if found.fault or type(value) is not str else found
        case Primitive("timestamp" | "timestamp_ntz" as name):
            if type(value) is not str:
                return Bound(text, warning="a timestamp in another form")
            return _timestamp(text, kind, zoned=name == "timestamp")
        case Primitive("binary"):
            return Bound(text, warning="the text gives no form for binary")
    return Bound(text)


def _decoded(text: str, kind: DataType, warning: str | None) -> Bound:
    try:
        return Bound(text, ordering.decode(text, kind), warning=warning)
    except ordering.LexemeError as fault:
        return Bound(text, fault=str(fault))


def _number(value: Any, text: str, kind: DataType) -> Bound:
    """JSON has no NaN nor infinities, which stand as strings; decimals may, so that no reader rounds them."""
    if isinstance(value, bool):
        return Bound(text, fault=f"{text} is no {get_type_name(kind)}")
    may_be_text = isinstance(kind, Decimal) or text in ("NaN", "Infinity", "-Infinity")
    return _decoded(text, kind, None if isinstance(value, Number) or may_be_text else "a number as a string")


def _timestamp(text: str, kind: DataType, *, zoned: bool) -> Bound:
    """With a zone it is one moment; without, it is what a timestamp without time zone holds, and nothing else does."""
    found = _decoded(text, kind, None)
    if found.fault:
        return Bound(text, warning="a timestamp in another form")
    has_zone = _ZONED.fullmatch(text) is not None
    if zoned and not has_zone:
        return Bound(text, warning="a timestamp without zone")
    if has_zone and not zoned:
        value = found.value if _UTC.fullmatch(text) else None
        return Bound(text, value, warning="a timestamp without time zone has a zone")
    return found


def is_truncated(claimed: str, held: str) -> bool:
    """Whether a string is what a cut leaves of another: a prefix, not empty and not the whole."""
    return claimed != "" and claimed != held and held.startswith(claimed)


def is_incremented_truncation(claimed: str, held: str) -> bool:
    """Whether a string is a prefix of another and then a tie-breaker, or a prefix whose last character was raised."""
    common = 0
    while common < min(len(claimed), len(held)) and claimed[common] == held[common]:
        common += 1
    if common == len(held) or len(claimed) != common + 1:
        return False
    last = claimed[common]
    return last > held[common] and ((common > 0 and last >= _TIE_BREAKER) or last == _next(held[common]))


def _next(character: str) -> str | None:
    """The code point after one; none after the last, and surrogates are none."""
    code = ord(character) + 1
    code = _SURROGATES.stop if code in _SURROGATES else code
    return chr(code) if code < 0x110000 else None


def is_tight_minimum(claimed: Any, held: Any, kind: DataType) -> bool:
    """Whether a claimed minimum is the smallest value held, or what the cut of strings and timestamps leaves of it."""
    match kind:
        case Primitive("string"):
            return bool(claimed == held) or is_truncated(claimed, held)
        case Primitive("timestamp" | "timestamp_ntz"):
            return bool(abs(claimed - held) < MILLISECOND)
    return bool(claimed == held)


def is_tight_maximum(claimed: Any, held: Any, kind: DataType) -> bool:
    """Whether a claimed maximum is the largest value held, or what a cut leaves or makes of it."""
    return is_tight_minimum(claimed, held, kind) or (
        kind == Primitive("string") and is_incremented_truncation(claimed, held)
    )


def compute_upper_limit(claimed: Any, kind: DataType) -> Any:
    """The largest value that a claimed maximum bounds: a timestamp of whole milliseconds may have been cut down."""
    match kind:
        case Primitive("timestamp" | "timestamp_ntz") if claimed % MILLISECOND == 0:
            return min(claimed + MILLISECOND - 1, 2**63 - 1)
    return claimed


def is_finer_than_milliseconds(bound: Bound, kind: DataType) -> bool:
    """Whether a timestamp bound has digits that the footnote has cut off."""
    is_timestamp = kind in (Primitive("timestamp"), Primitive("timestamp_ntz"))
    return is_timestamp and bound.value is not None and bound.value % MILLISECOND != 0

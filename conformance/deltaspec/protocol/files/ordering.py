"""Total order of values of a type, as binary keys. Source: Per-file Statistics.

A lexeme is a value as statistics spell it: numbers in digits, `NaN` and `Infinity` as words, booleans as `true` and
`false`, dates and timestamps in ISO 8601, strings unchanged. In binary lexemes, bytes that are not UTF-8 are the
characters U+DC80 to U+DCFF. Values from data files and from statistics are compared in this form.

Interpretations: the protocol does not define the order of bounds (S12). Floats are compared by value, so -0.0 equals
0.0 and NaN has no order. Strings and binary are compared by unsigned bytes, dates and timestamps in the proleptic
Gregorian calendar.
"""

import math
import re
import struct
from decimal import Decimal as Exact
from typing import Any

from deltaspec.protocol.files import partition_values
from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Decimal, Primitive, get_type_name

_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,5})?", re.ASCII)
_SECONDS_OF_ZONE = re.compile(r"(.*[+-]\d{2}:\d{2}):(\d{2})", re.ASCII)


class LexemeError(ValueError):
    """A lexeme that is not a value of the type, or a type without an order."""


def parse_lexeme(lexeme: str, data_type: DataType) -> Any:
    """Parse a lexeme; a timestamp without zone counts as UTC.

    Returns:
        int, float (rounded to 32 bits for type float), `decimal.Decimal`, bool, str or bytes. Dates are days and
        timestamps are microseconds since the epoch, with finer digits truncated.

    Raises:
        LexemeError: The lexeme is not a value of the type, or the type is nested, void or variant.
    """
    match data_type:
        case Primitive(name) if name in INTEGER_BITS:
            return _integer(lexeme, INTEGER_BITS[name], name)
        case Decimal():
            return _exact(lexeme)
        case Primitive("string"):
            _utf8(lexeme)
            return lexeme
        case Primitive("binary"):
            try:
                return lexeme.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as fault:
                raise LexemeError("binary contains a character that is neither text nor a byte") from fault
        case Primitive("float" | "double" | "boolean"):
            return _parsed(lexeme, data_type)
        case Primitive("date"):
            return _within(_parsed(lexeme, data_type), 32, lexeme)
        case Primitive("timestamp" | "timestamp_ntz"):
            return _timestamp(lexeme, data_type)
    raise LexemeError(f"{get_type_name(data_type)} has no order")


def format_lexeme(value: Any, data_type: DataType) -> str:
    """Format a value so that `parse_lexeme` reads it back.

    Raises:
        LexemeError: The type has no lexemes.
    """
    match data_type:
        case Primitive("string"):
            return str(value)
        case Primitive("binary"):
            return bytes(value).decode("utf-8", "surrogateescape")
        case Decimal():
            number = Exact(value)
            return format(number, "f") if abs(number.adjusted()) < 100 else str(number)
        case Primitive("timestamp"):
            return partition_values.serialize_partition_value(value, data_type) or ""
        case Primitive("timestamp_ntz"):
            return (partition_values.serialize_partition_value(value, Primitive("timestamp")) or "").removesuffix("Z")
        case Primitive(name) if name in INTEGER_BITS or name in ("float", "double", "boolean", "date"):
            return partition_values.serialize_partition_value(value, data_type) or ""
    raise LexemeError(f"{get_type_name(data_type)} has no order")


def compute_order_key(value: Any, data_type: DataType) -> bytes | None:
    """Return the order key of a value from `parse_lexeme`; None for NaN."""
    match value:
        case bool():
            return bytes([value])
        case int():
            return (value + 2**63).to_bytes(8, "big")
        case float():
            return None if math.isnan(value) else _float_key(value)
        case Exact():
            return _decimal_key(value)
        case str():
            return _utf8(value)
        case bytes():
            return value
    raise LexemeError(f"{get_type_name(data_type)} has no order")


def _parsed(lexeme: str, data_type: DataType) -> Any:
    """Parse like a partition value, but reject the empty string, which would be null."""
    if lexeme == "":
        raise LexemeError(f"an empty string is not of type {get_type_name(data_type)}")
    try:
        return partition_values.parse_partition_value(lexeme, data_type)
    except partition_values.PartitionValueError as fault:
        raise LexemeError(str(fault)) from fault


def _exact(lexeme: str) -> Exact:
    """Parse a number with any number of digits: a bound that went through a double may have too many for its type."""
    if not _NUMBER.fullmatch(lexeme):
        raise LexemeError(f"{lexeme[:80]!r} is not a number")
    return Exact(lexeme)


def _integer(lexeme: str, bits: int, name: str) -> int:
    """Parse an integer, also spelled as `1.0` or `1e3`."""
    number = _exact(lexeme)
    if number and (number.adjusted() > 20 or number != number.to_integral_value()):
        raise LexemeError(f"{lexeme[:80]!r} is not of type {name}")
    return _within(int(number), bits, lexeme)


def _within(number: int, bits: int, lexeme: str) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise LexemeError(f"{lexeme[:80]!r} does not fit {bits} bits")
    return number


def _timestamp(lexeme: str, data_type: DataType) -> int:
    """Parse a timestamp; zones may have seconds, as historical local times do."""
    seconds = 0
    if match := _SECONDS_OF_ZONE.fullmatch(lexeme):
        lexeme, seconds = match[1], int(match[2])
        seconds = -seconds if lexeme[-6] == "+" else seconds
    return _within(_parsed(lexeme, data_type) + seconds * 10**6, 64, lexeme)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as fault:
        raise LexemeError("a character is a lone surrogate") from fault


def _float_key(value: float) -> bytes:
    """Return IEEE bits that sort numerically: sign bit set if positive, all bits inverted if negative."""
    bits = int.from_bytes(struct.pack(">d", value + 0.0), "big")
    bits = bits ^ (2**64 - 1) if bits >> 63 else bits | 1 << 63
    return bits.to_bytes(8, "big")


def _decimal_key(value: Exact) -> bytes:
    """Return sign, exponent and digits without trailing zeros; for negative numbers, all but the sign is inverted."""
    if not value:
        return b"\x01"
    digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
    size = (value.adjusted() + 2**31).to_bytes(4, "big") + bytes(int(digit) + 1 for digit in digits) + b"\0"
    return b"\0" + bytes(255 - each for each in size) if value < 0 else b"\x02" + size

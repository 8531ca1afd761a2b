"""One order for values of every type: binary keys that compare as the values do. Source: Per-file Statistics.

A lexeme is the text of a value as statistics spell it: numbers in digits, `NaN` and `Infinity` as words, booleans as
`true` and `false`, dates and timestamps as in ISO 8601, strings as themselves. Binary is text whose characters beyond
UTF-8 are single bytes, U+DC80 to U+DCFF. What a table holds and what its statistics claim meet in this form.

Readings: the text does not say how bounds are ordered (S12). Floats are compared by value, so that -0.0 equals 0.0, and
NaN has no place; strings and binary by their bytes, unsigned; dates and timestamps in the proleptic Gregorian calendar.
"""

import math
import re
import struct
from decimal import Decimal as Exact
from typing import Any

from deltaspec.model.schema import partition_values
from deltaspec.model.schema.data_types import DataType, Decimal, Primitive, get_type_name

_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,5})?", re.ASCII)
_SECONDS_OF_ZONE = re.compile(r"(.*[+-]\d{2}:\d{2}):(\d{2})", re.ASCII)


class LexemeError(ValueError):
    """A text that is no value of the type, or a type whose values have no order."""


def decode(lexeme: str, kind: DataType) -> Any:
    """The value that a lexeme stands for; a timestamp without zone counts as UTC.

    Returns:
        int, float (of type float: rounded to 32 bits), `decimal.Decimal`, bool, str, bytes; dates as days and
        timestamps as microseconds since the epoch, finer digits cut off.

    Raises:
        LexemeError: the type cannot hold it, or is nested, void or a variant.
    """
    match kind:
        case Primitive(name) if name in _BITS:
            return _integer(lexeme, _BITS[name], name)
        case Decimal():
            return _exact(lexeme)
        case Primitive("string"):
            _utf8(lexeme)
            return lexeme
        case Primitive("binary"):
            try:
                return lexeme.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as fault:
                raise LexemeError("a character of binary is neither text nor a byte") from fault
        case Primitive("float" | "double" | "boolean"):
            return _parsed(lexeme, kind)
        case Primitive("date"):
            return _within(_parsed(lexeme, kind), 32, lexeme)
        case Primitive("timestamp" | "timestamp_ntz"):
            return _timestamp(lexeme, kind)
    raise LexemeError(f"{get_type_name(kind)} has no order")


def encode(value: Any, kind: DataType) -> str:
    """The lexeme of a value, which `decode` reads back; values are as `decode` gives them.

    Raises:
        LexemeError: the type has no lexemes.
    """
    match kind:
        case Primitive("string"):
            return str(value)
        case Primitive("binary"):
            return bytes(value).decode("utf-8", "surrogateescape")
        case Decimal():
            number = Exact(value)
            return format(number, "f") if abs(number.adjusted()) < 100 else str(number)
        case Primitive("timestamp"):
            return partition_values.serialize_partition_value(value, kind) or ""
        case Primitive("timestamp_ntz"):
            return (partition_values.serialize_partition_value(value, Primitive("timestamp")) or "").removesuffix("Z")
        case Primitive(name) if name in _BITS or name in ("float", "double", "boolean", "date"):
            return partition_values.serialize_partition_value(value, kind) or ""
    raise LexemeError(f"{get_type_name(kind)} has no order")


def build_order_key(lexeme: str, kind: DataType) -> bytes | None:
    """Bytes that compare, unsigned, as the values of a type do, and are equal for equal values; None for NaN.

    Keys of one type compare with each other, keys of different types say nothing of each other.

    Raises:
        LexemeError: the type cannot hold it, or has no order.
    """
    return compute_order_key(decode(lexeme, kind), kind)


def compute_order_key(value: Any, kind: DataType) -> bytes | None:
    """The order key of a value as `decode` gives it; None for NaN."""
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
    raise LexemeError(f"{get_type_name(kind)} has no order")


def _parsed(lexeme: str, kind: DataType) -> Any:
    """As partition values are read; there an empty text stands for null, which is no value."""
    if lexeme == "":
        raise LexemeError(f"an empty text is no {get_type_name(kind)}")
    try:
        return partition_values.parse_partition_value(lexeme, kind)
    except partition_values.PartitionValueError as fault:
        raise LexemeError(str(fault)) from fault


def _exact(lexeme: str) -> Exact:
    """Any digits: a bound that went through a double may have more of them than its type."""
    if not _NUMBER.fullmatch(lexeme):
        raise LexemeError(f"{lexeme[:80]!r} is no number")
    return Exact(lexeme)


def _integer(lexeme: str, bits: int, name: str) -> int:
    """Also as `1.0` or `1e3`: a number that is whole is an integer, however it is written."""
    number = _exact(lexeme)
    if number and (number.adjusted() > 20 or number != number.to_integral_value()):
        raise LexemeError(f"{lexeme[:80]!r} is no {name}")
    return _within(int(number), bits, lexeme)


def _within(number: int, bits: int, lexeme: str) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise LexemeError(f"{lexeme[:80]!r} does not fit {bits} bits")
    return number


def _timestamp(lexeme: str, kind: DataType) -> int:
    """Zones may have seconds, as local times before the railways do."""
    seconds = 0
    if match := _SECONDS_OF_ZONE.fullmatch(lexeme):
        lexeme, seconds = match[1], int(match[2])
        seconds = -seconds if lexeme[-6] == "+" else seconds
    return _within(_parsed(lexeme, kind) + seconds * 10**6, 64, lexeme)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as fault:
        raise LexemeError("a character is half of a surrogate pair") from fault


def _float_key(value: float) -> bytes:
    """IEEE bits sort as numbers do once the sign bit of what is not negative is set, and all of a negative turned."""
    bits = int.from_bytes(struct.pack(">d", value + 0.0), "big")
    bits = bits ^ (2**64 - 1) if bits >> 63 else bits | 1 << 63
    return bits.to_bytes(8, "big")


def _decimal_key(value: Exact) -> bytes:
    """Sign, place of the first digit, digits without zeros at the end; of a negative, all but the sign turned."""
    if not value:
        return b"\x01"
    digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
    size = (value.adjusted() + 2**31).to_bytes(4, "big") + bytes(int(digit) + 1 for digit in digits) + b"\0"
    return b"\0" + bytes(255 - each for each in size) if value < 0 else b"\x02" + size

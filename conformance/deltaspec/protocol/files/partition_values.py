"""Serialized partition values. Source: Partition Value Serialization.

Interpretations: null and the empty string both mean SQL NULL (S10). Numbers and booleans are parsed leniently; a
spelling that differs from the protocol's is not canonical (S11). See `Deviation` for dates, timestamps and binary.
"""

import math
import re
import struct
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Context
from decimal import Decimal as Exact
from typing import Any, Literal, TypeAlias

from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Decimal, Primitive, get_type_name

_WIDE = Context(prec=1000)
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,5})?[fFdD]?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,5})?", re.ASCII)
_DATE = re.compile(r"([+-]?\d{1,9})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIMESTAMP = re.compile(
    r"([+-]?\d{1,9}-\d{1,2}-\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)
_DAYS_OF_400_YEARS = 146097
_EPOCH = date(1970, 1, 1).toordinal()


class PartitionValueError(ValueError):
    """Text that cannot be parsed as the column's type, or a value that cannot be serialized."""


def parse_partition_value(text: str | None, data_type: DataType) -> Any:
    """Parse a partition value; None means SQL NULL.

    A timestamp without zone counts as UTC: the protocol leaves it to the zone of the system that wrote it.

    Returns:
        int, float (rounded to 32 bits for type float), `decimal.Decimal`, bool, str or bytes. Dates are days and
        timestamps are microseconds since the epoch. Types for which the protocol defines no serialization return the
        text itself.

    Raises:
        PartitionValueError: The text is not a value of the type.
    """
    if text is None or text == "":
        return None
    match data_type:
        case Primitive(name) if name in INTEGER_BITS:
            return _integer(text, INTEGER_BITS[name], name)
        case Primitive("float" | "double" as name):
            return _float(text, name)
        case Decimal(precision, scale):
            return _decimal(text, precision, scale)
        case Primitive("boolean"):
            if text.lower() not in ("true", "false"):
                raise PartitionValueError(f"{text!r} is not a boolean")
            return text.lower() == "true"
        case Primitive("date"):
            return _days(text)
        case Primitive("timestamp" | "timestamp_ntz"):
            return _microseconds(text)
        case Primitive("binary"):
            return text.encode(errors="surrogatepass")
        case Primitive("void"):
            raise PartitionValueError(f"{text!r} is not null, the only value of void")
    return text


def _integer(text: str, bits: int, name: str) -> int:
    if not _INTEGER.fullmatch(text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise PartitionValueError(f"{text!r} is not of type {name}")
    return int(text)


def _float(text: str, name: str) -> float:
    if _SPECIAL.fullmatch(text):
        return float(text)
    if not _FLOAT.fullmatch(text):
        raise PartitionValueError(f"{text!r} is not of type {name}")
    value = float(text.rstrip("fFdD"))
    return _single(value) if name == "float" else value


def _single(value: float) -> float:
    """Round to the nearest 32-bit float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _decimal(text: str, precision: int, scale: int) -> Exact:
    if not _DECIMAL.fullmatch(text):
        raise PartitionValueError(f"{text!r} is not a decimal")
    value = Exact(text)
    if value and (value.adjusted() > precision - scale - 1 or value.adjusted() < -scale):
        raise PartitionValueError(f"{text!r} is not of type decimal({precision},{scale})")
    if value and value.normalize(_WIDE).as_tuple().exponent < -scale:  # type: ignore[operator]
        raise PartitionValueError(f"{text!r} has more than {scale} digits after the decimal point")
    return value


def _days(text: str) -> int:
    match = _DATE.fullmatch(text)
    if not match:
        raise PartitionValueError(f"{text!r} is not a date")
    return _days_of(int(match[1]), int(match[2]), int(match[3]), text)


def _days_of(year: int, month: int, day: int, text: str) -> int:
    """Return days since the epoch in the proleptic Gregorian calendar, also for years beyond Python's range."""
    cycle = (year - 1) // 400
    try:
        here = date(year - 400 * cycle, month, day)
    except ValueError as fault:
        raise PartitionValueError(f"{text!r} is not a date: {fault}") from fault
    return here.toordinal() - _EPOCH + cycle * _DAYS_OF_400_YEARS


def _microseconds(text: str) -> int:
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise PartitionValueError(f"{text!r} is not a timestamp")
    day, hour, minute, second, fraction, zone = match.groups()
    if hour is not None and (int(hour) > 23 or int(minute) > 59 or int(second) > 59):
        raise PartitionValueError(f"{text!r} is not a timestamp")
    of_day = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)
    micros = int(((fraction or "") + "000000")[:6])
    offset = 0
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        if int(digits[:2]) > 18 or int(digits[2:]) > 59:
            raise PartitionValueError(f"{text!r} has an invalid time zone")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * (-1 if zone[0] == "-" else 1)
    return (_days(day) * 86400 + of_day - offset) * 10**6 + micros


_CANONICAL = {
    "boolean": re.compile(r"true|false"),
    "date": re.compile(r"[+-]?\d{4,9}-\d{2}-\d{2}", re.ASCII),
    "timestamp": re.compile(r"[+-]?\d{4,9}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?", re.ASCII),
    "timestamp_ntz": re.compile(r"[+-]?\d{4,9}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?", re.ASCII),
}
_ISO_8601_UTC = re.compile(r"[+-]?\d{4,9}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z", re.ASCII)
_UNPADDED = re.compile(r"[+-]?\d{1,9}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}(\.\d{1,6})?", re.ASCII)
_ISO_8601_OFFSET_0 = re.compile(r"[+-]?\d{4,9}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?[+-]00:?00", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
_CANONICAL_SPECIAL = ("NaN", "Infinity", "-Infinity")
"""As Java spells them (S11: the protocol defines no spelling)."""
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9]\d*", re.ASCII)


def find_changed_value(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> str | None:
    """Return the first column, in sort order, that both maps name with values that differ; None without one."""
    return next((name for name in sorted(before.keys() & after.keys()) if _differ(before[name], after[name])), None)


def _differ(first: str | None, second: str | None) -> bool:
    """Return whether two texts are different values, whatever type a column may have had when they were written.

    A timestamp without time zone may be any with one, because the zone of its writer is not known.
    """
    if first == second or not first or not second:
        return (first or None) != (second or None)
    for kind in _TYPES_OF_SPELLINGS:
        try:
            values = parse_partition_value(first, kind), parse_partition_value(second, kind)
        except PartitionValueError:
            continue
        if repr(values[0]) == repr(values[1]) or has_zone(first) != has_zone(second):
            return False
        if kind == _LONG:  # the other numeric types round integers
            return True
    return True


_LONG = Primitive("long")
_TYPES_OF_SPELLINGS = (_LONG, Primitive("float"), Primitive("boolean"), Primitive("timestamp"))
"""Types that have several spellings of a value. Decimals and doubles are compared as floats."""


def is_canonical(text: str | None, data_type: DataType, revision: Revision = Revision.CURRENT) -> bool:
    """Return whether a valid value is spelled as the chapter shows values of its type.

    Every fractional and decimal number is canonical: the protocol only requires the string representation of the
    number.
    """
    name = get_type_name(data_type)
    if text is None or text == "":
        return True
    if name in INTEGER_BITS:
        return _CANONICAL_INTEGER.fullmatch(text) is not None
    # [Changed in current] timestamps may be ISO 8601 adjusted to UTC
    if name == "timestamp" and revision.since(Revision.CURRENT) and _ISO_8601_UTC.fullmatch(text):
        return True
    if name in ("float", "double") and _SPECIAL.fullmatch(text):
        return text in _CANONICAL_SPECIAL
    return name not in _CANONICAL or _CANONICAL[name].fullmatch(text) is not None


Deviation: TypeAlias = Literal["lenient", "ambiguous", "high bytes", "undefined"]
"""How the spelling of a valid value deviates from the protocol:

- lenient: a number or boolean that engines parse (S11);
- ambiguous: a date or timestamp with numbers that are not padded, or an offset of zero instead of `Z` (S61);
- high bytes: binary with characters above U+007F, which are bytes or UTF-8 (S67);
- undefined: a timestamp in a form that the protocol does not have.
"""


def find_deviation(text: str | None, data_type: DataType, earlier: Sequence[DataType] = ()) -> Deviation | None:
    """Return how the spelling of a valid value deviates from the protocol; None if it does not.

    Args:
        text: The value, which can be parsed as the type.
        data_type: Type of the column.
        earlier: Types that the column had before it was widened; values may stay as they were written.
    """
    if text and data_type == Primitive("binary") and not text.isascii():
        return "high bytes"
    if any(is_canonical(text, each) for each in (data_type, *earlier)) or text is None:
        return None
    match data_type:
        case Primitive("date"):
            return "ambiguous"
        case Primitive("timestamp" | "timestamp_ntz" as name):
            forms = (_UNPADDED, _ISO_8601_OFFSET_0) if name == "timestamp" else (_UNPADDED,)
            return "ambiguous" if any(each.fullmatch(text) for each in forms) else "undefined"
    return "lenient"


def is_in_utc(text: str) -> bool:
    """Return whether a timestamp is in ISO 8601, adjusted to UTC, which only the newest revision
    defines.
    """
    return _ISO_8601_UTC.fullmatch(text) is not None


def has_zone(text: str) -> bool:
    """Return whether a timestamp states its time zone, so that it does not depend on the writer's zone."""
    match = _TIMESTAMP.fullmatch(text)
    return match is not None and match[6] is not None


def canonicalize_partition_value(text: str | None, data_type: DataType) -> str | None:
    """Return the same text for all equal values of the type; None for SQL NULL. Invalid text is unchanged."""
    try:
        value = parse_partition_value(text, data_type)
    except PartitionValueError:
        return text
    if value is None:
        return None
    if isinstance(value, Exact):
        return format(value.normalize(_WIDE), "f") if value else "0"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode(errors="surrogatepass")
    if isinstance(value, float):
        return repr(value + 0.0)
    return str(value)


def serialize_partition_value(value: Any, data_type: DataType) -> str | None:
    """Serialize a value so that `parse_partition_value` reads it back; None for SQL NULL.

    Dates are days and timestamps microseconds since the epoch; timestamps are written in ISO 8601 with `Z`. The empty
    string and empty binary cannot be represented: their text reads back as SQL NULL.

    Raises:
        PartitionValueError: The value is binary but not UTF-8, or a decimal with more digits than the type has.
    """
    if value is None:
        return None
    match data_type:
        case Primitive("boolean"):
            return str(value).lower()
        case Primitive("date"):
            return _date_text(value)
        case Primitive("timestamp"):
            return _timestamp_text(value, "T") + "Z"
        case Primitive("timestamp_ntz"):
            return _timestamp_text(value, " ")
        case Primitive("binary"):
            return _binary_text(value)
        case Primitive("float" | "double" as name):
            return _float_text(value, name)
        case Decimal():
            return _decimal_text(Exact(value), data_type)
    return str(value)


def _date_text(days: int) -> str:
    """Format days since the epoch; years beyond 9999 have a sign, as Java writes them."""
    cycle = (days + _EPOCH - 1) // _DAYS_OF_400_YEARS
    here = date.fromordinal(days + _EPOCH - cycle * _DAYS_OF_400_YEARS)
    year = here.year + 400 * cycle
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{here.month:02d}-{here.day:02d}"


def _timestamp_text(microseconds: int, between: str) -> str:
    seconds, fraction = divmod(microseconds, 10**6)
    days, of_day = divmod(seconds, 86400)
    time = f"{of_day // 3600:02d}:{of_day // 60 % 60:02d}:{of_day % 60:02d}.{fraction:06d}"
    return f"{_date_text(days)}{between}{time}"


def _binary_text(value: Any) -> str:
    try:
        return bytes(value).decode()
    except UnicodeDecodeError as fault:
        raise PartitionValueError(f"{bytes(value)!r} is not UTF-8") from fault


def _float_text(value: float, name: str) -> str:
    """Return the shortest digits that read back; NaN and infinities as Java spells them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if name == "float":
        for digits in range(1, 10):
            shorter = float(f"{value:.{digits}g}")
            if _single(shorter) == value:
                return repr(shorter)
    return repr(float(value))


def _decimal_text(value: Exact, data_type: Decimal) -> str:
    """Format with the complete scale of the type and without an exponent."""
    if value.is_finite() and value.adjusted() < data_type.precision:
        text = format(value.quantize(Exact(1).scaleb(-data_type.scale), context=_WIDE), "f")
        if _decimal(text, data_type.precision, data_type.scale) == value:
            return text
    raise PartitionValueError(f"{value} is not of type decimal({data_type.precision},{data_type.scale})")

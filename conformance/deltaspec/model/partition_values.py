"""Partition values as text. Source: Partition Value Serialization.

Readings: null and the empty string both are SQL NULL (S10); numbers and booleans are read leniently, what is not
spelled as the text shows is not canonical (S11).
"""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Context, InvalidOperation
from decimal import Decimal as Exact
from typing import Any

from deltaspec.model.data_types import DataType, Decimal, Primitive, name_of

_WIDE = Context(prec=80)
_INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,5})?[fFdD]?", re.ASCII)
_DATE = re.compile(r"([+-]?\d{4,9})-(\d{2})-(\d{2})", re.ASCII)
_TIMESTAMP = re.compile(
    r"([+-]?\d{4,9}-\d{2}-\d{2})(?:[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII
)


class PartitionValueError(ValueError):
    """A text that no reading takes for a value of the column's type."""


def parse(text: str | None, kind: DataType) -> Any:
    """The value a text stands for; None for SQL NULL.

    Returns:
        int, float, `decimal.Decimal`, bool, str, bytes; dates as days and timestamps as microseconds since the epoch.

    Raises:
        PartitionValueError: the type cannot hold it.
    """
    if text is None or text == "":
        return None
    match kind:
        case Primitive(name) if name in _INTEGERS:
            return _integer(text, _INTEGERS[name], name)
        case Primitive("float" | "double" as name):
            return _float(text, name)
        case Decimal(precision, scale):
            return _decimal(text, precision, scale)
        case Primitive("boolean"):
            if text.lower() not in ("true", "false"):
                raise PartitionValueError(f"{text!r} is no boolean")
            return text.lower() == "true"
        case Primitive("date"):
            return _days(text)
        case Primitive("timestamp" | "timestamp_ntz"):
            return _microseconds(text)
        case Primitive("binary"):
            return text.encode()
        case Primitive("string"):
            return text
    return text


def _integer(text: str, bits: int, name: str) -> int:
    if not _INTEGER.fullmatch(text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise PartitionValueError(f"{text!r} is no {name}")
    return int(text)


def _float(text: str, name: str) -> float:
    special = {"NaN": "nan", "Infinity": "inf", "+Infinity": "inf", "-Infinity": "-inf"}
    if text in special:
        return float(special[text])
    if not _FLOAT.fullmatch(text):
        raise PartitionValueError(f"{text!r} is no {name}")
    return float(text.rstrip("fFdD"))


def _decimal(text: str, precision: int, scale: int) -> Exact:
    try:
        value = Exact(text)
    except InvalidOperation as fault:
        raise PartitionValueError(f"{text!r} is no decimal") from fault
    if not value.is_finite() or (value and (value.adjusted() > precision - scale - 1 or value.adjusted() < -40)):
        raise PartitionValueError(f"{text!r} is no decimal({precision},{scale})")
    if value and value.normalize(_WIDE).as_tuple().exponent < -scale:  # type: ignore[operator]
        raise PartitionValueError(f"{text!r} has more than {scale} digits behind the point")
    return value


def _days(text: str) -> int:
    match = _DATE.fullmatch(text)
    if not match:
        raise PartitionValueError(f"{text!r} is no date")
    return _days_of(int(match[1]), int(match[2]), int(match[3]), text)


def _days_of(year: int, month: int, day: int, text: str) -> int:
    """Days since the epoch in the proleptic Gregorian calendar, beyond the years that Python knows."""
    cycle = (year - 1) // 400
    try:
        here = date(year - 400 * cycle, month, day)
    except ValueError as fault:
        raise PartitionValueError(f"{text!r} is no date: {fault}") from fault
    return here.toordinal() - date(1970, 1, 1).toordinal() + cycle * 146097


def _microseconds(text: str) -> int:
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise PartitionValueError(f"{text!r} is no timestamp")
    day, hour, minute, second, fraction, zone = match.groups()
    if hour is None and zone:
        raise PartitionValueError(f"{text!r} is no timestamp")
    if hour is not None and (int(hour) > 23 or int(minute) > 59 or int(second) > 59):
        raise PartitionValueError(f"{text!r} is no timestamp")
    of_day = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)
    micros = int(((fraction or "") + "000000")[:6])
    offset = 0
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * (-1 if zone[0] == "-" else 1)
    return (_days(day) * 86400 + of_day - offset) * 10**6 + micros


_CANONICAL = {
    "boolean": re.compile(r"true|false"),
    "date": re.compile(r"[+-]?\d{4,9}-\d{2}-\d{2}", re.ASCII),
    "timestamp": re.compile(
        r"[+-]?\d{4,9}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?|T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z)", re.ASCII
    ),
    "timestamp_ntz": re.compile(r"[+-]?\d{4,9}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?", re.ASCII),
}
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9]\d*", re.ASCII)


def is_canonical(text: str | None, kind: DataType) -> bool:
    """Whether a readable text is spelled as the chapter shows values of its type. [Changed in current: ISO 8601]"""
    name = name_of(kind)
    if text is None or text == "":
        return True
    if name in _INTEGERS:
        return _CANONICAL_INTEGER.fullmatch(text) is not None
    return name not in _CANONICAL or _CANONICAL[name].fullmatch(text) is not None


def canonical(text: str | None, kind: DataType) -> str | None:
    """A text that is equal for equal values of the type; None for SQL NULL; an unreadable text stands for itself."""
    try:
        value = parse(text, kind)
    except PartitionValueError:
        return text
    if value is None:
        return None
    if isinstance(value, Exact):
        return format(value.normalize(_WIDE), "f") if value else "0"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return repr(value + 0.0)
    return str(value)


def serialize(value: Any, kind: DataType) -> str | None:
    """The text of a value in the form that `parse` reads back; None for SQL NULL.

    Dates are days and timestamps microseconds since the epoch; timestamps are written in ISO 8601 with `Z`.
    """
    if value is None:
        return None
    match kind:
        case Primitive("boolean"):
            return str(value).lower()
        case Primitive("date"):
            return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
        case Primitive("timestamp"):
            return _moment(value).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
        case Primitive("timestamp_ntz"):
            return _moment(value).strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
        case Primitive("binary"):
            return bytes(value).decode()
        case Primitive("float" | "double"):
            return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
        case Decimal(_, scale):
            return format(Exact(value).quantize(Exact(1).scaleb(-scale), context=_WIDE), "f")
    return str(value)


def _moment(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)

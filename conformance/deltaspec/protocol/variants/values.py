"""Values of variants, independent of how they are encoded. Source: the variant encoding of Parquet, which Variant data
in Parquet (current) refers to.

Values are equal if their equivalence class and their value are: an integer equals a decimal, however wide they are.
"""

import math
import re
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

NUMBER, NULL, STRING, OBJECT, ARRAY = "exact number", "null", "string", "object", "array"
FRACTIONS = ("float", "double")
MOMENTS = ("timestamp", "timestamp_ntz")

_STEP = re.compile(r"\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(u[0-9a-f]{4}|.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
Step = str | int


class Scalar(msgspec.Struct, frozen=True):
    """A value that is neither object nor array."""

    kind: str
    """Equivalence class: null, boolean, exact number, float, double, date, timestamp, timestamp_ntz, time, binary,
    string or uuid.
    """
    value: Any
    """int or `Decimal` for exact numbers, bytes for strings, binaries and UUIDs, days for dates, nanoseconds since the
    epoch for timestamps, microseconds for times; None for null.
    """

    def __str__(self) -> str:
        if isinstance(self.value, bytes):
            return self.value.hex() if self.kind != STRING else repr(self.value.decode(errors="backslashreplace"))
        return str(self.value).lower() if isinstance(self.value, bool) else f"{self.value}"


Value: TypeAlias = Scalar | dict[str, "Value"] | list["Value"]
MISSING = Scalar(NULL, None)
"""A variant null, which is also what readers return for a missing value where one is required."""


def get_kind(value: Value) -> str:
    """Return the equivalence class of a scalar, `object` or `array`."""
    match value:
        case dict():
            return OBJECT
        case list():
            return ARRAY
    return value.kind


def parse_steps(path: str) -> tuple[Step, ...]:
    """Return the names and indexes of a normalized path."""
    return tuple(int(match[2]) if match[2] else _ESCAPED.sub(_plain, match[1]) for match in _STEP.finditer(path))


def _plain(match: re.Match[str]) -> str:
    text = match[1]
    return chr(int(text[1:], 16)) if len(text) == 5 else _LETTERS.get(text, text)


def find_at(value: Value, wanted: tuple[Step, ...]) -> Value | None:
    """Return the value at a path; None if it is missing or null."""
    for step in wanted:
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                return None
    return None if value == MISSING else value


def serialize_value(value: Value) -> bytes:
    """Return bytes that are equal for equal values, and different for others. NaNs are equal, and so are zeros."""
    return b"".join(_serialize(value))


def _serialize(value: Value) -> Iterator[bytes]:
    match value:
        case dict():
            yield _tagged(OBJECT, len(value))
            for name in sorted(value):
                encoded = name.encode(errors="surrogatepass")
                yield _tagged("name", len(encoded))
                yield encoded
                yield from _serialize(value[name])
        case list():
            yield _tagged(ARRAY, len(value))
            for each in value:
                yield from _serialize(each)
        case Scalar(kind, content):
            encoded = _serialize_scalar(kind, content)
            yield _tagged(kind, len(encoded))
            yield encoded


def _tagged(tag: str, length: int) -> bytes:
    return f"{tag}:{length};".encode()


def _serialize_scalar(kind: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if kind in FRACTIONS:
        return b"NaN" if math.isnan(value) else struct.pack("<d", value + 0.0)
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        significant = "".join(map(str, digits)).rstrip("0")
        if not significant:
            return b"0"
        exponent = int(exponent) + len(digits) - len(significant)
        return f"{'-' * value.is_signed()}{significant}e{exponent}".encode()
    return _serialize_scalar(kind, Decimal(value)) if kind == NUMBER else repr(value).encode()

"""Compare partition columns that a data file stores with the partition value in the log.

Readings: a timestamp without a zone may be in any zone; the empty string means null (S10); binary is UTF-8 text, or
escaped as in the protocol (S11).
"""

import re
import struct
from typing import Any

import pyarrow as pa

from deltaspec.protocol.files.partition_values import (
    PartitionValueError,
    has_zone,
    parse_partition_value,
    serialize_partition_value,
)
from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive
from deltaspec.protocol.time_units import DAY_US
from deltaspec.wire.data.column_resolution import is_text
from deltaspec.wire.data.leaf_aggregates import find_conversion, to_python_value

_MAX_ZONE_OFFSET = 18 * 3600 * 10**6
"""Largest offset of a time zone from UTC, in microseconds."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


class PartitionValueComparison:
    """Expected value of one partition column in every row of a file, from the log."""

    def __init__(self, data_type: DataType, text: str | None) -> None:
        self.kind = data_type
        self.text = text
        self._expected: Any = None
        self.is_comparable = isinstance(data_type, Decimal) or (
            isinstance(data_type, Primitive) and data_type.name != "variant"
        )
        """Whether the protocol defines the format of the type, and the value is valid."""
        try:
            self._expected = parse_partition_value(text, data_type) if self.is_comparable else None
        except PartitionValueError:  # other rules report it, at level log
            self.is_comparable = False

    def differences(self, array: pa.Array) -> list[tuple[int, str | None]]:
        """Return positions in an array with another value, each with that value as text."""
        blocked_reason, _ = find_conversion(self.kind, array.type)
        if blocked_reason is not None:
            return []  # other rules report it, at level footers
        if is_text(array.type):
            array = array.cast(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())
        encoded = array.dictionary_encode()
        values = [to_python_value(each) for each in encoded.dictionary]
        single = pa.types.is_float32(array.type)
        wrong = {place: self._format(value) for place, value in enumerate(values) if not self._equals(value, single)}
        null_is_wrong = self._expected is not None and array.null_count > 0
        if not wrong and not null_is_wrong:
            return []
        found: list[tuple[int, str | None]] = []
        for place, code in enumerate(encoded.indices.to_pylist()):
            if code in wrong:
                found.append((place, wrong[code]))
            elif code is None and null_is_wrong:
                found.append((place, "null"))
        return found

    def _equals(self, value: Any, single: bool) -> bool:
        """Return whether a stored value is the expected one; `single` if it is stored as a 32-bit float."""
        expected = self._expected
        if value is None or expected is None:
            return bool(value in (None, b""))
        match self.kind:
            case Primitive("timestamp") if self.text is not None and not has_zone(self.text):
                return bool(abs(int(value) - expected) <= _MAX_ZONE_OFFSET)
            case Primitive("string"):
                return bool(value == expected.encode(errors="surrogatepass"))
            case Primitive("binary"):
                is_same_text = value.decode(errors="replace") == self.text
                return bool(is_same_text or value in (expected, _unescape(str(self.text))))
            case Primitive("timestamp_ntz"):
                return expected in (value, value * DAY_US)
            case Primitive("float" | "double"):
                return bool(value == expected or (value != value and expected != expected)) or (
                    single and value == _to_single_precision(expected)
                )
        return bool(value == expected)

    def _format(self, value: Any) -> str:
        if isinstance(value, bytes):
            return value.decode(errors="backslashreplace")
        try:
            return str(serialize_partition_value(value, self.kind))
        except (PartitionValueError, ValueError, ArithmeticError):
            return str(value)


def _unescape(text: str) -> bytes:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text).encode("latin-1", "replace")


def _to_single_precision(value: float) -> float | None:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return None

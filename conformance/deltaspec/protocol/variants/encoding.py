"""The two binaries of a variant. Source: Variant data in Parquet (current), and the variant encoding of Parquet that it
refers to.

Checks do not recurse, and read every byte once, so hostile input is cheap.
"""

import struct
from collections.abc import Callable
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec

from deltaspec.protocol.variants.values import NULL, NUMBER, STRING, Scalar, Value

VERSION = 1
_MAX_SCALE = 38
_MAX_DEPTH = 200
_SHORT, _OBJECT, _ARRAY = 1, 2, 3
"""Basic types; 0 is a primitive."""
_NANOSECONDS = 1000


class VariantError(ValueError):
    """Bytes that are not a variant."""


class VariantUndecided(ValueError):
    """Bytes that a newer encoding may allow, or that are nested too deeply to compare."""


class FieldNames(msgspec.Struct, frozen=True, dict=True):
    """The dictionary in the metadata."""

    names: tuple[str, ...]

    @cached_property
    def known(self) -> frozenset[str]:
        """The names as a set."""
        return frozenset(self.names)


def read_metadata(data: bytes) -> FieldNames:
    """Read the field names of a variant. Raise `VariantError` if the bytes are not metadata and nothing else."""
    names, length = split_metadata(data)
    if length != len(data):
        raise VariantError(f"field names end at byte {length} of {len(data)} in metadata")
    return names


def split_metadata(data: bytes) -> tuple[FieldNames, int]:
    """Read the field names at the begin of the bytes, and return them with the length of the metadata."""
    header = _at(data, 0, 1)
    if header & 15 != VERSION:
        raise VariantError(f"metadata of version {header & 15}, expected {VERSION}")
    if header & 1 << 5:
        raise VariantError("the unused bit of the metadata header is set")
    width = (header >> 6) + 1
    count = _at(data, 1, width)
    first = 1 + width * (count + 2)
    if first > len(data):
        raise VariantError(f"metadata of {len(data)} bytes is truncated before the offsets of {count} names")
    offsets = [_at(data, 1 + width * (index + 1), width) for index in range(count + 1)]
    if offsets[0] != 0 or any(start > end for start, end in pairwise(offsets)):
        raise VariantError("offsets of field names are not ascending from 0")
    if first + offsets[-1] > len(data):
        raise VariantError("field names exceed the metadata")
    encoded = [data[first + start : first + end] for start, end in pairwise(offsets)]
    try:
        names = tuple(each.decode() for each in encoded)
    except UnicodeDecodeError as fault:
        raise VariantError("a field name is not UTF-8") from fault
    if header >> 4 & 1 and not (_is_ascending(encoded) or _is_ascending([each.encode("utf-16-be") for each in names])):
        raise VariantError("field names are marked as sorted but are not")
    return FieldNames(names), first + offsets[-1]


def check_value(data: bytes, names: FieldNames) -> None:
    """Check a complete value.

    Raises:
        VariantError: The bytes are not a value, or refer to missing field names.
        VariantUndecided: A newer encoding may allow them.
    """
    end = find_end(data, 0)
    if end != len(data):
        raise VariantError(f"the value ends at byte {end} of {len(data)}")
    waiting = [0]
    while waiting:
        waiting += _check_one(data, waiting.pop(), names)


def find_end(data: bytes, start: int) -> int:
    """Return the end of the value at a position, as its header states it. Raise as `check_value`."""
    header = _at(data, start, 1)
    kind, detail = header & 3, header >> 2
    if kind == 0:
        end = start + 1 + _primitive_width(data, start, detail)
    elif kind == _SHORT:
        end = start + 1 + detail
    else:
        end = _container(data, start).end
    if end > len(data):
        raise VariantError(f"the {'string' if kind == _SHORT else 'value'} at byte {start} is truncated")
    return end


def is_object(data: bytes) -> bool:
    """Return whether a value is an object."""
    return data[:1] != b"" and data[0] & 3 == _OBJECT


def is_array(data: bytes) -> bool:
    """Return whether a value is an array."""
    return data[:1] != b"" and data[0] & 3 == _ARRAY


def read_members(data: bytes, names: FieldNames) -> frozenset[str] | None:
    """Return the field names of a valid value that is an object; None for any other value."""
    if not is_object(data):
        return None
    return frozenset(names.names[number] for number in _container(data, 0).ids(data) if number < len(names.names))


def read_value(data: bytes, names: FieldNames, start: int = 0, depth: int = 0) -> Value:
    """Decode a valid value. Raise `VariantUndecided` if it is nested too deeply."""
    header = data[start]
    kind, detail = header & 3, header >> 2
    if kind == 0:
        return _read_primitive(data, start + 1, detail)
    if kind == _SHORT:
        return Scalar(STRING, data[start + 1 : start + 1 + detail])
    if depth > _MAX_DEPTH:
        raise VariantUndecided(f"a value is nested more than {_MAX_DEPTH} levels deep")
    found = _container(data, start)
    parts = [read_value(data, names, part, depth + 1) for part in found.parts(data)]
    if kind == _ARRAY:
        return parts
    return {names.names[number]: part for number, part in zip(found.ids(data), parts, strict=True)}


# objects and arrays


class _Container(msgspec.Struct, frozen=True):
    """Positions of an object or array."""

    count: int
    first_id: int
    id_width: int
    """0 for an array."""
    first_offset: int
    offset_width: int
    first: int
    """Position of the first part."""
    end: int

    def ids(self, data: bytes) -> list[int]:
        return [_at(data, self.first_id + index * self.id_width, self.id_width) for index in range(self.count)]

    def parts(self, data: bytes) -> list[int]:
        """Return the positions of the parts."""
        width = self.offset_width
        return [self.first + _at(data, self.first_offset + index * width, width) for index in range(self.count)]


def _container(data: bytes, start: int) -> _Container:
    header = data[start]
    detail = header >> 2
    offset_width = (detail & 3) + 1
    if header & 3 == _OBJECT:
        id_width, is_large, unused = (detail >> 2 & 3) + 1, detail >> 4 & 1, detail >> 5
    else:
        id_width, is_large, unused = 0, detail >> 2 & 1, detail >> 3
    if unused:
        raise VariantError(f"unused bits of the header at byte {start} are set")
    count_width = 4 if is_large else 1
    count = _at(data, start + 1, count_width)
    first_id = start + 1 + count_width
    first_offset = first_id + count * id_width
    first = first_offset + (count + 1) * offset_width
    if first > len(data):
        raise VariantError(f"an object or array of {count} parts is truncated")
    end = first + _at(data, first_offset + count * offset_width, offset_width)
    return _Container(count, first_id, id_width, first_offset, offset_width, first, end)


def _check_one(data: bytes, start: int, names: FieldNames) -> list[int]:
    """Check a value without the parts of objects and arrays, and return the positions of those."""
    header = data[start]
    kind, detail = header & 3, header >> 2
    if kind == _SHORT:
        _check_text(data[start + 1 : start + 1 + detail])
    if kind == 0:
        _check_primitive(data, start + 1, detail)
    if kind in (0, _SHORT):
        return []
    found = _container(data, start)
    if kind == _OBJECT:
        _check_fields(found.ids(data), names)
    parts = found.parts(data)
    position = found.first
    for part in sorted(parts):
        if part != position:
            raise VariantError(f"byte {min(part, position)} belongs to no part of an object or array, or to two")
        position = find_end(data, part)
    if position != found.end:
        raise VariantError(f"the parts of an object or array end at byte {position}, expected {found.end}")
    return parts


def _check_fields(ids: list[int], names: FieldNames) -> None:
    if any(number >= len(names.names) for number in ids):
        raise VariantError("a field id is beyond the field names")
    if not _is_ascending([names.names[number].encode() for number in ids]):
        raise VariantError("fields of an object are not in the order of their names, or not unique")


# primitives


def _moment(kind: str, factor: int) -> Callable[[bytes], Scalar]:
    return lambda data: Scalar(kind, _integer(data) * factor)


def _integer(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _decimal(data: bytes) -> Scalar:
    unscaled = _integer(data[1:])
    return Scalar(NUMBER, Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -data[0])))


def _number(data: bytes) -> Scalar:
    return Scalar(NUMBER, _integer(data))


_PRIMITIVES: dict[int, tuple[int | None, Callable[[bytes], Scalar]]] = {
    0: (0, lambda _: Scalar(NULL, None)),
    1: (0, lambda _: Scalar("boolean", True)),
    2: (0, lambda _: Scalar("boolean", False)),
    3: (1, _number),
    4: (2, _number),
    5: (4, _number),
    6: (8, _number),
    7: (8, lambda data: Scalar("double", struct.unpack("<d", data)[0])),
    8: (5, _decimal),
    9: (9, _decimal),
    10: (17, _decimal),
    11: (4, lambda data: Scalar("date", _integer(data))),
    12: (8, _moment("timestamp", _NANOSECONDS)),
    13: (8, _moment("timestamp_ntz", _NANOSECONDS)),
    14: (4, lambda data: Scalar("float", struct.unpack("<f", data)[0])),
    15: (None, lambda data: Scalar("binary", data)),
    16: (None, lambda data: Scalar(STRING, data)),
    17: (8, lambda data: Scalar("time", _integer(data))),
    18: (8, _moment("timestamp", 1)),
    19: (8, _moment("timestamp_ntz", 1)),
    20: (16, lambda data: Scalar("uuid", data)),
}
"""Bytes after the header of each primitive type, and how to decode them; None if their length precedes them."""
_TEXT = 16
_PRECISIONS = {8: 9, 9: 18, 10: 38}
"""Digits of the decimal types."""


def _primitive_width(data: bytes, start: int, kind: int) -> int:
    if kind not in _PRIMITIVES:
        raise VariantUndecided(f"primitive type {kind}")
    width = _PRIMITIVES[kind][0]
    return 4 + _at(data, start + 1, 4) if width is None else width


def _read_primitive(data: bytes, start: int, kind: int) -> Scalar:
    width, decode = _PRIMITIVES[kind]
    if width is None:
        length = _at(data, start, 4)
        return decode(data[start + 4 : start + 4 + length])
    return decode(data[start : start + width])


def _check_primitive(data: bytes, start: int, kind: int) -> None:
    if kind == _TEXT:
        _check_text(data[start + 4 : start + 4 + _at(data, start, 4)])
    if kind in _PRECISIONS:
        if data[start] > _MAX_SCALE:
            raise VariantError(f"a decimal has scale {data[start]}, expected at most {_MAX_SCALE}")
        unscaled: Any = _read_primitive(data, start, kind).value
        digits = len(unscaled.as_tuple().digits)
        if digits > _PRECISIONS[kind]:
            raise VariantError(f"a decimal of primitive type {kind} has {digits} digits, at most {_PRECISIONS[kind]}")


def _check_text(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        raise VariantError("a string is not UTF-8") from fault


def _at(data: bytes, start: int, width: int) -> int:
    if start + width > len(data):
        raise VariantError("is truncated")
    return int.from_bytes(data[start : start + width], "little")


def _is_ascending(names: list[bytes]) -> bool:
    """Return whether names are unique and sorted by their bytes."""
    return all(first < second for first, second in pairwise(names))

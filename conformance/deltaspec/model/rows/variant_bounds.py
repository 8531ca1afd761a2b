"""Bounds of a variant column: one variant with a bound for each path. Source: Statistics for Variant Columns.

In JSON a bound is the variant's metadata followed by its value, in Z85. The protocol's example has them in reverse
order, and its length is not valid Z85 (E18). Input that matches the example is ambiguous, not a fault.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from deltaspec.model.rows import z85

_PLAIN = r"[^\x00-\x1f'\\\ud800-\udfff]"
_ESCAPE = r"\\(?:[bfnrt'\\]|u00[01][0-9a-f])"
_NORMALIZED_PATH = re.compile(rf"\$(?:\['(?:{_PLAIN}|{_ESCAPE})*'\]|\[(?:0|[1-9]\d*)\])*")
"""RFC 9535, 2.7: names in single quotes, indexes in brackets. Control characters other than \\b \\t \\n \\f \\r are
escaped by number.
"""

_SIZES = {
    0: ("null", 0),
    1: ("boolean", 0),
    2: ("boolean", 0),
    3: ("exact number", 1),
    4: ("exact number", 2),
    5: ("exact number", 4),
    6: ("exact number", 8),
    7: ("double", 8),
    8: ("exact number", 5),
    9: ("exact number", 9),
    10: ("exact number", 17),
    11: ("date", 4),
    12: ("timestamp", 8),
    13: ("timestamp_ntz", 8),
    14: ("float", 4),
    17: ("time", 8),
    18: ("timestamp in nanoseconds", 8),
    19: ("timestamp_ntz in nanoseconds", 8),
    20: ("uuid", 16),
}
"""Primitive types of the variant encoding to comparison type and bytes after the header."""
_OF_ANY_LENGTH = {15: "binary", 16: "string"}
_OBJECT, _ARRAY = "object", "array"


class VariantBoundError(ValueError):
    """Text that is not a bound of a variant column."""


class AmbiguousVariantBound(VariantBoundError):
    """Text that does not follow the protocol's description, but may follow its example (E18)."""


@dataclass(frozen=True)
class _Read:
    """A decoded value: its type, its length, and the members of an object."""

    type: str
    length: int
    members: dict[str, str]


def read_variant_bound(text: Any) -> dict[str, str]:
    """Return the type of the bound of each path; exact numbers of all widths have one type.

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
        names, length = _metadata(data)
        return _paths(_value(data, length, names))
    except VariantBoundError:
        if _has_value_first(data):
            raise AmbiguousVariantBound("has the value before the metadata") from None
        raise


def find_type_mismatches(minimum: dict[str, str], maximum: dict[str, str]) -> list[str]:
    """Describe the paths whose bounds have two types. A path may occur in only one of the bounds."""
    both = sorted(minimum.keys() & maximum.keys())
    return [
        f"{path}: minimum is {minimum[path]}, maximum is {maximum[path]}"
        for path in both
        if minimum[path] != maximum[path]
    ]


def _paths(found: _Read) -> dict[str, str]:
    if found.type != _OBJECT:
        raise VariantBoundError(f"is not an object but {found.type}")
    for path, kind in found.members.items():
        if not _NORMALIZED_PATH.fullmatch(path):
            raise VariantBoundError(f"{path[:80]!r} is not a normalized path")
        if kind in (_OBJECT, _ARRAY):
            raise VariantBoundError(f"{path[:80]} has {kind} as a bound")
    return found.members


def _has_value_first(data: bytes) -> bool:
    """Return whether a value, with numeric member names, is followed by metadata."""
    try:
        length = _value(data, 0, None).length
        _metadata(data[length:])
    except VariantBoundError:
        return False
    return True


def _number(data: bytes, start: int, width: int) -> int:
    if start + width > len(data):
        raise VariantBoundError("is truncated")
    return int.from_bytes(data[start : start + width], "little")


def _metadata(data: bytes) -> tuple[list[str], int]:
    """Return the field names and the length of the metadata."""
    header = _number(data, 0, 1)
    if header & 15 != 1:
        raise VariantBoundError(f"metadata of version {header & 15}")
    width = (header >> 6) + 1
    count = _number(data, 1, width)
    if (count + 2) * width >= len(data):
        raise VariantBoundError("is truncated")
    offsets = [_number(data, 1 + width * (index + 1), width) for index in range(count + 1)]
    first = 1 + width * (count + 2)
    if offsets[0] != 0 or offsets != sorted(offsets) or first + offsets[-1] > len(data):
        raise VariantBoundError("field names are outside the metadata")
    try:
        names = [data[first + start : first + end].decode() for start, end in pairwise(offsets)]
    except UnicodeDecodeError as fault:
        raise VariantBoundError("a field name is not UTF-8") from fault
    return names, first + offsets[-1]


def _value(data: bytes, start: int, names: list[str] | None) -> _Read:
    """Decode the value at a position; members of an object only by type."""
    header = _number(data, start, 1)
    kind, detail = header & 3, header >> 2
    if kind == 1:
        return _sized("string", data, start, 1 + detail)
    if kind == 2:
        return _object(data, start, detail, names)
    if kind == 3:
        return _Read(_ARRAY, 1, {})
    if detail in _OF_ANY_LENGTH:
        return _sized(_OF_ANY_LENGTH[detail], data, start, 5 + _number(data, start + 1, 4))
    if detail not in _SIZES:
        raise VariantBoundError(f"type {detail} is not defined by the variant encoding")
    return _sized(_SIZES[detail][0], data, start, 1 + _SIZES[detail][1])


def _sized(kind: str, data: bytes, start: int, length: int) -> _Read:
    if start + length > len(data):
        raise VariantBoundError("is truncated")
    return _Read(kind, length, {})


def _object(data: bytes, start: int, detail: int, names: list[str] | None) -> _Read:
    offset_width, id_width = (detail & 3) + 1, (detail >> 2 & 3) + 1
    count_width = 4 if detail >> 4 & 1 else 1
    count = _number(data, start + 1, count_width)
    ids = start + 1 + count_width
    offsets = ids + count * id_width
    first = offsets + (count + 1) * offset_width
    if first > len(data):
        raise VariantBoundError("is truncated")
    members: dict[str, str] = {}
    for index in range(count):
        at = first + _number(data, offsets + index * offset_width, offset_width)
        members[_name(names, _number(data, ids + index * id_width, id_width))] = _type_at(data, at)
    length = first + _number(data, offsets + count * offset_width, offset_width) - start
    return _sized_object(data, start, length, members)


def _type_at(data: bytes, at: int) -> str:
    """Return the type of a member; nested objects are not decoded."""
    return _OBJECT if _number(data, at, 1) & 3 == 2 else _value(data, at, None).type


def _sized_object(data: bytes, start: int, length: int, members: dict[str, str]) -> _Read:
    if start + length > len(data):
        raise VariantBoundError("is truncated")
    return _Read(_OBJECT, length, members)


def _name(names: list[str] | None, number: int) -> str:
    if names is None:
        return str(number)
    if number >= len(names):
        raise VariantBoundError("a field id is beyond the field names")
    return names[number]

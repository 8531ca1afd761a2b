"""Validation of the two binaries of a variant. Source: Variant data in Parquet (current), and the variant encoding of
Parquet that it refers to.

Nothing recurses, and bytes are read again only through lists that refer to them, so hostile input is cheap.
"""

from dataclasses import dataclass
from itertools import pairwise

_WIDTHS = (0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, None, None, 8, 8, 8, 16)
"""Bytes after the header of each primitive type; None: a four-byte length and that many bytes."""
_BINARY, _STRING = 15, 16
_DECIMALS = (8, 9, 10)
_MAX_SCALE = 38
_WORK_PER_BYTE = 64


class VariantError(ValueError):
    """Bytes that are not a variant."""


class VariantUndecided(ValueError):
    """Bytes that a newer encoding may allow, or lists with too many references to follow."""


@dataclass(frozen=True)
class FieldNames:
    """The dictionary in the metadata."""

    names: tuple[str, ...]


def read_metadata(data: bytes) -> FieldNames:
    """Read the field names of a variant.

    Raises:
        VariantError: The bytes are not metadata.
        VariantUndecided: The bytes have another version of the encoding.
    """
    header = _at(data, 0, 1)
    if header & 15 != 1:
        raise VariantUndecided(f"metadata of version {header & 15}")
    width = (header >> 6) + 1
    count = _at(data, 1, width)
    first = 1 + width * (count + 2)
    if first > len(data):
        raise VariantError(f"metadata of {len(data)} bytes ends before the offsets of {count} names")
    offsets = [_at(data, 1 + width * (index + 1), width) for index in range(count + 1)]
    if offsets[0] != 0 or any(start > end for start, end in pairwise(offsets)):
        raise VariantError("offsets of field names are not ascending from 0")
    if first + offsets[-1] != len(data):
        raise VariantError(f"field names end at byte {first + offsets[-1]} of {len(data)} in metadata")
    encoded = [data[first + start : first + end] for start, end in pairwise(offsets)]
    try:
        names = tuple(each.decode() for each in encoded)
    except UnicodeDecodeError as fault:
        raise VariantError("a field name is not UTF-8") from fault
    if header >> 4 & 1 and not _is_ascending(names):
        raise VariantError("field names are marked as sorted but are not")
    return FieldNames(names)


def check_value(data: bytes, names: FieldNames) -> None:
    """Check a complete value.

    Raises:
        VariantError: The bytes are not a value, or refer to missing field names.
        VariantUndecided: A newer encoding may allow them.
    """
    work = _WORK_PER_BYTE * (len(data) + len(names.names) + 16)
    ends: dict[int, int] = {}
    waiting = [0]
    while waiting:
        start = waiting.pop()
        if start in ends:
            continue
        ends[start], parts = _one(data, start, names)
        work -= 1 + len(parts)
        if work < 0:
            raise VariantUndecided("its lists have too many references to follow")
        waiting += parts
    if ends[0] != len(data):
        raise VariantError(f"the value ends at byte {ends[0]} of {len(data)}")
    for start, end in ends.items():
        if end > len(data):
            raise VariantError(f"the part at byte {start} exceeds the value")


def read_members(data: bytes, names: FieldNames) -> frozenset[str] | None:
    """Return the field names of a valid value that is an object; None for any other value."""
    if not data or data[0] & 3 != 2:
        return None
    ids, _, _ = _object(data, 0, data[0] >> 2)
    return frozenset(names.names[number] for number in ids if number < len(names.names))


def _one(data: bytes, start: int, names: FieldNames) -> tuple[int, list[int]]:
    """Return the end of the value at a position, and the positions of its parts."""
    header = _at(data, start, 1)
    kind, detail = header & 3, header >> 2
    if kind == 1:
        return _text(data, start + 1, detail), []
    if kind == 0:
        return _primitive(data, start, detail), []
    if kind == 3:
        count_width = 4 if detail >> 2 & 1 else 1
        count = _at(data, start + 1, count_width)
        return _parts(data, start + 1 + count_width, count, (detail & 3) + 1)
    ids, offsets, width = _object(data, start, detail)
    if any(number >= len(names.names) for number in ids):
        raise VariantError("a field id is beyond the field names")
    if not _is_ascending(tuple(names.names[number] for number in ids)):
        raise VariantError("fields of an object are not in the order of their names")
    return _parts(data, offsets, len(ids), width)


def _object(data: bytes, start: int, detail: int) -> tuple[list[int], int, int]:
    """Return the field ids of an object, the position of its offsets, and their width."""
    offset_width, id_width = (detail & 3) + 1, (detail >> 2 & 3) + 1
    count_width = 4 if detail >> 4 & 1 else 1
    count = _at(data, start + 1, count_width)
    first = start + 1 + count_width
    offsets = first + count * id_width
    if offsets > len(data):
        raise VariantError(f"an object of {count} fields is truncated")
    return [_at(data, first + index * id_width, id_width) for index in range(count)], offsets, offset_width


def _parts(data: bytes, offsets: int, count: int, width: int) -> tuple[int, list[int]]:
    """Return the end of an object or array, and the positions of its parts; the last offset is the end."""
    first = offsets + (count + 1) * width
    if first > len(data):
        raise VariantError(f"an object or array of {count} parts is truncated")
    length = _at(data, offsets + count * width, width)
    starts = [_at(data, offsets + index * width, width) for index in range(count)]
    if any(start >= length for start in starts):
        raise VariantError("a part of an object or array starts after its end")
    return first + length, [first + start for start in starts]


def _primitive(data: bytes, start: int, kind: int) -> int:
    if kind >= len(_WIDTHS):
        raise VariantUndecided(f"primitive type {kind}")
    width = _WIDTHS[kind]
    if width is None:
        length = _at(data, start + 1, 4)
        if kind == _STRING:
            return _text(data, start + 5, length)
        width = 4 + length
    end = start + 1 + width
    if end > len(data):
        raise VariantError(f"primitive type {kind} is truncated")
    if kind in _DECIMALS and data[start + 1] > _MAX_SCALE:
        raise VariantError(f"a decimal has scale {data[start + 1]}, expected at most {_MAX_SCALE}")
    return end


def _text(data: bytes, start: int, length: int) -> int:
    if start + length > len(data):
        raise VariantError("a string is truncated")
    try:
        data[start : start + length].decode()
    except UnicodeDecodeError as fault:
        raise VariantError("a string is not UTF-8") from fault
    return start + length


def _at(data: bytes, start: int, width: int) -> int:
    if start + width > len(data):
        raise VariantError("is truncated")
    return int.from_bytes(data[start : start + width], "little")


def _is_ascending(names: tuple[str, ...]) -> bool:
    """Return whether names are unique and sorted by code points or by UTF-16 units."""
    if all(first < second for first, second in pairwise(names)):
        return True
    units = [name.encode("utf-16-be") for name in names]
    return all(first < second for first, second in pairwise(units))

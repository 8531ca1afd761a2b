"""The schema of a Parquet footer, decoded from its bytes (Thrift's compact form).

Only what describes the schema is decoded; the rest is passed over, or looked through for what no data file should have.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from deltaspec.model.schema.parquet_types import Annotation, Node, Repetition

_T = TypeVar("_T")

MAX_NODES = 200_000
MAX_DEPTH = 200
"""Deeper schemas are not read: Arrow descends them by recursion, on the stack."""

DECODED_BYTES = 4 << 20
"""Of a larger footer only the schema is decoded: the rest takes seconds."""

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_NESTED_TOO_DEEP = 64
_PHYSICAL = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_REPETITIONS: tuple[Repetition, ...] = ("required", "optional", "repeated")
_LOGICAL = {
    1: "STRING",
    2: "MAP",
    3: "LIST",
    4: "ENUM",
    5: "DECIMAL",
    6: "DATE",
    7: "TIME",
    8: "TIMESTAMP",
    10: "INTEGER",
    11: "UNKNOWN",
    12: "JSON",
    13: "BSON",
    14: "UUID",
    15: "FLOAT16",
    16: "VARIANT",
    17: "GEOMETRY",
    18: "GEOGRAPHY",
}
_UNITS = {1: "MILLIS", 2: "MICROS", 3: "NANOS"}
_CONVERTED = (
    *(
        Annotation(name, converted=True)
        for name in ("STRING", "MAP", "MAP_KEY_VALUE", "LIST", "ENUM", "DECIMAL", "DATE")
    ),
    *(Annotation("TIME", unit=unit, utc=True, converted=True) for unit in ("MILLIS", "MICROS")),
    *(Annotation("TIMESTAMP", unit=unit, utc=True, converted=True) for unit in ("MILLIS", "MICROS")),
    *(Annotation("INTEGER", bits=bits, signed=False, converted=True) for bits in (8, 16, 32, 64)),
    *(Annotation("INTEGER", bits=bits, signed=True, converted=True) for bits in (8, 16, 32, 64)),
    *(Annotation(name, converted=True) for name in ("JSON", "BSON", "INTERVAL")),
)
"""By the number of the converted type."""


_VARINT = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_CHUNK_AFTER_PATH = re.compile(rb"\x16" + _VARINT + rb"\x1c\x15")
"""How a column chunk goes on behind its path: the offset as the field next to it, then the metadata, its type first.
Without a path the offset is headed otherwise, so that hardly anything but such a chunk looks like it."""


_END_OF_GROUP = re.compile(rb"\x00\x16" + _VARINT + rb"\x16(" + _VARINT + rb")(?=[\x00\x19\x26\x36\x44])")
"""How a row group ends behind its last column chunk: its length, its rows, and a field that is none of a chunk's."""


class ThriftError(ValueError):
    """Bytes that are no footer."""


class SchemaTooLarge(ValueError):
    """A schema with more nodes, or nested more deeply, than are read: a limit of ours, nothing that is broken."""


def decode_schema(data: bytes) -> tuple[Node, int]:
    """The root of the schema, and how many bytes of the footer, from its begin, decide it.

    Raises:
        ThriftError: the bytes are no footer, or its schema is no tree.
        SchemaTooLarge: it has more than `MAX_NODES` nodes or is more than `MAX_DEPTH` deep.
    """
    reader = ThriftReader(data)
    for number, kind in reader.fields():
        if number == 2 and kind == _LIST:
            elements = [_element(reader) for _ in range(reader.list_of(_STRUCT, MAX_NODES))]
            return _tree(elements), reader.at
        reader.skip(kind)
    raise ThriftError("it has no schema")


def iter_external_paths(data: bytes) -> Iterator[str]:
    """The other files that a footer says hold its column chunks; it is decoded only if it looks as if it named one.

    Raises:
        ThriftError: the bytes are no footer.
    """
    if len(data) <= DECODED_BYTES and _CHUNK_AFTER_PATH.search(data):
        for _, paths in _row_groups(data):
            yield from paths


def row_group_rows(data: bytes, expected: int) -> int:
    """The sum of the rows that a footer says its row groups have.

    Args:
        data: the footer.
        expected: what it says of the whole file; it is decoded only if it does not look as if the sum were that. A
            footer too large to be decoded is believed.

    Raises:
        ThriftError: the bytes are no footer.
    """
    if len(data) > DECODED_BYTES or sum(_number(match[1]) for match in _END_OF_GROUP.finditer(data)) == expected:
        return expected
    found = sum(rows for rows, _ in _row_groups(data))
    return max(-(2**63), min(found, 2**63 - 1))


def _number(varint: bytes) -> int:
    return ThriftReader(varint).integer()


def _row_groups(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Of each row group its number of rows, and the files that its column chunks are said to be in."""
    reader = ThriftReader(data)
    for number, kind in reader.fields():
        if number == 4 and kind == _LIST:
            for _ in range(reader.list_of(_STRUCT)):
                yield _row_group(reader)
        else:
            reader.skip(kind)


def _row_group(reader: "ThriftReader") -> tuple[int, list[str]]:
    rows, paths = 0, []
    for number, kind in reader.fields():
        if number == 1 and kind == _LIST:
            for _ in range(reader.list_of(_STRUCT)):
                for part, form in reader.fields():
                    if part == 1 and form == _BINARY:
                        paths.append(reader.text())
                    else:
                        reader.skip(form)
        elif number == 3 and kind == _I64:
            rows = reader.integer()
        else:
            reader.skip(kind)
    return rows, paths


def _element(reader: "ThriftReader") -> tuple[Node, int]:
    """A schema element as a node without children, and how many children it has."""
    found: dict[int, int] = {}
    name, logical = None, None
    for number, kind in reader.fields():
        if number == 4 and kind == _BINARY:
            name = reader.text()
        elif number == 10 and kind == _STRUCT:
            logical = _logical(reader)
        elif kind == _I32:
            found[number] = reader.integer()
            if not -(2**31) <= found[number] < 2**31:
                raise ThriftError("a number of more than 32 bits")
        else:
            reader.skip(kind)
    if name is None:
        raise ThriftError("a node has no name")
    physical = _one_of(_PHYSICAL, found[1], "physical type") if 1 in found else None
    node = Node(
        name,
        _one_of(_REPETITIONS, found.get(3, 0), "repetition"),
        physical,
        logical or _converted(found),
        found.get(9),
        (),
        found.get(2) if physical == "FIXED_LEN_BYTE_ARRAY" else None,
    )
    return node, 0 if physical else found.get(5, 0)


def _one_of(names: tuple[_T, ...], number: int, what: str) -> _T:
    if not 0 <= number < len(names):
        raise ThriftError(f"there is no {what} {number}")
    return names[number]


def _logical(reader: "ThriftReader") -> Annotation | None:
    found = None
    for number, kind in reader.fields():
        if kind != _STRUCT:
            reader.skip(kind)
            continue
        found = _annotation(reader, _LOGICAL.get(number, f"logical type {number}"))
    return found


def _annotation(reader: "ThriftReader", name: str) -> Annotation:
    numbers: dict[int, int] = {}
    unit = None
    for number, kind in reader.fields():
        if kind in (_TRUE, _FALSE):
            numbers[number] = kind == _TRUE
        elif kind == _BYTE:
            numbers[number] = reader.byte()
        elif kind == _I32:
            numbers[number] = reader.integer()
        elif kind == _STRUCT and name in ("TIME", "TIMESTAMP"):
            for each, form in reader.fields():
                unit = _UNITS.get(each, f"unit {each}")
                reader.skip(form)
        else:
            reader.skip(kind)
    match name:
        case "DECIMAL":
            return Annotation(name, scale=numbers.get(1), precision=numbers.get(2))
        case "TIME" | "TIMESTAMP":
            return Annotation(name, unit=unit, utc=bool(numbers.get(1)))
        case "INTEGER":
            return Annotation(name, bits=numbers.get(1), signed=bool(numbers.get(2)))
    return Annotation(name)


def _converted(found: dict[int, int]) -> Annotation | None:
    if 6 not in found:
        return None
    if not 0 <= found[6] < len(_CONVERTED):
        return Annotation(f"converted type {found[6]}", converted=True)
    known = _CONVERTED[found[6]]
    if known.name == "DECIMAL":
        return Annotation("DECIMAL", scale=found.get(7, 0), precision=found.get(8), converted=True)
    return known


def _tree(elements: list[tuple[Node, int]]) -> Node:
    """The nodes, which stand parents first, as a tree."""
    if not elements:
        raise ThriftError("the schema is empty")
    open_groups: list[tuple[Node, int, list[Node]]] = []
    for position, (node, wanted) in enumerate(elements):
        if wanted < 0 or wanted > len(elements):
            raise ThriftError(f"a group of {wanted} nodes")
        open_groups.append((node, wanted, []))
        if len(open_groups) > MAX_DEPTH:
            raise SchemaTooLarge(f"its schema is nested more than {MAX_DEPTH} levels deep")
        while len(open_groups[-1][2]) == open_groups[-1][1]:
            done, _, children = open_groups.pop()
            whole = replace(done, children=tuple(children))
            if not open_groups:
                if position != len(elements) - 1:
                    raise ThriftError("nodes that belong to no group")
                return whole
            open_groups[-1][2].append(whole)
    raise ThriftError("a group lacks nodes")


class ThriftReader:
    """A cursor over the compact form; every length is checked against the bytes that are left."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and kind of each field of the struct that begins here; whoever asks takes or skips its value."""
        number = 0
        while True:
            head = self.byte()
            if head == _STOP:
                return
            number = number + (head >> 4) if head >> 4 else self.integer()
            yield number, head & 0x0F

    def byte(self) -> int:
        if self.at >= len(self._data):
            raise ThriftError("it ends too early")
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            piece = self.byte()
            value |= (piece & 0x7F) << shift
            shift += 7
            if piece < 0x80:
                return value
            if shift > 63:
                raise ThriftError("a number of more than 64 bits")

    def integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> str:
        """A binary value as text; bytes that are no UTF-8 become escapes."""
        begin = self._pass_binary()
        return self._data[begin : self.at].decode("utf-8", "backslashreplace")

    def _pass_binary(self) -> int:
        length = self._varint()
        begin = self.at
        if length > len(self._data) - begin:
            raise ThriftError("a text goes beyond its end")
        self.at = begin + length
        return begin

    def list_of(self, kind: int, most: int | None = None) -> int:
        """The length of the list that begins here, whose items have to be of a kind and are at least a byte each."""
        length, found = self._list_head()
        if found != kind and length:
            raise ThriftError("a list of the wrong kind")
        if most is not None and length > most:
            raise SchemaTooLarge(f"its schema has {length} nodes, more than the {most} that are read")
        return length

    def _list_head(self) -> tuple[int, int]:
        head = self.byte()
        length = head >> 4
        if length == 0x0F:
            length = self._varint()
        if length > len(self._data) - self.at:
            raise ThriftError("a list goes beyond its end")
        return length, head & 0x0F

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over a value."""
        if depth > _NESTED_TOO_DEEP:
            raise ThriftError("it is nested too deeply")
        if kind in (_TRUE, _FALSE):
            return
        if kind == _BYTE:
            self.byte()
        elif kind in (_I16, _I32, _I64):
            self._varint()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            self._pass_binary()
        elif kind in (_LIST, _SET):
            length, item = self._list_head()
            for _ in range(length):
                self.byte() if item in (_TRUE, _FALSE) else self.skip(item, depth + 1)
        elif kind == _MAP:
            self._skip_map(depth)
        elif kind == _STRUCT:
            for _, each in self.fields():
                self.skip(each, depth + 1)
        else:
            raise ThriftError(f"there is no kind {kind}")

    def _skip_map(self, depth: int) -> None:
        length = self._varint()
        if length > len(self._data) - self.at:
            raise ThriftError("a map goes beyond its end")
        if length:
            kinds = self.byte()
            for _ in range(length):
                self.skip(kinds >> 4, depth + 1)
                self.skip(kinds & 0x0F, depth + 1)

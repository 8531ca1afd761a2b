"""Decode Parquet footers: the schema, and the metadata of column chunks.

The structures and field numbers come from `parquet.thrift` (FileMetaData). Fields that no caller needs are skipped.
"""

from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.schema.parquet_types import Annotation, Node, Repetition
from deltaspec.wire.parquet.plain_chunks import find_plain_chunk_end
from deltaspec.wire.parquet.thrift import BINARY, BYTE, FALSE, I32, I64, LIST, STRUCT, TRUE, ThriftError, ThriftReader

_T = TypeVar("_T")

MAX_NODES = 200_000
MAX_DEPTH = 200
"""Arrow descends the schema by recursion, so a deeper one could overflow its stack."""

_SCHEMA, _ROW_GROUPS = 2, 4
"""Fields of FileMetaData."""
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


class SchemaTooLarge(ValueError):
    """The schema has more nodes or levels than the limits here; it may be valid."""


class ColumnChunk(msgspec.Struct, frozen=True):
    """Metadata of a column chunk, as the footer states it; a field that is missing has the default."""

    physical_type: int = -1
    codec: int = -1
    value_count: int = 0
    compressed_bytes: int = 0
    """Length of the pages in the file."""
    data_page_offset: int = -1
    dictionary_page_offset: int = 0


def decode_schema(data: bytes) -> tuple[Node, int]:
    """Return the root of the schema, and the number of bytes up to the end of the schema.

    Footers with the same bytes up to that position have the same schema.

    Raises:
        ThriftError: the bytes are not a footer, or its schema is not a tree.
        SchemaTooLarge: the schema has more than `MAX_NODES` nodes or `MAX_DEPTH` levels.
    """
    reader = ThriftReader(data)
    for number, kind in reader.iter_fields():
        if number == _SCHEMA and kind == LIST:
            node_count = reader.read_list_length(STRUCT)
            if node_count > MAX_NODES:
                raise SchemaTooLarge(f"its schema has {node_count} nodes, more than the limit of {MAX_NODES}")
            elements = [_decode_element(reader) for _ in range(node_count)]
            return _build_tree(elements), reader.position
        reader.skip(kind)
    raise ThriftError("it has no schema")


def read_external_path(data: bytes, schema_end: int = 0) -> str | None:
    """Return the first `file_path` of a column chunk, if any has one: its pages are in another file.

    Args:
        data: the footer.
        schema_end: the second result of `decode_schema`, where it is known; the schema is then not walked again.

    Raises:
        ThriftError: the bytes are not a footer.
    """
    for reader in iter_chunks(data, schema_end):
        end = find_plain_chunk_end(data, reader.position)
        if end is not None:
            reader.position = end
            continue
        position = reader.skip_struct(1, BINARY)
        if position is not None:
            return ThriftReader(data, position).read_text()
    return None


def iter_column_chunks(data: bytes) -> Iterator[ColumnChunk]:
    """Yield the metadata of every column chunk of a footer, row group by row group.

    Raises:
        ThriftError: the bytes are not a footer.
    """
    for reader in iter_chunks(data):
        position = reader.skip_struct(3, STRUCT)
        if position is not None:
            yield _decode_chunk_metadata(ThriftReader(data, position))


def iter_chunks(data: bytes, schema_end: int = 0) -> Iterator[ThriftReader]:
    """Yield a reader at the start of each column chunk; the caller moves it past the chunk."""
    reader = ThriftReader(data)
    for number, kind in reader.iter_fields():
        if number == _ROW_GROUPS and kind == LIST:
            for _ in range(reader.read_list_length(STRUCT)):
                for group_number, group_kind in reader.iter_fields():
                    if group_number == 1 and group_kind == LIST:
                        for _ in range(reader.read_list_length(STRUCT)):
                            yield reader
                    else:
                        reader.skip(group_kind)
        elif number == _SCHEMA and kind == LIST and reader.position < schema_end:
            reader.position = schema_end
        else:
            reader.skip(kind)


def _decode_chunk_metadata(reader: ThriftReader) -> ColumnChunk:
    numbers: dict[int, int] = {}
    for number, kind in reader.iter_fields():
        if kind in (I32, I64):
            numbers[number] = reader.read_integer()
        else:
            reader.skip(kind)
    return ColumnChunk(
        numbers.get(1, -1),
        numbers.get(4, -1),
        numbers.get(5, 0),
        numbers.get(7, 0),
        numbers.get(9, -1),
        numbers.get(11, 0),
    )


def _decode_element(reader: ThriftReader) -> tuple[Node, int]:
    """Return a schema element as a node without children, and the number of its children."""
    found: dict[int, int] = {}
    name, logical = None, None
    for number, kind in reader.iter_fields():
        if number == 4 and kind == BINARY:
            name = reader.read_text()
        elif number == 10 and kind == STRUCT:
            logical = _decode_logical_type(reader)
        elif kind == I32:
            found[number] = reader.read_integer()
            if not -(2**31) <= found[number] < 2**31:
                raise ThriftError("a number of more than 32 bits")
        else:
            reader.skip(kind)
    if name is None:
        raise ThriftError("a node has no name")
    physical = _get_enum_name(_PHYSICAL, found[1], "physical type") if 1 in found else None
    node = Node(
        name,
        _get_enum_name(_REPETITIONS, found.get(3, 0), "repetition"),
        physical,
        logical or _convert_type(found),
        found.get(9),
        (),
        found.get(2) if physical == "FIXED_LEN_BYTE_ARRAY" else None,
    )
    return node, 0 if physical else found.get(5, 0)


def _get_enum_name(names: tuple[_T, ...], number: int, enum: str) -> _T:
    if not 0 <= number < len(names):
        raise ThriftError(f"there is no {enum} {number}")
    return names[number]


def _decode_logical_type(reader: ThriftReader) -> Annotation | None:
    found = None
    for number, kind in reader.iter_fields():
        if kind != STRUCT:
            reader.skip(kind)
            continue
        found = _decode_annotation(reader, _LOGICAL.get(number, f"logical type {number}"))
    return found


def _decode_annotation(reader: ThriftReader, name: str) -> Annotation:
    numbers: dict[int, int] = {}
    unit = None
    for number, kind in reader.iter_fields():
        if kind in (TRUE, FALSE):
            numbers[number] = kind == TRUE
        elif kind == BYTE:
            numbers[number] = reader.read_byte()
        elif kind == I32:
            numbers[number] = reader.read_integer()
        elif kind == STRUCT and name in ("TIME", "TIMESTAMP"):
            for unit_number, unit_kind in reader.iter_fields():
                unit = _UNITS.get(unit_number, f"unit {unit_number}")
                reader.skip(unit_kind)
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


def _convert_type(found: dict[int, int]) -> Annotation | None:
    if 6 not in found:
        return None
    if not 0 <= found[6] < len(_CONVERTED):
        return Annotation(f"converted type {found[6]}", converted=True)
    known = _CONVERTED[found[6]]
    if known.name == "DECIMAL":
        return Annotation("DECIMAL", scale=found.get(7, 0), precision=found.get(8), converted=True)
    return known


def _build_tree(elements: list[tuple[Node, int]]) -> Node:
    """Return the root of nodes that are listed depth first, parents before children, each with its child count."""
    if not elements:
        raise ThriftError("the schema is empty")
    open_groups: list[tuple[Node, int, list[Node]]] = []
    for position, (node, child_count) in enumerate(elements):
        if child_count < 0 or child_count > len(elements):
            raise ThriftError(f"a group of {child_count} nodes")
        open_groups.append((node, child_count, []))
        if len(open_groups) > MAX_DEPTH:
            raise SchemaTooLarge(f"its schema is more than {MAX_DEPTH} levels deep")
        while len(open_groups[-1][2]) == open_groups[-1][1]:
            group, _, children = open_groups.pop()
            complete = replace(group, children=tuple(children))
            if not open_groups:
                if position != len(elements) - 1:
                    raise ThriftError("it has nodes after the end of its schema")
                return complete
            open_groups[-1][2].append(complete)
    raise ThriftError("a group has too few nodes")

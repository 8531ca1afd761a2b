"""Store columns of a Parquet file as older writers do: lists of two levels, Hive's bags, maps by key and value.

The values stay as they are: only names, annotations and the tree of the footer change. So an element that becomes the
repeated field of a list of two levels must be required, because both forms then have the same levels.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from deltaspec.wire.parquet.thrift import BINARY, BYTE, FALSE, I16, I64, LIST, STRUCT, TRUE, ThriftReader

LegacyForm: TypeAlias = Literal[
    "two-levels", "tuples", "bags", "key-value-maps", "map-groups", "unknown-maps", "plain-integers"
]
"""
| form | of | Parquet |
|-|-|-|
| two-levels | lists | `optional group x (LIST) { repeated <type> array; }`, as Avro and Hive wrote them |
| tuples | lists | `optional group x (LIST) { repeated <type> x_tuple; }`, as Thrift wrote them |
| bags | lists | `optional group x (LIST) { repeated group bag { optional <type> array_element; } }`, as Hive wrote |
| key-value-maps | maps | `optional group x (MAP_KEY_VALUE) { repeated group map { ... } }` |
| map-groups | maps | `optional group x (MAP) { repeated group map (MAP_KEY_VALUE) { ... } }`, as legacy Spark |
| unknown-maps | maps | key-value groups with the logical type UNKNOWN, as parquet-mr 1.11.0 wrote; Arrow rejects them |
| plain-integers | bytes and shorts | INT32 without the size of the integer |
"""

Value: TypeAlias = Any
Fields: TypeAlias = dict[int, tuple[int, Value]]
"""Fields of a Thrift struct by number: wire type and value."""
_REPETITION, _NAME, _CHILDREN, _CONVERTED, _LOGICAL = 3, 4, 5, 6, 10
_REQUIRED, _REPEATED = 0, 2
_MAP, _MAP_KEY_VALUE, _LIST, _INT_8, _INT_16 = 1, 2, 3, 15, 16
_UNKNOWN: Fields = {11: (STRUCT, {})}
"""A logical type."""
_SCHEMA, _ROW_GROUPS = 2, 4
_I32 = 5


class _Node(msgspec.Struct):
    """An element of the schema with its children."""

    fields: Fields
    children: list["_Node"]

    @property
    def name(self) -> str:
        return str(self.fields[_NAME][1])

    @property
    def converted(self) -> int | None:
        return self.fields[_CONVERTED][1] if _CONVERTED in self.fields else None

    @property
    def repetition(self) -> int:
        return int(self.fields[_REPETITION][1])

    def rename(self, name: str) -> None:
        self.fields[_NAME] = (BINARY, name)

    def annotate(self, converted: int) -> None:
        """Set the converted type, without a logical type, which older files do not have."""
        self.fields[_CONVERTED] = (_I32, converted)
        self.fields.pop(_LOGICAL, None)


def store_as(data: bytes, form: LegacyForm) -> bytes:
    """Return a Parquet file of pyarrow in which all columns of one kind have a legacy form.

    Raises:
        ValueError: the file has no column of this kind, or an element that may be null cannot have this form.
    """
    length = int.from_bytes(data[-8:-4], "little")
    footer = _read_struct(ThriftReader(data[len(data) - 8 - length : -8]))
    elements = iter(footer[_SCHEMA][1][1])
    root = _build_tree(elements)
    before = list(_iter_paths(root))
    changed = [_CHANGES[form](node) for node in _iter_nodes(root)]
    if not any(changed):
        raise ValueError(f"the file has nothing to store as {form}")
    renamed = dict(zip(before, _iter_paths(root), strict=True))
    footer[_SCHEMA] = (LIST, (STRUCT, list(_flatten(root))))
    for group in footer[_ROW_GROUPS][1][1]:
        for chunk in group[1][1][1]:
            metadata = chunk[3][1]
            metadata[3] = (LIST, (BINARY, list(renamed[tuple(metadata[3][1][1])])))
    encoded = _encode_struct(footer)
    return data[: len(data) - 8 - length] + encoded + len(encoded).to_bytes(4, "little") + data[-4:]


def _store_in_two_levels(node: _Node, name: str) -> bool:
    if node.converted != _LIST:
        return False
    (repeated,) = node.children
    (element,) = repeated.children
    if element.repetition != _REQUIRED:
        raise ValueError(f"the elements of {node.name} may be null, which lists of two levels cannot express")
    element.fields[_REPETITION] = (_I32, _REPEATED)
    element.rename(name)
    node.children = [element]
    node.annotate(_LIST)
    return True


def _store_as_bag(node: _Node) -> bool:
    if node.converted != _LIST:
        return False
    (repeated,) = node.children
    repeated.rename("bag")
    repeated.children[0].rename("array_element")
    node.annotate(_LIST)
    return True


def _store_as_map(node: _Node, outer: int, inner: int | None) -> bool:
    if node.converted != _MAP:
        return False
    (repeated,) = node.children
    repeated.rename("map")
    node.annotate(outer)
    if inner is not None:
        repeated.annotate(inner)
    return True


def _store_as_unknown_map(node: _Node) -> bool:
    if node.converted != _MAP:
        return False
    (repeated,) = node.children
    repeated.annotate(_MAP_KEY_VALUE)
    repeated.fields[_LOGICAL] = (STRUCT, _UNKNOWN)
    return True


def _store_as_plain_integer(node: _Node) -> bool:
    if node.converted not in (_INT_8, _INT_16):
        return False
    del node.fields[_CONVERTED]
    node.fields.pop(_LOGICAL, None)
    return True


_CHANGES: dict[LegacyForm, Callable[[_Node], bool]] = {
    "two-levels": lambda node: _store_in_two_levels(node, "array"),
    "tuples": lambda node: _store_in_two_levels(node, f"{node.name}_tuple"),
    "bags": _store_as_bag,
    "key-value-maps": lambda node: _store_as_map(node, _MAP_KEY_VALUE, None),
    "map-groups": lambda node: _store_as_map(node, _MAP, _MAP_KEY_VALUE),
    "unknown-maps": _store_as_unknown_map,
    "plain-integers": _store_as_plain_integer,
}


# --- the tree of the schema ------------------------------------------------------------------------------------------


def _build_tree(elements: Iterator[Fields]) -> _Node:
    fields = next(elements)
    count = fields[_CHILDREN][1] if _CHILDREN in fields else 0
    return _Node(fields, [_build_tree(elements) for _ in range(count)])


def _iter_nodes(node: _Node) -> Iterator[_Node]:
    """Yield all elements, children after their parent, so that a change of the parent comes first."""
    yield node
    for each in node.children:
        yield from _iter_nodes(each)


def _iter_paths(node: _Node, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the leaves below the root, in their order."""
    for each in node.children:
        here = (*path, each.name)
        yield from _iter_paths(each, here) if each.children else (here,)


def _flatten(node: _Node) -> Iterator[Fields]:
    if node.children:
        node.fields[_CHILDREN] = (_I32, len(node.children))
    yield node.fields
    for each in node.children:
        yield from _flatten(each)


# --- Thrift's compact protocol ---------------------------------------------------------------------------------------


def _read_struct(reader: ThriftReader) -> Fields:
    return {number: (kind, _read_value(reader, kind)) for number, kind in reader.iter_fields()}


def _read_value(reader: ThriftReader, kind: int) -> Value:
    match kind:
        case _ if kind in (TRUE, FALSE):
            return kind
        case _ if I16 <= kind <= I64:
            return reader.read_integer()
        case _ if kind == BYTE:
            return reader.read_byte()
        case _ if kind == BINARY:
            return reader.read_binary().decode("utf-8", "surrogateescape")
        case _ if kind == STRUCT:
            return _read_struct(reader)
        case _ if kind == LIST:
            item, length = reader.read_list_header()
            return item, [_read_value(reader, item) for _ in range(length)]
    raise ValueError(f"a footer of pyarrow has no field of wire type {kind}")


def _encode_struct(fields: Fields) -> bytes:
    encoded, previous = b"", 0
    for number, (kind, value) in sorted(fields.items()):
        step = number - previous
        encoded += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + _encode_integer(number)
        encoded += b"" if kind in (TRUE, FALSE) else _encode_value(kind, value)
        previous = number
    return encoded + b"\0"


def _encode_value(kind: int, value: Value) -> bytes:
    match kind:
        case _ if kind in (TRUE, FALSE, BYTE):
            return bytes([value])
        case _ if I16 <= kind <= I64:
            return _encode_integer(value)
        case _ if kind == BINARY:
            data: bytes = value.encode("utf-8", "surrogateescape")
            return _encode_length(len(data)) + data
        case _ if kind == STRUCT:
            return _encode_struct(value)
        case _ if kind == LIST:
            item, values = value
            head = bytes([len(values) << 4 | item]) if len(values) < 15 else bytes([0xF0 | item])
            head += b"" if len(values) < 15 else _encode_length(len(values))
            return head + b"".join(_encode_value(item, each) for each in values)
    raise ValueError(f"wire type {kind}")


def _encode_integer(value: int) -> bytes:
    return _encode_length((value << 1) ^ (value >> 63))


def _encode_length(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])

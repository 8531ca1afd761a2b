"""Match table columns with the nodes of a data file: the node readers use for each column and how it stores the type.

In `id` mode readers match columns by field id, otherwise by (physical) name. A column that the file does not contain is
null in every row; additional nodes are ignored. Source: Reader Requirements for Column Mapping, Consistency Between
Table Metadata and Data Files.
"""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from deltaspec.protocol.property_names import NESTED_IDS
from deltaspec.protocol.schema.column_mapping import NESTED_IDS_R3, column_id, physical_name, read_nested_ids
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Struct
from deltaspec.protocol.schema.parquet_types import (
    SOUND,
    Node,
    StoredType,
    get_element_nodes,
    get_map_nodes,
    get_stored_type,
)


class StoredColumn(msgspec.Struct, frozen=True):
    """A column of the table, at any depth, and its match in one file."""

    path: tuple[str, ...]
    """Logical names; array elements are `element`, map keys `key`, map values `value`."""
    type: DataType
    node: Node | None
    """Matched node; None if there is no match, and readers return null."""
    stored: StoredType
    physical_name: str | None = None
    """None for elements, keys and values, which are matched by position."""
    id: int | None = None
    """Field id that the node must have, if any."""
    is_required: bool = False
    """Neither the column nor any enclosing struct may be null."""
    matching_nodes: int = 0
    """Number of nodes with the name, or in id mode with the id; at most one in a valid file."""
    node_with_other_id: Node | None = None
    """Node with the physical name but without the id or with another one."""
    node_with_other_name: Node | None = None
    """Node with the id but without the physical name."""
    node_with_logical_name: Node | None = None
    """In name mode: node without an id that has the logical name, if no node has the physical name."""


def match_columns(schema: Struct, root: Node, mapping: str | None) -> list[StoredColumn]:
    """Match every column of a schema, parents first; columns nested in a missing column are omitted.

    Args:
        schema: Schema of the table, or a part of it.
        root: Root of the file's schema.
        mapping: Column mapping mode: `id`, `name` or None.
    """
    return list(_members(schema, root, mapping, (), required=True))


class _Group(msgspec.Struct, frozen=True):
    """The nodes of a group, indexed by what readers match."""

    by_name: dict[str, list[Node]]
    by_id: dict[int, list[Node]]
    in_any_case: dict[str, list[Node]]

    @classmethod
    def of(cls, group: Node) -> "_Group":
        by_name, by_id, in_any_case = defaultdict(list), defaultdict(list), defaultdict(list)
        for child in group.children:
            by_name[child.name].append(child)
            in_any_case[child.name.casefold()].append(child)
            if child.field_id is not None:
                by_id[child.field_id].append(child)
        return cls(dict(by_name), dict(by_id), dict(in_any_case))


def _members(
    struct: Struct, node: Node, mapping: str | None, path: tuple[str, ...], *, required: bool
) -> Iterator[StoredColumn]:
    group = _Group.of(node)
    taken = {physical_name(member, mapping) for member in struct.fields}
    for member in struct.fields:
        column = _find(member, group, taken, mapping, path, required=required and not member.nullable)
        yield column
        if column.node is not None and column.stored.fault is None:
            ids = _ids_below(member, mapping)
            yield from _below(column.type, column.node, mapping, column.path, column.is_required, ids, (member.name,))


def _find(
    member: Field, group: _Group, taken: set[str], mapping: str | None, path: tuple[str, ...], *, required: bool
) -> StoredColumn:
    """Match one member of a struct; `taken` holds the physical names of all members."""
    name, number = physical_name(member, mapping), column_id(member) if mapping else None
    named = group.by_name.get(name, [])
    numbered = group.by_id.get(number, []) if number is not None else []
    # If a struct has no ids at all, the protocol lets a reader refuse the file or return null (S30); we match by name.
    if mapping == "id" and group.by_id:
        found = numbered
    else:
        found = named or [each for each in group.in_any_case.get(name.casefold(), []) if each.name not in taken]
    other = named[0] if named and number is not None and named[0].field_id != number else None
    unmatched = group.by_name.get(member.name, []) if mapping == "name" and not found else []
    # If name and id match different nodes, the type cannot decide which one is meant.
    node = found[0] if len(found) == 1 and not (found is numbered and other) else None
    return StoredColumn(
        path=(*path, member.name),
        type=member.type,
        node=node,
        stored=get_stored_type(member.type, node) if node is not None else SOUND,
        physical_name=name,
        id=number,
        is_required=required,
        matching_nodes=len(found),
        node_with_other_id=other,
        node_with_other_name=numbered[0] if numbered and not named else None,
        node_with_logical_name=next((each for each in unmatched if each.field_id is None), None),
    )


def _below(
    data_type: DataType,
    node: Node,
    mapping: str | None,
    path: tuple[str, ...],
    required: bool,
    ids: dict[str, int],
    place: tuple[str, ...],
) -> list[StoredColumn]:
    """Match the columns nested in a column that the file contains.

    Args:
        ids: Ids of elements, keys and values by their path below the nearest struct field.
        place: Path from that field, its own name first.
    """
    match data_type:
        case Struct():
            return list(_members(data_type, node, mapping, path, required=required))
        case Array(element):
            nodes = get_element_nodes(node)
            fitting = [each for each in nodes if get_stored_type(element, each).fault is None]
            return _part("element", element, (fitting or nodes)[0], mapping, path, ids, place)
        case Map(key, value):
            parts = zip(("key", "value"), (key, value), get_map_nodes(node), strict=True)
            return [column for name, each, at in parts for column in _part(name, each, at, mapping, path, ids, place)]
    return []


def _part(
    name: str,
    data_type: DataType,
    node: Node,
    mapping: str | None,
    path: tuple[str, ...],
    ids: dict[str, int],
    place: tuple[str, ...],
) -> list[StoredColumn]:
    """Match an element, a key or a value, and the columns nested in it."""
    number = ids.get(".".join((*place[1:], name)))
    here = StoredColumn(
        path=(*path, name),
        type=data_type,
        node=node,
        stored=get_stored_type(data_type, node),
        id=number,
        matching_nodes=1,
        # files written before elements, keys and values had ids have none
        node_with_other_id=node if number is not None and node.field_id not in (None, number) else None,
    )
    if here.stored.fault is not None:
        return [here]
    return [here, *_below(data_type, node, mapping, here.path, False, ids, (*place, name))]


def _ids_below(member: Field, mapping: str | None) -> dict[str, int]:
    """Return the ids of elements, keys and values below a field, by path without the field's name.

    [Changed in current] In r3 they have another metadata key, and their names begin with the logical name.
    """
    found = {}
    for key, root in ((NESTED_IDS, physical_name(member, mapping)), (NESTED_IDS_R3, member.name)):
        for name, number in read_nested_ids(member, key).items():
            if number is not None and name.startswith(f"{root}."):
                found[name.removeprefix(f"{root}.")] = number
    return found

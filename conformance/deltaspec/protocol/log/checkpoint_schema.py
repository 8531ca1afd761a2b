"""Columns of a Parquet checkpoint and their types. Source: chapters Checkpoints, Checkpoint Schema.

A column that is missing from a file is null in every row. Columns beyond the protocol's sample schema are allowed
(E10).
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from deltaspec.protocol.actions import is_field_defined
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import get_partition_types, physical_name
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive, Struct, get_type_name
from deltaspec.protocol.schema.parquet_types import Node, get_stored_type
from deltaspec.protocol.schema.stored_columns import StoredColumn, match_columns

What = Literal["another type", "missing", "logical name", "older name", "unknown name"]

_STRING, _LONG, _INT, _BOOLEAN = (Primitive(name) for name in ("string", "long", "integer", "boolean"))
_STRINGS, _STRING_MAP = Array(_STRING, True), Map(_STRING, _STRING, True)


def _struct(**members: DataType) -> Struct:
    return Struct(tuple(Field(name, kind, True) for name, kind in members.items()))


ACTION_COLUMNS: dict[str, Struct] = {
    "metaData": _struct(
        id=_STRING,
        name=_STRING,
        description=_STRING,
        format=_struct(provider=_STRING, options=_STRING_MAP),
        schemaString=_STRING,
        partitionColumns=_STRINGS,
        createdTime=_LONG,
        configuration=_STRING_MAP,
    ),
    "protocol": _struct(minReaderVersion=_INT, minWriterVersion=_INT, readerFeatures=_STRINGS, writerFeatures=_STRINGS),
    "txn": _struct(appId=_STRING, version=_LONG),
    "add": _struct(
        path=_STRING,
        partitionValues=_STRING_MAP,
        size=_LONG,
        modificationTime=_LONG,
        dataChange=_BOOLEAN,
        stats=_STRING,
        tags=_STRING_MAP,
        # missing from the sample schema of r1, where the action also has baseRowId
        baseRowId=_LONG,
        defaultRowCommitVersion=_LONG,
    ),
    "remove": _struct(path=_STRING, deletionTimestamp=_LONG, dataChange=_BOOLEAN),
}
"""Columns of the protocol's sample schema, by action."""
_WITHOUT_BOUNDS = ("void",)
_BOUNDS = ("minValues", "maxValues")
_NULL_COUNT, _OLDER_NULL_COUNT = "nullCount", "nullCounts"
_STATISTICS = frozenset(
    {"numRecords", "tightBounds", *_BOUNDS, _NULL_COUNT, _OLDER_NULL_COUNT, "statsWithCollation", "expressionStats"}
)
"""Members of `stats_parsed` that the protocol, an older sample or a proposal defines."""


class ColumnFault(msgspec.Struct, frozen=True):
    """A column of a checkpoint that differs from the protocol."""

    path: tuple[str, ...]
    """Path as the file spells it."""
    of: Literal["action", "partition values", "statistics"]
    """`partition values` and `statistics` are columns below `add`."""
    what: What
    expected: str | None = None
    """Expected Delta type or name."""
    stored: str | None = None
    """What the file contains."""


def find_column_faults(
    root: Node,
    schema: Struct | None,
    partition_columns: list[str],
    mapping: str | None,
    revision: Revision = Revision.CURRENT,
) -> list[ColumnFault]:
    """Return the faults in the columns of a Parquet checkpoint file or sidecar.

    A checkpoint has the types of its version: unlike data files, it is not older than a type change.

    Args:
        root: Root of the file's schema.
        schema: Table schema at the checkpoint's version; None if unknown, then typed columns are not checked.
        partition_columns: Logical names.
        mapping: Column mapping mode: `id`, `name` or None.
        revision: Protocol revision; columns that it does not define are not checked.
    """
    found: list[ColumnFault] = []
    for name, columns in ACTION_COLUMNS.items():
        node = _child(root, name)
        if node is not None:
            defined = tuple(each for each in columns.fields if is_field_defined(name, each.name, revision))
            found += _of_another_type(Struct(defined), node, (name,), "action")
    add = _child(root, "add")
    if add is None or schema is None:
        return found
    values = _child(add, "partitionValues_parsed")
    if values is not None and partition_columns:
        found += _partition_values(values, schema, partition_columns, mapping)
    statistics = _child(add, "stats_parsed")
    if statistics is not None:
        found += _statistics(statistics, schema, partition_columns, mapping)
    return found


def _child(node: Node, name: str) -> Node | None:
    return next((child for child in node.children if child.name == name), None)


def _of_another_type(
    expected: Struct, node: Node, path: tuple[str, ...], of: Literal["action", "partition values", "statistics"]
) -> list[ColumnFault]:
    if not _is_struct(node):
        return [ColumnFault(path, of, "another type", "struct", str(node))]
    return [
        ColumnFault((*path, *column.path), of, "another type", get_type_name(column.type), str(column.node))
        for column in match_columns(expected, node, None)
        if column.node is not None and _is_another(column)
    ]


def _is_of_nulls(node: Node) -> bool:
    """Return whether a column contains only nulls and has no type."""
    return node.annotation is not None and node.annotation.name == "UNKNOWN"


def _is_struct(node: Node) -> bool:
    return _is_of_nulls(node) or get_stored_type(_struct(), node).fault is None


def _is_another(column: StoredColumn) -> bool:
    """Return whether a column has the wrong type; a column of nulls may have none."""
    node = column.node
    if node is None or _is_of_nulls(node):
        return False
    return column.stored.fault is not None or column.stored.narrower_type is not None


def _partition_values(
    node: Node, schema: Struct, partition_columns: list[str], mapping: str | None
) -> Iterator[ColumnFault]:
    path = ("add", "partitionValues_parsed")
    if not _is_struct(node):
        yield ColumnFault(path, "partition values", "another type", "struct", str(node))
        return
    if _is_of_nulls(node):
        return
    types = get_partition_types(schema, partition_columns, mapping)
    logical = {physical_name(field, mapping): field.name for field in schema.fields if field.name in partition_columns}
    present = {child.name for child in node.children}
    for column in match_columns(_struct(**types), node, None):
        if column.node is None and column.matching_nodes == 0 and len(column.path) == 1:
            name = logical[column.path[0]]
            if name in present - types.keys():
                yield ColumnFault((*path, name), "partition values", "logical name", column.path[0], name)
            else:
                expected = get_type_name(column.type)
                yield ColumnFault((*path, *column.path), "partition values", "missing", expected)
        elif _is_another(column):
            here = (*path, *column.path)
            yield ColumnFault(here, "partition values", "another type", get_type_name(column.type), str(column.node))


def _statistics(node: Node, schema: Struct, partition_columns: list[str], mapping: str | None) -> Iterator[ColumnFault]:
    path = ("add", "stats_parsed")
    yield from _of_another_type(_struct(numRecords=_LONG, tightBounds=_BOOLEAN), node, path, "statistics")
    if not _is_struct(node):
        return
    for child in node.children:
        if child.name not in _STATISTICS:
            yield ColumnFault((*path, child.name), "statistics", "unknown name", "a statistic", child.name)
    data = Struct(tuple(field for field in schema.fields if field.name not in partition_columns))
    for name in (*_BOUNDS, _NULL_COUNT, _OLDER_NULL_COUNT):
        part = _child(node, name)
        if part is None:
            continue
        if name == _OLDER_NULL_COUNT:
            # [Changed in current] the sample schema of earlier revisions uses this name (E09)
            yield ColumnFault((*path, name), "statistics", "older name", _NULL_COUNT, name)
        if not _is_struct(part):
            yield ColumnFault((*path, name), "statistics", "another type", "struct", str(part))
            continue
        kind = None if name in _BOUNDS else _LONG
        for column in match_columns(_leaves(data, mapping, kind), part, None):
            if _is_another(column):
                here = (*path, name, *column.path)
                yield ColumnFault(here, "statistics", "another type", get_type_name(column.type), str(column.node))
        yield from _logical_names(data, part, mapping, (*path, name))


def _leaves(schema: Struct, mapping: str | None, data_type: DataType | None) -> Struct:
    """Return the data columns by physical name, without types for which no revision defines bounds or null counts.

    Args:
        schema: Schema of the data columns.
        mapping: Column mapping mode.
        data_type: Type of every leaf; None keeps its own type.
    """
    members = []
    for field in schema.fields:
        name = physical_name(field, mapping)
        if isinstance(field.type, Struct):
            members.append(Field(name, _leaves(field.type, mapping, data_type), True))
        elif not isinstance(field.type, Array | Map) and get_type_name(field.type) not in _WITHOUT_BOUNDS:
            members.append(Field(name, data_type or field.type, True))
    return Struct(tuple(members))


def _logical_names(schema: Struct, node: Node, mapping: str | None, path: tuple[str, ...]) -> Iterator[ColumnFault]:
    """Yield columns stored under the logical name although they have another physical name.

    If other columns are stored under physical names, such a name belongs to a column that was dropped (S13).
    """
    if mapping is None:
        return
    physical = {physical_name(field, mapping) for field in schema.fields}
    present = {child.name: child for child in node.children}
    for field in schema.fields:
        name = physical_name(field, mapping)
        if field.name in present and not physical & present.keys():
            yield ColumnFault((*path, field.name), "statistics", "logical name", name, field.name)
        elif isinstance(field.type, Struct) and name in present:
            yield from _logical_names(field.type, present[name], mapping, (*path, name))

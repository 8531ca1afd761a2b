"""Data files of a table that is compatible with Iceberg. Source: Iceberg Compatibility V1, Iceberg Compatibility V2."""

from collections.abc import Sequence

from deltaspec.model.schema.data_types import Primitive, Struct
from deltaspec.model.schema.parquet_types import Node
from deltaspec.model.schema.stored_columns import StoredColumn, stored_columns

_TIMESTAMPS = (Primitive("timestamp"), Primitive("timestamp_ntz"))


def absent_partition_columns(
    schema: Struct, partition_columns: Sequence[str], root: Node, mapping: str | None
) -> list[str]:
    """Partition columns that a data file does not hold, though they are not void.

    Args:
        schema: of the table.
        partition_columns: logical names.
        root: of the file's schema.
        mapping: column mapping in force.
    """
    own = Struct(tuple(each for each in schema.fields if each.name in partition_columns))
    void = Primitive("void")
    return [each.path[0] for each in _top_level(own, root, mapping) if each.type != void and not _is_held(each)]


def misplaced_partition_columns(
    schema: Struct, partition_columns: Sequence[str], root: Node, mapping: str | None
) -> list[str]:
    """Partition columns that stand before a column of data in a file. Arguments as of `absent_partition_columns`."""
    places = {id(child): place for place, child in enumerate(root.children)}
    found = [(each.path[0], places[id(each.node)]) for each in _top_level(schema, root, mapping) if each.node]
    last = max((place for name, place in found if name not in partition_columns), default=-1)
    return [name for name, place in found if name in partition_columns and place < last]


def int96_timestamps(schema: Struct, root: Node, mapping: str | None) -> list[tuple[str, ...]]:
    """Timestamps, with or without a time zone, that a file stores as INT96, partition columns among them."""
    columns = stored_columns(schema, root, mapping)
    return [each.path for each in columns if each.type in _TIMESTAMPS and each.node and each.node.physical == "INT96"]


def _top_level(schema: Struct, root: Node, mapping: str | None) -> list[StoredColumn]:
    return [each for each in stored_columns(schema, root, mapping) if len(each.path) == 1]


def _is_held(column: StoredColumn) -> bool:
    """Whether a node answers to the name or the id, be it to one of them alone."""
    return column.matching_nodes > 0 or column.node_with_other_id is not None or column.node_with_other_name is not None

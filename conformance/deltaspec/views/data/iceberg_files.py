"""Data files of a table with Iceberg compatibility. Source: Iceberg Compatibility V1, Iceberg Compatibility V2,
Iceberg Compatibility V3, Writer Requirements for IcebergCompatV3.
"""

from collections.abc import Sequence

from deltaspec.protocol.schema.data_types import Primitive, Struct
from deltaspec.protocol.schema.parquet_types import Node
from deltaspec.protocol.schema.stored_columns import StoredColumn, match_columns

_TIMESTAMPS = (Primitive("timestamp"), Primitive("timestamp_ntz"))


def find_missing_partition_columns(
    schema: Struct, partition_columns: Sequence[str], root: Node, mapping: str | None
) -> list[str]:
    """Return the partition columns, except void ones, that are missing from a data file.

    Args:
        schema: Schema of the table.
        partition_columns: Logical names.
        root: Root of the file's schema.
        mapping: Column mapping mode.
    """
    own = Struct(tuple(each for each in schema.fields if each.name in partition_columns))
    void = Primitive("void")
    return [each.path[0] for each in _top_level(own, root, mapping) if each.type != void and not _is_stored(each)]


def find_stored_partition_columns(
    schema: Struct, partition_columns: Sequence[str], root: Node, mapping: str | None
) -> list[str]:
    """Return the partition columns that a data file stores. Arguments as `find_missing_partition_columns`."""
    own = Struct(tuple(each for each in schema.fields if each.name in partition_columns))
    return [each.path[0] for each in _top_level(own, root, mapping) if _is_stored(each)]


def find_misplaced_partition_columns(
    schema: Struct, partition_columns: Sequence[str], root: Node, mapping: str | None
) -> list[str]:
    """Return partition columns that precede a data column in a file. Arguments as `find_missing_partition_columns`."""
    positions = {id(child): position for position, child in enumerate(root.children)}
    found = [(each.path[0], positions[id(each.node)]) for each in _top_level(schema, root, mapping) if each.node]
    last = max((position for name, position in found if name not in partition_columns), default=-1)
    return [name for name, position in found if name in partition_columns and position < last]


def find_int96_timestamps(schema: Struct, root: Node, mapping: str | None) -> list[tuple[str, ...]]:
    """Return the timestamp columns, with or without time zone and including partition columns, stored as INT96."""
    columns = match_columns(schema, root, mapping)
    return [each.path for each in columns if each.type in _TIMESTAMPS and each.node and each.node.physical == "INT96"]


def _top_level(schema: Struct, root: Node, mapping: str | None) -> list[StoredColumn]:
    return [each for each in match_columns(schema, root, mapping) if len(each.path) == 1]


def _is_stored(column: StoredColumn) -> bool:
    """Return whether a node has the name, the id or both."""
    return column.matching_nodes > 0 or column.node_with_other_id is not None or column.node_with_other_name is not None

"""Changes of column mapping between versions. Source: Column Mapping, Writer Requirements.

A column is identified by its id. Each version is compared with all versions before it: when a restore brings back an id
or a physical name, it must belong to the same column.
"""

from collections.abc import Mapping

import msgspec

from deltaspec.protocol.features.table_properties import get_integer_property
from deltaspec.protocol.property_names import MAX_COLUMN_ID, PHYSICAL_NAME
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Struct

Path = tuple[str, ...]


class MappedColumns(msgspec.Struct, frozen=True):
    """Mapped columns of one version, or of all versions so far."""

    names: Mapping[int, str]
    """Physical name by column id."""
    paths: Mapping[Path, int]
    """Column id by physical field path."""
    max_column_id: int | None
    """`delta.columnMapping.maxColumnId`; None if it is not set or not a number."""


def collect_mapped_columns(schema: Struct, configuration: dict[str, str], mapping: str | None) -> MappedColumns | None:
    """Return the mapped columns of a version, or None if columns are not mapped.

    Fields without an id or a physical name are omitted.

    Args:
        schema: Schema of the table.
        configuration: Configuration of the table.
        mapping: Mode from `column_mapping.get_mapping_mode`.
    """
    if mapping is None:
        return None
    names: dict[int, str] = {}
    paths: dict[Path, int] = {}
    for path, field in column_mapping.list_physical_paths(schema, mapping):
        number, name = column_mapping.column_id(field), field.metadata.get(PHYSICAL_NAME)
        if number is not None and isinstance(name, str):
            names.setdefault(number, name)
            paths.setdefault(path, number)
    return MappedColumns(names, paths, get_integer_property(configuration, MAX_COLUMN_ID))


def merge_mapped_columns(before: MappedColumns | None, after: MappedColumns | None) -> MappedColumns | None:
    """Merge the columns of a version into the columns of all versions before it; the newer version takes precedence.

    If mapping is off, earlier columns are forgotten: files are then read by logical names, and ids may start over.
    """
    if before is None or after is None:
        return after
    highest = max((each.max_column_id for each in (before, after) if each.max_column_id is not None), default=None)
    return MappedColumns({**before.names, **after.names}, {**before.paths, **after.paths}, highest)


def find_illegal_physical_names(
    before: MappedColumns | None, after: MappedColumns | None
) -> list[tuple[int, str, str]]:
    """Return columns whose physical name changed as (id, old name, new name), ordered by id."""
    if before is None or after is None:
        return []
    shared = sorted(before.names.keys() & after.names.keys())
    return [
        (number, before.names[number], after.names[number])
        for number in shared
        if before.names[number] != after.names[number]
    ]


def find_illegal_physical_paths(before: MappedColumns | None, after: MappedColumns | None) -> list[Path]:
    """Return the physical paths that now belong to a column with another id, sorted. (Required since `current`.)"""
    if before is None or after is None:
        return []
    return sorted(path for path, number in after.paths.items() if before.paths.get(path, number) != number)


def find_illegal_new_names(before: MappedColumns | None, after: MappedColumns | None) -> list[tuple[int, str]]:
    """Return new columns as (id, physical name) whose physical name another column has or had. (Required up to r3.)"""
    if before is None or after is None:
        return []
    taken = {*before.names.values()}
    return sorted(
        (number, name) for number, name in after.names.items() if number not in before.names and name in taken
    )

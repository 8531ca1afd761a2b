"""Column mapping from version to version: what of it may never change. Source: Column Mapping, Writer Requirements.

A column is known by its id. Everything is compared with what the versions before hold, so that an id or a physical
name that comes back (a restore of an old version) is that of the same column.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from deltaspec.model.features.table_properties import get_integer_property
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import Struct

Path = tuple[str, ...]


@dataclass(frozen=True)
class MappedColumns:
    """What one version, or all versions so far, say of mapped columns."""

    names: Mapping[int, str]
    """Physical name by column id."""
    paths: Mapping[Path, int]
    """Column id by physical field path."""
    max_column_id: int | None
    """`delta.columnMapping.maxColumnId`; None where it is not set, or to no number."""


def mapped_columns(schema: Struct, configuration: dict[str, str], mapping: str | None) -> MappedColumns | None:
    """The mapped columns of a version; fields that lack an id or a physical name are left out.

    Args:
        schema: of the table.
        configuration: of the table.
        mapping: mode in force, as `column_mapping.mode` gives it.

    Returns:
        None where columns are not mapped.
    """
    if mapping is None:
        return None
    names: dict[int, str] = {}
    paths: dict[Path, int] = {}
    for path, field in column_mapping.list_physical_paths(schema, mapping):
        number, name = column_mapping.column_id(field), field.metadata.get(column_mapping.PHYSICAL_NAME)
        if number is not None and isinstance(name, str):
            names.setdefault(number, name)
            paths.setdefault(path, number)
    return MappedColumns(names, paths, get_integer_property(configuration, column_mapping.MAX_COLUMN_ID))


def merge_mapped_columns(before: MappedColumns | None, after: MappedColumns | None) -> MappedColumns | None:
    """What all versions up to `after` say: its own word, and that of the versions before about columns it dropped.

    Where mapping is off nothing is remembered: files are then read by logical names, and ids may begin anew.
    """
    if before is None or after is None:
        return after
    highest = max((each.max_column_id for each in (before, after) if each.max_column_id is not None), default=None)
    return MappedColumns({**before.names, **after.names}, {**before.paths, **after.paths}, highest)


def is_illegal_max_column_id(before: MappedColumns | None, after: MappedColumns | None) -> bool:
    """Whether `maxColumnId` became smaller: the next column may get an id that a dropped one had."""
    if before is None or after is None or before.max_column_id is None or after.max_column_id is None:
        return False
    return after.max_column_id < before.max_column_id


def find_illegal_physical_names(
    before: MappedColumns | None, after: MappedColumns | None
) -> list[tuple[int, str, str]]:
    """Columns whose physical name changed: id, name before, name after, in order of ids."""
    if before is None or after is None:
        return []
    shared = sorted(before.names.keys() & after.names.keys())
    return [
        (number, before.names[number], after.names[number])
        for number in shared
        if before.names[number] != after.names[number]
    ]


def find_illegal_physical_paths(before: MappedColumns | None, after: MappedColumns | None) -> list[Path]:
    """Physical field paths that now belong to a column of another id than before, sorted. (Text since `current`.)"""
    if before is None or after is None:
        return []
    return sorted(path for path, number in after.paths.items() if before.paths.get(path, number) != number)


def find_illegal_new_names(before: MappedColumns | None, after: MappedColumns | None) -> list[tuple[int, str]]:
    """New columns (id, physical name) with a physical name that another column has or had. (Text up to r3.)"""
    if before is None or after is None:
        return []
    taken = {*before.names.values()}
    return sorted(
        (number, name) for number, name in after.names.items() if number not in before.names and name in taken
    )


def is_illegal_enablement(mode_after: str | None, *, supported: bool) -> bool:
    """Whether a metaData sets a mode of column mapping that the protocol of its version does not support.

    Args:
        mode_after: the property as it stands after the commit.
        supported: the protocol after the commit supports `columnMapping`.
    """
    return mode_after in ("id", "name") and not supported

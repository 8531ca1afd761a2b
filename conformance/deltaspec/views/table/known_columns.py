"""Columns that a table has or had, and new ones that already have a default. Source: Default Columns (since r3)."""

import msgspec

from deltaspec.protocol.features.constraints import DEFAULT
from deltaspec.protocol.schema.column_mapping import column_id
from deltaspec.protocol.schema.data_types import Struct, iter_fields

Path = tuple[str, ...]


class KnownColumns(msgspec.Struct, frozen=True):
    """The columns of one version, or of all versions so far."""

    paths: frozenset[Path]
    """Logical field paths."""
    ids: frozenset[int]
    """Column ids, if columns are mapped."""
    has_ids: bool
    """Whether the latest version has ids. If mapping is enabled again, ids start over and older ones are meaningless.
    """


def collect_columns(schema: Struct, mapping: str | None) -> KnownColumns:
    """Return the columns of a version at every depth; with column mapping also by id, because names may change."""
    fields = list(iter_fields(schema))
    ids = (column_id(field) for _, field in fields) if mapping is not None else ()
    known = frozenset(each for each in ids if each is not None)
    return KnownColumns(frozenset(path for path, _ in fields), known, has_ids=bool(known))


def merge_columns(before: KnownColumns | None, after: KnownColumns) -> KnownColumns:
    """Return the columns of all versions up to `after`, because a restore may bring old ones back."""
    return after if before is None else KnownColumns(before.paths | after.paths, before.ids | after.ids, after.has_ids)


def find_illegal_defaults(known: KnownColumns, schema: Struct, mapping: str | None) -> list[Path]:
    """Return new columns that already have a default, in the order of the schema.

    Args:
        known: Columns of all versions before.
        schema: Schema after a commit that adds columns. A commit that creates, replaces or restores the table adds
            none.
        mapping: Column mapping mode after the commit.
    """
    return [
        path
        for path, field in iter_fields(schema)
        if field.metadata.get(DEFAULT) is not None and _is_new(known, path, column_id(field), mapping)
    ]


def _is_new(known: KnownColumns, path: Path, number: int | None, mapping: str | None) -> bool:
    """Compare ids if the version directly before has ids too, otherwise names."""
    if mapping is not None and number is not None and known.has_ids:
        return number not in known.ids
    return path not in known.paths

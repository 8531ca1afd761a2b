"""Default values of columns: which rows get them, and when a column may get one. Source: Default Columns (since r3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deltaspec.model.features.constraints import DEFAULT
from deltaspec.model.schema.column_mapping import column_id
from deltaspec.model.schema.data_types import Struct, iter_fields

Path = tuple[str, ...]


class Omitted:
    """What stands in a row of a write where SQL has the word DEFAULT."""


OMITTED = Omitted()


@dataclass(frozen=True)
class KnownColumns:
    """The columns of one version, or of all versions so far."""

    paths: frozenset[Path]
    """Logical field paths."""
    ids: frozenset[int]
    """Column ids, where columns are mapped."""
    has_ids: bool
    """The last version has them. Where mapping is switched on again, ids begin anew: older ones tell nothing."""


def collect_columns(schema: Struct, mapping: str | None) -> KnownColumns:
    """The columns of a version at every depth; under column mapping by id as well, for names may change."""
    fields = list(iter_fields(schema))
    ids = (column_id(field) for _, field in fields) if mapping is not None else ()
    known = frozenset(each for each in ids if each is not None)
    return KnownColumns(frozenset(path for path, _ in fields), known, has_ids=bool(known))


def merge_columns(before: KnownColumns | None, after: KnownColumns) -> KnownColumns:
    """The columns that any version up to `after` has had: a restore brings them back."""
    return after if before is None else KnownColumns(before.paths | after.paths, before.ids | after.ids, after.has_ids)


def find_illegal_defaults(known: KnownColumns, schema: Struct, mapping: str | None) -> list[Path]:
    """Columns that are new and have a default already, in the order of the schema.

    Args:
        known: columns of the versions before.
        schema: after a commit that adds columns to the table; one that makes it, makes it anew or restores it adds
            none.
        mapping: mode of column mapping after the commit.
    """
    return [
        path
        for path, field in iter_fields(schema)
        if field.metadata.get(DEFAULT) is not None and _is_new(known, path, column_id(field), mapping)
    ]


def _is_new(known: KnownColumns, path: Path, number: int | None, mapping: str | None) -> bool:
    """By id where the columns of the version directly before had ids too; else by name."""
    if mapping is not None and number is not None and known.has_ids:
        return number not in known.ids
    return path not in known.paths


def read_defaults(schema: Struct) -> dict[str, str]:
    """Top-level columns with a default to the text of its SQL expression."""
    told = {field.name: field.metadata.get(DEFAULT) for field in schema.fields}
    return {name: value for name, value in told.items() if isinstance(value, str)}


def apply_defaults(row: Mapping[str, Any], schema: Struct, results: Mapping[str, Any]) -> dict[str, Any]:
    """The row that a write stores: a column without a value, or with `OMITTED`, gets its default's result.

    An explicit null is a value. Columns without a default get null.

    Args:
        row: value by column, as the user gives it.
        schema: of the table.
        results: what the default of each column that has one gives in this row.
    """
    found = {}
    for field in schema.fields:
        value = row.get(field.name, OMITTED)
        found[field.name] = results.get(field.name) if value is OMITTED else value
    return found

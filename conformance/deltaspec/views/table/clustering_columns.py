"""Clustered tables: the clustering columns of the domain and their file statistics. Source: Clustered Table.

The protocol does not limit the number of clustering columns; engines do.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from deltaspec.protocol.features.clustering import Path
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Field, Struct


def find_unknown_columns(
    columns: Iterable[Path], schema: Struct, mapping: str | None, revision: Revision = Revision.CURRENT
) -> list[str]:
    """Return the clustering columns that are not in the schema; without column mapping, names are case-insensitive.

    Args:
        columns: Paths as the domain stores them.
        schema: Schema of the table.
        mapping: Column mapping mode; if set, fields are identified by physical path.
        revision: Protocol revision. [Changed in current] A physical path is a MUST; before, it is a SHOULD.
    """
    unknown = _not_among(columns, schema, mapping)
    if revision is not Revision.CURRENT:
        logical = set(_not_among(columns, schema, None))
        unknown = [each for each in unknown if each in logical]
    return unknown


def _not_among(columns: Iterable[Path], schema: Struct, mapping: str | None) -> list[str]:
    """Return the columns that are not a path of the schema; with column mapping, not a physical path."""
    find = _finder(schema, mapping)
    return [".".join(each) for each in columns if find(each) is None]


def find_logically_named_columns(columns: Iterable[Path], schema: Struct, mapping: str | None) -> list[str]:
    """Return the clustering columns stored by logical instead of physical name. Arguments as `find_unknown_columns`."""
    logical = set(_not_among(columns, schema, None))
    return [each for each in _not_among(columns, schema, mapping) if each not in logical]


def _finder(schema: Struct, mapping: str | None) -> Callable[[Path], tuple[Path, Field] | None]:
    """Build a `find_field` function for many columns of one schema."""
    found: dict[tuple[str, Path], tuple[Path, Field]] = {}
    for path, field in column_mapping.list_physical_paths(schema, mapping):
        for joined in (path, (".".join(path),)):
            found.setdefault(("as it is" if joined is path else "joined", joined), (path, field))
            if not mapping:
                found.setdefault(("lower" if joined is path else "joined, lower", _lower(joined)), (path, field))

    def find(column: Path) -> tuple[Path, Field] | None:
        keys = [("as it is", column), ("joined", column), ("lower", _lower(column)), ("joined, lower", _lower(column))]
        return next((found[key] for key in keys if key in found), None)

    return find


def _lower(path: Path) -> Path:
    return tuple(name.lower() for name in path)


def resolve_columns(columns: Iterable[Path], schema: Struct | None, mapping: str | None) -> tuple[Path, ...]:
    """Return the physical paths of the clustering columns as the schema spells them; statistics use this spelling.

    Columns that are not in the schema are omitted. The result is empty if the schema is unknown.
    """
    columns = tuple(columns)
    if schema is None or not columns:
        return ()
    find = _finder(schema, mapping)
    found = [find(each) for each in columns]
    return tuple(dict.fromkeys(each[0] for each in found if each is not None))


def find_columns_without_statistics(stats: str | None, columns: tuple[Path, ...]) -> list[str] | None:
    """Return the clustering columns without statistics in a file; None if the statistics are not a JSON object.

    A file without records needs no statistics. A null count is enough, since some columns cannot have bounds.

    Args:
        stats: Statistics as a JSON string; None if the file has none.
        columns: Physical paths of the clustering columns.
    """
    try:
        found = msgspec.json.decode(stats) if stats is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if found.get("numRecords") == 0:
        return []
    per_statistic = [found.get(name) for name in ("nullCount", "minValues", "maxValues")]
    return [".".join(path) for path in columns if not any(_has(entries, path) for entries in per_statistic)]


def _has(entries: Any, path: Path) -> bool:
    for name in path:
        entries = entries.get(name) if isinstance(entries, Mapping) else None
    return entries is not None

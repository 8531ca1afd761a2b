"""Clustered tables: the columns that a domain names, and what files say of them. Source: Clustered Table.

No text bounds the number of clustering columns, though engines do.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from deltaspec.model.actions import DomainMetadata
from deltaspec.model.json_values import JsonError, Number, has_lone_surrogate, parse_lossless
from deltaspec.model.revisions import Revision
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import Field, Struct

FEATURE = "clustering"
DOMAIN = "delta.clustering"
COLUMNS = "clusteringColumns"
Path = tuple[str, ...]


def configuration_fault(configuration: str) -> str | None:
    """What is wrong with the configuration of the domain; None where it is sound.

    A column is a name, as the text shows it, or the list of its parts, as engines write it (E15).
    """
    try:
        value = parse_lossless(configuration).value
    except JsonError as fault:
        return f"is no JSON: {fault}"
    if not isinstance(value, dict):
        return "is no JSON object"
    columns = value.get(COLUMNS)
    if not isinstance(columns, list) or not all(_is_column(column) for column in columns):
        return f"holds no list {COLUMNS}"
    if has_lone_surrogate(columns):
        return "names a column by half of a surrogate pair"
    return None


def _is_column(column: object) -> bool:
    if isinstance(column, list):
        return bool(column) and all(isinstance(part, str) and not isinstance(part, Number) for part in column)
    return isinstance(column, str) and not isinstance(column, Number)


def clustering_columns(domain: DomainMetadata | None) -> tuple[Path, ...]:
    """Physical paths of the clustering columns that the domain names; none where there is no sound domain.

    A column that is one text is a name of the top level, as the text shows it, or a path joined by dots (E15).
    """
    if domain is None or domain.removed or domain.domain != DOMAIN or configuration_fault(domain.configuration):
        return ()
    document: Any = parse_lossless(domain.configuration).value
    return tuple(tuple(each) if isinstance(each, list) else (each,) for each in document[COLUMNS])


def find_unknown_columns(
    columns: Iterable[Path], schema: Struct, mapping: str | None, revision: Revision = Revision.CURRENT
) -> list[str]:
    """Clustering columns that are no field of the schema; without column mapping the case of names is passed over.

    Args:
        columns: paths as the domain names them.
        schema: of the table.
        mapping: column mapping in force: then a field is known by its physical path.
        revision: of the text. [Changed in current] a physical path is a must, before it a should.
    """
    unknown = _not_among(columns, schema, mapping)
    if revision is not Revision.CURRENT:
        logical = set(_not_among(columns, schema, None))
        unknown = [each for each in unknown if each in logical]
    return unknown


def _not_among(columns: Iterable[Path], schema: Struct, mapping: str | None) -> list[str]:
    """Columns that are no path of the schema, under column mapping no physical one."""
    find = _finder(schema, mapping)
    return [".".join(each) for each in columns if find(each) is None]


def find_logically_named_columns(columns: Iterable[Path], schema: Struct, mapping: str | None) -> list[str]:
    """Clustering columns that go by logical names where physical ones are in force; arguments as `find_unknown_columns`."""
    logical = set(_not_among(columns, schema, None))
    return [each for each in _not_among(columns, schema, mapping) if each not in logical]


def find_field(column: Path, schema: Struct, mapping: str | None) -> tuple[Path, Field] | None:
    """The field that a clustering column names, and its physical path as the schema spells it; None where it has none.

    A column that is one text may be the path joined by dots (E15); without column mapping the case of names is passed
    over, as columns are told apart without it. What equals the column letter by letter comes before what does not.

    Args:
        column: as `clustering_columns` gives it.
        schema: of the table.
        mapping: column mapping in force: then a field is known by its physical path.
    """
    return _finder(schema, mapping)(column)


def _finder(schema: Struct, mapping: str | None) -> Callable[[Path], tuple[Path, Field] | None]:
    """`find_field` for many columns of one schema."""
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
    """Physical paths of the clustering columns as the schema spells them, which statistics go by.

    Of a column that the schema lacks nothing can be told, nor of any while the schema is not known.
    """
    if schema is None:
        return ()
    find = _finder(schema, mapping)
    found = [find(each) for each in columns]
    return tuple(dict.fromkeys(each[0] for each in found if each is not None))


def find_columns_without_statistics(stats: str | None, columns: tuple[Path, ...]) -> list[str] | None:
    """Clustering columns of which the statistics of a file say nothing; None where they are no JSON object.

    A file of no records needs to say nothing, and a count of nulls is enough where a column may have no bounds.

    Args:
        stats: text of the statistics; None where the file has none.
        columns: physical paths of the clustering columns.
    """
    try:
        found = msgspec.json.decode(stats) if stats is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if found.get("numRecords") == 0:
        return []
    said = [found.get(name) for name in ("nullCount", "minValues", "maxValues")]
    return [".".join(path) for path in columns if not any(_has(entries, path) for entries in said)]


def _has(entries: Any, path: Path) -> bool:
    for name in path:
        entries = entries.get(name) if isinstance(entries, Mapping) else None
    return entries is not None


def has_blank_provider(provider: str | None) -> bool:
    """Whether `clusteringProvider` is there and names no implementation; without it nothing clustered the file."""
    return provider is not None and not provider.strip()

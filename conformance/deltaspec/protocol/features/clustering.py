"""Clustered tables: names, and the configuration of the domain. Source: Clustered Table."""

from typing import Any

from deltaspec.protocol.actions import DomainMetadata
from deltaspec.protocol.json_values import JsonError, Number, has_lone_surrogate, parse_lossless, prune_deep_values

FEATURE = "clustering"
DOMAIN = "delta.clustering"
COLUMNS = "clusteringColumns"
Path = tuple[str, ...]


def find_configuration_fault(configuration: str) -> str | None:
    """Return what is wrong with the configuration of the domain, or None. Columns cannot be read if there is a fault.

    A column is a name, as the protocol shows it, or the list of its parts, as engines write it (E15).
    """
    try:
        value = parse_lossless(prune_deep_values(configuration)).value
    except JsonError as fault:
        return f"is not JSON: {fault}"
    if not isinstance(value, dict):
        return "is not a JSON object"
    columns = value.get(COLUMNS)
    if not isinstance(columns, list) or not all(_is_column(column) for column in columns):
        return f"has no list {COLUMNS}"
    if has_lone_surrogate(columns):
        return "has a column name with a lone surrogate"
    return None


def _is_column(column: object) -> bool:
    if isinstance(column, list):
        return bool(column) and all(isinstance(part, str) and not isinstance(part, Number) for part in column)
    return isinstance(column, str) and not isinstance(column, Number)


def read_clustering_columns(domain: DomainMetadata | None) -> tuple[Path, ...]:
    """Return the physical paths of the clustering columns; empty if the domain is missing or malformed.

    A column stored as a string is a top-level name, as the protocol shows it, or a path joined by dots (E15).
    """
    if domain is None or domain.removed or domain.domain != DOMAIN or find_configuration_fault(domain.configuration):
        return ()
    document: Any = parse_lossless(prune_deep_values(domain.configuration)).value
    return tuple(tuple(each) if isinstance(each, list) else (each,) for each in document[COLUMNS])


def has_blank_provider(provider: str | None) -> bool:
    """Return whether `clusteringProvider` is set but blank. If it is absent, the file is not clustered."""
    return provider is not None and not provider.strip()

"""Clustering columns beside the schema and the partition columns. Source: Clustered Table."""

from collections.abc import Iterable
from typing import Any

from deltaspec.model import column_mapping
from deltaspec.model.actions import DomainMetadata
from deltaspec.model.data_types import Struct
from deltaspec.model.json_values import parse_lossless
from deltaspec.views.domain_facts import CLUSTERING, configuration_fault

Path = tuple[str, ...]


def clustering_columns(domain: DomainMetadata | None) -> tuple[Path, ...]:
    """Physical paths of the clustering columns that the domain names; none where there is no sound domain.

    A column that is one text is a name of the top level, as the text shows it (E15).
    """
    if domain is None or domain.domain != CLUSTERING or configuration_fault(domain) is not None:
        return ()
    document: Any = parse_lossless(domain.configuration).value
    return tuple(tuple(each) if isinstance(each, list) else (each,) for each in document["clusteringColumns"])


def unknown_columns(columns: Iterable[Path], schema: Struct, mapping: str | None) -> list[str]:
    """Clustering columns that are no field of the schema; without column mapping the case of names is passed over."""
    paths = {_comparable(path, mapping) for path, _ in column_mapping.physical_paths(schema, mapping)}
    return [".".join(each) for each in columns if _comparable(each, mapping) not in paths]


def _comparable(path: Path, mapping: str | None) -> Path:
    return path if mapping else tuple(name.lower() for name in path)

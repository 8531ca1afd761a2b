"""Clustering columns beside the schema and the partition columns. Source: Clustered Table."""

from collections.abc import Iterable
from typing import Any

import msgspec
import polars as pl

from deltaspec.model import column_mapping
from deltaspec.model.actions import DomainMetadata
from deltaspec.model.data_types import Struct
from deltaspec.model.json_values import parse_lossless
from deltaspec.views.domain_facts import CLUSTERING, configuration_fault

Path = tuple[str, ...]


def clustering_columns(domain: DomainMetadata | None) -> tuple[Path, ...]:
    """Physical paths of the clustering columns that the domain names; none where there is no sound domain.

    A column that is one text is a name of the top level, as the text shows it, or a path joined by dots (E15).
    """
    if domain is None or domain.domain != CLUSTERING or configuration_fault(domain) is not None:
        return ()
    document: Any = parse_lossless(domain.configuration).value
    return tuple(tuple(each) if isinstance(each, list) else (each,) for each in document["clusteringColumns"])


def unknown_columns(columns: Iterable[Path], schema: Struct, mapping: str | None) -> list[str]:
    """Clustering columns that are no field of the schema; without column mapping the case of names is passed over."""
    paths = {_comparable(path, mapping) for path, _ in column_mapping.physical_paths(schema, mapping)}
    dotted = {(".".join(path),) for path in paths}
    known = paths | dotted
    return [".".join(each) for each in columns if _comparable(each, mapping) not in known]


def known_columns(columns: tuple[Path, ...], schema: Struct | None, mapping: str | None) -> tuple[Path, ...]:
    """Clustering columns that statistics can be asked for: of one that the schema lacks nothing can be told."""
    unknown = unknown_columns(columns, schema, mapping) if schema is not None else []
    return tuple(each for each in columns if ".".join(each) not in unknown)


def without_statistics(stats: pl.Series, columns: tuple[Path, ...]) -> pl.Series:
    """Clustering columns of which the statistics of a file say nothing, file by file.

    Args:
        stats: statistics texts; null where a file has none.
        columns: physical paths of the clustering columns.

    Returns:
        Lists of columns, null where a text is no JSON object. A file of no records needs to say nothing, and a count
        of nulls is enough where a column may have no bounds.
    """
    answers: list[list[str] | None] = [_unspoken(text, columns) for text in stats.to_list()]
    return pl.Series(answers, dtype=pl.List(pl.String))


def _unspoken(text: str | None, columns: tuple[Path, ...]) -> list[str] | None:
    try:
        found = msgspec.json.decode(text) if text is not None else {}
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if found.get("numRecords") == 0:
        return []
    said = [found.get(name) for name in ("nullCount", "minValues", "maxValues")]
    return [".".join(path) for path in columns if not any(_says(entries, path) for entries in said)]


def _says(entries: Any, path: Path) -> bool:
    """Whether statistics have an entry; a single text is a name, or a path joined by dots (E15)."""
    return _has(entries, path) or (len(path) == 1 and _has(entries, tuple(path[0].split("."))))


def _has(entries: Any, path: Path) -> bool:
    for name in path:
        entries = entries.get(name) if isinstance(entries, dict) else None
    return entries is not None


def _comparable(path: Path, mapping: str | None) -> Path:
    return path if mapping else tuple(name.lower() for name in path)

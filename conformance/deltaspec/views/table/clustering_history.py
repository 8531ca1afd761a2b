"""Clustering columns along the history, and their statistics. Source: Clustered Table."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

import polars as pl

from deltaspec.protocol.features import clustering
from deltaspec.protocol.features.clustering import Path
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import list_physical_paths
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.views.table.clustering_columns import (
    find_columns_without_statistics,
    find_logically_named_columns,
    find_unknown_columns,
)
from deltaspec.views.table.schema_columns import ColumnCache, find_appended_columns

read_clustering_columns = lru_cache(maxsize=1)(clustering.read_clustering_columns)
"""The function of `protocol`, which caches its last result because several views read the same domain."""


class ClusteringHistory:
    """The version since which the table has each field and each clustering column, as far as versions are known.

    A field is identified by its physical path, which does not change when column mapping is enabled. A field that is
    dropped and added again is a new one.
    """

    def __init__(self) -> None:
        self._fields: dict[Path, int] = {}
        self._schema: Struct | None = None
        """Schema of the last applied version; None if it is unknown."""
        self._mapping: str | None = None
        self._paths = ColumnCache(_list_paths)
        self._clustered: list[tuple[int, tuple[Path, ...]]] = []

    def apply(self, version: int, schema: Struct | None, mapping: str | None, columns: tuple[Path, ...]) -> None:
        """Apply the next version that may change fields or clustering.

        `columns` has the physical paths of the clustering columns.
        """
        appended = None if schema is None or mapping != self._mapping else find_appended_columns(self._schema, schema)
        self._schema, self._mapping = schema, mapping
        if appended is not None:
            self._fields |= {path: self._fields.get(path, version) for path in _list_paths(appended, mapping)}
        else:
            paths = chain.from_iterable(self._paths.collect(schema, mapping)) if schema is not None else ()
            self._fields = {path: self._fields.get(path, version) for path in paths}
        self._clustered.append((version, columns))

    def forget(self) -> None:
        """Record that versions are unknown."""
        self._fields, self._schema = {}, None

    def fields_since(self, columns: Iterable[Path]) -> dict[str, int]:
        """Map each column, joined by dots, to the version since which the schema has had it without interruption."""
        return {".".join(each): self._fields[each] for each in columns if each in self._fields}

    def clustered_since(self, columns: Iterable[Path]) -> dict[Path, int]:
        """Map each column to the version since which it has been a clustering column without interruption."""
        since: dict[Path, int] = {}
        for column in columns:
            for version, named in reversed(self._clustered):
                if column not in named:
                    break
                since[column] = version
        return since


def _list_paths(schema: Struct, mapping: str | None) -> list[Path]:
    return [path for path, _ in list_physical_paths(schema, mapping)]


def select_rows_without_statistics(stats: pl.Series, columns: tuple[Path, ...]) -> pl.Series:
    """Return for each file the clustering columns that have no statistics.

    Args:
        stats: statistics as JSON strings; null if a file has none.
        columns: physical paths of the clustering columns.

    Returns:
        Lists of columns, joined by dots; null if a string is not a JSON object.
    """
    missing_columns = [find_columns_without_statistics(text, columns) for text in stats.to_list()]
    return pl.Series(missing_columns, dtype=pl.List(pl.String))


def build_clustering_row(
    columns: tuple[Path, ...], schema: Struct, partition_columns: list[str], mapping: str | None, revision: Revision
) -> dict[str, Any]:
    """Return the row of `clustering` for one version, without location columns; `columns` comes from the domain."""
    return {
        "clustering_columns": [".".join(each) for each in columns],
        "unknown_clustering_columns": find_unknown_columns(columns, schema, mapping, revision),
        "logically_named_clustering_columns": find_logically_named_columns(columns, schema, mapping),
        "partition_columns": partition_columns,
        "column_mapping_mode": mapping,
    }

"""What statistics of files say of clustering columns, as a column of a view. Source: Clustered Table."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from deltaspec.model.features.clustering import (
    Path,
    find_columns_without_statistics,
    find_logically_named_columns,
    find_unknown_columns,
)
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.column_mapping import list_physical_paths
from deltaspec.model.schema.data_types import Struct


class ClusteringHistory:
    """Since when the table has its fields, and since when it is clustered by them, as far as versions are known.

    A field is known by its physical path, which it has before columns are mapped and after. One that is dropped and
    comes again by its name is another one.
    """

    def __init__(self) -> None:
        self._fields: dict[Path, int] = {}
        self._clustered: list[tuple[int, tuple[Path, ...]]] = []

    def take(self, version: int, schema: Struct | None, mapping: str | None, columns: tuple[Path, ...]) -> None:
        """Step to the next version that may have changed either; `columns` are physical paths of its clustering."""
        paths = [path for path, _ in list_physical_paths(schema, mapping)] if schema is not None else []
        self._fields = {path: self._fields.get(path, version) for path in paths}
        self._clustered.append((version, columns))

    def forget(self) -> None:
        """Note that versions are unknown."""
        self._fields = {}

    def fields_since(self, columns: Iterable[Path]) -> dict[str, int]:
        """Columns, joined by dots, to the version whose schema had them first, without a break up to now."""
        return {".".join(each): self._fields[each] for each in columns if each in self._fields}

    def clustered_since(self, columns: Iterable[Path]) -> dict[Path, int]:
        """Columns to the first version from which on each has been a clustering column without a break."""
        since: dict[Path, int] = {}
        for column in columns:
            for version, named in reversed(self._clustered):
                if column not in named:
                    break
                since[column] = version
        return since


def select_rows_without_statistics(stats: pl.Series, columns: tuple[Path, ...]) -> pl.Series:
    """Clustering columns of which the statistics of a file say nothing, file by file.

    Args:
        stats: statistics texts; null where a file has none.
        columns: physical paths of the clustering columns.

    Returns:
        Lists of columns, null where a text is no JSON object.
    """
    answers = [find_columns_without_statistics(text, columns) for text in stats.to_list()]
    return pl.Series(answers, dtype=pl.List(pl.String))


def build_clustering_row(
    columns: tuple[Path, ...], schema: Struct, partition_columns: list[str], mapping: str | None, revision: Revision
) -> dict[str, Any]:
    """The row of the view `clustering` of one version, but for its place; `columns` are as the domain names them."""
    return {
        "clustering_columns": [".".join(each) for each in columns],
        "unknown_clustering_columns": find_unknown_columns(columns, schema, mapping, revision),
        "logically_named_clustering_columns": find_logically_named_columns(columns, schema, mapping),
        "partition_columns": partition_columns,
        "column_mapping_mode": mapping,
    }

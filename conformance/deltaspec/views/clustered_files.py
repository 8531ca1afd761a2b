"""The view over files that are older than the clustering of their table, and its rows. Source: Clustered Table."""

from typing import Any

import polars as pl

from deltaspec.model.clustering import Path
from deltaspec.views.base import Column, View
from deltaspec.views.clustering_facts import without_statistics

clustered_files = View(
    name="clustered_files",
    grain="live data file that was added before a column became a clustering column, and whose statistics are known",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint whose action is in force"),
        "file": Column(pl.String, "log file the action stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "path": Column(pl.String, "path as written"),
        "columns_without_statistics": Column(
            pl.List(pl.String), "clustering columns newer than the file of which its statistics say nothing"
        ),
    },
)


def clustered_since(rows: list[dict[str, Any]], columns: tuple[Path, ...]) -> dict[Path, int]:
    """Clustering columns to the first version from which on each has been one without a break, as far as is known.

    Args:
        rows: of the view `clustering`, in order of their versions.
        columns: those of the judged version.
    """
    since: dict[Path, int] = {}
    for column in columns:
        for row in reversed(rows):
            if ".".join(column) not in row["clustering_columns"]:
                break
            since[column] = row["version"]
    return since


def clustered_file_rows(files: pl.DataFrame, since: dict[Path, int]) -> pl.DataFrame:
    """Rows of `clustered_files`.

    Args:
        files: live data files: `source`, `version`, `file`, `line`, `path`, `path_key` and `stats`. A checkpoint may
            have statistics in columns instead of a text: of a file without a text nothing is known there.
        since: as of `clustered_since`.
    """
    known = files.filter(pl.col("stats").is_not_null() | (pl.col("source") == "commit"))
    found = [clustered_files.frame([])]
    for version in sorted(set(since.values())):
        columns = tuple(column for column, first in since.items() if first == version)
        older = known.filter(pl.col("version") < version)
        if len(older):
            silent = without_statistics(older["stats"], columns)
            rows = older.with_columns(path=pl.coalesce("path", "path_key"), columns_without_statistics=silent)
            found.append(rows.select(list(clustered_files.columns)))
    return pl.concat(found)

"""The view over files that are older than the clustering of their table, and its rows. Source: Clustered Table."""

from collections.abc import Mapping

import polars as pl

from deltaspec.model.features.clustering import Path
from deltaspec.views.base import Column, View
from deltaspec.views.files.adds_without_stats import MISSING_STATS_COLUMN, join_field_versions, join_first_versions
from deltaspec.views.table.clustering_history import select_rows_without_statistics

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
            pl.List(pl.String),
            "clustering columns, newer as such than the file, of which its statistics say nothing, but for those that "
            "the schema got, or may have got, after the file was written; null where there are none",
        ),
    },
)


def build_clustered_file_rows(
    files: pl.DataFrame,
    since: Mapping[Path, int],
    fields_since: Mapping[str, int],
    chain: pl.DataFrame,
    operations: Mapping[int, str | None],
    *,
    begins_with_checkpoint: bool,
) -> tuple[pl.DataFrame, bool]:
    """Rows of `clustered_files`, and whether there are files that may be older than a column they say nothing of.

    Args:
        files: live data files: `source`, `version`, `file`, `line`, `path`, `path_key` and `stats`. A checkpoint may
            have statistics in columns instead of a text: of a file without a text nothing is known there.
        since: clustering columns to the first version from which on each has been one.
        fields_since: the columns, joined by dots, to the version whose schema had each first.
        chain: every add and remove of the judged history.
        operations: what each commit says it does.
        begins_with_checkpoint: there are versions before the judged history.
    """
    known = files.filter(pl.col("stats").is_not_null() | (pl.col("source") == "commit"))
    found, has_undecided_files = [clustered_files.frame([])], False
    for version in sorted(set(since.values())):
        columns = tuple(column for column, first in since.items() if first == version)
        older = known.filter(pl.col("version") < version)
        if older.is_empty():
            continue
        silent = older.with_columns(
            select_rows_without_statistics(older["stats"], columns).alias(MISSING_STATS_COLUMN)
        ).with_row_index("_row")
        each = join_field_versions(
            silent.select("_row", "path_key", MISSING_STATS_COLUMN).explode(MISSING_STATS_COLUMN).drop_nulls(),
            fields_since,
        )
        told = join_first_versions(each, chain, operations, begins_with_checkpoint=begins_with_checkpoint)
        has_undecided_files = has_undecided_files or bool(told["written"].has_nulls())
        kept = told.filter(pl.col("since") <= pl.col("written"))
        kept = kept.group_by("_row").agg(columns_without_statistics=pl.col(MISSING_STATS_COLUMN))
        rows = silent.join(kept, on="_row", how="left", maintain_order="left")
        rows = rows.with_columns(path=pl.coalesce("path", "path_key"))
        found.append(rows.select(list(clustered_files.columns)))
    return pl.concat(found), has_undecided_files

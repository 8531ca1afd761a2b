"""View over files that are older than the clustering of their table. Source: Clustered Table."""

from collections.abc import Mapping

import polars as pl

from deltaspec.protocol.features.clustering import Path
from deltaspec.views.base import STATE_KINDS, Column, View
from deltaspec.views.files.adds_without_stats import MISSING_STATS_COLUMN, join_field_versions, join_first_versions
from deltaspec.views.table.clustering_history import select_rows_without_statistics

clustered_files = View(
    name="clustered_files",
    decided_by=STATE_KINDS | {"domainMetadata"},
    grain="live data file that was added before a column became a clustering column, and whose statistics are known",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint that holds the file's current action"),
        "file": Column(pl.String, "log file of the action, relative to the table root"),
        "line": Column(pl.Int64, "line number or Parquet row number, starting at 1"),
        "path": Column(pl.String, "path, as written"),
        "columns_without_statistics": Column(
            pl.List(pl.String),
            "columns without statistics that became clustering columns after the file was added, except those that the "
            "schema gained, or may have gained, after the file was written; null if there are none",
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
    """Return the rows of `clustered_files`, and whether files are undecided: a column may be newer than the file.

    Args:
        files: live data files with `source`, `version`, `file`, `line`, `path`, `path_key` and `stats`. Files of a
            checkpoint without `stats` are skipped: the checkpoint may leave statistics out.
        since: clustering column to the version since which it is one.
        fields_since: clustering column, joined by dots, to the first version whose schema has it.
        chain: every add and remove of the validated history.
        operations: version to commitInfo.operation, None if a commit has none.
        begins_with_checkpoint: whether versions before the validated history exist.
    """
    known = files.filter(pl.col("stats").is_not_null() | (pl.col("source") == "commit"))
    found, has_undecided_files = [clustered_files.frame([])], False
    for version in sorted(set(since.values())):
        columns = tuple(column for column, first in since.items() if first == version)
        older = known.filter(pl.col("version") < version)
        if older.is_empty():
            continue
        with_missing_columns = older.with_columns(
            select_rows_without_statistics(older["stats"], columns).alias(MISSING_STATS_COLUMN)
        ).with_row_index("_row")
        missing_columns = join_field_versions(
            with_missing_columns.select("_row", "path_key", MISSING_STATS_COLUMN)
            .explode(MISSING_STATS_COLUMN)
            .drop_nulls(),
            fields_since,
        )
        dated = join_first_versions(missing_columns, chain, operations, begins_with_checkpoint=begins_with_checkpoint)
        has_undecided_files = has_undecided_files or bool(dated["written"].has_nulls())
        decided = dated.filter(pl.col("since") <= pl.col("written"))
        decided = decided.group_by("_row").agg(columns_without_statistics=pl.col(MISSING_STATS_COLUMN))
        rows = with_missing_columns.join(decided, on="_row", how="left", maintain_order="left")
        rows = rows.with_columns(path=pl.coalesce("path", "path_key"))
        found.append(rows.select(list(clustered_files.columns)))
    return pl.concat(found), has_undecided_files

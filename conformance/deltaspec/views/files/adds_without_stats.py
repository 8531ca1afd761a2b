"""View over adds whose statistics are missing values that the table requires."""

from collections.abc import Mapping

import polars as pl

from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.views.base import STATE_KINDS, Column, View

MISSING_STATS_COLUMN = "clustering_columns_without_statistics"

adds_without_stats = View(
    name="adds_without_stats",
    grain="add in a commit whose statistics have no numRecords although Iceberg compatibility is enabled, or have no "
    "entry for a clustering column",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "line": Column(pl.Int64, "line number, starting at 1"),
        "path": Column(pl.String, "path, as written"),
        "iceberg_compatibility": Column(
            pl.String,
            "enabled Iceberg compatibility at that version: V1, V2 or V3; V2 or V1 if several are; null if none is",
            decided_by=STATE_KINDS,
        ),
        "num_records_missing": Column(
            pl.Boolean,
            "whether numRecords is missing although Iceberg compatibility is enabled; false if the statistics "
            "are invalid",
            decided_by=STATE_KINDS,
        ),
        "path_is_new": Column(
            pl.Boolean,
            "whether no earlier action of the validated history has the path; null if the commit reuses existing "
            "files, "
            "or may do so",
        ),
        MISSING_STATS_COLUMN: Column(
            pl.List(pl.String),
            "clustering columns without statistics, except those that the schema gained, or may have gained, after the "
            "file was written",
            decided_by=STATE_KINDS | {"domainMetadata"},
        ),
    },
)

_LOCATION = ("version", "file", "line")
_COLLECTED = {
    **adds_without_stats.schema,
    "path_key": pl.String,
    MISSING_STATS_COLUMN: pl.String,
    "since": pl.Int64,
}
del _COLLECTED["path_is_new"]


def collect_adds_without_stats(facts: pl.DataFrame, since: Mapping[str, int]) -> pl.DataFrame:
    """Return one row per add and clustering column without statistics, for `build_adds_without_stats_rows`.

    Args:
        facts: file actions of one table state, rows of `build_file_facts`.
        since: clustering column to the first version whose schema has it.
    """
    if all(facts[name].null_count() == len(facts) for name in ("iceberg_compatibility", MISSING_STATS_COLUMN)):
        return pl.DataFrame(schema=_COLLECTED)  # nothing requires statistics
    has_no_record_count = pl.col("iceberg_compatibility").is_not_null() & pl.col("num_records").is_null()
    has_no_record_count = has_no_record_count & pl.col("stats_fault").is_null()
    added = (pl.col("source") == "commit") & (pl.col("kind") == "add")
    rows = facts.filter(added & (has_no_record_count | (pl.col(MISSING_STATS_COLUMN).list.len() > 0).fill_null(False)))
    return join_field_versions(
        rows.with_columns(num_records_missing=has_no_record_count).explode(MISSING_STATS_COLUMN), since
    ).select(list(_COLLECTED))


def join_field_versions(rows: pl.DataFrame, since: Mapping[str, int]) -> pl.DataFrame:
    """Add `since`, the first version whose schema has the clustering column of the row; null if unknown."""
    known = pl.DataFrame(
        {MISSING_STATS_COLUMN: list(since), "since": list(since.values())},
        schema={MISSING_STATS_COLUMN: pl.String, "since": pl.Int64},
    )
    return rows.join(known, on=MISSING_STATS_COLUMN, how="left", maintain_order="left")


def join_first_versions(
    rows: pl.DataFrame, chain: pl.DataFrame, operations: Mapping[int, str | None], *, begins_with_checkpoint: bool
) -> pl.DataFrame:
    """Add `seen`, the first version with an action of the path, and `written`.

    `written` equals `seen` if the commit of that version certainly wrote the file, and is null otherwise. A commit that
    reuses existing files did not write them. If versions precede the validated history, a commit without an operation
    is uncertain.

    Args:
        rows: file actions.
        chain: every add and remove of the validated history.
        operations: version to commitInfo.operation, None if a commit has none.
        begins_with_checkpoint: whether versions before the validated history exist.
    """
    actions = chain.select("path_key", "version", "source")
    actions = actions.join(rows.select("path_key").unique(), on="path_key", how="semi")
    first = actions.group_by("path_key").agg(
        seen=pl.col("version").min(), _source=pl.col("source").sort_by("version").first()
    )
    writing_versions = [
        version
        for version, operation in operations.items()
        if not reuses_existing_files(operation) and not (begins_with_checkpoint and operation is None)
    ]
    is_written = (pl.col("_source") == "commit") & pl.col("seen").is_in(
        pl.Series(writing_versions, dtype=pl.Int64).implode()
    )
    first = first.with_columns(written=pl.when(is_written).then("seen")).drop("_source")
    return rows.join(first, on="path_key", how="left", maintain_order="left")


def build_adds_without_stats_rows(
    rows: pl.DataFrame, chain: pl.DataFrame, operations: Mapping[int, str | None], *, begins_with_checkpoint: bool
) -> pl.DataFrame:
    """Return the rows of `adds_without_stats`.

    Args:
        rows: result of `collect_adds_without_stats` for every commit.
        chain: every add and remove of the validated history.
        operations: version to commitInfo.operation, None if a commit has none.
        begins_with_checkpoint: whether versions before the validated history exist.
    """
    if rows.is_empty():
        return adds_without_stats.frame([])
    dated = join_first_versions(rows, chain, operations, begins_with_checkpoint=begins_with_checkpoint)
    is_new = pl.when(pl.col("seen") < pl.col("version")).then(False).when(pl.col("written").is_not_null()).then(True)
    missing_column = pl.when(pl.col("since") <= pl.col("written")).then(MISSING_STATS_COLUMN)
    dated = dated.with_columns(path_is_new=is_new, **{MISSING_STATS_COLUMN: missing_column})
    first_values = [
        pl.col(name).first() for name in adds_without_stats.columns if name not in (*_LOCATION, MISSING_STATS_COLUMN)
    ]
    grouped = dated.group_by(_LOCATION, maintain_order=True).agg(
        *first_values, pl.col(MISSING_STATS_COLUMN).drop_nulls().sort()
    )
    return grouped.select(list(adds_without_stats.columns))

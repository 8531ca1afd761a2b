"""The view over adds whose statistics leave out what the table asks of them, and its rows."""

from collections.abc import Mapping

import polars as pl

from deltaspec.model.commit.operations import reuses_existing_files
from deltaspec.views.base import Column, View

MISSING_STATS_COLUMN = "clustering_columns_without_statistics"

adds_without_stats = View(
    name="adds_without_stats",
    grain="add in a commit whose statistics have no number of records, where compatibility with Iceberg is enabled, or "
    "nothing of a clustering column",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "name of the log file, relative to the table"),
        "line": Column(pl.Int64, "line, counted from 1"),
        "path": Column(pl.String, "path as written"),
        "iceberg_compatibility": Column(
            pl.String, "V1 or V2, which is enabled at that version; null where neither is, V2 where both are"
        ),
        "num_records_missing": Column(
            pl.Boolean, "compatibility is enabled, and sound statistics, if any, have no numRecords"
        ),
        "path_is_new": Column(
            pl.Boolean,
            "no earlier action of the judged history has the path; null where the commit takes over files of another "
            "state or table, or may do so as far as the judged history tells",
        ),
        MISSING_STATS_COLUMN: Column(
            pl.List(pl.String),
            "clustering columns of which statistics say nothing, but for those that the schema got, or may have got, "
            "after the file was written",
        ),
    },
)

_PLACE = ("version", "file", "line")
_KEPT = {
    **adds_without_stats.schema,
    "path_key": pl.String,
    MISSING_STATS_COLUMN: pl.String,
    "since": pl.Int64,
}
del _KEPT["path_is_new"]


def collect_adds_without_stats(facts: pl.DataFrame, since: Mapping[str, int]) -> pl.DataFrame:
    """Return one row per add and clustering column without statistics, for `build_adds_without_stats_rows`.

    Args:
        facts: file actions of one table state, rows of `build_file_facts`.
        since: clustering column to the first version whose schema has it.
    """
    lacks = pl.col("iceberg_compatibility").is_not_null() & pl.col("num_records").is_null()
    lacks = lacks & pl.col("stats_fault").is_null()
    added = (pl.col("source") == "commit") & (pl.col("kind") == "add")
    rows = facts.filter(added & (lacks | (pl.col(MISSING_STATS_COLUMN).list.len() > 0).fill_null(False)))
    return join_field_versions(
        rows.with_columns(num_records_missing=lacks).explode(MISSING_STATS_COLUMN), since
    ).select(list(_KEPT))


def join_field_versions(rows: pl.DataFrame, since: Mapping[str, int]) -> pl.DataFrame:
    """The rows, each of one clustering column, with the version `since` which the schema has it."""
    known = pl.DataFrame(
        {MISSING_STATS_COLUMN: list(since), "since": list(since.values())},
        schema={MISSING_STATS_COLUMN: pl.String, "since": pl.Int64},
    )
    return rows.join(known, on=MISSING_STATS_COLUMN, how="left", maintain_order="left")


def join_first_versions(
    rows: pl.DataFrame, chain: pl.DataFrame, operations: Mapping[int, str | None], *, begins_with_checkpoint: bool
) -> pl.DataFrame:
    """The rows with `seen`, the first version whose actions have their path, and `written`.

    `written` is that version where a commit of it wrote the file, beyond doubt: it does not take over files of another
    state or table and, where there are versions before the judged history, says what it does.

    Args:
        rows: file actions.
        chain: every add and remove of the judged history.
        operations: what each commit says it does.
        begins_with_checkpoint: there are versions before the judged history.
    """
    actions = chain.select("path_key", "version", "source")
    actions = actions.join(rows.select("path_key").unique(), on="path_key", how="semi")
    first = actions.group_by("path_key").agg(
        seen=pl.col("version").min(), _source=pl.col("source").sort_by("version").first()
    )
    tell = [
        version
        for version, operation in operations.items()
        if not reuses_existing_files(operation) and not (begins_with_checkpoint and operation is None)
    ]
    is_written = (pl.col("_source") == "commit") & pl.col("seen").is_in(pl.Series(tell, dtype=pl.Int64).implode())
    first = first.with_columns(written=pl.when(is_written).then("seen")).drop("_source")
    return rows.join(first, on="path_key", how="left", maintain_order="left")


def build_adds_without_stats_rows(
    rows: pl.DataFrame, chain: pl.DataFrame, operations: Mapping[int, str | None], *, begins_with_checkpoint: bool
) -> pl.DataFrame:
    """Rows of `adds_without_stats`.

    Args:
        rows: those of `collect_adds_without_stats`, of every commit.
        chain: as of `join_first_versions`, as are the others.
        operations: what each commit says it does.
        begins_with_checkpoint: there are versions before the judged history.
    """
    if rows.is_empty():
        return adds_without_stats.frame([])
    told = join_first_versions(rows, chain, operations, begins_with_checkpoint=begins_with_checkpoint)
    is_new = pl.when(pl.col("seen") < pl.col("version")).then(False).when(pl.col("written").is_not_null()).then(True)
    left_out = pl.when(pl.col("since") <= pl.col("written")).then(MISSING_STATS_COLUMN)
    told = told.with_columns(path_is_new=is_new, **{MISSING_STATS_COLUMN: left_out})
    own = [pl.col(name).first() for name in adds_without_stats.columns if name not in (*_PLACE, MISSING_STATS_COLUMN)]
    grouped = told.group_by(_PLACE, maintain_order=True).agg(*own, pl.col(MISSING_STATS_COLUMN).drop_nulls().sort())
    return grouped.select(list(adds_without_stats.columns))

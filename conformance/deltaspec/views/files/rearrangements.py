"""View over commits with dataChange false. Such commits may move rows between files but not add or remove rows."""

from typing import Any

import polars as pl

from deltaspec.views.base import Column, View

rearrangements = View(
    name="rearrangements",
    grain="commit with an add or remove whose dataChange is false",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "added_rows": Column(pl.Int64, "number of valid rows in the added files; null if it is not known"),
        "removed_rows": Column(
            pl.Int64,
            "number of valid rows in the live files that the commit removes; null if it is not known. A remove that "
            "ends no live file removes none",
        ),
        "rows_added_unchanged": Column(
            pl.Int64,
            "number of valid rows in adds with dataChange false, without logical files that were already live, and "
            "without files that do not state a count",
        ),
        "rows_removed_unchanged": Column(
            pl.Int64,
            "number of valid rows in the live files that are removed with dataChange false, without files that do not "
            "state a count",
        ),
    },
)

_FILE = ("path_key", "_vector")
_SUMS: dict[str, Any] = {
    "version": pl.Int64,
    "file": pl.String,
    "added": pl.Int64,
    "removed": pl.Int64,
    "added_unchanged": pl.Int64,
    "removed_unchanged": pl.Int64,
    "unknown_adds": pl.Int64,
    "unknown_removes": pl.Int64,
    "unchanged": pl.Int64,
}
"""Rows of a commit; numbers of files whose rows are not known; number of actions whose dataChange is false."""


def sum_rearranged_rows(intervals: pl.DataFrame, *, is_complete: bool) -> pl.DataFrame:
    """Sum the rows of the files that each commit adds and removes.

    The actions of a path must be together, but not all actions of a commit: sums of several frames can be added.

    Args:
        intervals: adds and removes with validity intervals, from `file_replay.build_intervals`. Their history is
            complete: it begins with version 0 or a complete checkpoint.
        is_complete: these are all paths, so that only commits with dataChange false need sums.

    Returns:
        `version`, `file` and sums, from which `build_rearrangement_rows` builds the view.
    """
    if is_complete and not (~intervals["data_change"]).any():
        return pl.DataFrame(schema=_SUMS)
    written = intervals.filter(pl.col("source") == "commit")
    selected = written.filter(~pl.col("data_change")) if is_complete else written
    versions = selected["version"].unique()
    if versions.is_empty():
        return pl.DataFrame(schema=_SUMS)
    vector = pl.col("deletion_vector_id").fill_null("").alias("_vector")
    rows = (pl.col("num_records") - pl.col("cardinality").fill_null(0)).alias("_rows")
    changed = written.filter(pl.col("version").is_in(versions.implode())).with_columns(vector)
    ended = (
        intervals.filter((pl.col("kind") == "add") & pl.col("until").is_in(versions.implode()))
        .sort("version", "file", "line")
        .select("path_key", vector, rows, version=pl.col("until"))
        .unique([*_FILE, "version"], keep="last", maintain_order=True)
    )
    adds = changed.filter(pl.col("kind") == "add").with_columns(rows)
    # a file that is removed twice, or that is not live, has no more rows to remove
    removes = (
        changed.filter(pl.col("kind") == "remove")
        .group_by(*_FILE, "version", maintain_order=True)
        .agg(pl.col("file", "kind").first(), pl.col("data_change").all())
        .join(ended.with_columns(_is_live=pl.lit(True)), on=[*_FILE, "version"], how="left")
        .with_columns(_rows=pl.when(pl.col("_is_live")).then("_rows").otherwise(0))
    )
    removed_again = removes.select(*_FILE, "version", _removed=pl.lit(True)).unique()
    were_live = ended.select(*_FILE, "version", _was_live=pl.lit(True)).join(
        removed_again, on=[*_FILE, "version"], how="anti"
    )
    adds = adds.join(were_live, on=[*_FILE, "version"], how="left").with_columns(
        _is_unchanged=~pl.col("data_change") & pl.col("_was_live").is_null()
    )
    removes = removes.with_columns(_is_unchanged=~pl.col("data_change"))
    both = pl.concat([each.select("version", "file", "kind", "_rows", "_is_unchanged") for each in (adds, removes)])
    sums = both.group_by("version").agg(
        pl.col("file").first(),
        added=_sum("add"),
        removed=_sum("remove"),
        added_unchanged=_sum("add", pl.col("_is_unchanged")),
        removed_unchanged=_sum("remove", pl.col("_is_unchanged")),
        unknown_adds=_count_unknown("add"),
        unknown_removes=_count_unknown("remove"),
    )
    unchanged = changed.group_by("version").agg(unchanged=(~pl.col("data_change")).sum().cast(pl.Int64))
    return sums.join(unchanged, on="version").select(list(_SUMS))


def build_rearrangement_rows(sums: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `rearrangements` from the sums of `sum_rearranged_rows`, added up over all paths."""
    if sums.is_empty():
        return rearrangements.frame([])
    return (
        sums.filter(pl.col("unchanged") > 0)
        .select(
            "version",
            "file",
            added_rows=pl.when(pl.col("unknown_adds") == 0).then("added"),
            removed_rows=pl.when(pl.col("unknown_removes") == 0).then("removed"),
            rows_added_unchanged="added_unchanged",
            rows_removed_unchanged="removed_unchanged",
        )
        .sort("version")
    )


def _sum(kind: str, condition: pl.Expr | None = None) -> pl.Expr:
    """Return the sum of the known row counts."""
    selected = pl.col("kind") == kind
    return pl.col("_rows").filter(selected if condition is None else selected & condition).sum()


def _count_unknown(kind: str) -> pl.Expr:
    return pl.col("_rows").filter(pl.col("kind") == kind).null_count().cast(pl.Int64)

"""The view over commits that say of files that their rows did not change: rows may move, none may come or go."""

import polars as pl

from deltaspec.views.base import Column, View

rearrangements = View(
    name="rearrangements",
    grain="judged commit with an add or a remove whose dataChange is false, where statistics tell of all of its rows",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "its log file"),
        "added_rows": Column(pl.Int64, "valid rows of the files that it adds"),
        "removed_rows": Column(pl.Int64, "valid rows of the files that it removes"),
        "rows_added_unchanged": Column(
            pl.Int64, "valid rows of adds with dataChange false, but for logical files that were live before"
        ),
        "rows_removed_unchanged": Column(pl.Int64, "valid rows of removes with dataChange false"),
    },
)

_FILE = ("path_key", "_vector")


def filter_rearrangement_candidates(intervals: pl.DataFrame) -> pl.DataFrame:
    """The rows of `spanned` that `build_rearrangement_rows` may look at: actions of commits, and what they end."""
    return intervals.filter((pl.col("source") == "commit") | pl.col("until").is_not_null())


def build_rearrangement_rows(intervals: pl.DataFrame) -> pl.DataFrame:
    """Rows of `rearrangements`.

    Commits of which a file has no count of rows are left out: an add without numRecords, or a remove of a file whose
    add is not known.

    Args:
        spanned: adds and removes as `file_replay.spans` gives them.
    """
    written = intervals.filter(pl.col("source") == "commit")
    versions = written.filter(~pl.col("data_change"))["version"].unique()
    if versions.is_empty():
        return rearrangements.frame([])
    vector = pl.col("deletion_vector_id").fill_null("").alias("_vector")
    rows = (pl.col("num_records") - pl.col("cardinality").fill_null(0)).alias("_rows")
    said = written.filter(pl.col("version").is_in(versions.implode())).with_columns(vector)
    ended = (
        intervals.filter((pl.col("kind") == "add") & pl.col("until").is_in(versions.implode()))
        .sort("version", "file", "line")
        .select("path_key", vector, rows, version=pl.col("until"))
        .unique([*_FILE, "version"], keep="last", maintain_order=True)
    )
    adds = said.filter(pl.col("kind") == "add").with_columns(rows)
    removes = said.filter(pl.col("kind") == "remove").join(ended, on=[*_FILE, "version"], how="left")
    again = removes.select(*_FILE, "version", _removed=pl.lit(True)).unique()
    were_live = ended.select(*_FILE, "version", _was_live=pl.lit(True)).join(again, on=[*_FILE, "version"], how="anti")
    adds = adds.join(were_live, on=[*_FILE, "version"], how="left").with_columns(
        _said_moved=~pl.col("data_change") & pl.col("_was_live").is_null()
    )
    removes = removes.with_columns(_said_moved=~pl.col("data_change"))
    found = (
        pl.concat([each.select("version", "file", "kind", "_rows", "_said_moved") for each in (adds, removes)])
        .group_by("version")
        .agg(
            file=pl.col("file").first(),
            added_rows=_sum("add"),
            removed_rows=_sum("remove"),
            rows_added_unchanged=_sum("add", pl.col("_said_moved")),
            rows_removed_unchanged=_sum("remove", pl.col("_said_moved")),
            known=pl.col("_rows").is_not_null().all(),
        )
        .filter("known")
        .sort("version")
    )
    return found.select(list(rearrangements.columns))


def _sum(kind: str, of_those: pl.Expr | None = None) -> pl.Expr:
    wanted = pl.col("kind") == kind
    return pl.col("_rows").filter(wanted if of_those is None else wanted & of_those).sum()

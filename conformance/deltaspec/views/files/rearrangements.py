"""View over commits with dataChange false. Such commits may move rows between files but not add or remove rows."""

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


def filter_rearrangement_candidates(intervals: pl.DataFrame) -> pl.DataFrame:
    """Return the intervals that `build_rearrangement_rows` needs: actions of commits, and what they end."""
    return intervals.filter((pl.col("source") == "commit") | pl.col("until").is_not_null())


def build_rearrangement_rows(intervals: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `rearrangements`.

    Args:
        intervals: adds and removes with validity intervals, from `file_replay.build_intervals`. Their history is
            complete: it begins with version 0 or a complete checkpoint.
    """
    written = intervals.filter(pl.col("source") == "commit")
    versions = written.filter(~pl.col("data_change"))["version"].unique()
    if versions.is_empty():
        return rearrangements.frame([])
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
    found = (
        pl.concat([each.select("version", "file", "kind", "_rows", "_is_unchanged") for each in (adds, removes)])
        .group_by("version")
        .agg(
            file=pl.col("file").first(),
            added_rows=_sum("add", is_complete=True),
            removed_rows=_sum("remove", is_complete=True),
            rows_added_unchanged=_sum("add", pl.col("_is_unchanged")),
            rows_removed_unchanged=_sum("remove", pl.col("_is_unchanged")),
        )
        .sort("version")
    )
    return found.select(list(rearrangements.columns))


def _sum(kind: str, condition: pl.Expr | None = None, *, is_complete: bool = False) -> pl.Expr:
    """Return the sum of the known row counts; null if `is_complete` and one of them is not known."""
    selected = pl.col("kind") == kind
    counts = pl.col("_rows").filter(selected if condition is None else selected & condition)
    return pl.when(counts.is_not_null().all()).then(counts.sum()) if is_complete else counts.sum()

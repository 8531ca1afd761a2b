"""View over removes that end no live file: replay is the same without them."""

import polars as pl

from deltaspec.views.base import Column, View
from deltaspec.views.files.file_replay import FEW_ROWS

idle_removes = View(
    name="idle_removes",
    grain="remove in a commit whose logical file is not live before the commit, and not added by it",
    key=("path_key",),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "line": Column(pl.Int64, "line in the file"),
        "path": Column(pl.String, "path, as written"),
        "path_key": Column(pl.String, "normalized path, equal for all encodings of the same path"),
        "data_change": Column(pl.Boolean, "dataChange"),
        "is_live_with_other_vector": Column(
            pl.Boolean, "whether the path is live with another deletion vector before the commit"
        ),
        "is_vector_file": Column(pl.Boolean, "whether the path has the name of a file of deletion vectors"),
        "ended_version": Column(
            pl.Int64, "last version before the commit that ended the logical file; null if it was never live"
        ),
    },
)

_FILE = ("path_key", "_vector")
_VECTOR_FILE = r"(^|/)deletion_vector[-_][0-9A-Fa-f-]{36}\.bin$"


def build_idle_remove_rows(intervals: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `idle_removes`.

    Args:
        intervals: adds and removes with validity intervals, from `file_replay.build_intervals`. Their history is
            complete: it begins with version 0 or a complete checkpoint.
    """
    if not (intervals["kind"] == "remove").any():
        return idle_removes.frame([])
    if len(intervals) < FEW_ROWS and not _has_idle_remove(intervals):
        return idle_removes.frame([])
    vector = pl.col("deletion_vector_id").fill_null("").alias("_vector")
    removes = intervals.filter((pl.col("kind") == "remove") & (pl.col("source") == "commit")).with_columns(vector)
    if removes.is_empty():
        return idle_removes.frame([])
    adds = intervals.filter(pl.col("kind") == "add").join(
        removes.select("path_key").unique(), on="path_key", how="semi"
    )
    adds = adds.select("path_key", vector, "until", _from=pl.col("version"))
    ended = adds.select(*_FILE, version="until").drop_nulls()
    added = adds.select(*_FILE, version="_from")
    idle = removes.join(pl.concat([ended, added]).unique(), on=[*_FILE, "version"], how="anti")
    if idle.is_empty():
        return idle_removes.frame([])
    idle = idle.with_row_index("_row")
    pairs = idle.select("_row", "path_key", "version", _own=pl.col("_vector")).join(adds, on="path_key")
    is_live = (pl.col("_from") < pl.col("version")) & (
        pl.col("until").is_null() | (pl.col("until") >= pl.col("version"))
    )
    is_same = pl.col("_vector") == pl.col("_own")
    found = pairs.group_by("_row").agg(
        is_live_with_other_vector=(is_live & ~is_same).any(),
        ended_version=pl.col("until").filter(is_same & (pl.col("until") < pl.col("version"))).max(),
    )
    rows = idle.join(found, on="_row", how="left").with_columns(
        path=pl.coalesce("path", "path_key"),
        is_live_with_other_vector=pl.col("is_live_with_other_vector").fill_null(False),
        is_vector_file=pl.col("path_key").str.contains(_VECTOR_FILE),
    )
    return rows.select(list(idle_removes.columns)).sort("version", "file", "line")


def _has_idle_remove(intervals: pl.DataFrame) -> bool:
    """Return whether few intervals may have a remove that ends no live file, without the query."""
    vector = pl.col("deletion_vector_id").fill_null("")
    rows = intervals.select("kind", "source", "version", "until", "path_key", vector).rows()
    ends = {(end, path, vector) for kind, _, *both, path, vector in rows if kind == "add" for end in both}
    return any(
        kind == "remove" and source == "commit" and (path is None or (version, path, vector) not in ends)
        for kind, source, version, _, path, vector in rows
    )

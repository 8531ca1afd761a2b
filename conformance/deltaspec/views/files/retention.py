"""Views over what a vacuum and a cleanup have left: files of tombstones, and the beginning of the log."""

import polars as pl

from deltaspec.views.base import Column, View

removed_files = View(
    name="removed_files",
    grain=(
        "logical file whose tombstone is in force at the judged version and has not expired by the clock; those that a "
        "repair removed were gone before, and are left out"
    ),
    key=(),
    level="files",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint that the tombstone stands in"),
        "file": Column(pl.String, "log file that it stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "path": Column(pl.String, "path as written"),
        "deletion_timestamp": Column(pl.Int64, "when it was removed, milliseconds since the epoch"),
        "retention_cutoff": Column(
            pl.Int64,
            "moment from which on removed files had to stay, by the clock and the shortest retention that was in "
            "force in the judged history",
            needs_clock=True,
        ),
        "exists": Column(pl.Boolean, "the data file is there; null where that could not be asked"),
        "vector_file": Column(pl.String, "file of its deletion vector; null where it has none in a file"),
        "vector_exists": Column(pl.Boolean, "that file is there; null where that could not be asked"),
    },
)

log_starts = View(
    name="log_starts",
    grain="log that was cleaned up: one row",
    key=(),
    columns={
        "version": Column(pl.Int64, "first version that can be read"),
        "file": Column(pl.String, "its commit"),
        "committed_at": Column(
            pl.Int64,
            "when that was committed, milliseconds since the epoch: its in-commit timestamp, else the earlier of the "
            "time in its commitInfo and that of its file; null without a commitInfo that says so",
        ),
        "shortest_retention_ms": Column(
            pl.Int64,
            "shortest delta.logRetentionDuration that was in force since; null where it was not set all the time, or "
            "where a feature was dropped, which may cut history off sooner",
        ),
        "retention_cutoff": Column(
            pl.Int64,
            "moment from which on history had to stay, by the clock and that retention, milliseconds since the epoch",
            needs_clock=True,
        ),
    },
)

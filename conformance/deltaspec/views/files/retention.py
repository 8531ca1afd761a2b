"""Views over retention: files of unexpired tombstones, and the start of a cleaned-up log."""

import polars as pl

from deltaspec.views.base import Column, View

removed_files = View(
    name="removed_files",
    grain=(
        "logical file with a tombstone that is unexpired at the validated version by the given clock; files that an "
        "FSCK removed are left out because they were missing before"
    ),
    key=(),
    level="files",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint that holds the tombstone"),
        "file": Column(pl.String, "log file of the tombstone, relative to the table root"),
        "line": Column(pl.Int64, "line number or Parquet row number, starting at 1"),
        "path": Column(pl.String, "path, as written"),
        "deletion_timestamp": Column(pl.Int64, "deletionTimestamp, milliseconds since the epoch"),
        "retention_cutoff": Column(
            pl.Int64,
            "oldest deletionTimestamp whose files must still exist, milliseconds since the epoch; clock minus "
            "the shortest "
            "retention in effect in the validated history",
            needs_clock=True,
        ),
        "exists": Column(pl.Boolean, "whether the data file exists; null if unknown"),
        "vector_file": Column(pl.String, "file that stores its deletion vector; null if no file does"),
        "vector_exists": Column(pl.Boolean, "whether vector_file exists; null if unknown"),
    },
)

log_starts = View(
    name="log_starts",
    grain="cleaned-up log: one row",
    key=(),
    columns={
        "version": Column(pl.Int64, "first readable version"),
        "file": Column(pl.String, "commit file of that version, relative to the table root"),
        "committed_at": Column(
            pl.Int64,
            "commit time of that version, milliseconds since the epoch: its inCommitTimestamp, or the earlier of "
            "commitInfo.timestamp and the file modification time; null without a commitInfo timestamp",
        ),
        "shortest_retention_ms": Column(
            pl.Int64,
            "shortest delta.logRetentionDuration in effect since that version, milliseconds; null if it was not always "
            "set, or a feature was dropped, which may truncate history earlier",
        ),
        "retention_cutoff": Column(
            pl.Int64,
            "oldest commit time that must still be in the log, milliseconds since the epoch; clock minus that "
            "retention",
            needs_clock=True,
        ),
    },
)

"""Rules over in-commit timestamps and file times. Source: chapter In-Commit Timestamps."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import commits


@rule("ICT001", requires="in-commit-timestamp.after-file-time", view=commits, divergence="S40")
def enablement_timestamp_too_early() -> pl.Expr:
    """The commit that enables in-commit timestamps is not later than the file time of the previous commit.

    Time travel to a moment between the two returns the wrong version. The protocol does not say what happens to file
    times when a log is copied.
    Fix (none): No repair is needed if the previous commit file was copied later. Otherwise travel by version around
    this commit, and fix the writer: it must start after the last file time.

    Conforms::
        in_commit_timestamp: 1700000000001, file_time_before: 1700000000000
        in_commit_timestamp: 1700000000001, file_time_before: null
    Violates::
        in_commit_timestamp: 1700000000000, file_time_before: 1700000000000
    """
    return pl.col("in_commit_timestamp") <= pl.col("file_time_before")

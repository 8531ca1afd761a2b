"""Rules over the times of commits beside those of files. Source: chapter In-Commit Timestamps."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import commits


@rule("ICT001", requires="in-commit-timestamp.after-file-time", view=commits, divergence="S40")
def enablement_timestamp_too_early() -> pl.Expr:
    """The commit that enables in-commit timestamps has one that is not later than the file of the commit before it.

    Time seems to run backwards there: a moment between the two leads to another version. File times are those of the
    place where the log lies; no text says what a copy does to them.
    Fix: none, if the commit before was copied there later; else the writer must begin after the last file time.

    Conforms::
        in_commit_timestamp: 1700000000001, file_time_before: 1700000000000
        in_commit_timestamp: 1700000000001, file_time_before: null
    Violates::
        in_commit_timestamp: 1700000000000, file_time_before: 1700000000000
    """
    return pl.col("in_commit_timestamp") <= pl.col("file_time_before")

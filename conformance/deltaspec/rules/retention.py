"""Rules over what has gone too early. Source: chapters Overview, Add File and Remove File, Metadata Cleanup."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.retention import log_starts, removed_files


@rule("VAC001", requires="table.vacuum-after-retention", view=removed_files, divergence="S25")
def removed_file_deleted_too_early() -> pl.Expr:
    """A data file is gone although its removal is not as old as the retention period.

    Queries of older versions that are still running fail, and so does time travel that the retention allows. The text
    names no property for the period: delta.deletedFileRetentionDuration is taken, or a week.
    Fix: restore the file if older versions are needed; let vacuums keep to the retention.

    Conforms::
        deletion_timestamp: 1700000000000, retention_cutoff: 1700000000001, exists: false
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, exists: true
    Violates::
        deletion_timestamp: 1700000000000, retention_cutoff: 1700000000000, exists: false
    """
    return (pl.col("deletion_timestamp") >= pl.col("retention_cutoff")) & ~pl.col("exists")


@rule("VAC002", requires="table.vacuum-after-retention", view=removed_files, divergence="S25")
def removed_vector_deleted_too_early() -> pl.Expr:
    """A deletion vector's file is gone although the removal that ended it is not as old as the retention period.

    Older versions that the retention keeps show rows that were deleted, or cannot be read.
    Fix: restore the file if older versions are needed; vacuums must look at the vectors of tombstones, too.

    Conforms::
        deletion_timestamp: 1700000000000, retention_cutoff: 1700000000001, vector_exists: false
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, vector_exists: true
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, vector_exists: null
    Violates::
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, vector_exists: false
    """
    return (pl.col("deletion_timestamp") >= pl.col("retention_cutoff")) & ~pl.col("vector_exists")


@rule("VAC003", requires="cleanup.keeps-cutoff-commit", view=log_starts, divergence="S25")
def log_cleaned_up_too_early() -> pl.Expr:
    """History was cut off later than delta.logRetentionDuration allows.

    Versions are lost that the table's owner wanted to travel to: the first that remains was committed after the
    moment up to which history may go, and is read from nothing older. The text names no property for the threshold.
    Fix: none for this table; let cleanups keep to the retention.

    Conforms::
        committed_at: 1699920000000, retention_cutoff: 1699920000000
        committed_at: null, retention_cutoff: 1699920000000
    Violates::
        committed_at: 1699920000001, retention_cutoff: 1699920000000
    """
    return pl.col("committed_at") > pl.col("retention_cutoff")

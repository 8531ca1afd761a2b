"""Rules over files that were deleted too early. Source: chapters Overview, Add File and Remove File, Metadata Cleanup."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.retention import log_starts, removed_files


@rule("VAC001", requires="table.vacuum-after-retention", view=removed_files, divergence="S25")
def removed_file_deleted_too_early() -> pl.Expr:
    """A removed data file was deleted before its retention period ended.

    Running queries and time travel within the retention period fail. The protocol names no property, so
    delta.deletedFileRetentionDuration or one week applies.
    Fix (restore): Restore the file from backup if older versions are needed. Run `VACUUM` with at least the
    retention period, and do not disable its retention check.

    Conforms::
        deletion_timestamp: 1700000000000, retention_cutoff: 1700000000001, exists: false
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, exists: true
    Violates::
        deletion_timestamp: 1700000000000, retention_cutoff: 1700000000000, exists: false
    """
    return (pl.col("deletion_timestamp") >= pl.col("retention_cutoff")) & ~pl.col("exists")


@rule("VAC002", requires="table.vacuum-after-retention", view=removed_files, divergence="S25")
def removed_vector_deleted_too_early() -> pl.Expr:
    """A deletion-vector file was deleted before the retention period after its removal ended.

    Time travel within the retention period fails, or returns deleted rows.
    Fix (restore): Restore the file from backup if older versions are needed. Run `VACUUM` with an engine that
    supports deletion vectors, with at least the retention period.

    Conforms::
        deletion_timestamp: 1700000000000, retention_cutoff: 1700000000001, vector_exists: false
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, vector_exists: true
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, vector_exists: null
    Violates::
        deletion_timestamp: 1700000000000, retention_cutoff: 1699999999999, vector_exists: false
        deletion_timestamp: 1700000000000, retention_cutoff: 1700000000000, vector_exists: false
    """
    return (pl.col("deletion_timestamp") >= pl.col("retention_cutoff")) & ~pl.col("vector_exists")


@rule("VAC003", requires="cleanup.keeps-cutoff-commit", view=log_starts, divergence="S25")
def log_cleaned_up_too_early() -> pl.Expr:
    """Log history was deleted earlier than delta.logRetentionDuration permits.

    Versions within the retention period cannot be read. The first remaining version was committed after the cutoff, and
    no older state is left to reconstruct earlier versions. The protocol names no property for the cutoff.
    Fix (restore): Restore the log files from backup if older versions are needed. Otherwise no repair is possible;
    configure cleanup with the retention period.

    Conforms::
        committed_at: 1699920000000, retention_cutoff: 1699920000000
        committed_at: null, retention_cutoff: 1699920000000
    Violates::
        committed_at: 1699920000001, retention_cutoff: 1699920000000
    """
    return pl.col("committed_at") > pl.col("retention_cutoff")

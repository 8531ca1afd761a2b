"""Rules over the existence and size of data files and change data files."""

import polars as pl

from deltaspec.rules.file_fixes import RESTORE_FILE_OF_OTHER_SIZE, RESTORE_MISSING_DATA_FILE
from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files


@rule("DAT001", requires="add.file-exists", view=data_files, fix=RESTORE_MISSING_DATA_FILE)
def data_file_missing() -> pl.Expr:
    """A live data file does not exist.

    Every query that reads the file fails, and its rows are lost unless the file is restored. (If a later commit removed
    the file, it may be gone; the run is then reported as incomplete. A path with a leading slash is absolute: if the
    table has the file under the path without the slash, engines look at the root of the storage and find nothing.)

    Conforms::
        kind: add, exists: true, removed_since: null
        kind: add, exists: false, removed_since: true
        kind: cdc, exists: false, removed_since: null
    Violates::
        kind: add, exists: false, removed_since: false
    """
    return (pl.col("kind") == "add") & ~pl.col("exists") & ~pl.col("removed_since")


@rule("DAT002", requires="add.size", view=data_files, fix=RESTORE_FILE_OF_OTHER_SIZE)
def data_file_size_differs() -> pl.Expr:
    """The size of a live data file differs from the size in its add action.

    The file was truncated or overwritten. Readers that locate the footer by the size in the log fail or read other
    rows.

    Conforms::
        kind: add, size: 1000, actual_size: 1000
        kind: add, size: 1000, actual_size: null
        kind: cdc, size: 1000, actual_size: 7
    Violates::
        kind: add, size: 1000, actual_size: 999
    """
    return (pl.col("kind") == "add") & (pl.col("size") != pl.col("actual_size"))


@rule("DAT003", requires="cdc.size", view=data_files)
def change_file_size_differs() -> pl.Expr:
    """The size of a change data file differs from the size in its cdc action.

    The file was truncated or overwritten. Readers of the change data feed that locate the footer by the size in the log
    fail.
    Fix (restore): Restore the file from backup. Without one, reload downstream consumers from a snapshot and read
    the feed from a later version. Do not edit the commit.

    Conforms::
        kind: cdc, size: 1000, actual_size: 1000
        kind: add, size: 1000, actual_size: 7
    Violates::
        kind: cdc, size: 1000, actual_size: 999
    """
    return (pl.col("kind") == "cdc") & (pl.col("size") != pl.col("actual_size"))


@rule("DAT004", requires="cdc.file-exists", view=data_files, divergence="S25")
def change_file_missing() -> pl.Expr:
    """A change data file of a commit does not exist.

    Consumers of the change data feed whose range includes that version fail: batch reads (`table_changes`,
    `readChangeFeed`) and streams that start at or before it. Other queries, and time travel, do not read the file. The
    protocol does not say how long change data must be kept: `VACUUM` deletes it with removed data files, while the
    commits remain.
    Fix (restore): Read the change data feed from a later version, or restore the file from backup. Raise
    `delta.deletedFileRetentionDuration` if consumers need a longer history.

    Conforms::
        kind: cdc, exists: true
        kind: add, exists: false
    Violates::
        kind: cdc, exists: false
    """
    return (pl.col("kind") == "cdc") & ~pl.col("exists")

"""Fixes that several rules share. Each is an action that a data engineer can take, with its command, and loses no data."""

RESTORE_VERSION = (
    "Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat later changes with a "
    "corrected writer."
)
RESTORE_VERSION_AND_MAPPING = (
    f"{RESTORE_VERSION} If column mapping was enabled in that commit, enable it again with `ALTER TABLE t SET "
    "TBLPROPERTIES` in Delta Spark."
)
RESTORE_VERSION_AND_COLUMN = (
    f"{RESTORE_VERSION} Then add the column with `ALTER TABLE t ADD COLUMN`, which generates a new physical name."
)
RESTORE_VERSION_NOT_NULLS = (
    f"{RESTORE_VERSION} Do not rewrite the rows through a reader that returns null for the column."
)
RESTORE_VERSION_NOT_DELETED_ROWS = (
    f"{RESTORE_VERSION} Do not rewrite the data file through a reader that ignores the vector: deleted rows would come "
    "back."
)
RESTORE_VERSION_AND_ICEBERG_IDS = (
    f"{RESTORE_VERSION} Assign the ids again with `REORG TABLE t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=2))`."
)
STOP_WRITERS_AND_RESTORE_VERSION = f"Stop writers. {RESTORE_VERSION}"
RESTORE_LOADABLE_TABLE = (
    "If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the "
    "defect, then repeat later changes with a corrected writer. Otherwise restore the log from backup. Do not edit or "
    "delete commit files."
)
RESTORE_REPLACED_CONTENT = (
    "Run `RESTORE TABLE t TO VERSION AS OF n` with the version before, and write the replaced content to a new table."
)
WRITE_PROTOCOL = (
    "If an engine can still load the table, write a correct protocol action with it, for example by adding a feature "
    "that it supports. Otherwise restore the log from backup. `RESTORE` does not replace the protocol by default."
)

_REWRITE_CHECKPOINT = (
    "irst make sure that older commits, or an older checkpoint and the commits after it, can replay the table without "
    "this checkpoint. Then move it out of the log and write a new one with `DeltaTable.create_checkpoint()` (delta-rs). "
    "If they cannot, keep it and restore the missing commits from backup."
)
REWRITE_CHECKPOINT = f"F{_REWRITE_CHECKPOINT}"
REWRITE_CHECKPOINT_BEFORE_VACUUM = f"{REWRITE_CHECKPOINT} Do not run `VACUUM` before that."
STOP_WRITERS_AND_REWRITE_CHECKPOINT = f"{REWRITE_CHECKPOINT} Stop writers until then."
RESTORE_SIDECAR = f"Restore the sidecar from backup. Otherwise: f{_REWRITE_CHECKPOINT}"
DELETE_HINT = "Delete `_last_checkpoint`. Readers then list the log, and the next checkpoint writes the file again."
KEEP_HINT = "No repair is needed if the checkpoint is readable; the next checkpoint writes the file again."
DELETE_COMPACTION = "Delete the compaction file; compactions are optional and the commits have the complete history."
DELETE_DERIVED_FILE = (
    "If it is a compaction, delete the file; compactions are optional. If it is a checkpoint, make sure that earlier "
    "commits can replay the table, move it out of the log, and write a new one with `DeltaTable.create_checkpoint()` "
    "(delta-rs)."
)
DELETE_CHECKSUM = "Delete the `.crc` file; version checksums are optional. Upgrade the writer if the next checksum has the same defect."
CHECK_HISTORY_BEFORE_CHECKSUM = (
    "Run `deltaspec validate t --history all`. If there are no other violations, delete the `.crc` file. If log or data "
    "files are missing, restore them from backup. Keep the checksum until you know which is wrong."
)

RECOMPUTE_STATISTICS = (
    "Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite the file's rows "
    "with a conforming writer."
)
COMPARE_FILE_THEN_RECOMPUTE_STATISTICS = (
    "First rule out that the file was overwritten or swapped with another one: compare it with a backup and with the "
    "commit that added it, and restore the right file. Only if the file is right, recompute its statistics with "
    "`ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite its rows. Read them without a filter, because "
    "data skipping would lose rows."
)
_WRITE_ROWS_AGAIN = (
    "rite the rows again from their source, or with an engine that returns the right values for this file. Do not "
    "rewrite the file through a reader that returns null or wrong values: that makes the damage permanent."
)
WRITE_ROWS_AGAIN = f"W{_WRITE_ROWS_AGAIN}"
WRITE_ROWS_OF_COLUMN_AGAIN = (
    f"Find the commit that added the file. If the column belongs to the table: w{_WRITE_ROWS_AGAIN}"
)
RESTORE_DATA_FILE = (
    "Restore the file from backup, or run `RESTORE TABLE t TO VERSION AS OF n` with a version before it and write the "
    "rows again. Removing the file from the table loses its rows."
)
REWRITE_FILE = (
    "Rewrite the file's rows with a conforming writer, for example by overwriting its partition (`replaceWhere` in Delta "
    "Spark)."
)
REWRITE_FILE_WITH_MICROSECONDS = (
    f"{REWRITE_FILE} In Spark, set `spark.sql.parquet.outputTimestampType` to `TIMESTAMP_MICROS`."
)

ASSIGN_ROW_IDS_AGAIN = (
    "Write the affected rows again with an engine that supports row tracking, so that they get new ids. Reload consumers "
    "that followed the wrong ids. Do not edit baseRowId or the high-water mark by hand."
)
RELOAD_CHANGE_DATA = (
    "The committed change data cannot be corrected. Reload downstream consumers from a snapshot, and read the feed from "
    "the next version on."
)
RESTORE_TYPE_CHANGES = (
    "If an older version has a correct record, run `RESTORE TABLE t TO VERSION AS OF n` and repeat later changes. "
    "Otherwise rewrite older files with an engine that reads their values correctly, then run `ALTER TABLE t DROP "
    "FEATURE typeWidening`."
)
RAISE_MAX_COLUMN_ID = (
    "Before adding columns, run `ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.maxColumnId' = 'n')` with the "
    "highest id that was ever assigned. If the engine rejects this, restore the version before."
)
SYNC_IDENTITY = "Run `ALTER TABLE t ALTER COLUMN c SYNC IDENTITY` in Delta Spark before the next write."
SET_VALID_PROPERTY = (
    "Run `ALTER TABLE t SET TBLPROPERTIES` with a valid value, or `ALTER TABLE t UNSET TBLPROPERTIES` for the default."
)
WRITE_KEYS_ONCE = (
    f"{RESTORE_VERSION} If no engine can load the table, restore the log from backup. The writer must write each key "
    "once."
)
RESTORE_PARTITION_COLUMNS = (
    "Run `RESTORE TABLE t TO VERSION AS OF n` with the last legal version. To partition the table by other columns, "
    "overwrite all of its rows with the `overwriteSchema` option."
)

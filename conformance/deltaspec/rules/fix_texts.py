"""Sentences that several fixes contain."""

RESTORE = (
    "Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat later changes with a "
    "corrected writer."
)
RESTORE_IF_LOADABLE = (
    "If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the "
    "defect, then repeat later changes with a corrected writer. Otherwise restore the log from backup. Do not edit or "
    "delete commit files."
)
REWRITE_CHECKPOINT_BY_HAND = (
    "Move the checkpoint out of the log and write a new one with `DeltaTable.create_checkpoint()` (delta-rs)."
)
REWRITE_WITH_CONFORMING_WRITER = (
    "Rewrite the file's rows with a conforming writer, for example by overwriting its partition (`replaceWhere` in Delta "
    "Spark)."
)
RIGHT_ROWS_AGAIN = (
    "Write the rows again from their source, or with an engine that returns the right values for this file. Do not "
    "rewrite the file through a reader that returns null or wrong values: that makes the damage permanent."
)
NO_NULL_READER = "Do not rewrite the rows through a reader that returns null for the value."
VECTOR_CHOICE = (
    "Removing the data file loses all of its rows, as `FSCK REPAIR TABLE` (Databricks) does. Adding it again without its "
    "vector brings deleted rows back."
)

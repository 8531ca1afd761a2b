"""Fixes of data files, their statistics and deletion vectors, as in `fixes`."""

from deltaspec.fix_cases import Fix, FixCase
from deltaspec.rules.command_fixes import LOSE_MISSING_FILES
from deltaspec.rules.fix_texts import (
    NO_NULL_READER,
    RESTORE,
    REWRITE_WITH_CONFORMING_WRITER,
    RIGHT_ROWS_AGAIN,
    VECTOR_CHOICE,
)

REPAIR_PARTITION_VALUE: Fix = (
    FixCase(
        fix_class="repair",
        condition="every file stores the partition column or is in a directory that names its value",
    ),
    FixCase(fix_class="restore", condition="they do not", text=f"{RESTORE} {NO_NULL_READER}"),
)
RESTORE_VERSION_NOT_DELETED_ROWS: Fix = (
    FixCase(
        fix_class="restore",
        condition="an older version has the vector",
        text=f"{RESTORE} Do not rewrite the data file through a reader that ignores the vector: deleted rows would come "
        "back.",
    ),
    FixCase(fix_class="repair", condition="no version has it", text=VECTOR_CHOICE),
)
RECOMPUTE_STATISTICS: Fix = (
    FixCase(
        fix_class="repair",
        by_hand="Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite the "
        "file's rows with a conforming writer.",
    ),
)
COMPARE_FILE_THEN_RECOMPUTE_STATISTICS: Fix = (
    FixCase(
        fix_class="restore",
        condition="the file was overwritten or swapped with another one",
        text="Compare it with a backup and with the commit that added it, and restore the right file.",
    ),
    FixCase(
        fix_class="repair",
        condition="the file is right",
        by_hand="Recompute its statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite its "
        "rows. Read them without a filter, because data skipping would lose rows.",
    ),
)
COMPARE_FILE_THEN_TIGHTEN_BOUNDS: Fix = (
    FixCase(
        fix_class="rewrite",
        condition="the file is right",
        text="Recompute its statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite its rows "
        "with a conforming writer. A bound that is only too wide lets no filter lose rows: readers open the file "
        "although no row matches.",
    ),
    FixCase(
        fix_class="restore",
        condition="the file was overwritten",
        text="Compare it with the commit that added it, and restore the right file.",
    ),
)
COMPARE_FILE_THEN_REWRITE_STATISTICS: Fix = (
    FixCase(
        fix_class="restore",
        condition="the file was overwritten or swapped with another one",
        text="Compare it with a backup and with the commit that added it, and restore the right file.",
    ),
    FixCase(
        fix_class="rewrite",
        condition="the file is right",
        text="Recompute its statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite its "
        "rows. Read them without a filter, because data skipping would lose rows.",
    ),
)
WRITE_ROWS_AGAIN: Fix = (FixCase(fix_class="rewrite", text=RIGHT_ROWS_AGAIN),)
WRITE_ROWS_OF_COLUMN_AGAIN: Fix = (
    FixCase(
        fix_class="rewrite",
        text="Find the commit that added the file, and ask whether the column belongs to the table. If it does, follow "
        f"the rest. {RIGHT_ROWS_AGAIN}",
    ),
)
RESTORE_DATA_FILE: Fix = (
    FixCase(
        fix_class="restore",
        condition="a backup or an older version has the rows",
        text="Restore the file from backup, or run `RESTORE TABLE t TO VERSION AS OF n` with a version before it and "
        "write the rows again.",
    ),
    FixCase(
        fix_class="repair",
        condition="nothing has them",
        text="Removing the file from the table loses its rows.",
    ),
)
RESTORE_MISSING_DATA_FILE: Fix = (
    FixCase(
        fix_class="restore",
        condition="the file is stored elsewhere",
        text="Look for it under another encoding of its name, such as the path as written or decoded twice, and copy it "
        "to the path decoded once; or restore it from backup. `RESTORE TABLE t` helps only if an older version has the "
        "rows.",
    ),
    FixCase(
        fix_class="repair",
        condition="it is lost",
        text="The plan lists copies and earlier versions of the file, and counts the rows that are lost for good.",
    ),
    LOSE_MISSING_FILES,
    FixCase(
        fix_class="decide",
        condition="the path only has a slash too many",
        text="Add the file again under its relative path and remove the entry with the slash in the same commit.",
    ),
)
RESTORE_FILE_OF_OTHER_SIZE: Fix = (
    FixCase(
        fix_class="restore",
        condition="the file was truncated or overwritten",
        text="Restore it from backup, or run `RESTORE TABLE t TO VERSION AS OF n` with a version before it and write the "
        "rows again. Do not commit the file with its new size: that makes a truncated file permanent.",
    ),
    FixCase(
        fix_class="repair",
        condition="the file is right and its size in the log is not",
        text="`FSCK REPAIR TABLE` does not help: it removes entries and loses the rows.",
    ),
)
RESTORE_VECTOR: Fix = (
    FixCase(
        fix_class="restore",
        condition="a backup or an older version has the vector",
        text="Restore the vector's file from backup, or run `RESTORE TABLE t TO VERSION AS OF n` with a version before it "
        "and repeat later changes. Do not purge the vector: it may delete the wrong rows.",
    ),
    FixCase(fix_class="repair", condition="nothing has it", text=VECTOR_CHOICE),
)
RESTORE_VECTOR_IF_ROW_COUNT_IS_RIGHT: Fix = (
    FixCase(
        fix_class="repair",
        condition="a validation at level footers reports numRecords (PQT002)",
        by_hand="Correct the statistics of the file.",
    ),
    FixCase(
        fix_class="restore",
        condition="numRecords is right",
        text="Restore the version before the vector was written. Do not purge the vector: it may delete the wrong rows.",
    ),
)
PURGE_OR_RESTORE_VECTOR: Fix = (
    FixCase(
        fix_class="decide",
        condition="an engine reads the vector correctly",
        text="It can remove the vector with `REORG TABLE t APPLY (PURGE)`. Compare the row count before and after it. "
        "The writer must follow the format of the protocol.",
    ),
    FixCase(fix_class="restore", condition="no engine does", text="Restore the version before."),
)
REWRITE_FILE: Fix = (FixCase(fix_class="rewrite", text=REWRITE_WITH_CONFORMING_WRITER),)
REWRITE_FILE_WITH_MICROSECONDS: Fix = (
    FixCase(
        fix_class="rewrite",
        text=f"{REWRITE_WITH_CONFORMING_WRITER} In Spark, set `spark.sql.parquet.outputTimestampType` to "
        "`TIMESTAMP_MICROS`.",
    ),
)
RESTORE_UNLESS_ALL_COLUMNS: Fix = (
    FixCase(fix_class="none", condition="the file has all columns of the table", text="No repair is needed."),
    FixCase(fix_class="restore", condition="it does not", text=RESTORE),
)
REWRITE_STATISTICS: Fix = (
    FixCase(
        fix_class="rewrite",
        text="Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite the "
        "file's rows with a conforming writer.",
    ),
)

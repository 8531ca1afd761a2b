"""Rules over live files that a change of protocol or metadata leaves in an illegal state.

Rules over `file_actions` validate a file against the version that adds it. These rules validate it against later
versions.
"""

import polars as pl

from deltaspec.rules.fixes import LIST_DELETION_VECTORS, RESTORE_PARTITION_COLUMNS
from deltaspec.rules.registry import rule
from deltaspec.views.files.outdated_files import outdated_files


@rule("FIL070", requires="deletion-vectors.needs-feature", view=outdated_files, fix=LIST_DELETION_VECTORS)
def vectors_left_without_feature() -> pl.Expr:
    """The protocol no longer supports deletionVectors, but live files have deletion vectors.

    Readers that do not support deletion vectors may read the table, and return deleted rows.

    Conforms::
        with_vector: 0
    Violates::
        with_vector: 2
    """
    return pl.col("with_vector") > 0


@rule("FIL071", requires="add.partition-values", view=outdated_files, fix=RESTORE_PARTITION_COLUMNS)
def partition_column_without_values() -> pl.Expr:
    """The table has a new partition column, but live files have no value for it.

    Readers fail or return null for the column.

    Conforms::
        without_partition_value: 0
    Violates::
        without_partition_value: 2
    """
    return pl.col("without_partition_value") > 0


@rule("FIL073", requires="add.partition-values", view=outdated_files, fix=RESTORE_PARTITION_COLUMNS)
def partition_column_dropped_under_files() -> pl.Expr:
    """A column stopped being a partition column, but live files have its values only in partitionValues.

    "Columns present in the schema of the table MAY be missing from data files. Readers SHOULD fill these missing
    columns in with null": the values are lost for every reader. (Files that must store partition columns are excluded.)

    Conforms::
        with_former_partition_value: 0
    Violates::
        with_former_partition_value: 2
    """
    return pl.col("with_former_partition_value") > 0


@rule("FIL072", requires="partition-values.serialization", view=outdated_files)
def partition_values_left_unreadable() -> pl.Expr:
    """A partition column has a new type that cannot represent the values of live files.

    Readers fail, or return null or a wrong value for all rows of these files.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last legal version. To change the type,
    overwrite all rows of the table with the `overwriteSchema` option.

    Conforms::
        with_unreadable_partition_value: 0
    Violates::
        with_unreadable_partition_value: 2
    """
    return pl.col("with_unreadable_partition_value") > 0

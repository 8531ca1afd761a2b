"""Rules over the values of single columns in data files. Module `constraint_checks` has the rules over SQL expressions."""

import polars as pl

from deltaspec.rules.file_fixes import RESTORE_DATA_FILE
from deltaspec.rules.registry import rule
from deltaspec.views.data.row_checks import row_checks


@rule("ROW001", requires="data-files.readable-pages", view=row_checks, fix=RESTORE_DATA_FILE)
def pages_undecodable() -> pl.Expr:
    """Pages of a column cannot be decoded, or their checksum does not match.

    The file is damaged or was written incorrectly. Queries on the column fail or return wrong values.

    Conforms::
        check: pages, page_fault: null
    Violates::
        check: pages, page_fault: "CRC checksum verification failed"
    """
    return (pl.col("check") == "pages") & pl.col("page_fault").is_not_null()


@rule("ROW002", requires="data-files.required-columns", view=row_checks)
def null_in_required_column() -> pl.Expr:
    """A column that is not nullable contains null.

    Engines rely on the schema: they skip null checks, count such rows, or fail. (FIL063 and STA019 report what the log
    shows.)
    Fix (decide): Correct the rows with `UPDATE t SET column = value`, or allow null with `ALTER TABLE t ALTER
    COLUMN column DROP NOT NULL`. Check first that an unfiltered read returns the rows.

    Conforms::
        check: not null, below_container: false, violating_rows: 0
        check: not null, below_container: true, violating_rows: 2
        check: UTF-8, below_container: false, violating_rows: 2
    Violates::
        check: not null, below_container: false, violating_rows: 2
    """
    return (pl.col("check") == "not null") & ~pl.col("below_container") & (pl.col("violating_rows") > 0)


@rule("ROW003", requires="data-files.utf-8", view=row_checks)
def string_not_utf_8() -> pl.Expr:
    """A string column contains bytes that are not valid UTF-8.

    Some engines fail on the file, and others replace characters, so comparisons differ.
    Fix (rewrite): Write the rows again from their source with valid strings, or store the column as binary. Do not
    rewrite them through an engine that replaces characters.

    Conforms::
        check: UTF-8, violating_rows: 0
        check: not null, violating_rows: 1
    Violates::
        check: UTF-8, violating_rows: 1
    """
    return (pl.col("check") == "UTF-8") & (pl.col("violating_rows") > 0)


@rule("ROW004", requires="data-files.value-ranges", view=row_checks)
def value_out_of_type_range() -> pl.Expr:
    """A column contains a value outside the range of its type.

    Parquet stores small integers and decimals in wider types. Engines truncate such a value, return null, or fail.
    Fix (rewrite): Widen the type with `ALTER TABLE t ALTER COLUMN column TYPE ...`, or write the rows again from
    their source. Do not rewrite them through an engine that truncates the value.

    Conforms::
        check: range, violating_rows: 0
        check: UTF-8, violating_rows: 3
    Violates::
        check: range, violating_rows: 3
    """
    return (pl.col("check") == "range") & (pl.col("violating_rows") > 0)


@rule("ROW005", requires="data-files.stored-partition-columns", view=row_checks, divergence="E38")
def stored_partition_column_differs() -> pl.Expr:
    """A data file stores another value of a partition column than the log.

    Readers return the value of the log, so the rows may appear in the wrong partition.
    Fix (decide): Find out from the source which value is right. If the stored one is, write the rows again to their
    partition. Do not rewrite the file before that: it keeps only the value of the log.

    Conforms::
        check: partition value, violating_rows: 0
        check: range, violating_rows: 1
    Violates::
        check: partition value, violating_rows: 1
    """
    return (pl.col("check") == "partition value") & (pl.col("violating_rows") > 0)


@rule("ROW007", requires="data-files.change-type-column", view=row_checks)
def change_type_in_data_file() -> pl.Expr:
    """A data file has rows with a `_change_type` although the schema has no such column.

    Readers of this revision ignore the column or treat the file as change data, so changes are lost or wrong.
    Fix (rewrite): Rewrite the file's rows with a conforming writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark). Check first whether the rows are change data that does not belong to the table.

    Conforms::
        check: change type, violating_rows: 0
        check: UTF-8, violating_rows: 2
    Violates::
        check: change type, violating_rows: 2
    """
    return (pl.col("check") == "change type") & (pl.col("violating_rows") > 0)


@rule("ROW006", requires="data-files.required-columns", view=row_checks, divergence="S29")
def null_below_container() -> pl.Expr:
    """An array, map or nested struct contains null where its type forbids it.

    The protocol does not say that `containsNull` and similar flags apply to the data. Engines that trust them misread
    the file or fail.
    Fix (decide): Change the type to permit null, or write the rows again without null.

    Conforms::
        check: not null, below_container: true, violating_rows: 0
        check: not null, below_container: false, violating_rows: 2
    Violates::
        check: not null, below_container: true, violating_rows: 2
    """
    return (pl.col("check") == "not null") & pl.col("below_container") & (pl.col("violating_rows") > 0)

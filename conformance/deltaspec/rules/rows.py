"""Rules over the rows of data files, one column at a time. What SQL says of rows is looked at in `constraint_checks`."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.row_checks import row_checks


@rule("ROW001", requires="data-files.readable-pages", view=row_checks)
def pages_undecodable() -> pl.Expr:
    """Pages of a column cannot be decoded, or their checksum does not hold.

    The file was damaged, or its writer is wrong: queries that need the column fail, or return garbage.
    Fix: restore the file from a copy; without one, remove its entry, and the rows with it.

    Conforms::
        check: pages, page_fault: null
    Violates::
        check: pages, page_fault: "CRC checksum verification failed"
    """
    return (pl.col("check") == "pages") & pl.col("page_fault").is_not_null()


@rule("ROW002", requires="data-files.required-columns", view=row_checks)
def null_in_required_column() -> pl.Expr:
    """A column that is not nullable holds null.

    Engines plan with the schema's word: they leave out null checks, count such rows, or fail on them.
    Fix: give the rows a value, or make the column nullable; find the writer that let them in.

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
    """A string column holds bytes that are no UTF-8.

    Some engines fail on the file, others return replaced characters, and the two never agree on comparisons.
    Fix: write the file again with valid text, or declare the column binary.

    Conforms::
        check: UTF-8, violating_rows: 0
        check: not null, violating_rows: 1
    Violates::
        check: UTF-8, violating_rows: 1
    """
    return (pl.col("check") == "UTF-8") & (pl.col("violating_rows") > 0)


@rule("ROW004", requires="data-files.value-ranges", view=row_checks)
def value_out_of_type_range() -> pl.Expr:
    """A column holds a value that its type cannot.

    Parquet stores small integers and decimals in wider fields; engines cut such a value, make it null, or fail.
    Fix: widen the column's type, or write the file again with values that it holds.

    Conforms::
        check: range, violating_rows: 0
        check: UTF-8, violating_rows: 3
    Violates::
        check: range, violating_rows: 3
    """
    return (pl.col("check") == "range") & (pl.col("violating_rows") > 0)


@rule("ROW005", requires="data-files.stored-partition-columns", view=row_checks, divergence="E38")
def stored_partition_column_differs() -> pl.Expr:
    """A data file stores a partition column with another value than the log gives the file.

    Readers take the log's value, so the rows appear in a partition that their writer did not mean, or did.
    Fix: find out which of the two is right, and commit the file again under the right partition.

    Conforms::
        check: partition value, violating_rows: 0
        check: range, violating_rows: 1
    Violates::
        check: partition value, violating_rows: 1
    """
    return (pl.col("check") == "partition value") & (pl.col("violating_rows") > 0)


@rule("ROW007", requires="data-files.change-type-column", view=row_checks)
def change_type_in_data_file() -> pl.Expr:
    """A data file has a column `_change_type` that the schema lacks, and rows in which it is not null.

    Readers of that text take the column for empty: what it says is lost, or taken for change data of another file.
    Fix: write the rows again with null in that column, or without it.

    Conforms::
        check: change type, violating_rows: 0
        check: UTF-8, violating_rows: 2
    Violates::
        check: change type, violating_rows: 2
    """
    return (pl.col("check") == "change type") & (pl.col("violating_rows") > 0)


@rule("ROW006", requires="data-files.required-columns", view=row_checks, divergence="S29")
def null_below_container() -> pl.Expr:
    """An array, map or struct below one holds null where its type says there is none.

    The text does not say that `containsNull` and the like bind the data; engines that trust them misread or fail.
    Fix: let the type say that there are nulls, or write the file again without them.

    Conforms::
        check: not null, below_container: true, violating_rows: 0
        check: not null, below_container: false, violating_rows: 2
    Violates::
        check: not null, below_container: true, violating_rows: 2
    """
    return (pl.col("check") == "not null") & pl.col("below_container") & (pl.col("violating_rows") > 0)

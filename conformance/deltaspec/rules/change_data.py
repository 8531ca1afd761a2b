"""Rules over change data files. Source: chapters Change Data Files and Add CDC File."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.change_data import change_commits, change_files


@rule("CDF001", requires="cdc.change-type-column", view=change_files)
def change_type_column_missing() -> pl.Expr:
    """A change data file has no column `_change_type`.

    Readers of changes fail, or cannot tell what happened to its rows.
    Fix: the rows cannot be told apart any more; turn change data feed off and on again, and read the table anew.

    Conforms::
        has_change_type: true
    Violates::
        has_change_type: false
    """
    return ~pl.col("has_change_type")


@rule("CDF002", requires="cdc.change-types", view=change_files)
def unknown_change_type() -> pl.Expr:
    """A change data file has rows whose `_change_type` is null or none of the four that there are.

    Readers of changes drop such rows, or hand on what nobody downstream understands.
    Fix: as far as the rows before and after are still there, write the file's rows again with their change types.

    Conforms::
        unknown_change_types: []
        unknown_change_types: null
    Violates::
        unknown_change_types: ["upsert"]
    """
    return pl.col("unknown_change_types").list.len() > 0


@rule("CDF003", requires="cdc.no-commit-columns", view=change_files, divergence="E38")
def commit_column_stored() -> pl.Expr:
    """A change data file stores a column that readers of changes fill from the log.

    Some take the stored values, some their own, and some fail on the column that is there twice.
    Fix: the writer should leave the column out.

    Conforms::
        commit_columns: []
    Violates::
        commit_columns: ["_commit_version"]
    """
    return pl.col("commit_columns").list.len() > 0


@rule("CDF004", requires="cdc.stored-partition-values", view=change_files, divergence="E38")
def change_file_partition_value_differs() -> pl.Expr:
    """Rows of a change data file store another value of a partition column than the log gives the file.

    Readers that know the text take the log's value, those that look into the file the other.
    Fix: commit the changes in a file of their own partition, or without the column.

    Conforms::
        mismatched_partition_values: []
    Violates::
        mismatched_partition_values: ["p=1"]
    """
    return pl.col("mismatched_partition_values").list.len() > 0


@rule("CDF005", requires="cdc.images-in-pairs", view=change_commits, divergence="E39")
def preimages_without_postimages() -> pl.Expr:
    """The change data of a commit have more rows before updates than after them, or fewer.

    The text names the two kinds and not that they come in pairs; readers that pair them lose a row or keep one.
    Fix: none in place; whoever follows the changes has to read the table anew.

    Conforms::
        preimages: 2, postimages: 2
        preimages: null, postimages: null
    Violates::
        preimages: 2, postimages: 1
    """
    return pl.col("preimages") != pl.col("postimages")


@rule("CDF006", requires="cdc.whole-changes", view=change_commits)
def change_row_counts_differ() -> pl.Expr:
    """The change data of a commit insert and delete other numbers of rows than its files do.

    Readers of changes take them for all that happened, and end up with another table.
    Fix: none in place; whoever follows the changes has to read the table anew.

    Conforms::
        net_changes: -1, net_rows: -1
        net_changes: -1, net_rows: null
    Violates::
        net_changes: 0, net_rows: -1
    """
    return pl.col("net_changes") != pl.col("net_rows")


@rule("CDF007", requires="cdc.whole-changes", view=change_commits)
def change_rows_differ() -> pl.Expr:
    """The change data of a commit hold other rows than those that its files add and remove.

    Readers of changes take them for what happened, and end up with another table.
    Fix: none in place; whoever follows the changes has to read the table anew.

    Conforms::
        rows_match: true
        rows_match: null
    Violates::
        rows_match: false
    """
    return ~pl.col("rows_match")


@rule(
    "CDF008",
    requires=("cdc.for-updates", "cdc.enabled-before-features", "cdc.enabled-with-feature"),
    view=change_commits,
    divergence="E39",
)
def update_without_change_data() -> pl.Expr:
    """A commit on a table with change data feed updates rows and has no change data.

    Readers of changes see every row of its new files inserted and every row of its old ones deleted; those that know
    no deletion vectors see rows twice.
    Fix: the writer should write change data for updates, and for deletes that come with new files.

    Conforms::
        change_files: 1, operation: UPDATE, new_files: 1, removed_files: 1, vector_changed_files: 0
        change_files: 0, operation: WRITE, new_files: 1, removed_files: 1, vector_changed_files: 0
        change_files: 0, operation: DELETE, new_files: 0, removed_files: 0, vector_changed_files: 1
        change_files: 0, operation: WRITE, new_files: 1, removed_files: 0, vector_changed_files: 1
    Violates::
        change_files: 0, operation: UPDATE, new_files: 1, removed_files: 1, vector_changed_files: 0
        change_files: 0, operation: MERGE, new_files: 1, removed_files: 0, vector_changed_files: 1
        change_files: 0, operation: null, new_files: 1, removed_files: 0, vector_changed_files: 1
    """
    updates = pl.col("operation").is_in(["UPDATE", "MERGE"])
    rewritten = updates.fill_null(False) & (pl.col("removed_files") > 0)
    revectored = updates.fill_null(True) & (pl.col("vector_changed_files") > 0)
    return (pl.col("change_files") == 0) & (pl.col("new_files") > 0) & (rewritten | revectored)

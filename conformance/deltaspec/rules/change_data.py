"""Rules over change data files. Source: chapters Change Data Files and Add CDC File."""

import polars as pl

from deltaspec.rules.fixes import RELOAD_CHANGE_DATA
from deltaspec.rules.registry import rule
from deltaspec.views.data.change_data import change_commits, change_files


@rule("CDF001", requires="cdc.change-type-column", view=change_files)
def change_type_column_missing() -> pl.Expr:
    """A change data file has no column `_change_type`.

    Readers of the change data feed fail, or cannot tell inserts, updates and deletes apart.
    Fix (rewrite): The file cannot be repaired, because the type of its changes is not stored. Reload downstream
    consumers from a snapshot, and let them read the feed from a later version.

    Conforms::
        has_change_type: true
    Violates::
        has_change_type: false
    """
    return ~pl.col("has_change_type")


@rule("CDF002", requires="cdc.change-types", view=change_files)
def unknown_change_type() -> pl.Expr:
    """A change data file has rows whose `_change_type` is null or not one of the four defined types.

    Readers of the change data feed drop these rows, or pass on changes that consumers do not understand.
    Fix (rewrite): Fix the writer. Compare the versions before and after the commit with time travel (`VERSION AS
    OF`), and correct downstream consumers with the difference.

    Conforms::
        unknown_change_types: []
        unknown_change_types: null
    Violates::
        unknown_change_types: ["upsert"]
    """
    return pl.col("unknown_change_types").list.len() > 0


@rule("CDF003", requires="cdc.no-commit-columns", view=change_files, divergence="E38")
def commit_column_stored() -> pl.Expr:
    """A change data file stores a column that readers of the feed compute from the log.

    Some readers return the stored values, some the computed ones, and some fail on a duplicate column.
    Fix (none): Fix the writer so that it omits `_commit_version` and `_commit_timestamp`. Committed change data
    does not need to be rewritten.

    Conforms::
        commit_columns: []
    Violates::
        commit_columns: ["_commit_version"]
    """
    return pl.col("commit_columns").list.len() > 0


@rule("CDF004", requires="cdc.stored-partition-values", view=change_files, divergence="E38")
def change_file_partition_value_differs() -> pl.Expr:
    """Rows of a change data file store a partition value that differs from the value in the log.

    Readers that follow the protocol return the value of the log. Readers that use the stored column return the other
    one.
    Fix (rewrite): Fix the writer so that it stores each change under the partition of its rows, or omits the
    column. Correct downstream consumers that read this version.

    Conforms::
        mismatched_partition_values: []
    Violates::
        mismatched_partition_values: ["p=1"]
    """
    return pl.col("mismatched_partition_values").list.len() > 0


@rule("CDF005", requires="cdc.images-in-pairs", view=change_commits, divergence="E39", fix=RELOAD_CHANGE_DATA)
def preimages_without_postimages() -> pl.Expr:
    """The change data of a commit has different numbers of update preimages and postimages.

    The protocol does not say that preimages and postimages come in pairs. Consumers that pair them lose an update or
    keep an outdated row.

    Conforms::
        preimages: 2, postimages: 2
        preimages: null, postimages: null
    Violates::
        preimages: 2, postimages: 1
    """
    return pl.col("preimages") != pl.col("postimages")


@rule("CDF006", requires="cdc.whole-changes", view=change_commits, fix=RELOAD_CHANGE_DATA)
def change_row_counts_differ() -> pl.Expr:
    """The net number of rows in a commit's change data differs from the net number in its data files.

    Consumers of the change data feed build a table that differs from the source.

    Conforms::
        net_changes: -1, net_rows: -1
        net_changes: -1, net_rows: null
    Violates::
        net_changes: 0, net_rows: -1
    """
    return pl.col("net_changes") != pl.col("net_rows")


@rule("CDF007", requires="cdc.whole-changes", view=change_commits, fix=RELOAD_CHANGE_DATA)
def change_rows_differ() -> pl.Expr:
    """The change data of a commit does not contain the rows that its data files add and remove.

    Consumers of the change data feed build a table that differs from the source.

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
    """An update of a table with change data feed replaces data but writes no change data.

    Readers of the feed see all rows of new files as inserts and all rows of removed files as deletes. Readers without
    deletion-vector support see rows twice. (If the new rows equal the old ones, the feed has changes that did not
    happen.)
    Fix (rewrite): Use a writer that supports the change data feed for UPDATE, MERGE and DELETE. For this commit,
    compute the changes from the versions before and after it.

    Conforms::
        change_files: 1, operation: UPDATE, new_files: 1, removed_files: 1, vector_changed_files: 0
        change_files: 0, operation: WRITE, new_files: 1, removed_files: 1, vector_changed_files: 0
        change_files: 0, operation: DELETE, new_files: 0, removed_files: 0, vector_changed_files: 1
        change_files: 0, operation: WRITE, new_files: 1, removed_files: 0, vector_changed_files: 1
        change_files: 0, operation: UPDATE, new_files: 1, removed_files: 0, vector_changed_files: 0
        change_files: 0, operation: UPDATE, new_files: 0, removed_files: 1, vector_changed_files: 0
    Violates::
        change_files: 0, operation: UPDATE, new_files: 1, removed_files: 1, vector_changed_files: 0
        change_files: 0, operation: MERGE, new_files: 1, removed_files: 0, vector_changed_files: 1
        change_files: 0, operation: null, new_files: 1, removed_files: 0, vector_changed_files: 1
    """
    updates = pl.col("operation").is_in(["UPDATE", "MERGE"])
    rewritten = updates.fill_null(False) & (pl.col("removed_files") > 0)
    revectored = updates.fill_null(True) & (pl.col("vector_changed_files") > 0)
    return (pl.col("change_files") == 0) & (pl.col("new_files") > 0) & (rewritten | revectored)

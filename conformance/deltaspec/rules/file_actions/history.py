"""Rules over the actions of one path. Source: chapters Add File and Remove File, Action Reconciliation."""

import polars as pl

from deltaspec.rules.fixes import (
    DELETE_DERIVED_FILE,
    RESTORE_VERSION,
    REWRITE_DERIVED_FILE_OR_FIX_WRITER,
    REWRITE_DERIVED_FILE_OR_RESTORE,
)
from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.idle_removes import idle_removes


@rule("FIL030", requires="reconciliation.no-repeated-actions", view=file_history, fix=RESTORE_VERSION)
def file_added_twice() -> pl.Expr:
    """A commit adds the same path more than once.

    Actions of a commit have no order. Readers disagree on the file's deletion vector and statistics, or read its rows
    twice.

    Conforms::
        kind: add, source: commit, same_path_same_kind: 1
        kind: remove, source: commit, same_path_same_kind: 2
        kind: add, source: checkpoint, same_path_same_kind: 2
    Violates::
        kind: add, source: commit, same_path_same_kind: 2
    """
    return (pl.col("kind") == "add") & (pl.col("source") == "commit") & (pl.col("same_path_same_kind") > 1)


@rule("FIL040", requires="reconciliation.add-unique", view=file_history, fix=DELETE_DERIVED_FILE)
def path_live_twice() -> pl.Expr:
    """A checkpoint or compaction contains two add actions of the same path.

    Readers disagree on the file's deletion vector and statistics, or read its rows twice.

    Conforms::
        kind: add, source: checkpoint, same_path_same_kind: 1
        kind: add, source: commit, same_path_same_kind: 2
        kind: remove, source: checkpoint, same_path_same_kind: 2
    Violates::
        kind: add, source: checkpoint, same_path_same_kind: 2
        kind: add, source: sidecar, same_path_same_kind: 2
        kind: add, source: compaction, same_path_same_kind: 2
    """
    return (pl.col("kind") == "add") & (pl.col("source") != "commit") & (pl.col("same_path_same_kind") > 1)


@rule("FIL041", requires="reconciliation.adds-unique-by-file", view=file_history, fix=DELETE_DERIVED_FILE)
def logical_file_live_twice() -> pl.Expr:
    """A checkpoint or compaction contains two add actions of the same path and deletion vector.

    Readers disagree on the file's statistics, or read its rows twice.

    Conforms::
        kind: add, source: checkpoint, same_file_same_kind: 1
        kind: add, source: commit, same_file_same_kind: 2
    Violates::
        kind: add, source: checkpoint, same_file_same_kind: 2
    """
    return (pl.col("kind") == "add") & (pl.col("source") != "commit") & (pl.col("same_file_same_kind") > 1)


@rule(
    "FIL031",
    requires=("reconciliation.no-repeated-actions", "reconciliation.removes-unique"),
    view=file_history,
    fix=REWRITE_DERIVED_FILE_OR_FIX_WRITER,
)
def file_removed_twice() -> pl.Expr:
    """A commit removes the same path more than once, or a checkpoint the same logical file.

    These actions have no order, so the deletion time and the deletion vector are undefined.

    Conforms::
        kind: remove, source: commit, same_path_same_kind: 1, same_file_same_kind: 1
        kind: remove, source: checkpoint, same_path_same_kind: 2, same_file_same_kind: 1
    Violates::
        kind: remove, source: commit, same_path_same_kind: 2, same_file_same_kind: 1
        kind: remove, source: checkpoint, same_path_same_kind: 2, same_file_same_kind: 2
    """
    in_commit = (pl.col("source") == "commit") & (pl.col("same_path_same_kind") > 1)
    return (pl.col("kind") == "remove") & (in_commit | (pl.col("same_file_same_kind") > 1))


@rule(
    "FIL032",
    requires=("reconciliation.live-and-dead-disjoint", "deletion-vectors.unique-id", "add.logical-file-key"),
    view=file_history,
    fix=REWRITE_DERIVED_FILE_OR_RESTORE,
)
def file_added_and_removed() -> pl.Expr:
    """A commit, checkpoint or compaction both adds and removes the same logical file.

    These actions have no order. Some readers return the rows of the file, others do not.

    Conforms::
        kind: add, same_file_other_kind: 0
        kind: remove, same_file_other_kind: 1
    Violates::
        kind: add, same_file_other_kind: 1
    """
    return (pl.col("kind") == "add") & (pl.col("same_file_other_kind") > 0)


@rule("FIL033", requires="add.live-vector-removed", view=file_history, fix=RESTORE_VERSION)
def live_vector_not_removed() -> pl.Expr:
    """A file is added with another deletion vector, but the commit does not remove the live logical file.

    Both logical files are live. Readers return rows twice, and deleted rows come back.

    Conforms::
        kind: add, unremoved_live_vector: null
        kind: remove, unremoved_live_vector: none
    Violates::
        kind: add, unremoved_live_vector: none
    """
    return (pl.col("kind") == "add") & pl.col("unremoved_live_vector").is_not_null()


@rule("FIL037", requires="add.logical-file-key", view=file_history, divergence="E36")
def live_file_removed_with_another_vector() -> pl.Expr:
    """A remove has another deletion vector than the live file with the same path.

    By the key of logical files, the file stays live. Readers that compare only paths remove it, so row counts differ
    between engines.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the version before the remove, then repeat later
    changes with a corrected writer. Do not delete the rows by a condition: if the commit wrote them to another file
    as well (COM020), the condition matches both copies, and the rows are lost.

    Conforms::
        kind: remove, unremoved_live_vector: null
        kind: add, unremoved_live_vector: "uab@1"
    Violates::
        kind: remove, unremoved_live_vector: "uab@1"
    """
    return (pl.col("kind") == "remove") & pl.col("unremoved_live_vector").is_not_null()


@rule("FIL038", requires="consistency.unique-file-names", view=file_history)
def size_changed_by_another_add() -> pl.Expr:
    """A file is added again with another size than before.

    Either the file was overwritten, so that earlier versions have lost their rows, or one of the sizes is wrong and
    readers that seek the footer by it fail.
    Fix (restore): Compare the file in storage with both sizes. If it was overwritten, restore the earlier file from
    backup and write the new rows to a file with a new name. Otherwise fix the writer, and rewrite the file's rows.

    Conforms::
        size: 100, size_before: 100
        size: 100, size_before: null
    Violates::
        size: 100, size_before: 99
    """
    return pl.col("size") != pl.col("size_before")


@rule("FIL034", requires="cdc.fields", view=file_history, divergence="E37")
def change_file_listed_twice() -> pl.Expr:
    """A commit names the same change data file twice.

    The protocol does not forbid it, but consumers read the changes twice.
    Fix (none): Fix the writer, and correct consumers that read this version. The table's rows are not affected.

    Conforms::
        kind: cdc, same_path_same_kind: 1
        kind: remove, same_path_same_kind: 2
    Violates::
        kind: cdc, same_path_same_kind: 2
    """
    return (pl.col("kind") == "cdc") & (pl.col("same_path_same_kind") > 1)


@rule("FIL035", requires="add.path", view=file_history, divergence="S09")
def inconsistent_path_encoding() -> pl.Expr:
    """Actions of the same file encode its path in different ways.

    The protocol does not say whether `a%20b` and `a b`, or an absolute and a relative path, name the same file. Engines
    that match actions by the path as written see two files: they read the rows of two add actions twice, and a remove
    action does not delete the rows. Delta Spark 4.4, delta-rs 1.6, Polars and DuckDB 1.5 do so: if one file is live
    under two encodings, they return every row of it twice, also ids that should be unique.
    Fix (repair): Fix the writer so that it repeats the path of the add action. Compare the row counts of your
    engines; if they differ, rewrite the file's rows.

    Conforms::
        other_path_encoding: null
    Violates::
        other_path_encoding: "a%62.parquet"
    """
    return pl.col("other_path_encoding").is_not_null()


@rule("FIL051", requires="remove.tags-with-extended-metadata", view=file_history)
def tags_missing_from_extended_metadata() -> pl.Expr:
    """A remove action has extendedFileMetadata true but not the tags of its add action.

    Consumers that follow changes of the table treat the file as one without tags.
    Fix (none): No repair is needed for the committed version. Fix the writer: it must repeat the tags or omit
    extendedFileMetadata.

    Conforms::
        extended_file_metadata: true, has_tags: true, had_tags: true
        extended_file_metadata: true, has_tags: false, had_tags: false
        extended_file_metadata: true, has_tags: false, had_tags: null
        extended_file_metadata: null, has_tags: false, had_tags: true
    Violates::
        extended_file_metadata: true, has_tags: false, had_tags: true
    """
    return pl.col("extended_file_metadata") & pl.col("had_tags") & ~pl.col("has_tags")


@rule("FIL052", requires="remove.of-its-file", view=file_history)
def remove_contradicts_add() -> pl.Expr:
    """A remove action states another size or other partition values than the add action of its file.

    Consumers that follow changes of the table, or restore the file from the action, return its rows with wrong
    partition values. (Size 0 without extendedFileMetadata states nothing.)
    Fix (none): No repair is possible for the commit. Fix the writer: it must copy both from the add action or leave
    them out. Rebuild what consumers derived from the commit.

    Conforms::
        size: 100, added_size: 100, extended_file_metadata: true, changed_partition_value: null
        size: null, added_size: 100, extended_file_metadata: null, changed_partition_value: null
        size: 100, added_size: null, extended_file_metadata: true, changed_partition_value: null
        size: 0, added_size: 100, extended_file_metadata: false, changed_partition_value: null
    Violates::
        size: 99, added_size: 100, extended_file_metadata: null, changed_partition_value: null
        size: 0, added_size: 100, extended_file_metadata: true, changed_partition_value: null
        size: 100, added_size: 100, extended_file_metadata: true, changed_partition_value: "p=2, added with 1"
    """
    states_size = (pl.col("size") != 0) | pl.col("extended_file_metadata")
    has_other_size = (states_size & (pl.col("size") != pl.col("added_size"))).fill_null(False)
    return has_other_size | pl.col("changed_partition_value").is_not_null()


@rule("FIL036", requires=("remove.row-ids", "row-ids.removed-base-row-id"), view=file_history)
def row_ids_missing_from_remove() -> pl.Expr:
    """A remove action does not repeat the row ids or the row commit version of its add action.

    Consumers that read changes, or restore the file from the action, assign other ids to its rows.
    Fix (restore): No repair is possible for the commit. Stop its writer, which does not support rowTracking, and
    restore files from a version in which they are live.

    Conforms::
        kind: remove, base_row_id: 10, base_row_id_before: 10, default_row_commit_version: 3, default_row_commit_version_before: 3
        kind: remove, base_row_id: null, base_row_id_before: null, default_row_commit_version: null, default_row_commit_version_before: null
        kind: add, base_row_id: null, base_row_id_before: 10, default_row_commit_version: 3, default_row_commit_version_before: 3
    Violates::
        kind: remove, base_row_id: null, base_row_id_before: 10, default_row_commit_version: 3, default_row_commit_version_before: 3
        kind: remove, base_row_id: 10, base_row_id_before: 10, default_row_commit_version: 4, default_row_commit_version_before: 3
    """
    names = ("base_row_id", "default_row_commit_version")
    differ = [
        pl.col(f"{name}_before").is_not_null() & pl.col(name).ne_missing(pl.col(f"{name}_before")) for name in names
    ]
    return (pl.col("kind") == "remove") & (differ[0] | differ[1])


@rule("FIL053", requires="remove.ends-live-file", view=idle_removes, divergence="S51")
def remove_of_file_that_is_not_live() -> pl.Expr:
    """A commit removes a file that is not live.

    Replay is the same without the remove. The writer has worked on an outdated version of the table, or does not spell
    the path like its add: the file that it meant may still be live, and rows that the commit writes again are doubled.
    (Other rules report paths that are live with another deletion vector. Delta Spark removes files of deletion vectors
    when it drops their feature.)
    Fix (decide): Compare the rows before and after the commit with time travel (`VERSION AS OF`). If rows are
    doubled or came back, run `RESTORE TABLE t TO VERSION AS OF n` with the version before the commit, then repeat
    later changes with a corrected writer. It must check for conflicting commits, and repeat the path of the add
    character by character.

    Conforms::
        is_live_with_other_vector: true, is_vector_file: false
        is_live_with_other_vector: false, is_vector_file: true
    Violates::
        is_live_with_other_vector: false, is_vector_file: false
    """
    return ~pl.col("is_live_with_other_vector") & ~pl.col("is_vector_file")

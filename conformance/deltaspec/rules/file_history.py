"""Rules over the actions of one path. Source: chapters Add File and Remove File, Action Reconciliation."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_history


@rule("FIL030", requires="reconciliation.no-repeated-actions", view=file_history)
def file_added_twice() -> pl.Expr:
    """One commit adds the same path more than once.

    Its actions have no order: readers disagree on the file's vector and statistics, or read its rows twice.
    Fix: restore the version before; the writer must add each path once.

    Conforms::
        kind: add, source: commit, same_path_same_kind: 1
        kind: remove, source: commit, same_path_same_kind: 2
        kind: add, source: checkpoint, same_path_same_kind: 2
    Violates::
        kind: add, source: commit, same_path_same_kind: 2
    """
    return (pl.col("kind") == "add") & (pl.col("source") == "commit") & (pl.col("same_path_same_kind") > 1)


@rule("FIL040", requires="reconciliation.add-unique", view=file_history)
def path_live_twice() -> pl.Expr:
    """A checkpoint or compaction holds two adds of the same path.

    Readers disagree on the file's vector and statistics, or read its rows twice.
    Fix: delete the file and write it anew; the writer must keep the newest add of each path.

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


@rule("FIL041", requires="reconciliation.adds-unique-by-file", view=file_history)
def logical_file_live_twice() -> pl.Expr:
    """A checkpoint or compaction holds two adds of the same path and deletion vector.

    Readers disagree on the file's statistics, or read its rows twice.
    Fix: delete the file and write it anew; the writer must keep the newest add of each logical file.

    Conforms::
        kind: add, source: checkpoint, same_file_same_kind: 1
        kind: add, source: commit, same_file_same_kind: 2
    Violates::
        kind: add, source: checkpoint, same_file_same_kind: 2
    """
    return (pl.col("kind") == "add") & (pl.col("source") != "commit") & (pl.col("same_file_same_kind") > 1)


@rule("FIL031", requires=("reconciliation.no-repeated-actions", "reconciliation.removes-unique"), view=file_history)
def file_removed_twice() -> pl.Expr:
    """One commit removes the same path more than once, or a checkpoint the same logical file.

    Its actions have no order: which deletion time and vector hold is undefined.
    Fix: restore the version before; the writer must remove each path once.

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
)
def file_added_and_removed() -> pl.Expr:
    """One commit, checkpoint or compaction both adds and removes the same logical file.

    Its actions have no order: for some readers the file is live, for others it is gone.
    Fix: restore the version before; the writer must do one or the other.

    Conforms::
        kind: add, same_file_other_kind: 0
        kind: remove, same_file_other_kind: 1
    Violates::
        kind: add, same_file_other_kind: 1
    """
    return (pl.col("kind") == "add") & (pl.col("same_file_other_kind") > 0)


@rule("FIL033", requires="add.live-vector-removed", view=file_history)
def live_vector_not_removed() -> pl.Expr:
    """A file is added under another deletion vector, and the commit does not remove the logical file that was live.

    Both are live for readers that know files by path and vector: rows come twice, deleted ones come back.
    Fix: restore the version before; the writer must remove the former logical file in the same commit.

    Conforms::
        unremoved_live_vector: null
    Violates::
        unremoved_live_vector: none
    """
    return pl.col("unremoved_live_vector").is_not_null()


@rule("FIL034", requires="cdc.fields", view=file_history, divergence="E37")
def change_file_listed_twice() -> pl.Expr:
    """One commit names the same change data file twice.

    The text does not forbid it; consumers read its changes twice.
    Fix: the writer must name it once.

    Conforms::
        kind: cdc, same_path_same_kind: 1
        kind: remove, same_path_same_kind: 2
    Violates::
        kind: cdc, same_path_same_kind: 2
    """
    return (pl.col("kind") == "cdc") & (pl.col("same_path_same_kind") > 1)


@rule("FIL035", requires="add.path", view=file_history, divergence="S09")
def inconsistent_path_encoding() -> pl.Expr:
    """Actions of one file spell its path in different ways.

    Whether `a%20b` and `a b`, or an absolute and a relative path, are one file is not said: some engines match a
    remove with its add by the text as written.
    Fix: the writer must repeat the path of the add.

    Conforms::
        other_path_encoding: null
    Violates::
        other_path_encoding: "a%62.parquet"
    """
    return pl.col("other_path_encoding").is_not_null()


@rule("FIL051", requires="remove.tags-with-extended-metadata", view=file_history)
def tags_missing_from_extended_metadata() -> pl.Expr:
    """A remove claims extended file metadata and lacks the tags that the file was added with.

    Whoever follows the changes of a table takes the file for one without tags.
    Fix: the writer must repeat the tags of the add, or leave extendedFileMetadata out.

    Conforms::
        extended_file_metadata: true, has_tags: true, had_tags: true
        extended_file_metadata: true, has_tags: false, had_tags: false
        extended_file_metadata: true, has_tags: false, had_tags: null
        extended_file_metadata: null, has_tags: false, had_tags: true
    Violates::
        extended_file_metadata: true, has_tags: false, had_tags: true
    """
    return pl.col("extended_file_metadata") & pl.col("had_tags") & ~pl.col("has_tags")


@rule("FIL036", requires=("remove.row-ids", "row-ids.removed-base-row-id"), view=file_history)
def row_ids_missing_from_remove() -> pl.Expr:
    """A file is removed without the row ids, or the row commit version, that it was added with.

    Whoever reads changes, or restores the file from its remove, gives its rows other ids.
    Fix: none for the commit; its writer does not support rowTracking and must not write to the table.

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

"""Rules over row ids along the history of a table. Source: chapters Row IDs (r1) and Row Tracking."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.row_id_history import new_row_ids, row_id_commits, row_id_conflicts, row_id_states


@rule("RID020", requires=("row-tracking.fresh-version", "row-tracking.commit-version"), view=new_row_ids)
def outdated_row_commit_version() -> pl.Expr:
    """A new file has a default row commit version before that of the commit which adds it.

    Its rows claim to be older than they are: whoever looks for rows changed since a version misses them.
    Fix: restore the version before; the writer must use the version it commits, also when it tries again.

    Conforms::
        default_row_commit_version: 4, version: 4, history_is_complete: true
        default_row_commit_version: null, version: 4, history_is_complete: true
        default_row_commit_version: 2, version: 4, history_is_complete: false
    Violates::
        default_row_commit_version: 2, version: 4, history_is_complete: true
    """
    return (pl.col("default_row_commit_version") < pl.col("version")) & pl.col("history_is_complete")


@rule("RID021", requires="row-tracking.above-mark", view=row_id_conflicts)
def reused_row_ids() -> pl.Expr:
    """A file is given default row ids that a file had which is removed by now.

    They are below the mark, which covers all that were ever given: whoever compares versions takes a new row for one
    that was deleted. (Ids below the mark that no file had may have been reserved.)
    Fix: restore the version before; the writer must read the mark and begin above it.

    Conforms::
        other_is_live: true
        other_is_live: null
    Violates::
        other_is_live: false
    """
    return ~pl.col("other_is_live")


@rule("RID022", requires=("row-tracking.unique-default-ids", "row-ids.base-row-id"), view=row_id_conflicts)
def default_row_ids_overlapped_in_history() -> pl.Expr:
    """Rows of two files had the same default row ids in an earlier version.

    Whoever reads that version by row ids, or follows rows through it, takes different rows for one.
    Fix: none for that version; the writer must read the mark before it assigns ids.

    Conforms::
        other_is_live: true, both_are_live: true
        other_is_live: false, both_are_live: false
    Violates::
        other_is_live: true, both_are_live: false
    """
    return pl.col("other_is_live") & ~pl.col("both_are_live")


@rule("RID023", requires="row-tracking.suspended", view=new_row_ids)
def row_ids_assigned_while_suspended() -> pl.Expr:
    """A new file has row ids or a row commit version although row tracking is suspended.

    Row tracking is suspended to take it out of the table: what is assigned meanwhile has to be taken out again.
    Fix: the writer should leave both fields out while delta.rowTrackingSuspended is true.

    Conforms::
        suspended: true, history_is_complete: true, base_row_id: null, default_row_commit_version: null, version: 4
        suspended: false, history_is_complete: true, base_row_id: 10, default_row_commit_version: 4, version: 4
        suspended: true, history_is_complete: false, base_row_id: 10, default_row_commit_version: 2, version: 4
    Violates::
        suspended: true, history_is_complete: true, base_row_id: 10, default_row_commit_version: null, version: 4
        suspended: true, history_is_complete: false, base_row_id: 10, default_row_commit_version: 4, version: 4
    """
    assigned = pl.col("base_row_id").is_not_null() | pl.col("default_row_commit_version").is_not_null()
    is_new = pl.col("history_is_complete") | (pl.col("default_row_commit_version") == pl.col("version")).fill_null(
        False
    )
    return pl.col("suspended") & assigned & is_new


@rule("RID024", requires="row-tracking.base-row-id-kept", view=file_history)
def base_row_id_changed() -> pl.Expr:
    """A file is added again with another baseRowId than it had.

    Its rows get other ids although nothing happened to them.
    Fix: commit the add once more with the baseRowId of the first one.

    Conforms::
        kind: add, base_row_id: 10, base_row_id_before: 10
        kind: add, base_row_id: 10, base_row_id_before: null
        kind: remove, base_row_id: 20, base_row_id_before: 10
    Violates::
        kind: add, base_row_id: 20, base_row_id_before: 10
    """
    return (pl.col("kind") == "add") & (pl.col("base_row_id") != pl.col("base_row_id_before"))


@rule("RID025", requires="row-tracking.commit-version-kept", view=file_history)
def default_row_commit_version_changed() -> pl.Expr:
    """A file is added again with another defaultRowCommitVersion than it had.

    Its rows claim to have changed, or lose the record that they did.
    Fix: commit the add once more with the defaultRowCommitVersion of the first one.

    Conforms::
        kind: add, default_row_commit_version: 1, default_row_commit_version_before: 1
        kind: add, default_row_commit_version: 4, default_row_commit_version_before: null
        kind: remove, default_row_commit_version: 4, default_row_commit_version_before: 1
    Violates::
        kind: add, default_row_commit_version: 4, default_row_commit_version_before: 1
    """
    differs = pl.col("default_row_commit_version") != pl.col("default_row_commit_version_before")
    return (pl.col("kind") == "add") & differs


@rule(
    "RID026",
    requires=("row-tracking.suspended-or-enabled", "row-tracking.not-suspended-when-enabled"),
    view=row_id_states,
)
def suspended_and_enabled() -> pl.Expr:
    """Row tracking is enabled and suspended at once.

    Readers rely on ids that writers do not assign any more: rows come without ids.
    Fix: set delta.rowTrackingSuspended or delta.enableRowTracking to false.

    Conforms::
        enabled: true, suspended: false
        enabled: false, suspended: true
    Violates::
        enabled: true, suspended: true
    """
    return pl.col("enabled") & pl.col("suspended")


@rule("RID027", requires="row-ids.mark-while-reserved", view=row_id_commits)
def row_ids_assigned_without_high_water_mark() -> pl.Expr:
    """A commit adds a new file and has no rowIdHighWaterMark, though other commits of the table have one.

    Also a mark that stays the same, as ids were reserved before, belongs to each commit that uses them: it tells
    whether row ids were preserved, and makes two writers conflict.
    Fix: the writer must include the action in every commit that adds a new file.

    Conforms::
        new_files: 1, high_water_marks: 1, table_has_high_water_mark: true
        new_files: 0, high_water_marks: 0, table_has_high_water_mark: true
        new_files: 1, high_water_marks: 0, table_has_high_water_mark: false
        new_files: null, high_water_marks: 0, table_has_high_water_mark: true
    Violates::
        new_files: 1, high_water_marks: 0, table_has_high_water_mark: true
    """
    return (pl.col("new_files") > 0) & (pl.col("high_water_marks") == 0) & pl.col("table_has_high_water_mark")


@rule("RID028", requires="reconciliation.one-high-water-mark", view=row_id_commits, divergence="E37")
def several_row_id_marks() -> pl.Expr:
    """A commit holds several rowIdHighWaterMark actions.

    Actions of a commit have no order: readers disagree on the mark, and writers go on from one that is too low.
    Fix: the writer must commit one, the highest.

    Conforms::
        high_water_marks: 1
        high_water_marks: 0
    Violates::
        high_water_marks: 2
    """
    return pl.col("high_water_marks") > 1


@rule("RID029", requires=("row-tracking.preserved-tag", "row-ids.preserved-flag"), view=row_id_commits)
def preserved_flag_unnecessarily_false() -> pl.Expr:
    """A commit that updates and copies no row says that row ids were not preserved.

    Whoever follows rows by their ids gives up on the table for nothing. (By the oldest text preservedRowIds of the mark
    says it, later the tag delta.rowTracking.preserved.)
    Fix: the writer must say true where no row is updated or copied.

    Conforms::
        enabled: true, may_copy_rows: false, rows_preserved: true
        enabled: true, may_copy_rows: true, rows_preserved: false
        enabled: false, may_copy_rows: false, rows_preserved: false
        enabled: true, may_copy_rows: false, rows_preserved: null
    Violates::
        enabled: true, may_copy_rows: false, rows_preserved: false
    """
    return pl.col("enabled") & ~pl.col("may_copy_rows") & ~pl.col("rows_preserved")


@rule("RID030", requires="row-tracking.preserved-tag", view=row_id_commits)
def preserved_tag_missing() -> pl.Expr:
    """A commit to a table with row tracking enabled does not say whether rows keep their ids.

    Whoever follows rows by their ids cannot tell, without a look at the files, whether they may go on over this commit.
    Fix: the writer should set the tag delta.rowTracking.preserved of commitInfo, also where no row is updated.

    Conforms::
        enabled: true, file_actions: 2, has_commit_info: true, rows_preserved: true
        enabled: true, file_actions: 0, has_commit_info: true, rows_preserved: null
        enabled: false, file_actions: 2, has_commit_info: true, rows_preserved: null
        enabled: true, file_actions: 2, has_commit_info: false, rows_preserved: null
    Violates::
        enabled: true, file_actions: 2, has_commit_info: true, rows_preserved: null
    """
    asked = pl.col("enabled") & (pl.col("file_actions") > 0) & pl.col("has_commit_info")
    return asked & pl.col("rows_preserved").is_null()

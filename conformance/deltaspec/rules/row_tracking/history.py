"""Rules over row ids in the history of a table. Source: chapters Row IDs (r1) and Row Tracking."""

import polars as pl

from deltaspec.rules.fixes import ASSIGN_ROW_IDS_AGAIN, RESTORE_VERSION
from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.row_id_history import new_row_ids, row_id_commits, row_id_conflicts, row_id_states


@rule("RID020", requires=("row-tracking.fresh-version", "row-tracking.commit-version"), view=new_row_ids)
def outdated_row_commit_version() -> pl.Expr:
    """A new file has a default row commit version before the commit that adds it.

    Consumers that read rows changed since a version miss its rows.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. The writer must use the version of the successful attempt.

    Conforms::
        default_row_commit_version: 4, version: 4, history_is_complete: true
        default_row_commit_version: null, version: 4, history_is_complete: true
        default_row_commit_version: 2, version: 4, history_is_complete: false
    Violates::
        default_row_commit_version: 2, version: 4, history_is_complete: true
    """
    return (pl.col("default_row_commit_version") < pl.col("version")) & pl.col("history_is_complete")


@rule("RID021", requires="row-tracking.above-mark", view=row_id_conflicts, fix=ASSIGN_ROW_IDS_AGAIN)
def reused_row_ids() -> pl.Expr:
    """A file has default row ids that a removed file had.

    All assigned ids are below the high-water mark. Consumers that compare versions confuse a new row with a deleted
    one. (Ids below the mark that no file had may have been reserved.)

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

    Consumers that read that version by row id, or follow rows through it, confuse the rows.
    Fix (none): No repair is possible for the earlier version; reload consumers that followed row ids. The writer
    must read the high-water mark before it assigns ids.

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

    Row tracking is suspended in order to drop it. New ids must be removed again.
    Fix (none): No repair is needed while row tracking stays suspended. The writer should omit both fields while
    delta.rowTrackingSuspended is true.

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


@rule("RID024", requires="row-tracking.base-row-id-kept", view=file_history, fix=RESTORE_VERSION)
def base_row_id_changed() -> pl.Expr:
    """A file is added again with another baseRowId.

    Its rows get other ids although they did not change.

    Conforms::
        kind: add, base_row_id: 10, base_row_id_before: 10
        kind: add, base_row_id: 10, base_row_id_before: null
        kind: remove, base_row_id: 20, base_row_id_before: 10
    Violates::
        kind: add, base_row_id: 20, base_row_id_before: 10
    """
    return (pl.col("kind") == "add") & (pl.col("base_row_id") != pl.col("base_row_id_before"))


@rule("RID025", requires="row-tracking.commit-version-kept", view=file_history, fix=RESTORE_VERSION)
def default_row_commit_version_changed() -> pl.Expr:
    """A file is added again with another defaultRowCommitVersion.

    Its rows seem to have changed, or a change of them is no longer visible.

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
    """Row tracking is both enabled and suspended.

    Readers rely on ids that writers no longer assign, so rows have no ids.
    Fix (restore): Restore the version before the defect, or the log from backup: Delta Spark refuses every command
    while both are set. A writer that drops the feature must set `delta.enableRowTracking` to false.

    Conforms::
        enabled: true, suspended: false
        enabled: false, suspended: true
    Violates::
        enabled: true, suspended: true
    """
    return pl.col("enabled") & pl.col("suspended")


@rule("RID027", requires="row-ids.mark-while-reserved", view=row_id_commits)
def row_ids_assigned_without_high_water_mark() -> pl.Expr:
    """A commit adds a new file without a rowIdHighWaterMark although other commits of the table have one.

    Every commit that uses row ids needs the mark, even if it does not change. It states whether row ids were preserved
    and makes concurrent writers conflict.
    Fix (repair): Stop the writer of this commit and check for duplicate row ids. Write the rows again if there are
    any.

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
    """A commit contains several rowIdHighWaterMark actions.

    Actions of a commit have no order. Writers may continue from a mark that is too low and assign ids twice.
    Fix (restore): Stop writers. Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect,
    then repeat later changes with a corrected writer. The writer must commit only the highest mark.

    Conforms::
        high_water_marks: 1
        high_water_marks: 0
    Violates::
        high_water_marks: 2
    """
    return pl.col("high_water_marks") > 1


@rule("RID029", requires=("row-tracking.preserved-tag", "row-ids.preserved-flag"), view=row_id_commits)
def preserved_flag_unnecessarily_false() -> pl.Expr:
    """A commit that neither updates nor copies rows states that row ids were not preserved.

    Consumers that follow row ids reload the table without need. (The oldest revision states it in preservedRowIds of
    the mark, later ones in the tag delta.rowTracking.preserved.)
    Fix (none): No repair is needed. The writer should state true when no row is updated or copied.

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
    """A commit does not state whether rows keep their ids although row tracking is enabled.

    Consumers that follow row ids must read the files to find out whether they can continue.
    Fix (none): No repair is needed. The writer should set the tag delta.rowTracking.preserved in commitInfo of
    every commit.

    Conforms::
        enabled: true, file_actions: 2, has_commit_info: true, rows_preserved: true
        enabled: true, file_actions: 0, has_commit_info: true, rows_preserved: null
        enabled: false, file_actions: 2, has_commit_info: true, rows_preserved: null
        enabled: true, file_actions: 2, has_commit_info: false, rows_preserved: null
    Violates::
        enabled: true, file_actions: 2, has_commit_info: true, rows_preserved: null
    """
    is_expected = pl.col("enabled") & (pl.col("file_actions") > 0) & pl.col("has_commit_info")
    return is_expected & pl.col("rows_preserved").is_null()

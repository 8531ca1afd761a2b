"""Rules over row tracking. Source: chapter Row Tracking."""

import polars as pl

from deltaspec.rules.fixes import ASSIGN_ROW_IDS_AGAIN, RAISE_ROW_ID_MARK
from deltaspec.rules.registry import rule
from deltaspec.views.files.row_id_marks import row_id_marks
from deltaspec.views.files.row_ids import row_id_columns, row_id_files, row_id_ranges, row_id_rewrites


@rule(
    "RID001",
    requires=("row-tracking.unique-default-ids", "row-ids.base-row-id"),
    view=row_id_ranges,
    fix=ASSIGN_ROW_IDS_AGAIN,
)
def default_row_ids_overlap() -> pl.Expr:
    """Rows of two live files have the same default row ids.

    Consumers that join on row ids or follow them confuse the rows.

    Conforms::
        base_row_id: 10, last_row_id: 19, previous_last_row_id: 9
        base_row_id: 0, last_row_id: 9, previous_last_row_id: null
        base_row_id: 5, last_row_id: null, previous_last_row_id: 9
    Violates::
        base_row_id: 9, last_row_id: 12, previous_last_row_id: 9
        base_row_id: 0, last_row_id: 4, previous_last_row_id: 4
    """
    return (pl.col("base_row_id") <= pl.col("previous_last_row_id")) & pl.col("last_row_id").is_not_null()


@rule(
    "RID002",
    requires=("row-tracking.high-water-mark", "row-tracking.mark-of-action", "row-ids.mark-covers-ids"),
    view=row_id_ranges,
    fix=RAISE_ROW_ID_MARK,
)
def row_id_above_high_water_mark() -> pl.Expr:
    """A file has default row ids above the high-water mark of the table.

    The next writer continues after the mark and assigns the same ids again.

    Conforms::
        last_row_id: 9, high_water_mark: 9, ids_exceed_long: false
        last_row_id: 9, high_water_mark: null, ids_exceed_long: false
        last_row_id: null, high_water_mark: 9, ids_exceed_long: null
    Violates::
        last_row_id: 10, high_water_mark: 9, ids_exceed_long: false
        last_row_id: 9223372036854775807, high_water_mark: 9223372036854775807, ids_exceed_long: true
    """
    is_above = (pl.col("last_row_id") > pl.col("high_water_mark")) | pl.col("ids_exceed_long")
    return pl.col("high_water_mark").is_not_null() & is_above


@rule(
    "RID003",
    requires=("row-tracking.mark-in-domain", "row-tracking.mark-raised", "row-ids.mark-with-new-files"),
    view=row_id_ranges,
    fix=RAISE_ROW_ID_MARK,
)
def row_ids_without_high_water_mark() -> pl.Expr:
    """A file has row ids, but the table has no high-water mark where the revision requires it.

    The next writer starts at 0 and assigns the same ids again. (Since r3 the mark is in the domain delta.rowTracking,
    before that in the action rowIdHighWaterMark.)

    Conforms::
        last_row_id: 9, has_high_water_mark: true
        last_row_id: null, has_high_water_mark: false
    Violates::
        last_row_id: 9, has_high_water_mark: false
    """
    return pl.col("last_row_id").is_not_null() & ~pl.col("has_high_water_mark")


@rule(
    "RID039",
    requires=("row-tracking.high-water-mark", "row-tracking.mark-of-action", "row-ids.mark-covers-ids"),
    view=row_id_marks,
)
def mark_below_row_ids_for_a_while() -> pl.Expr:
    """The high-water mark was below row ids of the table until a later commit raised it.

    A writer that continued after the mark in the meantime assigned the same ids again.
    Fix (none): No repair is needed if no row ids overlap, which other rules check. Fix the writer: it must state
    the new mark in the commit that adds the files, and must never lower it.

    Conforms::
        last_row_id: 9, high_water_mark: 9
        last_row_id: 9, high_water_mark: null
    Violates::
        last_row_id: 10, high_water_mark: 9
    """
    return pl.col("last_row_id") > pl.col("high_water_mark")


@rule("RID040", requires="row-tracking.mark-in-domain", view=row_id_marks)
def mark_missing_for_a_while() -> pl.Expr:
    """A table with row ids had no high-water mark until a later commit stated one.

    A writer that assigned row ids in the meantime started at 0 and assigned the same ids again.
    Fix (none): No repair is needed if no row ids overlap, which other rules check. Fix the writer: it must state
    the mark in the commit that adds the files, and must not remove the domain delta.rowTracking.

    Conforms::
        last_row_id: 9, high_water_mark: 9
    Violates::
        last_row_id: 9, high_water_mark: null
    """
    return pl.col("last_row_id").is_not_null() & pl.col("high_water_mark").is_null()


@rule(
    "RID004",
    requires=(
        "row-tracking.base-row-id",
        "row-tracking.fields-set-when-enabled",
        "row-ids.base-row-id",
        "row-ids.all-files-when-enabled",
    ),
    view=row_id_ranges,
)
def base_row_id_missing() -> pl.Expr:
    """A live file has no baseRowId although row ids are required.

    Readers fail, or return null ids where the table guarantees ids.
    Fix (rewrite): Write the file's rows again with an engine that supports row tracking; they get new ids. If row
    tracking was just enabled, restore the version before and enable it with `ALTER TABLE t SET TBLPROPERTIES`.

    Conforms::
        base_row_id: 0, ids_required: true
        base_row_id: null, ids_required: false
    Violates::
        base_row_id: null, ids_required: true
    """
    return pl.col("base_row_id").is_null() & pl.col("ids_required")


@rule("RID005", requires=("row-tracking.commit-version", "row-tracking.fields-set-when-enabled"), view=row_id_ranges)
def default_row_commit_version_missing() -> pl.Expr:
    """A live file has no defaultRowCommitVersion although row commit versions are required.

    Consumers cannot determine whether its rows changed between two versions.
    Fix (rewrite): Write the file's rows again with an engine that supports row tracking. If row tracking was just
    enabled, restore the version before and enable it with `ALTER TABLE t SET TBLPROPERTIES`.

    Conforms::
        default_row_commit_version: 1, ids_required: true
        default_row_commit_version: null, ids_required: false
    Violates::
        default_row_commit_version: null, ids_required: true
    """
    return pl.col("default_row_commit_version").is_null() & pl.col("ids_required")


@rule(
    "RID006",
    requires=(
        "row-tracking.column-names",
        "row-tracking.stored-ids-named",
        "row-tracking.stored-versions-named",
        "row-ids.column-name",
    ),
    view=row_id_columns,
)
def materialized_column_not_named() -> pl.Expr:
    """Row ids are enabled, but no column is named for materialized row ids or row commit versions.

    Writers cannot preserve the ids of copied rows, and readers cannot find ids that were preserved.
    Fix (restore): Restore the version before row tracking was enabled. Then enable it with `ALTER TABLE t SET
    TBLPROPERTIES ('delta.enableRowTracking' = 'true')` in Delta Spark, which names the columns.

    Conforms::
        enabled: true, column: _row-id
        enabled: false, column: null
    Violates::
        enabled: true, column: null
    """
    return pl.col("enabled") & pl.col("column").is_null()


@rule(
    "RID007",
    requires=("row-tracking.column-names-unique", "row-tracking.hidden-column", "row-ids.column-name"),
    view=row_id_columns,
)
def materialized_column_name_taken() -> pl.Expr:
    """A column has the present or earlier name of the column for materialized row ids or row commit versions.

    Engines confuse ids and data: rows silently change their values or their ids.
    Fix (restore): Stop writers. Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect,
    then repeat later changes with a corrected writer. If the name was taken when row tracking was enabled, drop the
    feature and enable it again.

    Conforms::
        column: _row-id, conflicts_with: null
        column: null, conflicts_with: null
    Violates::
        column: id, conflicts_with: id
    """
    return pl.col("column").is_not_null() & pl.col("conflicts_with").is_not_null()


@rule(
    "RID008",
    requires=("row-tracking.unique-stable-ids", "row-tracking.unique-stable-row-ids"),
    view=row_id_files,
    fix=ASSIGN_ROW_IDS_AGAIN,
)
def duplicate_row_id() -> pl.Expr:
    """The materialized id of a row equals the id of another live row.

    Consumers that join on row ids or follow them confuse the rows.

    Conforms::
        duplicate_ids: 0, first_duplicate_id: null
        duplicate_ids: null, first_duplicate_id: null
    Violates::
        duplicate_ids: 2, first_duplicate_id: 7
    """
    return (pl.col("duplicate_ids") > 0) & pl.col("first_duplicate_id").is_not_null()


@rule(
    "RID009",
    requires=("row-tracking.ids-kept", "row-tracking.row-ids-kept"),
    view=row_id_files,
    fix=ASSIGN_ROW_IDS_AGAIN,
)
def materialized_row_id_never_assigned() -> pl.Expr:
    """A row has a materialized row id above the high-water mark.

    No row can have had this id, and a later writer assigns it to a new row.

    Conforms::
        highest_row_id: 9, high_water_mark: 9
        highest_row_id: null, high_water_mark: 9
        highest_row_id: 9, high_water_mark: null
    Violates::
        highest_row_id: 10, high_water_mark: 9
    """
    return pl.col("highest_row_id") > pl.col("high_water_mark")


@rule("RID010", requires="row-tracking.commit-versions-kept", view=row_id_files, fix=ASSIGN_ROW_IDS_AGAIN)
def row_commit_version_ahead_of_table() -> pl.Expr:
    """A row has a materialized row commit version above the version of the table.

    No commit can have written it. Consumers that read rows changed since a version find the row again and again.

    Conforms::
        highest_row_commit_version: 4, table_version: 4
        highest_row_commit_version: null, table_version: 4
    Violates::
        highest_row_commit_version: 5, table_version: 4
    """
    return pl.col("highest_row_commit_version") > pl.col("table_version")


@rule(
    "RID011",
    requires=("row-tracking.ids-kept", "row-tracking.row-ids-kept", "row-ids.preserved"),
    view=row_id_rewrites,
)
def row_ids_lost_by_rewrite() -> pl.Expr:
    """A commit that moves or updates rows gives some of them other row ids.

    Consumers that follow row ids see the rows as deleted and inserted.
    Fix (decide): If consumers need the former ids: run `RESTORE TABLE t TO VERSION AS OF n` with the last version
    before the defect, then repeat later changes with a corrected writer. The writer must store the ids of copied
    rows in the materialized column.

    Conforms::
        lost_ids: 0, new_ids: 0
    Violates::
        lost_ids: 2, new_ids: 2
        lost_ids: 0, new_ids: 1
        lost_ids: 1, new_ids: 0
    """
    return (pl.col("lost_ids") > 0) | (pl.col("new_ids") > 0)


@rule("RID012", requires="row-tracking.commit-versions-kept", view=row_id_rewrites)
def row_commit_versions_lost_by_rewrite() -> pl.Expr:
    """A commit that only moves rows gives some of them other row commit versions.

    Consumers that read rows changed since a version find rows that did not change.
    Fix (none): No rows are lost. The writer must store the commit versions of copied rows in the materialized
    column.

    Conforms::
        commit_versions_preserved: true
        commit_versions_preserved: null
    Violates::
        commit_versions_preserved: false
    """
    return ~pl.col("commit_versions_preserved")

"""Rules over row tracking. Source: chapter Row Tracking."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.row_ids import row_id_columns, row_id_files, row_id_ranges, row_id_rewrites


@rule("RID001", requires=("row-tracking.unique-default-ids", "row-ids.base-row-id"), view=row_id_ranges)
def default_row_ids_overlap() -> pl.Expr:
    """Rows of two live files have the same default row ids.

    Whoever joins on row ids, or follows rows by them, takes different rows for one.
    Fix: commit the file again with a baseRowId above the high-water mark; the writer must read the mark before it writes.

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
)
def row_id_above_high_water_mark() -> pl.Expr:
    """A file has default row ids above the table's high-water mark.

    The next writer starts above the mark and gives the same ids away again.
    Fix: commit the domain delta.rowTracking (before r3 a rowIdHighWaterMark) with a mark of at least the highest id.

    Conforms::
        last_row_id: 9, high_water_mark: 9
        last_row_id: 9, high_water_mark: null
        last_row_id: null, high_water_mark: 9
    Violates::
        last_row_id: 10, high_water_mark: 9
    """
    return pl.col("last_row_id") > pl.col("high_water_mark")


@rule(
    "RID003",
    requires=("row-tracking.mark-in-domain", "row-tracking.mark-raised", "row-ids.mark-with-new-files"),
    view=row_id_ranges,
)
def row_ids_without_high_water_mark() -> pl.Expr:
    """A file has row ids, and their high-water mark is not where the text keeps it.

    The next writer starts at 0 and gives the same ids away again. (Since r3 the domain delta.rowTracking holds it; before
    it had an action of its own, rowIdHighWaterMark.)
    Fix: commit it, with a mark of at least the highest id.

    Conforms::
        last_row_id: 9, has_high_water_mark: true
        last_row_id: null, has_high_water_mark: false
    Violates::
        last_row_id: 9, has_high_water_mark: false
    """
    return pl.col("last_row_id").is_not_null() & ~pl.col("has_high_water_mark")


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
    """A live file that has to have row ids has no baseRowId.

    Its rows have no ids: readers fail, or return nulls where the table promises ids.
    Fix: commit the add again with a baseRowId above the high-water mark, and the domain with the new mark.

    Conforms::
        base_row_id: 0, ids_required: true
        base_row_id: null, ids_required: false
    Violates::
        base_row_id: null, ids_required: true
    """
    return pl.col("base_row_id").is_null() & pl.col("ids_required")


@rule("RID005", requires=("row-tracking.commit-version", "row-tracking.fields-set-when-enabled"), view=row_id_ranges)
def default_row_commit_version_missing() -> pl.Expr:
    """A live file that has to have a row commit version has no defaultRowCommitVersion.

    Whether its rows changed between two versions cannot be told.
    Fix: commit the add again with the version that first added its path.

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
    """Row ids are enabled, and a column for materialized row ids or row commit versions is not named.

    Writers cannot keep the ids of rows that they copy, and readers do not find those that were kept.
    Fix: set the property to a name that no column has.

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
    """The column of materialized row ids or row commit versions has the name of another column.

    Ids and data are taken for each other: rows change their values or their ids without an error.
    Fix: drop row tracking and enable it again with a name that no column has.

    Conforms::
        column: _row-id, conflicts_with: null
        column: null, conflicts_with: null
    Violates::
        column: id, conflicts_with: id
    """
    return pl.col("column").is_not_null() & pl.col("conflicts_with").is_not_null()


@rule("RID008", requires=("row-tracking.unique-stable-ids", "row-tracking.unique-stable-row-ids"), view=row_id_files)
def duplicate_row_id() -> pl.Expr:
    """A row has a materialized id that another row of the table has too, kept or by default.

    Whoever joins on row ids, or follows rows by them, takes different rows for one.
    Fix: rewrite one of the rows without its materialized id, so that it gets a new one.

    Conforms::
        duplicate_ids: 0, first_duplicate_id: null
        duplicate_ids: null, first_duplicate_id: null
    Violates::
        duplicate_ids: 2, first_duplicate_id: 7
    """
    return (pl.col("duplicate_ids") > 0) & pl.col("first_duplicate_id").is_not_null()


@rule("RID009", requires=("row-tracking.ids-kept", "row-tracking.row-ids-kept"), view=row_id_files)
def materialized_row_id_never_assigned() -> pl.Expr:
    """A row has a materialized id above the high-water mark: no row can have had it before.

    A later writer gives the same id to a new row.
    Fix: rewrite the file without such ids, or commit the domain with a mark of at least the highest.

    Conforms::
        highest_row_id: 9, high_water_mark: 9
        highest_row_id: null, high_water_mark: 9
        highest_row_id: 9, high_water_mark: null
    Violates::
        highest_row_id: 10, high_water_mark: 9
    """
    return pl.col("highest_row_id") > pl.col("high_water_mark")


@rule("RID010", requires="row-tracking.commit-versions-kept", view=row_id_files)
def row_commit_version_ahead_of_table() -> pl.Expr:
    """A row has a materialized row commit version above the table's version: no commit can have written it.

    Whoever looks for rows changed since a version finds this one again and again.
    Fix: rewrite the file with null in place of such versions.

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
    """A commit that moves rows to other files, or updates them, gives some of them other row ids.

    Whoever follows rows by their ids sees them deleted and inserted, though they were not.
    Fix: the writer must store the ids of rows that it copies in the column that the table names for it.

    Conforms::
        lost_ids: 0, new_ids: 0
    Violates::
        lost_ids: 2, new_ids: 2
        lost_ids: 0, new_ids: 1
    """
    return (pl.col("lost_ids") > 0) | (pl.col("new_ids") > 0)


@rule("RID012", requires="row-tracking.commit-versions-kept", view=row_id_rewrites)
def row_commit_versions_lost_by_rewrite() -> pl.Expr:
    """A commit that only moves rows to other files gives some of them other row commit versions.

    Whoever looks for rows changed since a version finds rows that did not change.
    Fix: the writer must store the commit versions of rows that it copies in the column that the table names for it.

    Conforms::
        commit_versions_preserved: true
        commit_versions_preserved: null
    Violates::
        commit_versions_preserved: false
    """
    return ~pl.col("commit_versions_preserved")

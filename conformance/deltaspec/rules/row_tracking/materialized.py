"""Rules over row ids that data files store. Source: chapters Row IDs (r1) and Row Tracking."""

import polars as pl

from deltaspec.rules.fixes import ASSIGN_ROW_IDS_AGAIN, RESTORE_VERSION
from deltaspec.rules.registry import rule
from deltaspec.views.files.row_ids import row_id_files, row_id_rewrites


@rule("RID031", requires=("row-tracking.preserved-tag", "row-ids.preserved-flag"), view=row_id_rewrites)
def preserved_flag_contradicted() -> pl.Expr:
    """A commit that moves rows states wrongly whether they keep their row ids and commit versions.

    Consumers that follow rows by id lose rows, or read rows again without need.
    Fix (none): No repair is possible for the commit; compare row ids before and after it, and reload consumers that
    followed them. The writer must state true only if all copied rows keep their ids.

    Conforms::
        rows_preserved: true, lost_ids: 0, new_ids: 0, commit_versions_preserved: true
        rows_preserved: false, lost_ids: 2, new_ids: 2, commit_versions_preserved: null
        rows_preserved: false, lost_ids: 0, new_ids: 0, commit_versions_preserved: false
        rows_preserved: null, lost_ids: 2, new_ids: 2, commit_versions_preserved: null
        rows_preserved: false, lost_ids: 0, new_ids: 0, commit_versions_preserved: null
    Violates::
        rows_preserved: false, lost_ids: 0, new_ids: 0, commit_versions_preserved: true
        rows_preserved: true, lost_ids: 2, new_ids: 2, commit_versions_preserved: null
        rows_preserved: true, lost_ids: 0, new_ids: 0, commit_versions_preserved: false
        rows_preserved: true, lost_ids: 1, new_ids: 0, commit_versions_preserved: true
        rows_preserved: true, lost_ids: 0, new_ids: 1, commit_versions_preserved: true
    """
    kept = (pl.col("lost_ids") == 0) & (pl.col("new_ids") == 0) & pl.col("commit_versions_preserved")
    return kept != pl.col("rows_preserved")


@rule("RID032", requires="row-tracking.fresh-ids", view=row_id_files, fix=ASSIGN_ROW_IDS_AGAIN)
def duplicate_fresh_row_ids() -> pl.Expr:
    """Rows of two live files have the same fresh row id.

    A fresh row id is baseRowId plus the position in the file. Consumers that join on row ids or follow them confuse the
    rows.

    Conforms::
        duplicate_default_ids: 0, first_duplicate_default_id: null
    Violates::
        duplicate_default_ids: 5, first_duplicate_default_id: 10
    """
    return (pl.col("duplicate_default_ids") > 0) & pl.col("first_duplicate_default_id").is_not_null()


@rule(
    "RID033",
    requires=("row-tracking.inserted-ids", "row-ids.stored-where-preserved"),
    view=row_id_files,
    fix=ASSIGN_ROW_IDS_AGAIN,
)
def inserted_row_with_materialized_id() -> pl.Expr:
    """An inserted row has a materialized row id that is not its fresh one.

    Only updated or copied rows keep an id. This row has the id of another row that exists or existed.

    Conforms::
        rows_are_inserted: true, materialized_ids: 0
        rows_are_inserted: false, materialized_ids: 4
    Violates::
        rows_are_inserted: true, materialized_ids: 1
    """
    return pl.col("rows_are_inserted") & (pl.col("materialized_ids") > 0)


@rule("RID034", requires="row-tracking.commit-versions-set", view=row_id_files, fix=ASSIGN_ROW_IDS_AGAIN)
def inserted_row_with_an_earlier_commit_version() -> pl.Expr:
    """An inserted row has a materialized row commit version before the commit that inserted it.

    Consumers that read rows changed since a version miss the row.

    Conforms::
        rows_are_inserted: true, earlier_row_commit_versions: 0
        rows_are_inserted: false, earlier_row_commit_versions: 4
    Violates::
        rows_are_inserted: true, earlier_row_commit_versions: 1
    """
    return pl.col("rows_are_inserted") & (pl.col("earlier_row_commit_versions") > 0)


@rule("RID035", requires=("row-tracking.ids-stored", "row-ids.stored-where-preserved"), view=row_id_files)
def fresh_row_id_materialized() -> pl.Expr:
    """A row has a materialized row id that equals its fresh one, where null is required.

    The id was not preserved. It becomes a wrong preserved id if the file is committed again with another baseRowId.
    Fix (none): No repair is needed while the file stays as it is. Fix the writer: it must store null for rows
    without a preserved id.

    Conforms::
        materialized_default_ids: 0
    Violates::
        materialized_default_ids: 3
    """
    return pl.col("materialized_default_ids") > 0


@rule("RID036", requires="row-tracking.versions-stored", view=row_id_files)
def fresh_row_commit_version_materialized() -> pl.Expr:
    """A row has a materialized commit version that is not earlier than its file's commit version.

    Preserved commit versions are older than the file. For all other rows the column must be null.
    Fix (none): No repair is needed if the values are right. Fix the writer: it must store null for rows without a
    preserved commit version.

    Conforms::
        highest_row_commit_version: 3, default_row_commit_version: 4, table_version: 9
        highest_row_commit_version: null, default_row_commit_version: 4, table_version: 9
        highest_row_commit_version: 12, default_row_commit_version: 4, table_version: 9
    Violates::
        highest_row_commit_version: 4, default_row_commit_version: 4, table_version: 9
        highest_row_commit_version: 6, default_row_commit_version: 4, table_version: 9
    """
    highest = pl.col("highest_row_commit_version")
    return (highest >= pl.col("default_row_commit_version")) & (highest <= pl.col("table_version"))


@rule(
    "RID037",
    requires=("row-tracking.stable-id", "row-tracking.stable-version", "row-ids.stored-ids-first"),
    view=row_id_files,
    fix=RESTORE_VERSION,
)
def materialized_row_ids_not_integers() -> pl.Expr:
    """A column of materialized row ids or row commit versions contains values that are not integers.

    Readers cannot determine the row ids or commit versions of the file's rows.

    Conforms::
        materialized_column_fault: null
    Violates::
        materialized_column_fault: "_row-id holds values of type string"
    """
    return pl.col("materialized_column_fault").is_not_null()

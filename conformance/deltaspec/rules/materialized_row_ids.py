"""Rules over row ids that files hold beside what the log says. Source: chapters Row IDs (r1) and Row Tracking."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.row_ids import row_id_files, row_id_rewrites


@rule("RID031", requires=("row-tracking.preserved-tag", "row-ids.preserved-flag"), view=row_id_rewrites)
def preserved_flag_contradicted() -> pl.Expr:
    """A commit that moves rows to other files is wrong about whether they keep their row ids and commit versions.

    Whoever follows rows by their ids relies on it: rows are lost, or read again for nothing.
    Fix: the writer must say true where all rows that it copies keep theirs, and else false.

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
    """
    kept = (pl.col("lost_ids") == 0) & (pl.col("new_ids") == 0) & pl.col("commit_versions_preserved")
    return kept != pl.col("rows_preserved")


@rule("RID032", requires="row-tracking.fresh-ids", view=row_id_files)
def duplicate_fresh_row_ids() -> pl.Expr:
    """Rows of two live files have the same fresh row id: the baseRowId of the file plus their position in it.

    Whoever joins on row ids, or follows rows by them, takes different rows for one.
    Fix: commit the file again with a baseRowId above the high-water mark; the writer must count the rows of its files.

    Conforms::
        duplicate_fresh_ids: 0, first_duplicate_fresh_id: null
    Violates::
        duplicate_fresh_ids: 5, first_duplicate_fresh_id: 10
    """
    return (pl.col("duplicate_fresh_ids") > 0) & pl.col("first_duplicate_fresh_id").is_not_null()


@rule("RID033", requires=("row-tracking.inserted-ids", "row-ids.stored-where-preserved"), view=row_id_files)
def inserted_row_with_materialized_id() -> pl.Expr:
    """A row that was inserted has a materialized row id, which is not its fresh one.

    Only rows that are updated or copied keep an id: this one claims to be a row that is elsewhere, or was.
    Fix: rewrite the file with null in place of such ids.

    Conforms::
        rows_are_inserted: true, materialized_ids: 0
        rows_are_inserted: false, materialized_ids: 4
    Violates::
        rows_are_inserted: true, materialized_ids: 1
    """
    return pl.col("rows_are_inserted") & (pl.col("materialized_ids") > 0)


@rule("RID034", requires="row-tracking.commit-versions-set", view=row_id_files)
def inserted_row_with_an_earlier_commit_version() -> pl.Expr:
    """A row that was inserted has a materialized row commit version before that of the commit which inserted it.

    Whoever looks for rows changed since a version misses it.
    Fix: rewrite the file with null in place of such versions.

    Conforms::
        rows_are_inserted: true, earlier_row_commit_versions: 0
        rows_are_inserted: false, earlier_row_commit_versions: 4
    Violates::
        rows_are_inserted: true, earlier_row_commit_versions: 1
    """
    return pl.col("rows_are_inserted") & (pl.col("earlier_row_commit_versions") > 0)


@rule("RID035", requires=("row-tracking.ids-stored", "row-ids.stored-where-preserved"), view=row_id_files)
def fresh_row_id_materialized() -> pl.Expr:
    """A row has a materialized row id that is its fresh one: it was not preserved, and is to be null.

    The id is stored where nothing has to be, and stays behind as a kept one when the file is committed with other ids.
    Fix: rewrite the file with null in place of such ids.

    Conforms::
        materialized_default_ids: 0
    Violates::
        materialized_default_ids: 3
    """
    return pl.col("materialized_default_ids") > 0


@rule("RID036", requires="row-tracking.versions-stored", view=row_id_files)
def fresh_row_commit_version_materialized() -> pl.Expr:
    """A row has a materialized row commit version that is not before that of its file: it was not preserved.

    What is kept is older than the file that it is kept in; for all other rows the column is to be null.
    Fix: rewrite the file with null in place of such versions.

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
)
def materialized_row_ids_not_integers() -> pl.Expr:
    """A column of materialized row ids or row commit versions holds values that are no integers.

    Row ids and commit versions are integers: which ones the rows of the file have cannot be told.
    Fix: rewrite the file with the column as a 64-bit integer.

    Conforms::
        materialized_column_fault: null
    Violates::
        materialized_column_fault: "_row-id holds values of type string"
    """
    return pl.col("materialized_column_fault").is_not_null()

"""Rules over the properties and values of identity columns. Source: Identity Columns."""

import polars as pl

from deltaspec.rules.command_fixes import SYNC_IDENTITY
from deltaspec.rules.registry import rule
from deltaspec.views.data.identity_values import identity_values
from deltaspec.views.log.log_files import commits


@rule("IDN001", requires="identity-columns.fixed", view=commits)
def identity_changed() -> pl.Expr:
    """The start, step or allowExplicitInsert of an identity column changed after its creation.

    New values leave the sequence of the existing ones, or repeat them.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. For another sequence, add another identity column.

    Conforms::
        changed_identity_columns: []
        changed_identity_columns: null
    Violates::
        changed_identity_columns: ["id: delta.identity.step"]
    """
    return pl.col("changed_identity_columns").list.len() > 0


@rule("IDN002", requires="identity-columns.mark-updated", view=commits)
def identity_mark_decreased() -> pl.Expr:
    """A commit that adds files decreases the high-water mark of an identity column.

    Values between the two marks are generated again. (Commits without new files may set the mark to the last value in
    the table, and restores may set an older mark. Commits without an operation name are not checked.)
    Fix (decide): Look for duplicate values, and decide which to keep. Then run `ALTER TABLE t ALTER COLUMN c SYNC
    IDENTITY` in Delta Spark before the next write.

    Conforms::
        adds: 1, identity_marks_moved_back: []
        adds: 0, identity_marks_moved_back: ["id: 9, then 5"]
        adds: 1, identity_marks_moved_back: null
    Violates::
        adds: 1, identity_marks_moved_back: ["id: 9, then 5"]
    """
    return (pl.col("adds") > 0) & (pl.col("identity_marks_moved_back").list.len() > 0)


@rule("IDN003", requires="identity-columns.mark-is-extreme", view=identity_values, fix=SYNC_IDENTITY)
def identity_value_beyond_mark() -> pl.Expr:
    """An identity column has a value beyond its high-water mark although users cannot insert values.

    The next writer continues after the mark and generates the same value again.

    Conforms::
        last_is_beyond_high_water_mark: false
        last_is_beyond_high_water_mark: null
    Violates::
        last_is_beyond_high_water_mark: true
    """
    return pl.col("last_is_beyond_high_water_mark")


@rule("IDN004", requires="identity-columns.sequence", view=identity_values)
def identity_value_off_sequence() -> pl.Expr:
    """An identity column has a value outside its sequence although users cannot insert values.

    Consumers that rely on start and step, for example to split work by id, return wrong results.
    Fix (rewrite): Find the writer that does not support identity columns, stop it and write its rows again. Do not
    change values that other tables refer to.

    Conforms::
        off_sequence_values: 0
    Violates::
        off_sequence_values: 2
    """
    return pl.col("off_sequence_values") > 0


@rule("IDN005", requires="identity-columns.unique", view=identity_values)
def duplicate_identity_value() -> pl.Expr:
    """Two rows have the same value in an identity column although users cannot insert values.

    The column identifies rows. Joins and merges on it confuse the two rows.
    Fix (decide): Run `ALTER TABLE t ALTER COLUMN c SYNC IDENTITY` in Delta Spark. Then write one of the two rows
    again with a new value, and correct references to it.

    Conforms::
        duplicate_values: 0
    Violates::
        duplicate_values: 1
    """
    return pl.col("duplicate_values") > 0


@rule("IDN006", requires="identity-columns.beyond-mark", view=identity_values, fix=SYNC_IDENTITY)
def identity_value_not_beyond_mark() -> pl.Expr:
    """A commit generated an identity value that is not beyond the high-water mark before it.

    An earlier row may have had that value and been deleted since. The history of the old row is confused with the
    history of the new row.

    Conforms::
        nearest_is_beyond_previous_high_water_mark: true
        nearest_is_beyond_previous_high_water_mark: null
    Violates::
        nearest_is_beyond_previous_high_water_mark: false
    """
    return ~pl.col("nearest_is_beyond_previous_high_water_mark")

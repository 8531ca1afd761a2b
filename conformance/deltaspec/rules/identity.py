"""Rules over identity columns: what may not change, and the values that a table holds. Source: Identity Columns."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.identity_values import identity_values
from deltaspec.views.log.log_files import commits


@rule("IDN001", requires="identity-columns.fixed", view=commits)
def identity_changed() -> pl.Expr:
    """An identity column has another start, step or allowExplicitInsert than it was created with.

    Values that come after those that are there leave the sequence, or repeat them.
    Fix: commit a metaData with the properties that the column had; for another sequence, add another column.

    Conforms::
        changed_identity_columns: []
        changed_identity_columns: null
    Violates::
        changed_identity_columns: ["id: delta.identity.step"]
    """
    return pl.col("changed_identity_columns").list.len() > 0


@rule("IDN002", requires="identity-columns.mark-updated", view=commits)
def identity_mark_decreased() -> pl.Expr:
    """A commit that adds files leaves the high-water mark of an identity column behind where it was.

    Values between the two are generated a second time.
    (Commits that add nothing may set the mark to the last value that the table holds; a restore brings the old one:
    a commit that does not say what it does is not asked.)
    Fix: commit a metaData whose mark is the last value that was ever generated.

    Conforms::
        adds: 1, identity_marks_moved_back: []
        adds: 0, identity_marks_moved_back: ["id: 9, then 5"]
        adds: 1, identity_marks_moved_back: null
    Violates::
        adds: 1, identity_marks_moved_back: ["id: 9, then 5"]
    """
    return (pl.col("adds") > 0) & (pl.col("identity_marks_moved_back").list.len() > 0)


@rule("IDN003", requires="identity-columns.mark-is-extreme", view=identity_values)
def identity_value_beyond_mark() -> pl.Expr:
    """An identity column holds a value beyond its high-water mark, though users may give it none.

    The next writer generates the values after the mark, and gives that one to another row as well.
    Fix: commit a metaData whose mark is the last value that the column holds.

    Conforms::
        last_is_beyond_high_water_mark: false
        last_is_beyond_high_water_mark: null
    Violates::
        last_is_beyond_high_water_mark: true
    """
    return pl.col("last_is_beyond_high_water_mark")


@rule("IDN004", requires="identity-columns.sequence", view=identity_values)
def identity_value_off_sequence() -> pl.Expr:
    """An identity column holds a value that its start and step cannot give, though users may give it none.

    Whoever relies on the sequence, to count rows or to split work by ids, goes astray.
    Fix: find the writer that does not know identity columns; write its rows again.

    Conforms::
        off_sequence_values: 0
    Violates::
        off_sequence_values: 2
    """
    return pl.col("off_sequence_values") > 0


@rule("IDN005", requires="identity-columns.unique", view=identity_values)
def duplicate_identity_value() -> pl.Expr:
    """Two rows have the same value in an identity column, though users may give it none.

    The column is there to tell rows apart: whoever joins on it, or merges by it, takes one row for the other.
    Fix: write one of the rows again with a value beyond the high-water mark.

    Conforms::
        duplicate_values: 0
    Violates::
        duplicate_values: 1
    """
    return pl.col("duplicate_values") > 0


@rule("IDN006", requires="identity-columns.beyond-mark", view=identity_values)
def identity_value_not_beyond_mark() -> pl.Expr:
    """A commit generated a value of an identity column that does not lie beyond the mark it found.

    A row may have had that value before, and been deleted since: its history is taken for that of the new row.
    Fix: the writer must begin behind the mark of the version that it writes after.

    Conforms::
        nearest_is_beyond_previous_high_water_mark: true
        nearest_is_beyond_previous_high_water_mark: null
    Violates::
        nearest_is_beyond_previous_high_water_mark: false
    """
    return ~pl.col("nearest_is_beyond_previous_high_water_mark")

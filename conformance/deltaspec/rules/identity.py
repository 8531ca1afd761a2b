"""Rules over identity columns: what may not change, and the values that a table holds. Source: Identity Columns."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log_files import commits


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
def identity_mark_moved_back() -> pl.Expr:
    """A commit that adds files leaves the high-water mark of an identity column behind where it was.

    Values between the two are generated a second time.
    (Commits that add nothing may set the mark to the last value that the table holds; a restore brings the old one.)
    Fix: commit a metaData whose mark is the last value that was ever generated.

    Conforms::
        adds: 1, identity_marks_moved_back: []
        adds: 0, identity_marks_moved_back: ["id: 9, then 5"]
        adds: 1, identity_marks_moved_back: null
    Violates::
        adds: 1, identity_marks_moved_back: ["id: 9, then 5"]
    """
    return (pl.col("adds") > 0) & (pl.col("identity_marks_moved_back").list.len() > 0)

"""Rules over commits that only move rows. Source: chapter Add File and Remove File."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.rearrangements import rearrangements


@rule("COM020", requires="add.unchanged-rows", view=rearrangements)
def new_rows_said_unchanged() -> pl.Expr:
    """Files are added with dataChange false, and have more rows than the commit removes.

    Whoever follows the table passes over them, and never sees the rows that are new.
    Fix: none for the commit; its writer must set dataChange where rows come.

    Conforms::
        rows_said_moved_in: 10, removed_rows: 10
        rows_said_moved_in: 0, removed_rows: 5
    Violates::
        rows_said_moved_in: 11, removed_rows: 10
    """
    return pl.col("rows_said_moved_in") > pl.col("removed_rows")


@rule("COM021", requires="remove.unchanged-rows", view=rearrangements)
def lost_rows_said_unchanged() -> pl.Expr:
    """Files are removed with dataChange false, and had more rows than the commit adds.

    Whoever follows the table passes over them, and keeps rows that are gone.
    Fix: restore the version before if nobody meant to delete rows; the writer must set dataChange where rows go.

    Conforms::
        rows_said_moved_out: 10, added_rows: 10
        rows_said_moved_out: 0, added_rows: 5
    Violates::
        rows_said_moved_out: 10, added_rows: 9
    """
    return pl.col("rows_said_moved_out") > pl.col("added_rows")

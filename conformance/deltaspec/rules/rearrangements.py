"""Rules over commits that only move rows. Source: chapter Add File and Remove File."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.rearrangements import rearrangements


@rule("COM020", requires="add.unchanged-rows", view=rearrangements)
def rows_added_without_data_change() -> pl.Expr:
    """Files are added with dataChange false, and have more rows than the commit removes.

    Whoever follows the table passes over them, and never sees the rows that are new.
    Fix: none for the commit; its writer must set dataChange where rows come.

    Conforms::
        rows_added_unchanged: 10, removed_rows: 10
        rows_added_unchanged: 0, removed_rows: 5
    Violates::
        rows_added_unchanged: 11, removed_rows: 10
    """
    return pl.col("rows_added_unchanged") > pl.col("removed_rows")


@rule("COM021", requires="remove.unchanged-rows", view=rearrangements)
def rows_removed_without_data_change() -> pl.Expr:
    """Files are removed with dataChange false, and had more rows than the commit adds.

    Whoever follows the table passes over them, and keeps rows that are gone.
    Fix: restore the version before if nobody meant to delete rows; the writer must set dataChange where rows go.

    Conforms::
        rows_removed_unchanged: 10, added_rows: 10
        rows_removed_unchanged: 0, added_rows: 5
    Violates::
        rows_removed_unchanged: 10, added_rows: 9
    """
    return pl.col("rows_removed_unchanged") > pl.col("added_rows")

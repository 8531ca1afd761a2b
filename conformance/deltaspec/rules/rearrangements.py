"""Rules over commits that only move rows. Source: chapter Add File and Remove File."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.rearrangements import rearrangements


@rule("COM020", requires="add.unchanged-rows", view=rearrangements)
def rows_added_without_data_change() -> pl.Expr:
    """A commit adds more rows than it removes although its files have dataChange false.

    Streams and other consumers skip these files and never read the new rows.
    Fix: No rows of the table are lost. Reload consumers from a snapshot, and fix the writer: it must set dataChange
    true when rows are added.

    Conforms::
        rows_added_unchanged: 10, removed_rows: 10
        rows_added_unchanged: 0, removed_rows: 5
    Violates::
        rows_added_unchanged: 11, removed_rows: 10
    """
    return pl.col("rows_added_unchanged") > pl.col("removed_rows")


@rule("COM021", requires="remove.unchanged-rows", view=rearrangements)
def rows_removed_without_data_change() -> pl.Expr:
    """A commit removes more rows than it adds although its files have dataChange false.

    Streams and other consumers skip the commit and keep rows that no longer exist. The rows may have been lost by
    mistake.
    Fix: If the rows were not deleted on purpose: run `RESTORE TABLE t TO VERSION AS OF n` with the last version before
    the defect, then repeat later changes with a corrected writer. The writer must set dataChange true when rows are
    removed.

    Conforms::
        rows_removed_unchanged: 10, added_rows: 10
        rows_removed_unchanged: 0, added_rows: 5
    Violates::
        rows_removed_unchanged: 10, added_rows: 9
    """
    return pl.col("rows_removed_unchanged") > pl.col("added_rows")

"""View over commits that state that they only move rows to other files, with the rows that they read and write."""

import polars as pl

from deltaspec.views.base import Column, View

rearranged_rows = View(
    name="rearranged_rows",
    grain="commit of the validated history that adds and removes files, where all adds or all removes have dataChange "
    "false, and no file is missing",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "adds_unchanged": Column(pl.Boolean, "whether all adds have dataChange false"),
        "removes_unchanged": Column(pl.Boolean, "whether all removes have dataChange false"),
        "net_rows": Column(pl.Int64, "valid rows of the added files minus valid rows of the removed files"),
        "stated_net_rows": Column(pl.Int64, "the same by numRecords; null if a file does not have it"),
        "rows_match": Column(
            pl.Boolean,
            "whether the added files have the rows of the removed files; null if the counts differ, or rows are not "
            "compared",
        ),
    },
)

"""Views over change data: change data files by themselves, and commits beside what their change data say of them."""

import polars as pl

from deltaspec.views.base import Column, View

change_files = View(
    name="change_files",
    grain="change data file of a judged commit that is still there",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "commit that names it"),
        "line": Column(pl.Int64, "line, counted from 1"),
        "path": Column(pl.String, "path as written"),
        "has_change_type": Column(pl.Boolean, "the file has a column _change_type"),
        "unknown_change_types": Column(
            pl.List(pl.String), "values of _change_type that are none of the four, the first of them; `null` for null"
        ),
        "commit_columns": Column(
            pl.List(pl.String), "columns that the table has not, and that readers of changes add themselves"
        ),
        "mismatched_partition_values": Column(
            pl.List(pl.String), "`column=value` of each partition column that the file stores with another value"
        ),
    },
)

change_commits = View(
    name="change_commits",
    grain="judged commit with change data files, or with adds and removes on a table with change data feed",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "its log file"),
        "change_files": Column(pl.Int64, "cdc actions"),
        "operation": Column(pl.String, "commitInfo.operation"),
        "new_files": Column(pl.Int64, "paths that it adds with dataChange and does not remove"),
        "removed_files": Column(pl.Int64, "paths that it removes with dataChange and does not add"),
        "vector_changed_files": Column(pl.Int64, "paths that it removes and adds with dataChange, with other vectors"),
        "preimages": Column(pl.Int64, "rows update_preimage; null where a change data file is not there or not read"),
        "postimages": Column(pl.Int64, "rows update_postimage"),
        "net_changes": Column(
            pl.Int64, "rows insert and update_postimage less rows delete and update_preimage, of all change data files"
        ),
        "net_rows": Column(
            pl.Int64, "valid rows of the files added less those of the files removed; null if one is gone"
        ),
        "rows_match": Column(
            pl.Boolean,
            "the changes turn the rows before into those after; null where counts differ, or rows are not compared",
        ),
    },
)

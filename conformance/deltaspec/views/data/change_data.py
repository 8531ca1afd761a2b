"""Views over change data files, and over commits compared with their change data."""

import polars as pl

from deltaspec.views.base import STATE_KINDS, Column, View

change_files = View(
    name="change_files",
    grain="existing change data file of a validated commit",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "line": Column(pl.Int64, "line number, starting at 1"),
        "path": Column(pl.String, "path, as written"),
        "has_change_type": Column(pl.Boolean, "whether the file has the column _change_type"),
        "unknown_change_types": Column(
            pl.List(pl.String), "first values of _change_type except the four defined ones; `null` for null"
        ),
        "commit_columns": Column(
            pl.List(pl.String),
            "columns of the file that are not in the table, and that readers of change data add themselves",
        ),
        "mismatched_partition_values": Column(
            pl.List(pl.String),
            "`column=value` of each partition column that the file stores with a different value",
            decided_by=STATE_KINDS,
        ),
    },
)

change_commits = View(
    name="change_commits",
    grain="validated commit with change data files, or with adds and removes on a table with change data feed enabled",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "change_files": Column(pl.Int64, "number of cdc actions"),
        "operation": Column(pl.String, "commitInfo.operation"),
        "new_files": Column(pl.Int64, "number of paths added with dataChange true and not removed"),
        "removed_files": Column(pl.Int64, "number of paths removed with dataChange true and not added"),
        "vector_changed_files": Column(
            pl.Int64, "number of paths removed and added with dataChange true and with different deletion vectors"
        ),
        "preimages": Column(
            pl.Int64, "number of update_preimage rows; null if a change data file is missing or unread"
        ),
        "postimages": Column(
            pl.Int64, "number of update_postimage rows; null if a change data file is missing or unread"
        ),
        "net_changes": Column(
            pl.Int64, "insert and update_postimage rows minus delete and update_preimage rows of all change data files"
        ),
        "net_rows": Column(
            pl.Int64, "valid rows of the added files minus valid rows of the removed files; null if a file is missing"
        ),
        "rows_match": Column(
            pl.Boolean,
            "whether the changes turn the rows before the commit into those after it; null if the counts differ, "
            "or rows "
            "are not compared",
        ),
    },
)

"""The view over the files that the judged snapshot, and the change data of the judged commits, are made of."""

import polars as pl

from deltaspec.views.base import Column, View

data_files = View(
    name="data_files",
    grain="live data file of the judged snapshot, or change data file of a judged commit",
    key=("path_key",),
    level="files",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint whose action is in force"),
        "file": Column(pl.String, "log file the action stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "kind": Column(pl.String, "add or cdc"),
        "path": Column(pl.String, "path as written"),
        "path_key": Column(pl.String, "what equals for all spellings of one path"),
        "size": Column(pl.Int64, "size in bytes, as the action says"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "exists": Column(pl.Boolean, "the file is there; null where that could not be asked"),
        "removed_since": Column(
            pl.Boolean, "a later commit than the judged one removes it: then it may be gone; null where that is unknown"
        ),
        "actual_size": Column(pl.Int64, "length of the file in bytes; null where it is not there"),
        "footer_fault": Column(pl.String, "why the file is no Parquet file; null where it is one", "footers"),
        "row_count": Column(pl.Int64, "rows that the footer says the file has", "footers"),
    },
)

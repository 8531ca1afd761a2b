"""The view over paths of variant columns that bounds speak of, beside the types that the rows have there."""

import polars as pl

from deltaspec.views.base import Column, View

variant_paths = View(
    name="variant_paths",
    grain="path of a variant column of a live data file that its statistics have a bound of",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint whose action is in force"),
        "file": Column(pl.String, "log file the action stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "path": Column(pl.String, "path of the data file as written"),
        "column": Column(pl.String, "logical name of the variant column, nested ones with dots"),
        "variant_path": Column(pl.String, "normalized JSON path within the variant", shown=True),
        "types": Column(
            pl.List(pl.String),
            "types that the rows of the file, deleted ones included, have there, sorted; null and absence are none, "
            "exact numbers of all widths one",
        ),
    },
)

"""The view over paths of variant columns that bounds speak of, beside the types that the rows have there."""

import polars as pl

from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View

variant_paths = View(
    name="variant_paths",
    grain="path of a variant column of a live data file that its statistics have a bound of",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "column": Column(pl.String, "logical name of the variant column, nested ones with dots"),
        "variant_path": Column(pl.String, "normalized JSON path within the variant", shown=True),
        "types": Column(
            pl.List(pl.String),
            "types that the rows of the file, deleted ones included, have there, sorted; null and absence are none, "
            "exact numbers of all widths one",
        ),
    },
)

"""View over the variant paths that have bounds, compared with the stored values."""

import polars as pl

from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View

variant_paths = View(
    name="variant_paths",
    grain="path of a variant column in a live data file for which the statistics have a bound",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "column": Column(pl.String, "logical path of the variant column, segments joined by dots"),
        "variant_path": Column(pl.String, "normalized JSON path in the variant", shown=True),
        "types": Column(
            pl.List(pl.String),
            "sorted types of the values at the path, including deleted rows; null and absent values have no "
            "type, exact "
            "numbers of all widths are one type",
        ),
        "tight_bounds": Column(pl.Boolean, "stats.tightBounds; null if absent"),
        "contradiction": Column(
            pl.String,
            "how the bounds of the path exclude the value of a valid row, by type or by order; null if they do not, "
            "or if the values have several types",
        ),
        "loose_bound": Column(
            pl.String,
            "bound that is not the smallest or largest value of a valid row, although no truncation of strings or "
            "timestamps explains it; null if there is none, or if the values have several types",
        ),
    },
)

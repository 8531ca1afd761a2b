"""View over the values of live data files in identity columns whose values are always generated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.protocol.features.identity_columns import Identity, is_beyond_high_water_mark
from deltaspec.views.base import Column, View
from deltaspec.views.data.data_files import DataFile

if TYPE_CHECKING:
    from deltaspec.wire.data.identity_value_scan import IdentityValues

identity_values = View(
    name="identity_values",
    grain="live data file and identity column that does not allow explicit inserts",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint that holds the file's current action"),
        "file": Column(pl.String, "log file of the action, relative to the table root"),
        "line": Column(pl.Int64, "line number or Parquet row number, starting at 1"),
        "path": Column(pl.String, "path of the data file, as written"),
        "column": Column(pl.String, "logical column name"),
        "step": Column(pl.Int64, "delta.identity.step at the validated version", shown=True),
        "high_water_mark": Column(pl.Int64, "delta.identity.highWaterMark at the validated version", shown=True),
        "last_value": Column(
            pl.Int64, "last value in the direction of the step; null if the file has no value", shown=True
        ),
        "last_is_beyond_high_water_mark": Column(
            pl.Boolean, "whether last_value is beyond high_water_mark, or the column has values but no mark"
        ),
        "off_sequence_values": Column(
            pl.Int64, "number of values that are not start plus a non-negative multiple of step"
        ),
        "first_off_sequence_value": Column(pl.Int64, "first value that is not in the sequence", shown=True),
        "duplicate_values": Column(
            pl.Int64, "number of values that the file has more than once, or that a preceding file also has"
        ),
        "first_duplicate_value": Column(pl.Int64, "smallest duplicate value", shown=True),
        "previous_high_water_mark": Column(
            pl.Int64,
            "for a file whose commit generated all its values: high-water mark of the preceding version; null if there "
            "was none, or it is unknown",
            shown=True,
        ),
        "nearest_value": Column(
            pl.Int64, "first value in the direction of the step; null if the file has no value", shown=True
        ),
        "nearest_is_beyond_previous_high_water_mark": Column(
            pl.Boolean, "whether nearest_value is beyond previous_high_water_mark; null if unknown"
        ),
    },
)


def build_identity_value_row(
    data_file: DataFile, column: str, identity: Identity, before: Identity | None, values: IdentityValues
) -> dict[str, Any]:
    """Return the row of `identity_values` for one column of a data file.

    Args:
        data_file: a live file.
        column: logical name.
        identity: identity properties of the column at the validated version.
        before: identity properties before the commit that generated the values; None if unknown, or if the file may
            have values of older files.
        values: values of the column in the file.
    """
    ascending = (identity.step or 0) > 0
    last, nearest = (values.highest, values.lowest) if ascending else (values.lowest, values.highest)
    beyond = None
    if last is not None:
        beyond = True if identity.high_water_mark is None else is_beyond_high_water_mark(identity, last)
    return {
        **data_file.place,
        "column": column,
        "step": identity.step,
        "high_water_mark": identity.high_water_mark,
        "last_value": last,
        "last_is_beyond_high_water_mark": beyond,
        "off_sequence_values": values.off_sequence,
        "first_off_sequence_value": values.first_off_sequence,
        "duplicate_values": values.repeated,
        "first_duplicate_value": values.first_repeated,
        "previous_high_water_mark": before.high_water_mark if before is not None else None,
        "nearest_value": nearest,
        "nearest_is_beyond_previous_high_water_mark": None
        if before is None or nearest is None
        else is_beyond_high_water_mark(before, nearest),
    }

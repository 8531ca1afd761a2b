"""The view over what live data files hold in identity columns whose values are all generated."""

from typing import Any

import polars as pl

from deltaspec.model.features.identity_columns import Identity, is_beyond_high_water_mark
from deltaspec.views.base import Column, View
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.data.identity_value_scan import IdentityValues

identity_values = View(
    name="identity_values",
    grain="live data file and identity column into which users may not give values",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint whose action is in force"),
        "file": Column(pl.String, "log file the action stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "path": Column(pl.String, "path of the data file as written"),
        "column": Column(pl.String, "logical name"),
        "step": Column(pl.Int64, "delta.identity.step at the judged version", shown=True),
        "high_water_mark": Column(pl.Int64, "delta.identity.highWaterMark at the judged version", shown=True),
        "last_value": Column(
            pl.Int64, "the value that is furthest in the direction of the step; null where there is none", shown=True
        ),
        "last_is_beyond_high_water_mark": Column(
            pl.Boolean, "that value is beyond the mark, or there is a value and no mark"
        ),
        "off_sequence_values": Column(pl.Int64, "values that are not start plus a multiple of step in its direction"),
        "first_off_sequence_value": Column(pl.Int64, "the first of them", shown=True),
        "duplicate_values": Column(
            pl.Int64, "values that the file holds twice, or that a file before it holds as well"
        ),
        "first_duplicate_value": Column(pl.Int64, "the smallest of them", shown=True),
        "previous_high_water_mark": Column(
            pl.Int64,
            "for a file of a commit that generated every value in it: the mark of the version before; null where there "
            "was none, or it is not known",
            shown=True,
        ),
        "nearest_value": Column(pl.Int64, "the value that is furthest against the direction of the step", shown=True),
        "nearest_is_beyond_previous_high_water_mark": Column(
            pl.Boolean, "that value is beyond the mark of the version before"
        ),
    },
)


def build_identity_value_row(
    data_file: DataFile, column: str, identity: Identity, before: Identity | None, held: IdentityValues
) -> dict[str, Any]:
    """The row of `identity_values` of one column of a data file.

    Args:
        data_file: a live file.
        column: logical name.
        identity: of the column at the judged version.
        before: of the column before the commit that generated the values of the file; None where it is not known, or
            values of older files may be among them.
        held: what the column holds.
    """
    ascending = (identity.step or 0) > 0
    last, nearest = (held.highest, held.lowest) if ascending else (held.lowest, held.highest)
    beyond = None
    if last is not None:
        beyond = True if identity.mark is None else is_beyond_high_water_mark(identity, last)
    return {
        **data_file.place,
        "column": column,
        "step": identity.step,
        "high_water_mark": identity.mark,
        "last_value": last,
        "last_is_beyond_high_water_mark": beyond,
        "off_sequence_values": held.off_sequence,
        "first_off_sequence_value": held.first_off_sequence,
        "duplicate_values": held.repeated,
        "first_duplicate_value": held.first_repeated,
        "previous_high_water_mark": before.mark if before is not None else None,
        "nearest_value": nearest,
        "nearest_is_beyond_previous_high_water_mark": None
        if before is None or nearest is None
        else is_beyond_high_water_mark(before, nearest),
    }

"""The view over what the rows of each live data file are held to, and the rows that break it."""

from typing import Any

import polars as pl

from deltaspec.model.schema.data_types import get_type_name
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.data.column_aggregates import RowCheck
from deltaspec.wire.data.row_reader import DataFileRows

row_checks = View(
    name="row_checks",
    grain="live data file and something that its rows are held to in one column",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "column": Column(pl.String, "physical name, nested ones with dots; elements of arrays are `element`"),
        "check": Column(pl.String, "not null, UTF-8, range, partition value, change type or pages"),
        "type": Column(pl.String, "type of the column in the table's schema"),
        "below_container": Column(pl.Boolean, "the column is below an array or a map"),
        "rows": Column(pl.Int64, "rows of the file that its deletion vector leaves"),
        "violating_rows": Column(pl.Int64, "rows that break it; of strings deleted rows among them"),
        "first_row": Column(
            pl.Int64, "the first of them, counted from 0 in the file, deleted rows included", shown=True
        ),
        "expected": Column(pl.String, "partition value that the log gives, or the type whose limits hold", shown=True),
        "found": Column(pl.String, "the first value that breaks it", shown=True),
        "page_fault": Column(pl.String, "why the pages of the column cannot be decoded; null where they can"),
    },
)


def build_row_check_rows(data_file: DataFile, held: DataFileRows) -> list[dict[str, Any]]:
    """The rows of `row_checks` of one data file.

    Args:
        data_file: a live file.
        held: what was read of it.
    """
    of_file = {**data_file.place, "rows": held.valid_rows}
    found = [{**of_file, "column": name, "check": "pages", "page_fault": why} for name, why in held.corrupt.items()]
    found += [{**of_file, "column": name, "check": "pages"} for name in held.decoded]
    return found + [{**of_file, **_check(check)} for check in held.checks]


def _check(check: RowCheck) -> dict[str, Any]:
    column = check.column
    return {
        "column": column.name,
        "check": check.check,
        "type": get_type_name(column.kind),
        "below_container": column.inside,
        "violating_rows": check.violating_rows,
        "first_row": check.first_row,
        "expected": check.expected,
        "found": check.found,
    }

"""View over checks of column values in live data files, and the rows that fail them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.protocol.schema.data_types import get_type_name
from deltaspec.views.base import ROW_REQUIREMENT_COLUMNS, Column, View
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.files.null_columns import find_null_source
from deltaspec.views.table.row_requirements import RowRequirementHistory

if TYPE_CHECKING:
    from deltaspec.wire.data.column_aggregates import RowCheck
    from deltaspec.wire.data.row_reader import DataFileRows

row_checks = View(
    name="row_checks",
    grain="live data file and check of one of its columns; a file that an earlier version had, or a column that was "
    "required only earlier, has just the checks for null. Nulls that a rule over `null_columns` reports are left out",
    key=(),
    level="rows",
    columns={
        **ROW_REQUIREMENT_COLUMNS,
        "column": Column(pl.String, "physical column path, segments joined by dots; array elements are `element`"),
        "check": Column(pl.String, "kind of check: not null, UTF-8, range, partition value, change type or pages"),
        "type": Column(pl.String, "type of the column in the table schema"),
        "below_container": Column(pl.Boolean, "whether the column is nested in an array or map"),
        "rows": Column(pl.Int64, "number of rows that the deletion vector does not delete"),
        "violating_rows": Column(pl.Int64, "number of rows that fail the check; for UTF-8 including deleted rows"),
        "first_row": Column(
            pl.Int64,
            "index of the first failing row, starting at 0, including deleted rows; null if there is none",
            shown=True,
        ),
        "expected": Column(pl.String, "expected partition value from the log, or type whose range applies", shown=True),
        "found": Column(pl.String, "first value that fails the check", shown=True),
        "page_fault": Column(pl.String, "why the pages of the column cannot be decoded; null if they can"),
    },
)


def build_row_check_rows(
    data_file: DataFile, content: DataFileRows, requirements: RowRequirementHistory, reported_sources: Collection[str]
) -> list[dict[str, Any]]:
    """Return the rows of `row_checks` for one data file.

    Args:
        data_file: a live file.
        content: rows read from the file.
        requirements: what the table requires of its rows.
        reported_sources: values of `null_columns.source` that rules of the run report.
    """
    common = {**data_file.place, "rows": content.valid_rows}
    found = [
        {**common, "column": name, "check": "pages", "page_fault": reason} for name, reason in content.corrupt.items()
    ]
    found += [{**common, "column": name, "check": "pages"} for name in content.decoded]
    return found + build_check_rows(data_file, content.valid_rows, content.checks, requirements, reported_sources)


def build_check_rows(
    data_file: DataFile,
    rows: int,
    checks: Iterable[RowCheck],
    requirements: RowRequirementHistory,
    reported_sources: Collection[str],
) -> list[dict[str, Any]]:
    """Return the rows of `row_checks` for checks of a file, except nulls that a rule over the log reports.

    Args:
        data_file: a file that some version has.
        rows: number of rows that the deletion vector does not delete.
        checks: evaluated on these rows.
        requirements: what the table requires of its rows.
        reported_sources: values of `null_columns.source` that rules of the run report.
    """
    found = []
    for check in checks:
        location = data_file.place
        if check.check == "not null":
            if find_null_source(data_file, check.column.path, requirements.leaves) in reported_sources:
                continue
            cause = requirements.find_cause(check.column.path, data_file.first_version, data_file.until)
            location |= cause.location if cause else {}
        found.append({**location, "rows": rows, **_check(check)})
    return found


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

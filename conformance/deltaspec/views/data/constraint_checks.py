"""The view over the expressions that the rows of each live data file are held to, and the rows that break them."""

from typing import Any

import polars as pl

from deltaspec.sql.row_evaluation import ConstraintResult
from deltaspec.views.base import Column, View
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.table.row_constraints import RowConstraint

constraint_checks = View(
    name="constraint_checks",
    grain="live data file and an expression of the table's metadata that could be evaluated on its rows",
    key=(),
    level="rows",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint whose action is in force"),
        "file": Column(pl.String, "log file the action stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "path": Column(pl.String, "path of the data file as written"),
        "column": Column(pl.String, "logical name of the column that has the expression; null for a CHECK constraint"),
        "constraint": Column(pl.String, "name of the CHECK constraint; null for others", shown=True),
        "kind": Column(pl.String, "CHECK, invariant or generated"),
        "expression": Column(pl.String, "the SQL as written", shown=True),
        "may_predate_expression": Column(
            pl.Boolean, "rows of the file may be older than the expression: it was not there from the first version on"
        ),
        "rows": Column(pl.Int64, "rows of the file that its deletion vector leaves"),
        "violating_rows": Column(
            pl.Int64, "those of which it is false or null, or in which the column has another value than it gives"
        ),
        "first_row": Column(
            pl.Int64, "the first of them, counted from 0 in the file, deleted rows included", shown=True
        ),
        "row_values": Column(pl.String, "what that row has in the columns it speaks of", shown=True),
    },
)


def build_constraint_check_row(
    data_file: DataFile, condition: RowConstraint, held: ConstraintResult, *, may_be_older: bool
) -> dict[str, Any]:
    """The row of `constraint_checks` of one data file and one expression.

    Args:
        data_file: a live file.
        condition: what its rows are held to.
        held: how they stand to it.
        may_be_older: they may be older than it.
    """
    is_check = condition.kind == "CHECK"
    return {
        **data_file.place,
        "column": None if is_check else condition.name,
        "constraint": condition.name if is_check else None,
        "kind": condition.kind,
        "expression": condition.expression,
        "may_predate_expression": may_be_older,
        "rows": held.rows,
        "violating_rows": held.violating_rows,
        "first_row": held.first_row,
        "row_values": held.found,
    }

"""View over constraint expressions and the rows of live data files that violate them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.views.base import ROW_REQUIREMENT_COLUMNS, Column, View
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.table.row_constraints import RowConstraint
from deltaspec.views.table.row_requirements import RowRequirement

if TYPE_CHECKING:
    from deltaspec.sql.row_evaluation import ConstraintResult

constraint_checks = View(
    name="constraint_checks",
    grain="data file and constraint expression that a version has together, if it could be evaluated on the rows",
    key=(),
    level="rows",
    columns={
        **ROW_REQUIREMENT_COLUMNS,
        "column": Column(pl.String, "logical name of the column with the expression; null for a CHECK constraint"),
        "constraint": Column(pl.String, "name of the CHECK constraint; null for other kinds", shown=True),
        "kind": Column(pl.String, "kind of constraint: CHECK, invariant or generated"),
        "expression": Column(pl.String, "SQL expression, as written", shown=True),
        "may_predate_expression": Column(
            pl.Boolean, "whether rows of the file may be older than the expression; false if the table always had it"
        ),
        "rows": Column(pl.Int64, "number of rows that the deletion vector does not delete"),
        "violating_rows": Column(
            pl.Int64,
            "number of rows for which the constraint is false or null, or that differ from the generated value",
        ),
        "first_row": Column(
            pl.Int64,
            "index of the first violating row, starting at 0, including deleted rows; null if there is none",
            shown=True,
        ),
        "row_values": Column(pl.String, "values of that row in the columns of the expression", shown=True),
    },
)


def build_constraint_check_row(
    data_file: DataFile,
    constraint: RowConstraint,
    result: ConstraintResult,
    cause: RowRequirement | None,
    *,
    may_predate_expression: bool,
) -> dict[str, Any]:
    """Return the row of `constraint_checks` for one data file and one expression.

    Args:
        data_file: a file that some version has.
        constraint: constraint that was evaluated on its rows.
        result: result of the evaluation.
        cause: the constraint, if it is newer than the file.
        may_predate_expression: whether rows of the file may be older than the expression.
    """
    is_check = constraint.kind == "CHECK"
    return {
        **data_file.place,
        **(cause.location if cause else {}),
        "column": None if is_check else constraint.name,
        "constraint": constraint.name if is_check else None,
        "kind": constraint.kind,
        "expression": constraint.expression,
        "may_predate_expression": may_predate_expression,
        "rows": result.rows,
        "violating_rows": result.violating_rows,
        "first_row": result.first_row,
        "row_values": result.found,
    }

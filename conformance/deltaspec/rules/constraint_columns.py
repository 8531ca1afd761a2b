"""Rules over the columns that CHECK constraints speak of."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import constraint_columns


@rule("CON030", requires="check-constraints.columns", view=constraint_columns, null="not checked")
def constraint_of_unknown_column() -> pl.Expr:
    """A CHECK constraint speaks of a column that the schema lacks.

    No writer can evaluate it: they fail on every write to the table, or pass over the constraint.
    Fix: commit a metaData in which the constraint speaks of columns that are there, or without it.

    Conforms::
        missing_columns: []
    Violates::
        missing_columns: ["total"]
    """
    return pl.col("missing_columns").list.len() > 0

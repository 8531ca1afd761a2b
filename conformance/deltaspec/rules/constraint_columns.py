"""Rules over the columns that CHECK constraints speak of."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import constraint_columns


@rule("CON030", requires="check-constraints.columns", view=constraint_columns, null="not checked")
def constraint_of_unknown_column() -> pl.Expr:
    """A CHECK constraint refers to a column that is not in the schema.

    Writers cannot evaluate the constraint. They fail on every write, or ignore it.
    Fix: Run `ALTER TABLE t DROP CONSTRAINT name`, then add a constraint on existing columns. If the column was dropped
    by mistake, restore the version before.

    Conforms::
        missing_columns: []
    Violates::
        missing_columns: ["total"]
    """
    return pl.col("missing_columns").list.len() > 0

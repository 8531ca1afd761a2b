"""Rules over rows that a CHECK constraint, an invariant or the expression of a generated column is evaluated on.

Only what no setting and no version of Spark decides is evaluated here; what is left to Spark stands in the ledger.
"""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.constraint_checks import constraint_checks


@rule("ROW040", requires="check-constraints.rows", view=constraint_checks)
def row_violates_constraint() -> pl.Expr:
    """A row of the table breaks a CHECK constraint: it is false of the row, or null.

    Whoever reads relies on it; engines refuse to write the row again, so updates and merges that touch it fail.
    Fix: correct or delete the rows, or drop the constraint; find the writer that let them in.

    Conforms::
        kind: CHECK, violating_rows: 0
        kind: invariant, violating_rows: 1
    Violates::
        kind: CHECK, violating_rows: 1
    """
    return (pl.col("kind") == "CHECK") & (pl.col("violating_rows") > 0)


@rule("ROW041", requires="generated-columns.values", view=constraint_checks)
def generated_value_differs() -> pl.Expr:
    """A generated column has another value than its expression gives of the row.

    Engines derive filters from the expression: they skip partitions and files that hold rows that are asked for.
    Fix: write the rows again with the value that the expression gives; find the writer that does not know it.

    Conforms::
        kind: generated, may_predate_expression: false, violating_rows: 0
        kind: generated, may_predate_expression: true, violating_rows: 1
        kind: CHECK, may_be_older: false, violating_rows: 1
    Violates::
        kind: generated, may_predate_expression: false, violating_rows: 1
    """
    return (pl.col("kind") == "generated") & ~pl.col("may_predate_expression") & (pl.col("violating_rows") > 0)


@rule("ROW042", requires="generated-columns.values", view=constraint_checks, divergence="S41")
def older_generated_value_differs() -> pl.Expr:
    """A column has another value than its expression gives, in rows that may be older than the expression.

    The text holds writes to it, and says nothing of rows that are there when a column becomes a generated one.
    Fix: write such rows again with the value that the expression gives.

    Conforms::
        kind: generated, may_predate_expression: true, violating_rows: 0
        kind: generated, may_predate_expression: false, violating_rows: 1
        kind: invariant, may_predate_expression: true, violating_rows: 1
    Violates::
        kind: generated, may_predate_expression: true, violating_rows: 1
    """
    return (pl.col("kind") == "generated") & pl.col("may_predate_expression") & (pl.col("violating_rows") > 0)


@rule("ROW043", requires="column-invariants.rows-refused", view=constraint_checks)
def row_violates_invariant() -> pl.Expr:
    """A row breaks the invariant of a column, false or null of it, though the invariant is as old as the table.

    A writer has not given up what it had to; others refuse to write the row again.
    Fix: correct or delete the rows; find the writer that let them in.

    Conforms::
        kind: invariant, may_predate_expression: false, violating_rows: 0
        kind: invariant, may_predate_expression: true, violating_rows: 1
        kind: CHECK, may_be_older: false, violating_rows: 1
    Violates::
        kind: invariant, may_predate_expression: false, violating_rows: 1
    """
    return (pl.col("kind") == "invariant") & ~pl.col("may_predate_expression") & (pl.col("violating_rows") > 0)


@rule("ROW044", requires="column-invariants.rows-refused", view=constraint_checks, divergence="S41")
def older_row_violates_invariant() -> pl.Expr:
    """A row that may be older than the invariant of a column breaks it: it is false of the row, or null.

    The text holds writes to it, and says nothing of rows that are there when it comes; updates that touch them fail.
    Fix: correct or delete the rows, or take the invariant back.

    Conforms::
        kind: invariant, may_predate_expression: true, violating_rows: 0
        kind: invariant, may_predate_expression: false, violating_rows: 1
        kind: generated, may_predate_expression: true, violating_rows: 1
    Violates::
        kind: invariant, may_predate_expression: true, violating_rows: 1
    """
    return (pl.col("kind") == "invariant") & pl.col("may_predate_expression") & (pl.col("violating_rows") > 0)

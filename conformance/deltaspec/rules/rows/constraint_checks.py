"""Rules over rows on which CHECK constraints, invariants and generation expressions are evaluated.

Only expressions whose result does not depend on settings or the version of Spark are evaluated without Spark. The
ledger lists the others.
"""

import polars as pl

from deltaspec.rules.command_fixes import COMPUTE_GENERATED_VALUES
from deltaspec.rules.registry import rule
from deltaspec.views.data.constraint_checks import constraint_checks


@rule("ROW040", requires="check-constraints.rows", view=constraint_checks)
def row_violates_constraint() -> pl.Expr:
    """A row violates a CHECK constraint: the expression is false or null.

    Consumers rely on the constraint. Engines refuse to write the row again, so updates and merges that touch it fail.
    Fix (decide): Find the rows with `SELECT ... WHERE NOT (expression) OR (expression) IS NULL`. Correct them, or
    drop a wrong constraint with `ALTER TABLE t DROP CONSTRAINT`. Stop the writer that ignores it.

    Conforms::
        kind: CHECK, violating_rows: 0
        kind: invariant, violating_rows: 1
    Violates::
        kind: CHECK, violating_rows: 1
    """
    return (pl.col("kind") == "CHECK") & (pl.col("violating_rows") > 0)


@rule("ROW041", requires="generated-columns.values", view=constraint_checks, fix=COMPUTE_GENERATED_VALUES)
def generated_value_differs() -> pl.Expr:
    """The value of a generated column differs from the value of its expression.

    Engines derive filters from the expression. They skip partitions and files that contain matching rows.

    Conforms::
        kind: generated, may_predate_expression: false, violating_rows: 0
        kind: generated, may_predate_expression: true, violating_rows: 1
        kind: CHECK, may_predate_expression: false, violating_rows: 1
    Violates::
        kind: generated, may_predate_expression: false, violating_rows: 1
    """
    return (pl.col("kind") == "generated") & ~pl.col("may_predate_expression") & (pl.col("violating_rows") > 0)


@rule(
    "ROW042",
    requires="generated-columns.values",
    view=constraint_checks,
    divergence="S41",
    fix=COMPUTE_GENERATED_VALUES,
)
def older_generated_value_differs() -> pl.Expr:
    """The value of a generated column differs from its expression, in rows that may be older than the expression.

    The protocol restricts only writes. It does not say what applies to rows that exist when a column becomes generated.

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
    """A row violates the invariant of a column, and the invariant is as old as the table.

    The writer had to abort. Other writers refuse to write the row again, so updates and merges that touch it fail.
    Fix (decide): Find the rows with a query on the invariant's expression and correct them. Stop the writer that
    ignores invariants.

    Conforms::
        kind: invariant, may_predate_expression: false, violating_rows: 0
        kind: invariant, may_predate_expression: true, violating_rows: 1
        kind: CHECK, may_predate_expression: false, violating_rows: 1
    Violates::
        kind: invariant, may_predate_expression: false, violating_rows: 1
    """
    return (pl.col("kind") == "invariant") & ~pl.col("may_predate_expression") & (pl.col("violating_rows") > 0)


@rule("ROW044", requires="column-invariants.rows-refused", view=constraint_checks, divergence="S41")
def older_row_violates_invariant() -> pl.Expr:
    """A row that may be older than the invariant of a column violates it.

    The protocol restricts only writes. It does not say what applies to existing rows, but updates that touch them fail.
    Fix (decide): Find the rows with a query on the invariant's expression and correct them, or remove the invariant
    from the column.

    Conforms::
        kind: invariant, may_predate_expression: true, violating_rows: 0
        kind: invariant, may_predate_expression: false, violating_rows: 1
        kind: generated, may_predate_expression: true, violating_rows: 1
    Violates::
        kind: invariant, may_predate_expression: true, violating_rows: 1
    """
    return (pl.col("kind") == "invariant") & pl.col("may_predate_expression") & (pl.col("violating_rows") > 0)

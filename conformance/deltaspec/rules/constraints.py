"""Rules over metadata that restricts rows: CHECK constraints, invariants, generated columns and defaults.

Source: chapters CHECK Constraints, Column Invariants, Generated Columns, Default Columns and Identity Columns.
"""

import polars as pl

from deltaspec.rules.command_fixes import DROP_CONSTRAINT_OR_RESTORE, UNSET_CONSTRAINT
from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import commits
from deltaspec.views.table.table_actions import configuration, constraint_columns, schema_fields


@rule(
    "CON001",
    requires=(
        "column-invariants.feature",
        "column-invariants.older-feature",
        "generated-columns.in-force",
        "identity-columns.in-force",
        "default-columns.feature",
    ),
    view=schema_fields,
    divergence="E43",
    without_feature=True,
)
def column_metadata_without_feature() -> pl.Expr:
    """A column has an invariant, expression, default or identity without the feature in the protocol.

    Writers ignore it: values are not generated and not checked. The protocol does not say whether the metadata may
    exist without the feature.
    Fix (decide): Add the feature with `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')`, or
    remove the metadata from the column. Then check the rows that were written in between.

    Conforms::
        unsupported_keys: []
        unsupported_keys: null
    Violates::
        unsupported_keys: ["delta.generationExpression"]
    """
    return pl.col("unsupported_keys").list.len() > 0


@rule("CON002", requires="column-invariants.form", view=schema_fields)
def malformed_invariant() -> pl.Expr:
    """The invariant of a column is not a JSON string with an SQL expression at expression.expression.

    Writers fail on the table, or accept every row.
    Fix (rewrite): Write the invariant as the string `{"expression": {"expression": "x > 3"}}`, or replace it by
    `ALTER TABLE t ADD CONSTRAINT name CHECK (x > 3)`.

    Conforms::
        invariant_fault: null
    Violates::
        invariant_fault: "has nothing at expression.expression"
    """
    return pl.col("invariant_fault").is_not_null()


@rule("CON003", requires="check-constraints.key", view=configuration, fix=UNSET_CONSTRAINT)
def unnamed_constraint() -> pl.Expr:
    """A CHECK constraint has no name: its property is `delta.constraints.`.

    The constraint cannot be dropped by name, and error messages of writers cannot name it.

    Conforms::
        constraint_fault: null
        constraint_fault: "no condition: it is empty"
    Violates::
        constraint_fault: "no name"
    """
    return pl.col("constraint_fault") == "no name"


@rule("CON004", requires="check-constraints.value", view=configuration, fix=UNSET_CONSTRAINT)
def invalid_constraint_expression() -> pl.Expr:
    """The value of a CHECK constraint is not a boolean SQL expression.

    Writers cannot evaluate the constraint. They fail on every write, or ignore it.

    Conforms::
        constraint_fault: null
        constraint_fault: "no name"
    Violates::
        constraint_fault: "no condition: it is empty"
        constraint_fault: "no condition: it is integer, not boolean"
    """
    return pl.col("constraint_fault").str.starts_with("no condition")


@rule("CON005", requires="default-columns.not-with-column", view=commits)
def column_added_with_default() -> pl.Expr:
    """A commit adds a column to an existing table together with a default.

    Existing rows have null in the column, where users expect the default.
    Fix (decide): No rows are lost. If existing rows need the default, set it with `UPDATE t SET column = value
    WHERE column IS NULL` before rows with intended nulls are written. Next time, add the column first and set the
    default in a second command.

    Conforms::
        removes: 0, new_columns_with_default: []
        removes: 1, new_columns_with_default: ["c"]
        removes: 0, new_columns_with_default: null
    Violates::
        removes: 0, new_columns_with_default: ["c"]
    """
    return (pl.col("removes") == 0) & (pl.col("new_columns_with_default").list.len() > 0)


@rule(
    "CON030",
    requires="check-constraints.columns",
    view=constraint_columns,
    undecided="the columns of a CHECK constraint are unknown, because it has SQL that cannot be parsed",
    fix=DROP_CONSTRAINT_OR_RESTORE,
)
def constraint_of_unknown_column() -> pl.Expr:
    """A CHECK constraint refers to a column that is not in the schema.

    Writers cannot evaluate the constraint. They fail on every write, or ignore it.

    Conforms::
        kind: CHECK, missing_columns: []
        kind: generated, missing_columns: ["total"]
    Violates::
        kind: CHECK, missing_columns: ["total"]
    """
    return (pl.col("kind") == "CHECK") & (pl.col("missing_columns").list.len() > 0)


@rule(
    "CON031",
    requires=("generated-columns.key", "column-invariants.form"),
    view=constraint_columns,
    divergence="S29",
)
def expression_of_unknown_column() -> pl.Expr:
    """The generation expression or invariant of a column refers to a column that is not in the schema.

    The protocol requires existing columns only of CHECK constraints. Writers cannot evaluate the expression. They fail
    on every write, or ignore it.
    Fix (decide): If the column was dropped by mistake, run `RESTORE TABLE t TO VERSION AS OF n` with the version
    before. Otherwise remove the key from the column's metadata with an engine that can replace it.

    Conforms::
        kind: generated, missing_columns: []
        kind: generated, missing_columns: null
        kind: CHECK, missing_columns: ["total"]
    Violates::
        kind: generated, missing_columns: ["total"]
        kind: invariant, missing_columns: ["total"]
    """
    return (pl.col("kind") != "CHECK") & (pl.col("missing_columns").list.len() > 0)

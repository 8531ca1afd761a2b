"""Rules over what metadata asks of rows: CHECK constraints, invariants, generated columns, defaults.

Source: chapters CHECK Constraints, Column Invariants, Generated Columns, Default Columns and Identity Columns.
"""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import commits
from deltaspec.views.table.table_actions import configuration, schema_fields


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
)
def column_metadata_without_feature() -> pl.Expr:
    """A column has an invariant, an expression, a default or an identity whose feature the protocol does not support.

    Writers pass over it: values are not generated, nor held to anything. Whether the key may stand there all the same
    is not said.
    Fix: commit a protocol that supports the feature, or a schema without the key.

    Conforms::
        unsupported_keys: []
        unsupported_keys: null
    Violates::
        unsupported_keys: ["delta.generationExpression"]
    """
    return pl.col("unsupported_keys").list.len() > 0


@rule("CON002", requires="column-invariants.form", view=schema_fields)
def malformed_invariant() -> pl.Expr:
    """The invariant of a column is no JSON text that has an SQL expression where writers look for it.

    They fail on the table, or let every row in.
    Fix: write it as {"expression": {"expression": "x > 3"}}, as a text, not as an object.

    Conforms::
        invariant_fault: null
    Violates::
        invariant_fault: "has nothing at expression.expression"
    """
    return pl.col("invariant_fault").is_not_null()


@rule("CON003", requires="check-constraints.key", view=configuration)
def unnamed_constraint() -> pl.Expr:
    """A CHECK constraint has no name: its property ends with `delta.constraints.`.

    Nobody can drop it, and a writer that refuses a row by it cannot say why.
    Fix: commit a metaData that has the constraint under a name.

    Conforms::
        constraint_fault: null
        constraint_fault: "no condition: it is empty"
    Violates::
        constraint_fault: "no name"
    """
    return pl.col("constraint_fault") == "no name"


@rule("CON004", requires="check-constraints.value", view=configuration)
def invalid_constraint_expression() -> pl.Expr:
    """The value of a CHECK constraint is no SQL expression of type boolean.

    Writers can hold no row to it: they fail on every write, or pass over it.
    Fix: commit a metaData with an expression that is true or false of a row, or without the constraint.

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
    """A commit adds a column to a table and gives it a default at once.

    Rows that are there already have null in it, where whoever reads the schema expects the default.
    Fix: add the column without a default; give it one in a commit of its own.

    Conforms::
        removes: 0, new_columns_with_default: []
        removes: 1, new_columns_with_default: ["c"]
        removes: 0, new_columns_with_default: null
    Violates::
        removes: 0, new_columns_with_default: ["c"]
    """
    return (pl.col("removes") == 0) & (pl.col("new_columns_with_default").list.len() > 0)

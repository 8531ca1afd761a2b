"""Rules over the fields of a schema. Source: chapter Schema Serialization Format and the chapters of types."""

import polars as pl

from deltaspec.rules.command_fixes import ADD_FEATURE_OF_TYPE, ALLOW_NULL
from deltaspec.rules.fixes import SYNC_OR_CHOOSE
from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import schema_fields


@rule(
    "SCH001",
    requires=("schema.types-need-features", "variant.feature"),
    view=schema_fields,
    fix=ADD_FEATURE_OF_TYPE,
)
def type_without_feature() -> pl.Expr:
    """A column has a type whose feature the protocol does not support.

    Clients that do not know the type assume that they can read the table, and fail or misread the column.

    Conforms::
        unsupported_feature: null
    Violates::
        unsupported_feature: timestampNtz
    """
    return pl.col("unsupported_feature").is_not_null()


@rule("SCH002", requires="identity-columns.properties", view=schema_fields)
def malformed_identity() -> pl.Expr:
    """A property of an identity column has the wrong type, or its step is 0.

    Writers generate no values, or the same value for all rows.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Then add the identity column again with a valid start and step.

    Conforms::
        identity_fault: null
    Violates::
        identity_fault: "delta.identity.step is 0"
    """
    return pl.col("identity_fault").is_not_null()


@rule("SCH003", requires="identity-columns.mark-in-sequence", view=schema_fields, fix=SYNC_OR_CHOOSE)
def identity_mark_off_sequence() -> pl.Expr:
    """The high-water mark of an identity column is not a value of its sequence.

    Values generated after it leave the sequence, or repeat inserted values.

    Conforms::
        identity_mark_is_in_sequence: true
        identity_mark_is_in_sequence: null
    Violates::
        identity_mark_is_in_sequence: false
    """
    return ~pl.col("identity_mark_is_in_sequence")


@rule("SCH004", requires="collations.schema", view=schema_fields, divergence="S44")
def malformed_collation() -> pl.Expr:
    """The collations of a string column are malformed, or the protocol does not support collations.

    Clients compare the strings by their bytes, or fail. (Collations are a proposal.)
    Fix (restore): Restore the version before the defect: Delta Spark fails on the column. Then set the collation
    with `ALTER TABLE t ALTER COLUMN c TYPE STRING COLLATE name`, which also adds the feature.

    Conforms::
        collation_fault: null
    Violates::
        collation_fault: "collations is not supported"
    """
    return pl.col("collation_fault").is_not_null()


@rule("SCH005", requires="schema.void", view=schema_fields, divergence="S65", fix=ALLOW_NULL)
def void_without_null() -> pl.Expr:
    """A column, array element, map key or map value of type void cannot be null.

    Null is the only value of void, so no row can satisfy the schema. The protocol does not say what readers do: they
    fail or return null.

    Conforms::
        void_without_null: null
    Violates::
        void_without_null: column
        void_without_null: element
    """
    return pl.col("void_without_null").is_not_null()

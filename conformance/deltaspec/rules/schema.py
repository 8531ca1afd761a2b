"""Rules over the fields of a schema. Source: chapter Schema Serialization Format and the chapters of types."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import schema_fields


@rule("SCH001", requires=("schema.types-need-features", "variant.feature"), view=schema_fields)
def type_without_feature() -> pl.Expr:
    """A column has a type whose table feature the protocol does not support.

    Clients that do not know the type believe that they can read the table, and fail or misread the column.
    Fix: commit a protocol that lists the feature, or change the column.

    Conforms::
        unsupported_feature: null
    Violates::
        unsupported_feature: timestampNtz
    """
    return pl.col("unsupported_feature").is_not_null()


@rule("SCH002", requires="identity-columns.properties", view=schema_fields)
def malformed_identity() -> pl.Expr:
    """A property of an identity column is of the wrong type, or its step is 0.

    Writers generate no values for it, or one value for all rows.
    Fix: commit a metaData whose identity properties are longs and a boolean, with another step than 0.

    Conforms::
        identity_fault: null
    Violates::
        identity_fault: "delta.identity.step is 0"
    """
    return pl.col("identity_fault").is_not_null()


@rule("SCH003", requires="identity-columns.mark-in-sequence", view=schema_fields)
def identity_mark_off_sequence() -> pl.Expr:
    """The high-water mark of an identity column is no value that its start and step can give.

    Values generated from there on repeat those that users inserted, or leave the sequence.
    Fix: commit a metaData whose mark is the last value of the sequence that was given out.

    Conforms::
        identity_mark_is_in_sequence: true
        identity_mark_is_in_sequence: null
    Violates::
        identity_mark_is_in_sequence: false
    """
    return ~pl.col("identity_mark_is_in_sequence")

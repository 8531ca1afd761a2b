"""Rules over the fields of a schema. Source: chapter Schema Serialization Format and the chapters of types."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table_state import schema_fields


@rule("SCH001", requires="schema.types-need-features", view=schema_fields)
def type_without_its_feature() -> pl.Expr:
    """A column has a type whose table feature the protocol does not support.

    Clients that do not know the type believe that they can read the table, and fail or misread the column.
    Fix: commit a protocol that lists the feature, or change the column.

    Conforms::
        unsupported_feature: null
    Violates::
        unsupported_feature: timestampNtz
    """
    return pl.col("unsupported_feature").is_not_null()

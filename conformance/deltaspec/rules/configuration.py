"""Rules over table properties. Source: chapter Table Properties."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table_state import configuration


@rule("CFG001", requires="configuration.values", view=configuration)
def bad_property_value() -> pl.Expr:
    """A table property has a value that it cannot have.

    Clients fail, or each takes the default that it thinks best.
    Fix: set the property to a value that the text allows.

    Conforms::
        value_fault: null
    Violates::
        value_fault: "is neither true nor false"
    """
    return pl.col("value_fault").is_not_null()


@rule("CFG002", requires="table-features.active", view=configuration, divergence="E43")
def property_without_its_feature() -> pl.Expr:
    """A table property asks for something whose feature the protocol does not support.

    The property has no effect. Whether a writer may set it is not said, and some engines act on it all the same.
    Fix: add the feature, or unset the property.

    Conforms::
        unsupported_feature: null
    Violates::
        unsupported_feature: deletionVectors
    """
    return pl.col("unsupported_feature").is_not_null()


@rule("CFG003", requires="configuration.names", view=configuration, divergence="E03")
def misspelt_property() -> pl.Expr:
    """A table property has a name that the text's example prints without its prefix.

    It has no effect: the real name begins with `delta.`.
    Fix: set the property by its real name.

    Conforms::
        meant: null
    Violates::
        meant: "delta.appendOnly"
    """
    return pl.col("meant").is_not_null()

"""Rules over table properties. Source: chapter Table Properties."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import configuration


@rule(
    "CFG001",
    requires=(
        "configuration.values",
        "column-mapping.modes",
        "configuration.shredding-values",
        "in-commit-timestamp.enabled",
        "row-ids.enabled",
    ),
    view=configuration,
)
def invalid_property_value() -> pl.Expr:
    """A table property has a value that it cannot have.

    Clients fail, or each takes the default that it thinks best.
    Fix: set the property to a value that the text allows.

    Conforms::
        value_fault: null
    Violates::
        value_fault: "is neither true nor false"
    """
    return pl.col("value_fault").is_not_null()


@rule(
    "CFG002",
    requires=(
        "table-features.active",
        "table-features.disabled",
        "append-only.needs-support",
        "iceberg-v1.feature",
        "iceberg-v2.feature",
    ),
    view=configuration,
    divergence="E43",
)
def property_without_feature() -> pl.Expr:
    """A table property asks for something whose feature the protocol does not support.

    The property has no effect. Whether a writer may set it is not said, and some engines act on it all the same.
    Fix: add the feature, or unset the property.

    Conforms::
        property: "delta.enableDeletionVectors", unsupported_feature: null
        property: "delta.constraints.positive", unsupported_feature: checkConstraints
        property: "delta.columnMapping.mode", unsupported_feature: columnMapping
    Violates::
        property: "delta.enableDeletionVectors", unsupported_feature: deletionVectors
    """
    of_others = _text_demands_feature() | (pl.col("property") == "delta.columnMapping.mode")
    return pl.col("unsupported_feature").is_not_null() & ~of_others


@rule(
    "CFG004",
    requires=(
        "configuration.properties-need-features",
        "row-tracking.enabled-with-feature",
        "row-tracking.writer-version",
        "row-ids.feature",
        "protocol.breaking-changes",
        "check-constraints.needs-support",
        "check-constraints.in-force",
        "variant-shredding.property-needs-feature",
    ),
    view=configuration,
)
def property_without_required_feature() -> pl.Expr:
    """A property is set that the text allows only together with its feature, which the protocol does not support.

    Writers that do not know the feature pass over the property: constraints are not kept, row ids are not assigned.
    Fix: commit a protocol that lists the feature, or unset the property.

    Conforms::
        property: "delta.constraints.positive", unsupported_feature: null
        property: "delta.enableDeletionVectors", unsupported_feature: deletionVectors
    Violates::
        property: "delta.constraints.positive", unsupported_feature: checkConstraints
        property: "delta.enableVariantShredding", unsupported_feature: variantShredding
        property: "delta.enableRowTracking", unsupported_feature: rowTracking
    """
    return pl.col("unsupported_feature").is_not_null() & _text_demands_feature()


def _text_demands_feature() -> pl.Expr:
    """Properties whose chapter says in so many words that the feature must be there first."""
    by_name = pl.col("property").is_in(
        ["delta.enableRowIds", "delta.enableRowTracking", "delta.enableVariantShredding"]
    )
    return by_name | pl.col("property").str.starts_with("delta.constraints.")


@rule("CFG003", requires="configuration.names", view=configuration, divergence="E03")
def misspelled_property() -> pl.Expr:
    """A table property has a name that the text's example prints without its prefix.

    It has no effect: the real name begins with `delta.`.
    Fix: set the property by its real name.

    Conforms::
        intended_name: null
    Violates::
        intended_name: "delta.appendOnly"
    """
    return pl.col("intended_name").is_not_null()


@rule("CFG050", requires="configuration.page-version-values", view=configuration)
def unknown_page_version() -> pl.Expr:
    """`delta.parquet.format.version` has a value that names no version of data pages.

    Writers are to fail on it: who heeds the property can add no file.
    Fix: set it to 1.0.0 or to 2.x.y, or unset it.

    Conforms::
        property: "delta.parquet.format.version", value_warning: null
        property: "delta.logRetentionDuration", value_warning: "is no interval"
    Violates::
        property: "delta.parquet.format.version", value_warning: "is neither 1.0.0 nor 2.x.x"
    """
    return (pl.col("property") == "delta.parquet.format.version") & pl.col("value_warning").is_not_null()

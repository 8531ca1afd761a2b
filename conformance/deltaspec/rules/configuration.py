"""Rules over table properties. Source: chapter Table Properties."""

import polars as pl

from deltaspec.rules.command_fixes import NAME_PROPERTY_WITH_PREFIX, UNSET_PROPERTY, UNSET_UNDEFINED_PROPERTY
from deltaspec.rules.fixes import LIST_FEATURE, SET_VALID_PROPERTY, UNSET_PROPERTY_OR_RESTORE_LOG
from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import configuration


@rule(
    "CFG001",
    requires=("configuration.values", "column-mapping.modes", "configuration.shredding-values"),
    view=configuration,
    fix=SET_VALID_PROPERTY,
)
def invalid_property_value() -> pl.Expr:
    """A table property has an invalid value.

    Clients fail, or each one uses a different default.

    Conforms::
        value_fault: null
    Violates::
        value_fault: "is neither true nor false"
    """
    return pl.col("value_fault").is_not_null()


@rule(
    "CFG005",
    requires=("configuration.values", "in-commit-timestamp.enabled", "row-ids.enabled"),
    view=configuration,
    divergence="S42",
    fix=UNSET_UNDEFINED_PROPERTY,
)
def undefined_property_value() -> pl.Expr:
    """A table property has a value whose meaning the protocol does not define.

    The protocol says that `true` enables a feature, not what other words mean, and does not name retention properties
    (S25). Some clients fail; others take the value for false or for the default.

    Conforms::
        undefined_value: null
    Violates::
        undefined_value: "is neither true nor false"
    """
    return pl.col("undefined_value").is_not_null()


@rule(
    "CFG002",
    requires=(
        "table-features.active",
        "table-features.disabled",
        "append-only.needs-support",
        "iceberg-v1.feature",
        "iceberg-v2.feature",
        "iceberg-v3.feature",
    ),
    view=configuration,
    divergence="E43",
    fix=UNSET_PROPERTY_OR_RESTORE_LOG,
)
def property_without_feature() -> pl.Expr:
    """A table property requires a feature that the protocol does not support.

    The property has no effect. The protocol does not say whether a writer may set it, and some engines apply it anyway.

    Conforms::
        property: "delta.enableDeletionVectors", unsupported_feature: null
        property: "delta.constraints.positive", unsupported_feature: checkConstraints
        property: "delta.columnMapping.mode", unsupported_feature: columnMapping
    Violates::
        property: "delta.enableDeletionVectors", unsupported_feature: deletionVectors
    """
    has_own_rule = _requires_feature() | (pl.col("property") == "delta.columnMapping.mode")
    return pl.col("unsupported_feature").is_not_null() & ~has_own_rule


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
    fix=LIST_FEATURE,
)
def property_without_required_feature() -> pl.Expr:
    """A table property is set without the feature that the protocol requires for it.

    Writers that do not know the feature ignore the property: they violate constraints or do not assign row ids.

    Conforms::
        property: "delta.constraints.positive", unsupported_feature: null
        property: "delta.enableDeletionVectors", unsupported_feature: deletionVectors
    Violates::
        property: "delta.constraints.positive", unsupported_feature: checkConstraints
        property: "delta.enableVariantShredding", unsupported_feature: variantShredding
        property: "delta.enableRowTracking", unsupported_feature: rowTracking
    """
    return pl.col("unsupported_feature").is_not_null() & _requires_feature()


def _requires_feature() -> pl.Expr:
    """Select properties whose chapter explicitly requires the feature."""
    by_name = pl.col("property").is_in(
        ["delta.enableRowIds", "delta.enableRowTracking", "delta.enableVariantShredding"]
    )
    return by_name | pl.col("property").str.starts_with("delta.constraints.")


@rule("CFG003", requires="configuration.names", view=configuration, divergence="E03", fix=NAME_PROPERTY_WITH_PREFIX)
def misspelled_property() -> pl.Expr:
    """A table property has a known name without its prefix `delta.`, as in an example of the protocol.

    The property has no effect, because its real name begins with `delta.`.

    Conforms::
        intended_name: null
    Violates::
        intended_name: "delta.appendOnly"
    """
    return pl.col("intended_name").is_not_null()


@rule("CFG006", requires="configuration.names", view=configuration, divergence="S62")
def property_in_other_case() -> pl.Expr:
    """The name of a table property differs only in case from a defined name, or from another property of the table.

    The protocol does not say whether case matters. Engines that ignore it enforce both constraints, or the one with the
    misspelled prefix; others do not know them.
    Fix (decide): Run `ALTER TABLE t SET TBLPROPERTIES` with the defined name, and unset the other one. Replace a
    CHECK constraint with `ALTER TABLE t DROP CONSTRAINT` and `ALTER TABLE t ADD CONSTRAINT`, which checks the rows.

    Conforms::
        name_in_other_case: null
    Violates::
        name_in_other_case: "delta.constraints.c"
    """
    return pl.col("name_in_other_case").is_not_null()


@rule(
    "CFG007", requires="table-features.supported-not-active", view=configuration, divergence="S66", fix=UNSET_PROPERTY
)
def feature_request_stored() -> pl.Expr:
    """A property `delta.feature.*` is stored in the table.

    A command that adds a feature passes it to the engine; the protocol action lists the features. The protocol does not
    say what a stored one means: engines ignore it, or add the feature with the next change of the properties.

    Conforms::
        property: "delta.feature.deletionVectors", value: null
        property: "delta.enableDeletionVectors", value: "true"
    Violates::
        property: "delta.feature.deletionVectors", value: "supported"
    """
    return pl.col("property").str.starts_with("delta.feature.") & pl.col("value").is_not_null()


@rule("CFG050", requires="configuration.page-version-values", view=configuration, fix=UNSET_PROPERTY)
def unknown_page_version() -> pl.Expr:
    """`delta.parquet.format.version` does not name a version of data pages.

    Writers that honor the property fail and cannot add files.

    Conforms::
        property: "delta.parquet.format.version", value_warning: null
        property: "delta.logRetentionDuration", value_warning: null
        property: "delta.parquet.compression.codec", value_warning: "is not a codec"
    Violates::
        property: "delta.parquet.format.version", value_warning: "is neither 1.0.0 nor 2.x.x"
    """
    return (pl.col("property") == "delta.parquet.format.version") & pl.col("value_warning").is_not_null()

"""Rules over what proposals require. The protocol does not contain them, so every finding is a divergence.

Source: the proposals in `protocol_rfcs` of delta-io/delta.
"""

import polars as pl

from deltaspec.rules.fixes import SET_VALID_PROPERTY
from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.table.proposals import proposals, proposed_files
from deltaspec.views.table.table_actions import configuration, domains


def _violates(*requirements: str) -> pl.Expr:
    """Select the rows that violate one of these requirements."""
    return pl.col("requirement").is_in(requirements) & pl.col("fault").is_not_null()


@rule(
    "PRP001",
    requires=("interval-types.feature", "schema.primitive-types"),
    view=proposals,
    divergence="S44",
    since="current",
)
def type_of_no_listed_proposal() -> pl.Expr:
    """A column has an interval type without intervalTypes, or a user-defined type, which no feature gates.

    Delta Spark has always written such columns. Clients that do not know the type cannot load the table.
    Fix (decide): Replace the column by one of the type that files store: `integer` or `long` for intervals, and the
    `sqlType` of a user-defined type. No repair is needed if your clients read the table.

    Conforms::
        requirement: interval-types.feature, fault: null
        requirement: interval-types.names, fault: "interval year is not spelled interval year to month"
    Violates::
        requirement: interval-types.feature, fault: "interval year to month: not supported"
        requirement: schema.primitive-types, fault: "has a user-defined type"
    """
    return _violates("interval-types.feature", "schema.primitive-types")


@rule("PRP002", requires=("interval-types.names", "geospatial.type-names"), view=proposals, divergence="S44")
def proposed_type_misspelled() -> pl.Expr:
    """The name of an interval, geometry or geography type is not in the form of its proposal.

    Clients that expect the canonical name cannot load the table.
    Fix (restore): Change the type in the schema with an engine that can load the table, or run `RESTORE TABLE t TO
    VERSION AS OF n` with the last version before the defect, then repeat later changes with a corrected writer.

    Conforms::
        requirement: interval-types.names, fault: null
        requirement: interval-types.feature, fault: "interval year: not supported"
    Violates::
        requirement: interval-types.names, fault: "interval year is not spelled interval year to month"
        requirement: geospatial.type-names, fault: "geometry(4326) is not geometry(<crs>)"
    """
    return _violates("interval-types.names", "geospatial.type-names")


@rule(
    "PRP003",
    requires=(
        "user-defined-types.not-a-key",
        "user-defined-types.not-in-iceberg",
        "user-defined-types.stored-type",
    ),
    view=proposals,
    divergence="S44",
)
def user_defined_type_misused() -> pl.Expr:
    """A user-defined type is used where its proposal forbids it, or stores a type that the table does not support.

    Partition values and bounds of such types are not defined, Iceberg does not know them, and readers of the stored
    type need its feature.
    Fix (decide): Choose another partition or clustering column, disable Iceberg compatibility, or add the feature
    with `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')`.

    Conforms::
        requirement: user-defined-types.not-a-key, fault: null
    Violates::
        requirement: user-defined-types.not-a-key, fault: "is a partition column"
        requirement: user-defined-types.not-in-iceberg, fault: "Iceberg compatibility V2 is enabled"
        requirement: user-defined-types.stored-type, fault: "stores a type of timestampNtz, which is not supported"
    """
    return _violates(
        "user-defined-types.not-a-key", "user-defined-types.not-in-iceberg", "user-defined-types.stored-type"
    )


@rule(
    "PRP004",
    requires=("iceberg-writer-compat.base-enabled", "iceberg-writer-compat.id-mode"),
    view=proposals,
    divergence="S44",
)
def writer_compatibility_without_base() -> pl.Expr:
    """Iceberg writer compatibility is enabled without the Iceberg compatibility or the mapping by id that it requires.

    Converters to Iceberg rely on both, and their tables cannot be written by Iceberg engines otherwise.
    Fix (decide): Run `ALTER TABLE t SET TBLPROPERTIES` with `delta.enableIcebergCompatV2` (for V3
    `delta.enableIcebergCompatV3`) set to true. The mapping mode of an existing table cannot become `id`: copy its
    rows into a new table.

    Conforms::
        requirement: iceberg-writer-compat.base-enabled, fault: null
    Violates::
        requirement: iceberg-writer-compat.base-enabled, fault: "icebergCompatV2 is not enabled"
        requirement: iceberg-writer-compat.id-mode, fault: "the column mapping mode is name"
    """
    return _violates("iceberg-writer-compat.base-enabled", "iceberg-writer-compat.id-mode")


@rule(
    "PRP005",
    requires=(
        "iceberg-writer-compat.column-names",
        "iceberg-writer-compat.types",
        "iceberg-writer-compat.map-keys",
    ),
    view=proposals,
    divergence="S44",
)
def schema_breaks_writer_compatibility() -> pl.Expr:
    """The schema has a name, a type or a changed map key that Iceberg writer compatibility forbids.

    Engines that write the table through Iceberg derive names from ids, and know neither `byte` nor `short`.
    Fix (decide): Copy the rows into a new table with Iceberg writer compatibility and supported types, or set
    `delta.enableIcebergWriterCompatV1` to false.

    Conforms::
        requirement: iceberg-writer-compat.types, fault: null
    Violates::
        requirement: iceberg-writer-compat.column-names, fault: "column 1 has the physical name id"
        requirement: iceberg-writer-compat.types, fault: "size: byte"
        requirement: iceberg-writer-compat.map-keys, fault: "changed keys: m"
    """
    return _violates(
        "iceberg-writer-compat.column-names", "iceberg-writer-compat.types", "iceberg-writer-compat.map-keys"
    )


@rule(
    "PRP006",
    requires=("iceberg-writer-compat.features", "iceberg-writer-compat.inactive"),
    view=proposals,
    divergence="S44",
)
def feature_breaks_writer_compatibility() -> pl.Expr:
    """The table supports or uses a feature that Iceberg writer compatibility does not allow.

    Engines that write the table through Iceberg do not maintain the feature.
    Fix (decide): Run `ALTER TABLE t DROP FEATURE NAME`, remove its use, or set `delta.enableIcebergWriterCompatV1`
    to false.

    Conforms::
        requirement: iceberg-writer-compat.features, fault: null
    Violates::
        requirement: iceberg-writer-compat.features, fault: "not in the allow-list: rowTracking"
        requirement: iceberg-writer-compat.inactive, fault: "in use: checkConstraints"
    """
    return _violates("iceberg-writer-compat.features", "iceberg-writer-compat.inactive")


@rule("PRP007", requires="adaptive-metadata.enabled-features", view=proposals, divergence="S44")
def adaptive_metadata_without_enabled_feature() -> pl.Expr:
    """The table supports adaptiveMetadata, but a feature that it requires is not enabled.

    Manifests identify columns by their ids, and contain row ids and commit timestamps.
    Fix (decide): Enable the feature with its property, for example `ALTER TABLE t SET TBLPROPERTIES
    ('delta.enableRowTracking' = 'true')`.

    Conforms::
        requirement: adaptive-metadata.enabled-features, fault: null
    Violates::
        requirement: adaptive-metadata.enabled-features, fault: "is not enabled"
    """
    return _violates("adaptive-metadata.enabled-features")


@rule(
    "PRP010",
    requires=("interval-types.no-bounds", "user-defined-types.no-bounds", "geospatial.bounds"),
    view=proposed_files,
    divergence="S44",
)
def bound_of_proposed_type() -> pl.Expr:
    """Statistics have a bound that the proposal of the column's type forbids, or in another form.

    Readers that compare such bounds may skip files with matching rows.
    Fix (rewrite): Recompute statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` in Delta Spark, after the
    writer is corrected.

    Conforms::
        requirement: geospatial.bounds, fault: null
        requirement: null, fault: null
    Violates::
        requirement: interval-types.no-bounds, fault: "minValues: the type has no bounds"
        requirement: user-defined-types.no-bounds, fault: "minValues: the type has no bounds"
        requirement: geospatial.bounds, fault: "minValues: '1' is not a point in well-known text"
    """
    return _violates("interval-types.no-bounds", "user-defined-types.no-bounds", "geospatial.bounds")


@rule(
    "PRP011",
    requires=("interval-types.partition-values", "timestamp-nanos.partition-values"),
    view=proposed_files,
    divergence="S44",
)
def partition_value_of_proposed_type() -> pl.Expr:
    """A partition value of an interval or nanosecond timestamp is not in the form that the proposal defines.

    Readers fail, or read another value.
    Fix (rewrite): Rewrite the partition with a corrected writer, for example with `replaceWhere` in Delta Spark.

    Conforms::
        requirement: interval-types.partition-values, fault: null
    Violates::
        requirement: interval-types.partition-values, fault: "'12' is not of type interval year to month"
        requirement: timestamp-nanos.partition-values, fault: "'12' is not of type timestamp_nanos"
    """
    return _violates("interval-types.partition-values", "timestamp-nanos.partition-values")


@rule("PRP012", requires="collations.statistics-form", view=proposed_files, divergence="S44")
def malformed_collated_statistics() -> pl.Expr:
    """`statsWithCollation` is not a map from `provider.name.version` to bounds of string columns.

    Readers that skip files under a collation fail or ignore the bounds. (The bounds themselves are not checked, because
    only the provider defines the order.)
    Fix (rewrite): Recompute statistics with a corrected writer, for example with `OPTIMIZE t`.

    Conforms::
        requirement: collations.statistics-form, fault: null
    Violates::
        requirement: collations.statistics-form, fault: "'ICU.de' is not provider.name.version"
    """
    return _violates("collations.statistics-form")


@rule(
    "PRP013",
    requires=("adaptive-metadata.removes", "adaptive-metadata.no-inline-vectors"),
    view=proposed_files,
    divergence="S44",
)
def file_action_breaks_adaptive_metadata() -> pl.Expr:
    """A remove does not have the fields that adaptiveMetadata requires, or a deletion vector is stored inline.

    Writers that fold the action into a manifest cannot represent it.
    Fix (rewrite): Let a writer that supports adaptiveMetadata rewrite the file. Stop writers that do not.

    Conforms::
        requirement: adaptive-metadata.removes, fault: null
    Violates::
        requirement: adaptive-metadata.removes, fault: "is not true"
        requirement: adaptive-metadata.no-inline-vectors, fault: "is stored inline"
    """
    return _violates("adaptive-metadata.removes", "adaptive-metadata.no-inline-vectors")


@rule("PRP020", requires="collations.versions", view=domains, divergence="S44")
def malformed_collation_versions() -> pl.Expr:
    """The domain of collations does not map identifiers to lists of versions.

    Writers do not know for which version of a collation they should write statistics.
    Fix (decide): Set a collation again with `ALTER TABLE t ALTER COLUMN c TYPE STRING COLLATE name`, or remove the
    domain.

    Conforms::
        fault_by_proposal: null
    Violates::
        fault_by_proposal: "ICU.de has no list of versions"
    """
    return pl.col("fault_by_proposal").is_not_null()


@rule(
    "PRP021",
    requires=("materialized-partitions.property", "checkpoint-protection.property", "iceberg-writer-compat.property"),
    view=configuration,
    divergence="S44",
    fix=SET_VALID_PROPERTY,
)
def invalid_value_by_proposal() -> pl.Expr:
    """A table property of a proposal has a value that the proposal does not allow.

    Clients fail, or each one uses a different default.

    Conforms::
        fault_by_proposal: null
    Violates::
        fault_by_proposal: "is neither true nor false"
    """
    return pl.col("fault_by_proposal").is_not_null()


@rule(
    "PRP030",
    requires=(
        "interval-types.storage",
        "timestamp-nanos.storage",
        "geospatial.storage",
        "user-defined-types.storage",
    ),
    view=file_columns,
    divergence="S44",
)
def stored_type_differs_from_proposal() -> pl.Expr:
    """A data file stores a column in another Parquet type than the proposal of its type defines.

    Readers fail, or read other values.
    Fix (rewrite): Rewrite the file with a corrected writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark).

    Conforms::
        fault_by_proposal: null
    Violates::
        fault_by_proposal: "the file stores INT64; the proposal says INT32 for interval year to month"
    """
    return pl.col("fault_by_proposal").is_not_null()


@rule("PRP031", requires="materialized-partitions.property-followed", view=data_files, divergence="S44")
def partition_columns_against_property() -> pl.Expr:
    """A data file stores or leaves out partition columns although delta.writePartitionColumnsToParquet asks otherwise.

    Readers that open Parquet files directly miss the columns, or find them without need. (Writers may ignore the
    property.)
    Fix (rewrite): Rewrite the file with a writer that follows the property, or unset the property.

    Conforms::
        kind: add, partition_columns_requested: true, absent_partition_columns: [], stored_partition_columns: ["day"]
        kind: add, partition_columns_requested: false, absent_partition_columns: ["day"], stored_partition_columns: []
        kind: add, partition_columns_requested: null, absent_partition_columns: [], stored_partition_columns: ["day"]
        kind: cdc, partition_columns_requested: true, absent_partition_columns: ["day"], stored_partition_columns: []
    Violates::
        kind: add, partition_columns_requested: true, absent_partition_columns: ["day"], stored_partition_columns: []
        kind: add, partition_columns_requested: false, absent_partition_columns: [], stored_partition_columns: ["day"]
    """
    against = (
        pl.when(pl.col("partition_columns_requested"))
        .then(pl.col("absent_partition_columns").list.len() > 0)
        .when(~pl.col("partition_columns_requested"))
        .then(pl.col("stored_partition_columns").list.len() > 0)
    )
    return (pl.col("kind") == "add") & against

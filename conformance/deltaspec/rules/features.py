"""Rules over the feature lists of protocol actions. Source: chapters Table Features, Valid Feature Names."""

import polars as pl

from deltaspec.rules.fixes import LIST_FEATURE
from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import features


@rule(
    "FEA001",
    requires=("table-features.none-for-readers-alone", "table-features.no-table-of-readers-alone"),
    view=features,
)
def feature_listed_for_readers_only() -> pl.Expr:
    """A feature is in readerFeatures but not in writerFeatures.

    Writers that do not know the feature break what readers rely on.
    Fix (decide): Run `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')` with an engine that
    knows the feature, if the table needs it; otherwise drop it. Stop other writers until then.

    Conforms::
        in_reader_features: true, in_writer_features: true
        in_reader_features: false, in_writer_features: true
    Violates::
        in_reader_features: true, in_writer_features: false
    """
    return pl.col("in_reader_features") & ~pl.col("in_writer_features")


@rule("FEA002", requires="table-features.writer-feature-for-writers", view=features)
def writer_feature_listed_for_readers() -> pl.Expr:
    """A writer-only feature is in readerFeatures.

    Readers that do not know the feature refuse the table without need.
    Fix (restore): Restore the log from backup: Delta Spark refuses to read a table with a writer-only feature in
    readerFeatures, so it cannot drop the feature and add it again.

    Conforms::
        kind: writer, in_reader_features: false
        kind: reader-writer, in_reader_features: true
        kind: null, in_reader_features: true
    Violates::
        kind: writer, in_reader_features: true
    """
    return (pl.col("kind") == "writer") & pl.col("in_reader_features")


@rule(
    "FEA003",
    requires=(
        "table-features.reader-feature-on-both-sides",
        "table-features.added-on-both-sides",
        "table-features.v2-checkpoint-on-both-sides",
        "vacuum-protocol-check.on-both-sides",
        "catalog-managed.supported",
        "column-mapping.reader-versions",
        "column-mapping.enabled-by-feature",
        "iceberg-v1.readers",
        "iceberg-v2.readers",
    ),
    view=features,
    fix=LIST_FEATURE,
)
def reader_feature_listed_for_writers_only() -> pl.Expr:
    """A reader-writer feature is only in writerFeatures.

    Readers that do not know the feature read the table and return wrong rows. (At reader version 2, columnMapping needs
    no entry in readerFeatures.)

    Conforms::
        feature: deletionVectors, kind: reader-writer, in_reader_features: true, min_reader_version: 3
        feature: columnMapping, kind: reader-writer, in_reader_features: false, min_reader_version: 2
        feature: appendOnly, kind: writer, in_reader_features: false, min_reader_version: 1
    Violates::
        feature: deletionVectors, kind: reader-writer, in_reader_features: false, min_reader_version: 3
        feature: columnMapping, kind: reader-writer, in_reader_features: false, min_reader_version: 1
    """
    by_version = (pl.col("feature") == "columnMapping") & (pl.col("min_reader_version") == 2)
    return (pl.col("kind") == "reader-writer") & ~pl.col("in_reader_features") & ~by_version


@rule(
    "FEA004",
    requires=("table-features.required-features", "clustering.needs-domains", "row-tracking.needs-domains"),
    view=features,
    fix=LIST_FEATURE,
)
def required_feature_missing() -> pl.Expr:
    """The protocol supports a feature but not a feature that it requires.

    Writers that do not know the required feature break the other one. Row tracking and clustering, for example, store
    their state in metadata domains.

    Conforms::
        missing_requirements: []
    Violates::
        missing_requirements: ["domainMetadata"]
    """
    return pl.col("missing_requirements").list.len() > 0


@rule("FEA005", requires="table-features.lists-are-sets", view=features, divergence="S23")
def repeated_feature() -> pl.Expr:
    """A feature is listed twice in the same list.

    The protocol does not forbid it, but clients that compare the number of entries may fail.
    Fix (none): No repair is needed if your clients accept the table. Use a writer that lists each feature once.

    Conforms::
        occurrences: 1
    Violates::
        occurrences: 2
    """
    return pl.col("occurrences") > 1


@rule(
    "FEA006",
    requires=(
        "table-features.names",
        "table-features.name-of-row-ids",
        "table-features.name-of-row-tracking",
        "table-features.name-of-timestamps-before",
        "table-features.names-of-features-since-v2-checkpoints",
        "table-features.names-of-newest-features",
    ),
    view=features,
    divergence="E22",
)
def misspelled_feature() -> pl.Expr:
    """A feature name differs from the defined name only in case, or by a known misprint.

    Clients do not know the feature and refuse the table.
    Fix (restore): Restore the log from backup: Delta Spark refuses a table with a feature that it does not know.
    Another engine that loads it can add the feature under its defined name.

    Conforms::
        intended_name: null
    Violates::
        intended_name: timestampNtz
    """
    return pl.col("intended_name").is_not_null()


# Proposals and previews


@rule(
    "FEA007",
    requires="table-features.reader-feature-on-both-sides",
    view=features,
    divergence="S44",
    since="current",
)
def proposed_feature_listed_for_writers_only() -> pl.Expr:
    """A reader-writer feature of a proposal or preview is only in writerFeatures.

    Readers that do not know the feature read the table and return wrong rows.
    Fix (decide): Run `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')` with an engine that
    knows the feature, or with the name that the protocol defines in place of a preview.

    Conforms::
        proposed_kind: reader-writer, in_reader_features: true
        proposed_kind: writer, in_reader_features: false
        proposed_kind: null, in_reader_features: false
    Violates::
        proposed_kind: reader-writer, in_reader_features: false
    """
    return (pl.col("proposed_kind") == "reader-writer") & ~pl.col("in_reader_features")


@rule(
    "FEA008",
    requires=("table-features.required-features", "iceberg-v3.readers"),
    view=features,
    divergence="S44",
    since="current",
)
def requirement_of_proposed_feature_missing() -> pl.Expr:
    """The protocol lists a feature of a proposal or preview but not a feature that it requires.

    Clients that support the proposal rely on the required feature. A preview requires what its feature requires.
    Fix (decide): Run `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')` for each missing
    feature.

    Conforms::
        missing_requirements_of_proposal: []
        missing_requirements_of_proposal: null
    Violates::
        missing_requirements_of_proposal: ["columnMapping"]
    """
    return pl.col("missing_requirements_of_proposal").list.len() > 0


@rule("FEA020", requires="adaptive-metadata.excluded-features", view=features, divergence="S44", since="current")
def excluded_feature_supported() -> pl.Expr:
    """The protocol lists a feature of a proposal together with a feature that the proposal excludes.

    Each of the two features gives the same files another meaning.
    Fix (decide): Run `ALTER TABLE t DROP FEATURE NAME` for one of the two features.

    Conforms::
        excluded_by_proposal: []
        excluded_by_proposal: null
    Violates::
        excluded_by_proposal: ["v2Checkpoint"]
    """
    return pl.col("excluded_by_proposal").list.len() > 0


@rule(
    "FEA021",
    requires="table-features.writer-feature-for-writers",
    view=features,
    divergence="S44",
    since="current",
)
def proposed_writer_feature_listed_for_readers() -> pl.Expr:
    """A writer-only feature of a proposal or preview is in readerFeatures.

    Readers that do not know the feature refuse the table without need.
    Fix (decide): Drop the feature (`ALTER TABLE t DROP FEATURE`) and add it again.

    Conforms::
        proposed_kind: writer, in_reader_features: false
        proposed_kind: reader-writer, in_reader_features: true
        proposed_kind: null, in_reader_features: true
    Violates::
        proposed_kind: writer, in_reader_features: true
    """
    return (pl.col("proposed_kind") == "writer") & pl.col("in_reader_features")

"""Rules over the feature lists of protocol actions. Source: chapters Table Features, Valid Feature Names."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import features


@rule(
    "FEA001",
    requires=("table-features.none-for-readers-alone", "table-features.no-table-of-readers-alone"),
    view=features,
)
def feature_listed_for_readers_only() -> pl.Expr:
    """A feature stands in readerFeatures and not in writerFeatures.

    Writers that do not know the feature would break what readers rely on.
    Fix: commit a protocol that lists it on both sides.

    Conforms::
        in_reader_features: true, in_writer_features: true
        in_reader_features: false, in_writer_features: true
    Violates::
        in_reader_features: true, in_writer_features: false
    """
    return pl.col("in_reader_features") & ~pl.col("in_writer_features")


@rule("FEA002", requires="table-features.writer-feature-for-writers", view=features)
def writer_feature_listed_for_readers() -> pl.Expr:
    """A feature that concerns writers only stands in readerFeatures.

    Readers that do not know it refuse the table for nothing.
    Fix: commit a protocol that lists it in writerFeatures only.

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
)
def reader_feature_listed_for_writers_only() -> pl.Expr:
    """A feature that readers must know stands in writerFeatures only.

    Readers that do not know it read the table and get wrong rows. (At reader version 2 columnMapping needs no
    reader's list: the version itself stands for it.)
    Fix: commit a protocol with minReaderVersion 3 that lists it on both sides.

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
)
def required_feature_missing() -> pl.Expr:
    """A feature is supported, and one that it requires is not.

    Row tracking and clustering, for instance, keep their state in domain metadata: writers that do not know domains
    drop it.
    Fix: commit a protocol that lists the required features as well.

    Conforms::
        missing_requirements: []
    Violates::
        missing_requirements: ["domainMetadata"]
    """
    return pl.col("missing_requirements").list.len() > 0


@rule("FEA005", requires="table-features.lists-are-sets", view=features, divergence="S23")
def repeated_feature() -> pl.Expr:
    """A feature stands twice in one list.

    The text does not forbid it; a client that counts may stumble.
    Fix: commit a protocol that names each feature once.

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
    """A feature has a name that the judged text spells otherwise: in another case, or as a text once misprinted it.

    To clients it is an unknown feature, and they refuse the table.
    Fix: commit a protocol with the name as the text spells it.

    Conforms::
        intended_name: null
    Violates::
        intended_name: timestampNtz
    """
    return pl.col("intended_name").is_not_null()

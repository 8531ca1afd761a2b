"""Rules over protocol actions. Source: chapters Protocol Evolution and Table Features."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import protocols


@rule("PRO001", requires=("protocol.reader-features-only-at-3", "protocol.new-tables-list-writers"), view=protocols)
def reader_features_without_version_3() -> pl.Expr:
    """A protocol lists readerFeatures although minReaderVersion is not 3.

    Clients of that version do not look at the list: they read the table without the features it names.
    Fix: commit a protocol with minReaderVersion 3 and minWriterVersion 7, or without the list.

    Conforms::
        min_reader_version: 3, reader_features: ["deletionVectors"]
        min_reader_version: 1, reader_features: null
    Violates::
        min_reader_version: 1, reader_features: ["deletionVectors"]
    """
    return (pl.col("min_reader_version") != 3) & pl.col("reader_features").is_not_null()


@rule("PRO002", requires=("protocol.writer-features-only-at-7", "in-commit-timestamp.feature"), view=protocols)
def writer_features_without_version_7() -> pl.Expr:
    """A protocol lists writerFeatures although minWriterVersion is not 7.

    Clients of that version do not look at the list: they write to the table without the features it names.
    Fix: commit a protocol with minWriterVersion 7, or without the list.

    Conforms::
        min_writer_version: 7, writer_features: ["appendOnly"]
        min_writer_version: 2, writer_features: null
    Violates::
        min_writer_version: 2, writer_features: ["appendOnly"]
    """
    return (pl.col("min_writer_version") != 7) & pl.col("writer_features").is_not_null()


@rule("PRO003", requires=("protocol.reader-features-at-3", "protocol.new-tables-list-both"), view=protocols)
def reader_features_missing() -> pl.Expr:
    """A protocol with minReaderVersion 3 has no readerFeatures.

    Which features a reader needs is unknown; clients fail.
    Fix: commit a protocol with the list, empty if there is none.

    Conforms::
        min_reader_version: 3, reader_features: []
        min_reader_version: 2, reader_features: null
    Violates::
        min_reader_version: 3, reader_features: null
    """
    return (pl.col("min_reader_version") == 3) & pl.col("reader_features").is_null()


@rule("PRO004", requires="protocol.writer-features-at-7", view=protocols)
def writer_features_missing() -> pl.Expr:
    """A protocol with minWriterVersion 7 has no writerFeatures.

    Which features a writer needs is unknown; clients fail.
    Fix: commit a protocol with the list, empty if there is none.

    Conforms::
        min_writer_version: 7, writer_features: []
        min_writer_version: 4, writer_features: null
    Violates::
        min_writer_version: 7, writer_features: null
    """
    return (pl.col("min_writer_version") == 7) & pl.col("writer_features").is_null()


@rule("PRO005", requires="protocol.reader-3-needs-writer-7", view=protocols)
def reader_version_3_without_writer_version_7() -> pl.Expr:
    """A protocol has minReaderVersion 3 and a minWriterVersion below 7.

    A writer that knows no feature lists would write to a table whose readers need them.
    Fix: commit a protocol with minWriterVersion 7.

    Conforms::
        min_reader_version: 3, min_writer_version: 7
        min_reader_version: 2, min_writer_version: 5
    Violates::
        min_reader_version: 3, min_writer_version: 5
    """
    return (pl.col("min_reader_version") == 3) & (pl.col("min_writer_version") < 7)


@rule("PRO006", requires="protocol.features-stay", view=protocols, divergence="E41")
def dropped_feature() -> pl.Expr:
    """A protocol no longer supports a feature that the one before it lists.

    One chapter forbids it, another tells how to do it. Older versions of the table may still need the feature.
    (Features that a legacy version implies and no version of the table used may go unlisted when it is upgraded.)
    Fix: none, if the feature was dropped by an engine that first removed every trace of it.

    Conforms::
        dropped_features: []
    Violates::
        dropped_features: ["deletionVectors"]
    """
    return pl.col("dropped_features").list.len() > 0


@rule("PRO007", requires="protocol.features-stay", view=protocols, divergence="E41")
def protocol_version_decreased() -> pl.Expr:
    """A protocol has a lower version than the one before it.

    The text is silent; clients that remember the higher version may refuse or go on.
    Fix: none, if an engine dropped a feature on purpose.

    Conforms::
        min_reader_version: 3, previous_min_reader_version: 1, min_writer_version: 7, previous_min_writer_version: 2
        min_reader_version: 1, previous_min_reader_version: 1, min_writer_version: 3, previous_min_writer_version: null
    Violates::
        min_reader_version: 1, previous_min_reader_version: 3, min_writer_version: 7, previous_min_writer_version: 7
    """
    lower_reader = pl.col("min_reader_version") < pl.col("previous_min_reader_version")
    return lower_reader | (pl.col("min_writer_version") < pl.col("previous_min_writer_version"))

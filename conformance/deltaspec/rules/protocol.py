"""Rules over protocol actions. Source: chapters Protocol Evolution and Table Features."""

import polars as pl

from deltaspec.rules.fixes import LIST_FEATURE, WRITE_PROTOCOL
from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import protocols


@rule("PRO001", requires=("protocol.reader-features-only-at-3", "protocol.new-tables-list-writers"), view=protocols)
def reader_features_without_version_3() -> pl.Expr:
    """A protocol has readerFeatures although minReaderVersion is not 3.

    Clients of that version ignore the list and read the table without the features.
    Fix (restore): Restore the log from backup: Delta Spark cannot load such a table, so it cannot write a correct
    protocol. Another engine that loads it can add a feature, which writes both versions.

    Conforms::
        min_reader_version: 3, reader_features: ["deletionVectors"]
        min_reader_version: 1, reader_features: null
    Violates::
        min_reader_version: 1, reader_features: ["deletionVectors"]
    """
    return (pl.col("min_reader_version") != 3) & pl.col("reader_features").is_not_null()


@rule("PRO002", requires=("protocol.writer-features-only-at-7", "in-commit-timestamp.feature"), view=protocols)
def writer_features_without_version_7() -> pl.Expr:
    """A protocol has writerFeatures although minWriterVersion is not 7.

    Clients of that version ignore the list and write to the table without the features.
    Fix (restore): Restore the log from backup: Delta Spark cannot load such a table, so it cannot write a correct
    protocol. Another engine that loads it can add a feature, which writes the version.

    Conforms::
        min_writer_version: 7, writer_features: ["appendOnly"]
        min_writer_version: 2, writer_features: null
    Violates::
        min_writer_version: 2, writer_features: ["appendOnly"]
    """
    return (pl.col("min_writer_version") != 7) & pl.col("writer_features").is_not_null()


@rule(
    "PRO003",
    requires=("protocol.reader-features-at-3", "protocol.new-tables-list-both"),
    view=protocols,
    fix=LIST_FEATURE,
)
def reader_features_missing() -> pl.Expr:
    """A protocol has minReaderVersion 3 but no readerFeatures.

    Readers cannot determine which features they must support, and fail.

    Conforms::
        min_reader_version: 3, reader_features: []
        min_reader_version: 2, reader_features: null
    Violates::
        min_reader_version: 3, reader_features: null
    """
    return (pl.col("min_reader_version") == 3) & pl.col("reader_features").is_null()


@rule("PRO004", requires="protocol.writer-features-at-7", view=protocols, fix=WRITE_PROTOCOL)
def writer_features_missing() -> pl.Expr:
    """A protocol has minWriterVersion 7 but no writerFeatures.

    Writers cannot determine which features they must support, and fail.

    Conforms::
        min_writer_version: 7, writer_features: []
        min_writer_version: 4, writer_features: null
    Violates::
        min_writer_version: 7, writer_features: null
    """
    return (pl.col("min_writer_version") == 7) & pl.col("writer_features").is_null()


@rule("PRO005", requires="protocol.reader-3-needs-writer-7", view=protocols)
def reader_version_3_without_writer_version_7() -> pl.Expr:
    """A protocol has minReaderVersion 3 but a minWriterVersion below 7.

    Writers without support for feature lists may write to a table whose readers need the features.
    Fix (restore): Restore the log from backup: Delta Spark cannot load such a table, so it cannot raise the
    version. Stop other writers until then.

    Conforms::
        min_reader_version: 3, min_writer_version: 7
        min_reader_version: 2, min_writer_version: 5
    Violates::
        min_reader_version: 3, min_writer_version: 5
    """
    return (pl.col("min_reader_version") == 3) & (pl.col("min_writer_version") < 7)


@rule("PRO006", requires="protocol.features-stay", view=protocols, divergence="E41")
def dropped_feature() -> pl.Expr:
    """A protocol does not support a feature that the previous one lists, and the table no longer uses it.

    One chapter forbids this, another describes how to drop features. Older versions of the table may still need the
    feature. (Features of a legacy version that no version used may be omitted on upgrade.)
    Fix (decide): If an engine dropped the feature with `ALTER TABLE t DROP FEATURE`, nothing is needed. Otherwise
    add it again with `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')`.

    Conforms::
        dropped_features: [], uses_without_feature: [], removals_judged_elsewhere: ["checkpointProtection"]
        dropped_features: ["timestampNtz"], uses_without_feature: ["timestampNtz: type at"], removals_judged_elsewhere: []
        dropped_features: ["domainMetadata"], uses_without_feature: [], removals_judged_elsewhere: ["domainMetadata"]
    Violates::
        dropped_features: ["deletionVectors"], uses_without_feature: [], removals_judged_elsewhere: []
    """
    undecided = pl.col("dropped_features").list.set_difference(pl.col("removals_judged_elsewhere"))
    return (undecided.list.len() > 0) & (pl.col("uses_without_feature").list.len() == 0)


@rule("PRO007", requires="protocol.features-stay", view=protocols, divergence="E41")
def protocol_version_decreased() -> pl.Expr:
    """A protocol has a lower version than the previous one, although it drops no listed feature.

    The protocol does not mention this case. Clients that remember the higher version may refuse the table.
    Fix (decide): If the table needs no feature of the higher version, nothing is needed. Otherwise add the feature
    again with `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.NAME' = 'supported')`, which raises the version.

    Conforms::
        min_reader_version: 3, previous_min_reader_version: 1, min_writer_version: 7, previous_min_writer_version: 2, dropped_features: [], uses_without_feature: [], removals_judged_elsewhere: []
        min_reader_version: 1, previous_min_reader_version: 1, min_writer_version: 3, previous_min_writer_version: null, dropped_features: [], uses_without_feature: [], removals_judged_elsewhere: []
        min_reader_version: 1, previous_min_reader_version: 3, min_writer_version: 2, previous_min_writer_version: 7, dropped_features: ["deletionVectors"], uses_without_feature: [], removals_judged_elsewhere: []
        min_reader_version: 1, previous_min_reader_version: 1, min_writer_version: 2, previous_min_writer_version: 4, dropped_features: [], uses_without_feature: ["generatedColumns: column metadata id delta.generationExpression"], removals_judged_elsewhere: []
        min_reader_version: 1, previous_min_reader_version: 3, min_writer_version: 7, previous_min_writer_version: 7, dropped_features: [], uses_without_feature: [], removals_judged_elsewhere: ["typeWidening"]
    Violates::
        min_reader_version: 1, previous_min_reader_version: 3, min_writer_version: 7, previous_min_writer_version: 7, dropped_features: [], uses_without_feature: [], removals_judged_elsewhere: []
    """
    lower_reader = pl.col("min_reader_version") < pl.col("previous_min_reader_version")
    lower_writer = pl.col("min_writer_version") < pl.col("previous_min_writer_version")
    losses = ("dropped_features", "uses_without_feature", "removals_judged_elsewhere")
    keeps_features = pl.all_horizontal([pl.col(name).list.len() == 0 for name in losses])
    return (lower_reader | lower_writer) & keeps_features


@rule("PRO008", requires="protocol.breaking-changes", view=protocols, fix=LIST_FEATURE)
def used_feature_not_supported() -> pl.Expr:
    """A protocol does not support a feature that the table already uses.

    Clients that do not know the feature assume that they can read and write the table. They fail, misread columns, or
    ignore constraints and properties.

    Conforms::
        uses_without_feature: []
    Violates::
        uses_without_feature: ["timestampNtz: type at"]
    """
    return pl.col("uses_without_feature").list.len() > 0


@rule("PRO009", requires="protocol.fields", view=protocols, divergence="S43")
def version_below_one() -> pl.Expr:
    """A protocol has a reader or writer version of 0 or less.

    The protocol describes versions from 1 on and does not say what lower versions mean. Some engines read such a table
    as version 1, others refuse it.
    Fix (restore): Restore the log from backup: Delta Spark cannot load such a table, so it cannot write a correct
    protocol.

    Conforms::
        min_reader_version: 1, min_writer_version: 1
        min_reader_version: 3, min_writer_version: 7
    Violates::
        min_reader_version: 0, min_writer_version: 2
        min_reader_version: 1, min_writer_version: -1
        min_reader_version: 1, min_writer_version: 0
    """
    return (pl.col("min_reader_version") < 1) | (pl.col("min_writer_version") < 1)


@rule("PRO010", requires="checkpoint-protection.removal", view=protocols, divergence="S44")
def protection_dropped_too_early() -> pl.Expr:
    """A protocol drops checkpointProtection although commits before the protected version remain.

    Clients then clean up the log step by step. A checkpoint that hides commits of dropped features may be deleted, and
    older readers fail on those commits. (The feature is a proposal.)
    Fix (decide): Restore the version before the drop, or accept that the older versions are no longer protected.
    Delta Spark refuses to drop the feature again with `TRUNCATE HISTORY`, because the table no longer has it.

    Conforms::
        protected_before: null
    Violates::
        protected_before: 7
    """
    return pl.col("protected_before").is_not_null()

"""Rules over what single files of checkpoints hold. Source: chapters Checkpoints, Checkpoint Schema."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoint_contents import checkpoint_contents


@rule("CKP053", requires="checkpoint-contents.parsed-partition-values", view=checkpoint_contents)
def parsed_partition_values_missing() -> pl.Expr:
    """Adds of a checkpoint lack partitionValues_parsed, which the table's properties ask for.

    Readers that prune partitions by the typed columns lose these files, or read them all.
    Fix: write the checkpoint anew with `partitionValues_parsed` in every add.

    Conforms::
        is_parquet: true, is_partitioned: true, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 3
        is_parquet: true, is_partitioned: true, write_stats_as_struct: false, adds: 3, adds_with_parsed_partition_values: 0
        is_parquet: true, is_partitioned: false, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 0
        is_parquet: false, is_partitioned: true, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 0
    Violates::
        is_parquet: true, is_partitioned: true, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 2
    """
    asked = pl.col("is_parquet") & pl.col("is_partitioned") & pl.col("write_stats_as_struct")
    return asked & (pl.col("adds_with_parsed_partition_values") < pl.col("adds"))


@rule("CKP054", requires="checkpoint-contents.json-statistics", view=checkpoint_contents)
def json_statistics_missing() -> pl.Expr:
    """Adds of a checkpoint lack their statistics as JSON, which are available and asked for.

    Readers that know no typed statistics skip no files, and engines that count by statistics count anew.
    Fix: write the checkpoint anew with `stats`, or set delta.checkpoint.writeStatsAsJson to false.

    Conforms::
        write_stats_as_json: true, adds_with_json: 3, adds_with_columns_only: 0, replayed_adds_with_stats: 3
        write_stats_as_json: true, adds_with_json: 0, adds_with_columns_only: 0, replayed_adds_with_stats: null
        write_stats_as_json: false, adds_with_json: 0, adds_with_columns_only: 3, replayed_adds_with_stats: 3
    Violates::
        write_stats_as_json: true, adds_with_json: 2, adds_with_columns_only: 1, replayed_adds_with_stats: null
        write_stats_as_json: true, adds_with_json: 2, adds_with_columns_only: 0, replayed_adds_with_stats: 3
    """
    available = pl.col("replayed_adds_with_stats").fill_null(0) > pl.col("adds_with_json")
    return pl.col("write_stats_as_json") & ((pl.col("adds_with_columns_only") > 0) | available)


@rule("CKP055", requires="checkpoint-contents.json-statistics-off", view=checkpoint_contents)
def unrequested_json_statistics() -> pl.Expr:
    """A checkpoint holds statistics as JSON although delta.checkpoint.writeStatsAsJson is false.

    Whoever switched them off still pays for them in every read of the checkpoint.
    Fix: write the checkpoint anew without `stats`.

    Conforms::
        is_parquet: true, write_stats_as_json: true, adds_with_json: 3
        is_parquet: true, write_stats_as_json: false, adds_with_json: 0
        is_parquet: false, write_stats_as_json: false, adds_with_json: 3
    Violates::
        is_parquet: true, write_stats_as_json: false, adds_with_json: 3
    """
    return pl.col("is_parquet") & ~pl.col("write_stats_as_json") & (pl.col("adds_with_json") > 0)


@rule("CKP056", requires="checkpoint-contents.struct-statistics", view=checkpoint_contents)
def struct_statistics_missing() -> pl.Expr:
    """Adds of a checkpoint lack stats_parsed, though they have statistics and the table asks for the column.

    Readers that skip files by the typed columns read these files in vain.
    Fix: write the checkpoint anew with `stats_parsed` in every add that has statistics.

    Conforms::
        is_parquet: true, write_stats_as_struct: true, adds_with_columns: 3, adds_with_json_only: 0, replayed_adds_with_stats: 3
        is_parquet: true, write_stats_as_struct: false, adds_with_columns: 0, adds_with_json_only: 3, replayed_adds_with_stats: 3
        is_parquet: false, write_stats_as_struct: true, adds_with_columns: 0, adds_with_json_only: 3, replayed_adds_with_stats: 3
    Violates::
        is_parquet: true, write_stats_as_struct: true, adds_with_columns: 2, adds_with_json_only: 1, replayed_adds_with_stats: null
        is_parquet: true, write_stats_as_struct: true, adds_with_columns: 0, adds_with_json_only: 0, replayed_adds_with_stats: 3
    """
    available = pl.col("replayed_adds_with_stats").fill_null(0) > pl.col("adds_with_columns")
    lacking = (pl.col("adds_with_json_only") > 0) | available
    return pl.col("is_parquet") & pl.col("write_stats_as_struct") & lacking


@rule("CKP057", requires="checkpoint-contents.struct-statistics-off", view=checkpoint_contents)
def unrequested_struct_statistics() -> pl.Expr:
    """A checkpoint holds stats_parsed although delta.checkpoint.writeStatsAsStruct is false.

    The columns cost space and time that nobody asked for; readers may not count on them.
    Fix: set the property to true, or write the checkpoint anew without the column.

    Conforms::
        write_stats_as_struct: true, adds_with_columns: 3
        write_stats_as_struct: false, adds_with_columns: 0
        write_stats_as_struct: null, adds_with_columns: 3
    Violates::
        write_stats_as_struct: false, adds_with_columns: 3
    """
    return ~pl.col("write_stats_as_struct") & (pl.col("adds_with_columns") > 0)


@rule("CKP058", requires="checkpoint-contents.remove-fields", view=checkpoint_contents)
def tombstone_with_statistics_or_tags() -> pl.Expr:
    """Tombstones of a checkpoint hold statistics or tags.

    They serve the cleaning up of files only; whatever describes the data makes the checkpoint larger in vain.
    Fix: write the checkpoint anew without `stats` and `tags` in `remove`.

    Conforms::
        removes_with_statistics: 0, removes_with_tags: 0
    Violates::
        removes_with_statistics: 1, removes_with_tags: 0
        removes_with_statistics: 0, removes_with_tags: 2
    """
    return (pl.col("removes_with_statistics") > 0) | (pl.col("removes_with_tags") > 0)


@rule(
    "CKP059",
    requires=("checkpoint-schema.features-null-else", "checkpoint-schema.features-null-without"),
    view=checkpoint_contents,
)
def feature_lists_without_table_features() -> pl.Expr:
    """A checkpoint has lists of table features, and its protocol versions know none.

    Readers may take the table for one with table features, or refuse it.
    Fix: write the checkpoint anew with null in readerFeatures and writerFeatures.

    Conforms::
        min_reader_version: 1, min_writer_version: 2, has_reader_features: false, has_writer_features: false
        min_reader_version: 1, min_writer_version: 7, has_reader_features: false, has_writer_features: true
        min_reader_version: 2, min_writer_version: 7, has_reader_features: true, has_writer_features: true
    Violates::
        min_reader_version: 1, min_writer_version: 2, has_reader_features: false, has_writer_features: true
        min_reader_version: 2, min_writer_version: 5, has_reader_features: true, has_writer_features: false
    """
    without = (pl.col("min_reader_version") < 3) & (pl.col("min_writer_version") < 7)
    return without & (pl.col("has_reader_features") | pl.col("has_writer_features"))


@rule("CKP065", requires="checkpoint-schema.reader-features-set", view=checkpoint_contents)
def reader_features_null_in_checkpoint() -> pl.Expr:
    """A checkpoint of reader version 3 has null for readerFeatures.

    Readers cannot tell what they have to support, and must not guess that it is nothing.
    Fix: write the checkpoint anew with the list of the protocol, empty if need be.

    Conforms::
        min_reader_version: 3, has_reader_features: true
        min_reader_version: 1, has_reader_features: false
    Violates::
        min_reader_version: 3, has_reader_features: false
    """
    return (pl.col("min_reader_version") == 3) & ~pl.col("has_reader_features")


@rule("CKP066", requires="checkpoint-schema.writer-features-set", view=checkpoint_contents)
def writer_features_null_in_checkpoint() -> pl.Expr:
    """A checkpoint of writer version 7 has null for writerFeatures.

    Writers cannot tell what they have to support, and must not guess that it is nothing.
    Fix: write the checkpoint anew with the list of the protocol, empty if need be.

    Conforms::
        min_writer_version: 7, has_writer_features: true
        min_writer_version: 2, has_writer_features: false
    Violates::
        min_writer_version: 7, has_writer_features: false
    """
    return (pl.col("min_writer_version") == 7) & ~pl.col("has_writer_features")

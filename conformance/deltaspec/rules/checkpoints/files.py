"""Rules over the content of single checkpoint files. Source: chapters Checkpoints, Checkpoint Schema."""

import polars as pl

from deltaspec.rules.command_fixes import SET_WRITE_STATS_AS_STRUCT
from deltaspec.rules.fixes import REWRITE_CHECKPOINT
from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoint_contents import checkpoint_contents


@rule("CKP053", requires="checkpoint-contents.parsed-partition-values", view=checkpoint_contents)
def parsed_partition_values_missing() -> pl.Expr:
    """Add actions of a checkpoint have no partitionValues_parsed although the table properties require it.

    Readers that prune partitions by the typed columns read all of these files, or skip files that they need.
    Fix (repair): Write a new checkpoint with a corrected writer. It must write `partitionValues_parsed` for every
    add action.

    Conforms::
        is_parquet: true, is_partitioned: true, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 3
        is_parquet: true, is_partitioned: true, write_stats_as_struct: false, adds: 3, adds_with_parsed_partition_values: 0
        is_parquet: true, is_partitioned: false, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 0
        is_parquet: false, is_partitioned: true, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 0
    Violates::
        is_parquet: true, is_partitioned: true, write_stats_as_struct: true, adds: 3, adds_with_parsed_partition_values: 2
    """
    is_required = pl.col("is_parquet") & pl.col("is_partitioned") & pl.col("write_stats_as_struct")
    return is_required & (pl.col("adds_with_parsed_partition_values") < pl.col("adds"))


@rule("CKP054", requires="checkpoint-contents.json-statistics", view=checkpoint_contents)
def json_statistics_missing() -> pl.Expr:
    """Add actions of a checkpoint have no JSON statistics although the statistics exist and are required.

    Readers that do not support typed statistics skip no files and must read files to count rows.
    Fix (repair): Write a new checkpoint with a corrected writer. To store only typed statistics, run `ALTER TABLE t
    SET TBLPROPERTIES ('delta.checkpoint.writeStatsAsJson' = 'false')` first.

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
    """A checkpoint contains JSON statistics although delta.checkpoint.writeStatsAsJson is false.

    Every reader of the checkpoint loads statistics that the table's owner disabled.
    Fix (rewrite): Write a new checkpoint with a corrected writer. It must honor the property. The current
    checkpoint is correct and can stay until then.

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
    """Add actions of a checkpoint have no stats_parsed although statistics exist and the table requires the column.

    Readers that skip files by typed statistics read these files unnecessarily.
    Fix (repair): Write a new checkpoint with a corrected writer. It must write `stats_parsed` for every add action
    with statistics.

    Conforms::
        is_parquet: true, write_stats_as_struct: true, adds_with_columns: 3, adds_with_json_only: 0, replayed_adds_with_stats: 3
        is_parquet: true, write_stats_as_struct: false, adds_with_columns: 0, adds_with_json_only: 3, replayed_adds_with_stats: 3
        is_parquet: false, write_stats_as_struct: true, adds_with_columns: 0, adds_with_json_only: 3, replayed_adds_with_stats: 3
    Violates::
        is_parquet: true, write_stats_as_struct: true, adds_with_columns: 2, adds_with_json_only: 1, replayed_adds_with_stats: null
        is_parquet: true, write_stats_as_struct: true, adds_with_columns: 0, adds_with_json_only: 0, replayed_adds_with_stats: 3
    """
    available = pl.col("replayed_adds_with_stats").fill_null(0) > pl.col("adds_with_columns")
    is_incomplete = (pl.col("adds_with_json_only") > 0) | available
    return pl.col("is_parquet") & pl.col("write_stats_as_struct") & is_incomplete


@rule("CKP057", requires="checkpoint-contents.struct-statistics-off", view=checkpoint_contents)
def unrequested_struct_statistics() -> pl.Expr:
    """A checkpoint contains stats_parsed although delta.checkpoint.writeStatsAsStruct is false.

    The column takes space and time that the table's owner did not want to spend.
    Fix (rewrite): Write a new checkpoint with a corrected writer. It must honor the property. To keep the column,
    set the property to true with `ALTER TABLE t SET TBLPROPERTIES`.

    Conforms::
        write_stats_as_struct: true, adds_with_columns: 3
        write_stats_as_struct: false, adds_with_columns: 0
        write_stats_as_struct: null, adds_with_columns: 3
    Violates::
        write_stats_as_struct: false, adds_with_columns: 3
    """
    return ~pl.col("write_stats_as_struct") & (pl.col("adds_with_columns") > 0)


@rule(
    "CKP083",
    requires="checkpoint-contents.struct-statistics-off",
    view=checkpoint_contents,
    divergence="S68",
    fix=SET_WRITE_STATS_AS_STRUCT,
)
def struct_statistics_by_default() -> pl.Expr:
    """A checkpoint contains stats_parsed although delta.checkpoint.writeStatsAsStruct is not set.

    The protocol says that the default is false, and the reference engine uses true. The column takes space and time that
    the table's owner may not want to spend.

    Conforms::
        write_stats_as_struct_is_unset: null, adds_with_columns: 3
        write_stats_as_struct_is_unset: true, adds_with_columns: 0
    Violates::
        write_stats_as_struct_is_unset: true, adds_with_columns: 3
    """
    return pl.col("write_stats_as_struct_is_unset") & (pl.col("adds_with_columns") > 0)


@rule("CKP058", requires="checkpoint-contents.remove-fields", view=checkpoint_contents)
def tombstone_with_statistics_or_tags() -> pl.Expr:
    """Tombstones of a checkpoint contain statistics or tags.

    Tombstones exist only for the cleanup of files. The extra fields make the checkpoint larger and slower to read.
    Fix (repair): Write a new checkpoint with a corrected writer. It must omit `stats` and `tags` from remove
    actions. The current checkpoint can stay until then.

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
    fix=REWRITE_CHECKPOINT,
)
def feature_lists_without_table_features() -> pl.Expr:
    """A checkpoint has lists of table features although its protocol versions do not support them.

    Readers may treat the table as one with table features, or refuse it.

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


@rule("CKP065", requires="checkpoint-schema.reader-features-set", view=checkpoint_contents, fix=REWRITE_CHECKPOINT)
def reader_features_null_in_checkpoint() -> pl.Expr:
    """A checkpoint has reader version 3, but its readerFeatures is null.

    Readers cannot determine which features they must support, so they fail or read the table incorrectly.

    Conforms::
        min_reader_version: 3, has_reader_features: true
        min_reader_version: 1, has_reader_features: false
    Violates::
        min_reader_version: 3, has_reader_features: false
    """
    return (pl.col("min_reader_version") == 3) & ~pl.col("has_reader_features")


@rule("CKP066", requires="checkpoint-schema.writer-features-set", view=checkpoint_contents, fix=REWRITE_CHECKPOINT)
def writer_features_null_in_checkpoint() -> pl.Expr:
    """A checkpoint has writer version 7, but its writerFeatures is null.

    Writers cannot determine which features they must support, so they fail or damage the table.

    Conforms::
        min_writer_version: 7, has_writer_features: true
        min_writer_version: 2, has_writer_features: false
    Violates::
        min_writer_version: 7, has_writer_features: false
    """
    return (pl.col("min_writer_version") == 7) & ~pl.col("has_writer_features")


@rule("CKP084", requires=("configuration.codec", "configuration.codec-default"), view=checkpoint_contents)
def checkpoint_codec_differs() -> pl.Expr:
    """A checkpoint is compressed with another codec than delta.parquet.compression.codec requests, or its default.

    The property is for data and checkpoint files. Readers that support only the chosen codec fail on the log. (The
    default, zstd, is checked after the property was unset, which shows that writers of this table know it.)
    Fix (none): No repair is needed if your readers support the codec. Use a writer that honors the property for
    checkpoints, or change the property; the next checkpoint then uses the codec.

    Conforms::
        requested_codec: zstd, other_codecs: []
        requested_codec: null, other_codecs: null
    Violates::
        requested_codec: zstd, other_codecs: ["snappy"]
    """
    return (pl.col("other_codecs").list.len() > 0) & pl.col("requested_codec").is_not_null()


@rule("CKP085", requires=("configuration.page-version", "configuration.page-version-default"), view=checkpoint_contents)
def checkpoint_page_version_differs() -> pl.Expr:
    """A checkpoint has another version of data pages than delta.parquet.format.version requests, or its default.

    The property is for data and checkpoint files. Many Parquet readers support only version 1 and fail on the log. (The
    default, version 1, is checked after the property was unset, which shows that writers of this table know it.)
    Fix (none): No repair is needed if your readers support the version. Use a writer that honors the property for
    checkpoints, or change the property; the next checkpoint then uses the version.

    Conforms::
        requested_page_version: 2, page_version: 2
        requested_page_version: 2, page_version: null
        requested_page_version: null, page_version: null
    Violates::
        requested_page_version: 1, page_version: 2
    """
    return pl.col("page_version") != pl.col("requested_page_version")

"""Rules over add, remove and cdc actions. Source: chapters Add File and Remove File, Add CDC File."""

import polars as pl

from deltaspec.rules.file_fixes import (
    COMPARE_FILE_THEN_RECOMPUTE_STATISTICS,
    RECOMPUTE_STATISTICS,
    REPAIR_PARTITION_VALUE,
    RESTORE_UNLESS_ALL_COLUMNS,
    REWRITE_STATISTICS,
)
from deltaspec.rules.fixes import LIST_DELETION_VECTORS, RESTORE_VERSION, REWRITE_CHECKPOINT
from deltaspec.rules.registry import rule
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.files.file_actions import file_actions


@rule("FIL007", requires="add.partition-values", view=file_actions, fix=REPAIR_PARTITION_VALUE)
def partition_column_missing() -> pl.Expr:
    """A file has no value for a partition column of the table.

    Readers fail or return null. (With column mapping the keys are physical names. Remove actions are not checked,
    because the file may be older than the current partition columns.)

    Conforms::
        kind: add, missing_partition_columns: []
        kind: add, missing_partition_columns: null
        kind: remove, missing_partition_columns: ["day"]
    Violates::
        kind: add, missing_partition_columns: ["day"]
        kind: cdc, missing_partition_columns: ["day"]
    """
    return (pl.col("kind") != "remove") & (pl.col("missing_partition_columns").list.len() > 0)


@rule("FIL008", requires="add.partition-values", view=file_actions, divergence="S13", fix=RESTORE_UNLESS_ALL_COLUMNS)
def unknown_partition_column_in_file() -> pl.Expr:
    """A file has a partition value for a column that is not a partition column.

    The protocol does not forbid it, and readers ignore the value. The file may have been written for another schema, so
    its rows may not have that column.

    Conforms::
        kind: add, extra_partition_columns: []
        kind: remove, extra_partition_columns: ["country"]
    Violates::
        kind: add, extra_partition_columns: ["country"]
    """
    return (pl.col("kind") != "remove") & (pl.col("extra_partition_columns").list.len() > 0)


@rule("FIL009", requires="partition-values.serialization", view=file_actions, fix=REPAIR_PARTITION_VALUE)
def unreadable_partition_value() -> pl.Expr:
    """A partition value cannot be parsed as the type of its column.

    Readers fail, or return null or a wrong value for all rows of the file. (Remove actions are not checked, because the
    column may have had another type.)

    Conforms::
        kind: add, invalid_partition_values: []
        kind: remove, invalid_partition_values: ["day=yesterday"]
    Violates::
        kind: add, invalid_partition_values: ["day=yesterday"]
        kind: cdc, invalid_partition_values: ["day=yesterday"]
    """
    return (pl.col("kind") != "remove") & (pl.col("invalid_partition_values").list.len() > 0)


@rule("FIL010", requires="partition-values.serialization", view=file_actions, divergence="S11")
def non_canonical_partition_value() -> pl.Expr:
    """A partition value is readable but not in the canonical format of the protocol.

    Engines that compare partition values as strings skip the wrong files. (This rule checks numbers and booleans.
    Dates, timestamps and binary values have their own rules.)
    Fix (rewrite): Rewrite the partition with a writer that uses the canonical format, for example with
    `replaceWhere` in Delta Spark. Read it without a filter on this column.

    Conforms::
        kind: add, non_canonical_partition_values: []
        kind: remove, non_canonical_partition_values: ["id=+01"]
    Violates::
        kind: add, non_canonical_partition_values: ["id=+01"]
    """
    return (pl.col("kind") != "remove") & (pl.col("non_canonical_partition_values").list.len() > 0)


@rule("FIL011", requires="add.size", view=file_actions)
def negative_size() -> pl.Expr:
    """The size of a file is negative.

    Readers plan with the size, and the total size and histogram of the table are wrong.
    Fix (repair): Rewrite the file's rows with a conforming writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark). Read it with an engine that does not use the size to locate the footer, and
    check the row count.

    Conforms::
        size: 0
        size: null
    Violates::
        size: -1
    """
    return pl.col("size") < 0


@rule("FIL012", requires="remove.extended-file-metadata", view=file_actions)
def extended_metadata_missing() -> pl.Expr:
    """A remove action has extendedFileMetadata true but no partition values or no size.

    Consumers of change data and `VACUUM` rely on these fields.
    Fix (none): No repair is needed for the committed version. Fix the writer: it must write both fields or omit
    extendedFileMetadata.

    Conforms::
        extended_file_metadata: true, has_partition_values: true, size: 12
        extended_file_metadata: false, has_partition_values: false, size: null
        extended_file_metadata: null, has_partition_values: false, size: null
    Violates::
        extended_file_metadata: true, has_partition_values: false, size: 12
        extended_file_metadata: true, has_partition_values: true, size: null
    """
    return pl.col("extended_file_metadata") & (~pl.col("has_partition_values") | pl.col("size").is_null())


@rule("FIL013", requires="cdc.no-data-change", view=file_actions)
def change_file_with_data_change() -> pl.Expr:
    """A cdc action has dataChange true.

    Change data files are not part of the table. Consumers that follow the flag read the rows twice.
    Fix (none): Fix the writer so that it writes dataChange false, and correct consumers that read this version. The
    table's rows are not affected.

    Conforms::
        kind: cdc, data_change: false
        kind: add, data_change: true
    Violates::
        kind: cdc, data_change: true
    """
    return (pl.col("kind") == "cdc") & pl.col("data_change")


@rule(
    "FIL014",
    requires="deletion-vectors.needs-feature",
    view=file_actions,
    without_feature=True,
    fix=LIST_DELETION_VECTORS,
)
def vector_without_feature() -> pl.Expr:
    """A file has a deletion vector although the protocol does not support deletionVectors.

    Readers that do not support deletion vectors may read the table, and return deleted rows. (Remove actions are
    not checked, because the feature may have been dropped.)

    Conforms::
        kind: add, has_deletion_vector: true, deletion_vectors_supported: true
        kind: add, has_deletion_vector: false, deletion_vectors_supported: false
        kind: remove, has_deletion_vector: true, deletion_vectors_supported: false
    Violates::
        kind: add, has_deletion_vector: true, deletion_vectors_supported: false
    """
    return (pl.col("kind") == "add") & pl.col("has_deletion_vector") & ~pl.col("deletion_vectors_supported")


@rule("FIL015", requires="deletion-vectors.needs-num-records", view=file_actions)
def vector_without_num_records() -> pl.Expr:
    """A file with a deletion vector has no numRecords in its statistics.

    Readers cannot compute the number of remaining rows without opening the file.
    Fix (repair): Run `REORG TABLE t APPLY (PURGE)` in Delta Spark, which rewrites files with deletion vectors.

    Conforms::
        kind: add, statistics_are_kept: true, has_deletion_vector: true, num_records: 10
        kind: add, statistics_are_kept: true, has_deletion_vector: false, num_records: null
        kind: add, statistics_are_kept: false, has_deletion_vector: true, num_records: null
        kind: add, statistics_are_kept: null, has_deletion_vector: true, num_records: null
        kind: remove, statistics_are_kept: true, has_deletion_vector: true, num_records: null
    Violates::
        kind: add, statistics_are_kept: true, has_deletion_vector: true, num_records: null
    """
    added = (pl.col("kind") == "add") & pl.col("statistics_are_kept")
    return added & pl.col("has_deletion_vector") & pl.col("num_records").is_null()


@rule("FIL016", requires="statistics.form", view=file_actions, fix=RECOMPUTE_STATISTICS)
def malformed_statistics() -> pl.Expr:
    """The statistics of a file are not a JSON object of the documented structure.

    Readers ignore them and read the file for every query, or fail.

    Conforms::
        stats_fault: null
        stats_fault: "nested more than 200 levels deep"
    Violates::
        stats_fault: "Expected `int | null`, got `str` - at `$.numRecords`"
    """
    return pl.col("stats_fault").is_not_null() & (pl.col("stats_fault") != "nested more than 200 levels deep")


@rule("FIL024", requires="statistics.form", view=file_actions, divergence="S21")
def lone_surrogate_in_statistics() -> pl.Expr:
    """The statistics of a file have an escaped lone surrogate.

    The grammar of JSON permits it, but no UTF-8 text can contain it. Parsers keep, replace or refuse it, so engines
    skip different files or fail.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must not cut strings within a character.

    Conforms::
        stats_have_lone_surrogate: false
    Violates::
        stats_have_lone_surrogate: true
    """
    return pl.col("stats_have_lone_surrogate")


@rule("FIL017", requires="statistics.num-records", view=file_actions, fix=RECOMPUTE_STATISTICS)
def negative_num_records() -> pl.Expr:
    """The number of records in the statistics of a file is negative.

    Row counts that readers compute from the log are wrong.

    Conforms::
        num_records: 0
        num_records: null
    Violates::
        num_records: -1
    """
    return pl.col("num_records") < 0


@rule("FIL018", requires="statistics.null-count", view=file_actions, fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS)
def invalid_null_count() -> pl.Expr:
    """A null count is negative, not an integer, or above the file's number of records.

    Readers skip files by null counts: queries with `IS NULL` and `IS NOT NULL` lose rows. (With `tightBounds` false,
    such a count carries no information.)

    Conforms::
        null_count_fault: null
    Violates::
        null_count_fault: "nullCount of a is 11 of 10 records"
    """
    return pl.col("null_count_fault").is_not_null()


@rule("FIL019", requires="statistics.null-count", view=file_actions, divergence="E09", fix=REWRITE_STATISTICS)
def null_counts_misspelled() -> pl.Expr:
    """The statistics of a file use `nullCounts` instead of `nullCount`.

    Readers look for `nullCount` and find none. An example of older revisions prints the wrong name.

    Conforms::
        has_null_counts_key: false
        has_null_counts_key: null
    Violates::
        has_null_counts_key: true
    """
    return pl.col("has_null_counts_key")


@rule("FIL025", requires="statistics.form", view=file_actions, divergence="S60")
def unknown_statistics_key() -> pl.Expr:
    """The statistics of a file have a key that neither the protocol nor a proposal defines.

    The protocol does not say whether other keys are permitted. If the key is a misspelling, such as `num_records` or
    `minVals`, the file has no statistics: readers open it for every query, and row counts from the log are not known.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a writer that uses numRecords, minValues, maxValues and nullCount.

    Conforms::
        unknown_statistics_key: null
    Violates::
        unknown_statistics_key: num_records
    """
    return pl.col("unknown_statistics_key").is_not_null()


@rule("FIL026", requires="statistics.mirrors-schema", view=file_actions, divergence="S13")
def partition_statistics_differ() -> pl.Expr:
    """The statistics of a file name a partition column and contradict its partition value.

    The protocol does not say whether statistics may name partition columns. Engines that skip files by them lose all
    rows of this file in filtered queries.
    Fix (decide): Find out which of the two is wrong: compare both with the directory of the file and with its
    partition column, if the file stores it. Then recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA
    STATISTICS` (Databricks), or rewrite the partition with a conforming writer.

    Conforms::
        partition_statistics_fault: null
    Violates::
        partition_statistics_fault: "p: minimum zz, value a"
    """
    return pl.col("partition_statistics_fault").is_not_null()


@rule("FIL020", requires="add.fields", view=file_actions, fix=REWRITE_CHECKPOINT)
def required_field_missing_in_checkpoint() -> pl.Expr:
    """A file action of a Parquet checkpoint has no value for a required field.

    Readers that start from the checkpoint fail, or use a default and read another table.

    Conforms::
        missing_field: null
    Violates::
        missing_field: path
    """
    return pl.col("missing_field").is_not_null()


@rule("FIL021", requires="add.default-row-ids", view=file_actions, fix=RESTORE_VERSION)
def negative_row_id() -> pl.Expr:
    """A base row id or default row commit version is negative.

    Row ids and commit versions start at 0. Consumers treat negative values as unset, or fail.

    Conforms::
        base_row_id: 0, default_row_commit_version: 0
        base_row_id: null, default_row_commit_version: null
    Violates::
        base_row_id: -1, default_row_commit_version: 3
        base_row_id: 10, default_row_commit_version: -1
    """
    return (pl.col("base_row_id") < 0).fill_null(False) | (pl.col("default_row_commit_version") < 0)


@rule("FIL022", requires="row-tracking.commit-version", view=file_actions, without_feature=True, fix=RESTORE_VERSION)
def future_row_commit_version() -> pl.Expr:
    """The default row commit version of a file is later than the version that adds it.

    Its rows seem to have changed after the commit that wrote them.

    Conforms::
        default_row_commit_version: 4, version: 4
        default_row_commit_version: null, version: 4
    Violates::
        default_row_commit_version: 5, version: 4
    """
    return pl.col("default_row_commit_version") > pl.col("version")


@rule("FIL023", requires="clustering.statistics", view=adds_without_stats)
def clustering_column_without_statistics() -> pl.Expr:
    """A file was added to a clustered table without statistics for a clustering column.

    Queries skip files by the bounds of clustering columns. Every query must read this file.
    Fix (repair): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks). The writer
    must collect statistics for clustering columns, whatever `delta.dataSkippingNumIndexedCols` says.

    Conforms::
        clustering_columns_without_statistics: []
        clustering_columns_without_statistics: null
    Violates::
        clustering_columns_without_statistics: ["id"]
    """
    return pl.col("clustering_columns_without_statistics").list.len() > 0


@rule("FIL054", requires="log.embedded-json", view=file_actions, divergence="S19", fix=REWRITE_STATISTICS)
def repeated_key_in_statistics() -> pl.Expr:
    """The statistics of a file have the same key twice in one object.

    JSON parsers keep the first value or the last one, or fail. Engines read different statistics, or cannot open the table.

    Conforms::
        stats_repeated_key: null
    Violates::
        stats_repeated_key: "/numRecords"
    """
    return pl.col("stats_repeated_key").is_not_null()

"""Rules over add, remove and cdc actions. Source: chapters Add File and Remove File, Add CDC File."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.files.file_actions import file_actions


@rule("FIL007", requires="add.partition-values", view=file_actions)
def partition_column_missing() -> pl.Expr:
    """A file has no value for a partition column of the table.

    Readers fail or return null. (The keys are physical names where column mapping is on; a remove may be of a file
    that was written before the table was partitioned as it is.)
    Fix: commit the file again with a value for every partition column.

    Conforms::
        kind: add, missing_partition_columns: []
        kind: add, missing_partition_columns: null
        kind: remove, missing_partition_columns: ["day"]
    Violates::
        kind: add, missing_partition_columns: ["day"]
        kind: cdc, missing_partition_columns: ["day"]
    """
    return (pl.col("kind") != "remove") & (pl.col("missing_partition_columns").list.len() > 0)


@rule("FIL008", requires="add.partition-values", view=file_actions)
def unknown_partition_column_in_file() -> pl.Expr:
    """A file has a partition value for something that is no partition column of the table.

    The file was written for another schema; its rows may lack that column.
    Fix: commit the file again with values for the partition columns only.

    Conforms::
        kind: add, extra_partition_columns: []
        kind: remove, extra_partition_columns: ["country"]
    Violates::
        kind: add, extra_partition_columns: ["country"]
    """
    return (pl.col("kind") != "remove") & (pl.col("extra_partition_columns").list.len() > 0)


@rule("FIL009", requires="partition-values.serialization", view=file_actions)
def unreadable_partition_value() -> pl.Expr:
    """A partition value is no value of its column's type.

    Readers fail, or return null or nonsense for all rows of the file. (A remove may be of a file that was written when
    the column had another type.)
    Fix: commit the file again with the value in the form of its type.

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
    """A partition value can be read but is not spelled as the text shows it.

    Engines that compare partition values as text prune the wrong files.
    Fix: the writer should spell values as the text shows.

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

    Planners add sizes up; the table's size and histogram go wrong.
    Fix: commit the file again with its length in bytes.

    Conforms::
        size: 0
        size: null
    Violates::
        size: -1
    """
    return pl.col("size") < 0


@rule("FIL012", requires="remove.extended-file-metadata", view=file_actions)
def extended_metadata_missing() -> pl.Expr:
    """A remove claims extended file metadata and lacks partition values or size.

    Consumers of change data and vacuum rely on the claim.
    Fix: the writer must write both, or leave extendedFileMetadata out.

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

    Change data files hold no data of the table; consumers that follow the flag count the rows twice.
    Fix: the writer must write dataChange false.

    Conforms::
        kind: cdc, data_change: false
        kind: add, data_change: true
    Violates::
        kind: cdc, data_change: true
    """
    return (pl.col("kind") == "cdc") & pl.col("data_change")


@rule("FIL014", requires="deletion-vectors.needs-feature", view=file_actions)
def vector_without_feature() -> pl.Expr:
    """A file has a deletion vector although the protocol does not support deletionVectors.

    Readers of this table need not know vectors and return the deleted rows. (A remove may be of a file from the time
    before the feature was dropped; checkpoints keep such tombstones.)
    Fix: commit a protocol that lists deletionVectors on both sides, or rewrite the file.

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

    How many rows the file has left cannot be told without opening it, which the text wants to spare readers.
    Fix: commit the file again with its number of physical rows.

    Conforms::
        kind: add, source: commit, has_deletion_vector: true, num_records: 10
        kind: add, source: commit, has_deletion_vector: false, num_records: null
        kind: add, source: checkpoint, has_deletion_vector: true, num_records: null
        kind: remove, source: commit, has_deletion_vector: true, num_records: null
    Violates::
        kind: add, source: commit, has_deletion_vector: true, num_records: null
    """
    added = (pl.col("kind") == "add") & (pl.col("source") == "commit")
    return added & pl.col("has_deletion_vector") & pl.col("num_records").is_null()


@rule("FIL016", requires="statistics.form", view=file_actions)
def malformed_statistics() -> pl.Expr:
    """The statistics of a file are no JSON object of the documented form.

    Readers drop them and read every file, or fail.
    Fix: recompute the file's statistics.

    Conforms::
        stats_fault: null
    Violates::
        stats_fault: "Expected `int | null`, got `str` - at `$.numRecords`"
    """
    return pl.col("stats_fault").is_not_null()


@rule("FIL017", requires="statistics.num-records", view=file_actions)
def negative_num_records() -> pl.Expr:
    """The number of records in the statistics of a file is negative.

    Counts answered from the log are wrong.
    Fix: recompute the file's statistics.

    Conforms::
        num_records: 0
        num_records: null
    Violates::
        num_records: -1
    """
    return pl.col("num_records") < 0


@rule("FIL018", requires="statistics.null-count", view=file_actions)
def invalid_null_count() -> pl.Expr:
    """A null count in the statistics of a file is negative, not an integer, or above its number of records.

    Readers skip files by it: `IS NULL` and `IS NOT NULL` lose rows.
    Fix: recompute the file's statistics.

    Conforms::
        null_count_fault: null
    Violates::
        null_count_fault: "nullCount of a is 11 of 10 records"
    """
    return pl.col("null_count_fault").is_not_null()


@rule("FIL019", requires="statistics.null-count", view=file_actions, divergence="E09")
def null_counts_misspelled() -> pl.Expr:
    """The statistics of a file hold `nullCounts`, which readers do not look for.

    An example of older texts prints the name so; the field is `nullCount`.
    Fix: the writer must write nullCount.

    Conforms::
        has_null_counts_key: false
        has_null_counts_key: null
    Violates::
        has_null_counts_key: true
    """
    return pl.col("has_null_counts_key")


@rule("FIL020", requires="add.fields", view=file_actions)
def required_field_missing_in_checkpoint() -> pl.Expr:
    """A file action of a Parquet checkpoint lacks a required field.

    Readers that start from the checkpoint fail, or take a default and read another table.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        missing_field: null
    Violates::
        missing_field: path
    """
    return pl.col("missing_field").is_not_null()


@rule("FIL021", requires="add.default-row-ids", view=file_actions)
def negative_row_id() -> pl.Expr:
    """A base row id or default row commit version is negative.

    Row ids and commit versions count from 0; consumers take a negative one for unset or fail.
    Fix: restore the version before; the writer assigns ids wrongly.

    Conforms::
        base_row_id: 0, default_row_commit_version: 0
        base_row_id: null, default_row_commit_version: null
    Violates::
        base_row_id: -1, default_row_commit_version: 3
        base_row_id: 10, default_row_commit_version: -1
    """
    return (pl.col("base_row_id") < 0).fill_null(False) | (pl.col("default_row_commit_version") < 0)


@rule("FIL022", requires="row-tracking.commit-version", view=file_actions)
def future_row_commit_version() -> pl.Expr:
    """The default row commit version of a file is later than the version that adds it.

    Rows claim to have changed after the commit that wrote them.
    Fix: restore the version before; the writer must use the version it commits.

    Conforms::
        default_row_commit_version: 4, version: 4
        default_row_commit_version: null, version: 4
    Violates::
        default_row_commit_version: 5, version: 4
    """
    return pl.col("default_row_commit_version") > pl.col("version")


@rule("FIL023", requires="clustering.statistics", view=adds_without_stats)
def clustering_column_without_statistics() -> pl.Expr:
    """A file was added to a clustered table without statistics of a clustering column.

    Clustering serves to skip files by the bounds of these columns: this one is read by every query.
    Fix: recompute the statistics of the file; the writer must collect them for clustering columns, however many
    columns statistics are limited to.

    Conforms::
        clustering_columns_without_statistics: []
        clustering_columns_without_statistics: null
    Violates::
        clustering_columns_without_statistics: ["id"]
    """
    return pl.col("clustering_columns_without_statistics").list.len() > 0

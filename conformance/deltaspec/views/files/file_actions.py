"""Views over file actions: as written (`file_actions`), beside others of the path (`file_history`), and vectors."""

import polars as pl

from deltaspec.views.base import LOCATION_COLUMNS, Column, View

_PLACE = LOCATION_COLUMNS | {
    "source": Column(pl.String, "commit, compaction, checkpoint or sidecar"),
    "version": Column(pl.Int64, "version of the commit or checkpoint; of a compaction its last"),
    "kind": Column(pl.String, "add, remove or cdc"),
    "path": Column(pl.String, "path as written"),
}

file_actions = View(
    name="file_actions",
    grain="add, remove or cdc action, wherever it was written",
    key=(),
    columns={
        **_PLACE,
        "path_fault": Column(pl.String, "what breaks the URI form of the path; not for characters beyond ASCII"),
        "path_has_non_ascii": Column(pl.Boolean, "the path holds characters beyond ASCII that are not encoded"),
        "path_escapes_table": Column(pl.Boolean, "relative path whose `..` segments climb out of the table"),
        "path_is_absolute": Column(pl.Boolean, "the path has a scheme or begins with a slash"),
        "hidden_directory": Column(
            pl.String, "first directory of a relative path whose name begins with an underscore"
        ),
        "colon_in_first_segment": Column(pl.Boolean, "relative path with an unencoded colon in its first segment"),
        "path_is_added": Column(pl.Boolean, "for a cdc: the same commit adds this path; null for other kinds"),
        "missing_field": Column(pl.String, "required field that is null in a Parquet checkpoint"),
        "size": Column(pl.Int64, "size in bytes"),
        "modification_time": Column(pl.Int64, "modificationTime, milliseconds since the epoch"),
        "data_change": Column(pl.Boolean, "dataChange"),
        "deletion_timestamp": Column(pl.Int64, "deletionTimestamp, milliseconds since the epoch"),
        "extended_file_metadata": Column(pl.Boolean, "extendedFileMetadata"),
        "has_partition_values": Column(pl.Boolean, "partitionValues is not null"),
        "table_is_partitioned": Column(pl.Boolean, "the table has partition columns at that version"),
        "missing_partition_columns": Column(
            pl.List(pl.String), "partition columns (physical names) that partitionValues lacks"
        ),
        "extra_partition_columns": Column(pl.List(pl.String), "keys of partitionValues that are no partition column"),
        "logical_partition_keys": Column(
            pl.List(pl.String),
            "keys of partitionValues that are logical names of partition columns whose physical names differ; neither "
            "they nor those columns are among the extra and missing ones",
        ),
        "invalid_partition_values": Column(
            pl.List(pl.String), "`column=text` of each value that its column's type cannot hold"
        ),
        "non_canonical_partition_values": Column(
            pl.List(pl.String), "`column=text` of each value that is readable but not spelled as the text shows"
        ),
        "utc_partition_value": Column(
            pl.String, "`column=text` of a timestamp among the values that is spelled as ISO 8601 in UTC"
        ),
        "zoneless_partition_value": Column(
            pl.String, "`column=text` of a timestamp, not of type timestamp_ntz, that is spelled without a zone"
        ),
        "void_columns_reason": Column(
            pl.String, "why the columns of type void in the schema of that version let no data file be added"
        ),
        "iceberg_compatibility": Column(
            pl.String, "V1 or V2, which is enabled at that version; null where neither is, V2 where both are"
        ),
        "provider_is_empty": Column(
            pl.Boolean, "clusteringProvider is there and names nothing; null where it is absent, and in checkpoints"
        ),
        "stats_fault": Column(pl.String, "why `stats` is not a JSON object of statistics"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "has_null_counts_key": Column(pl.Boolean, "statistics hold `nullCounts`, which the text does not define"),
        "null_count_fault": Column(pl.String, "an entry of nullCount that is negative or above numRecords"),
        "column_mapping_mode": Column(pl.String, "id or name; null where column mapping is off at that version"),
        "misnamed_statistics": Column(
            pl.String,
            "an entry of statistics that has the physical name of a column where logical ones apply, or inversely; "
            "where a dropped column may have had the name, only if no other entry is named right",
        ),
        "has_deletion_vector": Column(pl.Boolean, "deletionVector is not null"),
        "cardinality": Column(pl.Int64, "deletionVector.cardinality"),
        "deletion_vectors_supported": Column(pl.Boolean, "deletionVectors is supported at that version"),
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
    },
)

file_history = View(
    name="file_history",
    grain="file action whose path has more than one action in the judged history",
    key=("path_key",),
    columns={
        **_PLACE,
        "path_key": Column(pl.String, "what equals for all spellings of one path"),
        "deletion_vector_id": Column(pl.String, "unique id of the deletion vector; null without one"),
        "same_path_same_kind": Column(
            pl.Int64, "actions of this kind for this path in the same commit or checkpoint, this one included"
        ),
        "same_file_same_kind": Column(pl.Int64, "the same, for this path and deletion vector"),
        "same_file_other_kind": Column(
            pl.Int64, "for an add: removes of this path and vector in the same commit or checkpoint; and inversely"
        ),
        "unremoved_live_vector": Column(
            pl.String,
            "for an add in a commit: id (or `none`) of another vector under which the path is live before this "
            "commit and which this commit does not remove",
        ),
        "other_path_encoding": Column(pl.String, "another spelling of the path among its actions"),
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "extended_file_metadata": Column(pl.Boolean, "extendedFileMetadata"),
        "has_tags": Column(pl.Boolean, "tags has entries; null where that is not kept, as of Parquet checkpoints"),
        "had_tags": Column(
            pl.Boolean, "for a remove in a commit: has_tags of the last add of its logical file in an earlier version"
        ),
        "base_row_id_before": Column(
            pl.Int64,
            "for an add or remove in a commit to a table that assigns row ids: baseRowId of the last add of its path "
            "in an earlier version; null for an add of a commit that gives the table another id",
        ),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "default_row_commit_version_before": Column(pl.Int64, "the same of the last add before, as for baseRowId"),
    },
)

deletion_vectors = View(
    name="deletion_vectors",
    grain="deletion-vector descriptor, wherever it was written",
    key=(),
    columns={
        **_PLACE,
        "storage_type": Column(pl.String, "storageType"),
        "path_or_inline": Column(pl.String, "pathOrInlineDv, cut to 200 characters"),
        "offset": Column(pl.Int64, "offset"),
        "size_in_bytes": Column(pl.Int64, "sizeInBytes"),
        "cardinality": Column(pl.Int64, "cardinality"),
        "num_records": Column(pl.Int64, "stats.numRecords of the add it belongs to"),
        "path_fault": Column(pl.String, "why pathOrInlineDv does not name a file (storage types u and p)"),
        "decode_fault": Column(
            pl.String, "why the vector cannot be decoded: inline ones at every level, stored ones from files on"
        ),
        "decoded_size": Column(pl.Int64, "bytes that the inline text decodes to, padding included"),
        "padding_is_zero": Column(pl.Boolean, "the bytes of an inline vector behind sizeInBytes are zeros"),
        "decoded_cardinality": Column(pl.Int64, "rows in the decoded vector"),
        "decoded_last_row": Column(pl.Int64, "highest row index in the decoded vector"),
        "vector_file": Column(pl.String, "key of the file that holds the vector of a live file", "files", shown=True),
        "file_exists": Column(pl.Boolean, "that file is there; null where that could not be asked", "files"),
        "removed_since": Column(
            pl.Boolean,
            "a later commit than the judged one removes the logical file: then its vector may be gone",
            "files",
        ),
        "version_fault": Column(pl.String, "what is wrong with the version byte of that file", "files"),
        "version_width_fault": Column(pl.String, "the version 1 of that file stands in two bytes", "files"),
        "byte_order_fault": Column(
            pl.String, "the entry is sound but for its size or checksum, which are little endian", "files"
        ),
        "entry_fault": Column(pl.String, "why no entry of that size stands at the offset", "files"),
        "checksum_fault": Column(pl.String, "the entry's CRC-32 is not that of its bytes", "files"),
        "overlapping_entry": Column(
            pl.String, "another entry of the file whose bytes overlap: its offset and size", "files"
        ),
    },
)

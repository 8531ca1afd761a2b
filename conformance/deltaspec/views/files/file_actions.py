"""Views over file actions as written, over file actions compared with others of their path, and over vectors."""

import polars as pl

from deltaspec.views.base import LOCATION_COLUMNS, Column, View

_LOCATION = LOCATION_COLUMNS | {
    "source": Column(pl.String, "kind of file that holds the action: commit, compaction, checkpoint or sidecar"),
    "version": Column(pl.Int64, "version of the commit or checkpoint; for a compaction the last version"),
    "kind": Column(pl.String, "kind of action: add, remove or cdc"),
    "path": Column(pl.String, "path, as written"),
}

file_actions = View(
    name="file_actions",
    grain="add, remove or cdc action in any log file",
    key=(),
    columns={
        **_LOCATION,
        "path_fault": Column(
            pl.String, "why the path is not a valid URI; null if it is valid, or only has non-ASCII characters"
        ),
        "path_has_non_ascii": Column(
            pl.Boolean, "whether the path has non-ASCII characters that are not percent-encoded"
        ),
        "path_escapes_table": Column(pl.Boolean, "whether `..` segments of a relative path lead outside the table"),
        "path_is_absolute": Column(pl.Boolean, "whether the path has a scheme or begins with a slash"),
        "hidden_directory": Column(
            pl.String,
            "first directory of a relative path, decoded, whose name begins with an underscore; null if there is none. "
            "`_change_data` at the root and directories of partition values (`_day=1`) are left out",
        ),
        "colon_in_first_segment": Column(
            pl.Boolean, "whether the first segment of a relative path has an unencoded colon"
        ),
        "path_is_added": Column(
            pl.Boolean, "for a cdc action: whether the same commit adds this path; null for other kinds"
        ),
        "missing_field": Column(pl.String, "first required field that is null; null if all are set"),
        "size": Column(pl.Int64, "size of the data file in bytes"),
        "modification_time": Column(pl.Int64, "modificationTime, milliseconds since the epoch"),
        "data_change": Column(pl.Boolean, "dataChange"),
        "deletion_timestamp": Column(pl.Int64, "deletionTimestamp, milliseconds since the epoch"),
        "extended_file_metadata": Column(pl.Boolean, "extendedFileMetadata"),
        "has_partition_values": Column(pl.Boolean, "whether partitionValues is not null"),
        "table_is_partitioned": Column(pl.Boolean, "whether the table has partition columns at that version"),
        "missing_partition_columns": Column(
            pl.List(pl.String), "physical names of partition columns that are missing in partitionValues"
        ),
        "extra_partition_columns": Column(pl.List(pl.String), "keys of partitionValues that are not partition columns"),
        "logical_partition_keys": Column(
            pl.List(pl.String),
            "keys of partitionValues that are logical names although the physical names differ; excluded from "
            "extra_partition_columns and missing_partition_columns",
        ),
        "invalid_partition_values": Column(
            pl.List(pl.String), "`column=value` of each value that is invalid for the type of its column"
        ),
        "non_canonical_partition_values": Column(
            pl.List(pl.String),
            "`column=value` of each number or boolean that is readable but not in the format of the protocol",
        ),
        "ambiguous_partition_values": Column(
            pl.List(pl.String),
            "`column=value` of each date or timestamp with numbers that are not padded, or an offset of zero, not Z",
        ),
        "high_byte_partition_values": Column(
            pl.List(pl.String), "`column=value` of each binary value with characters above U+007F"
        ),
        "undefined_partition_values": Column(
            pl.List(pl.String), "`column=value` of each timestamp in a form that the protocol does not have"
        ),
        "utc_partition_value": Column(
            pl.String, "`column=value` of a timestamp value in the ISO 8601 format with UTC; null if there is none"
        ),
        "zoneless_partition_value": Column(
            pl.String,
            "`column=value` of a timestamp value (not timestamp_ntz) without a time zone; null if there is none",
        ),
        "void_columns_reason": Column(
            pl.String, "why void columns in the schema of that version forbid adding data files; null if they do not"
        ),
        "iceberg_compatibility": Column(
            pl.String,
            "enabled Iceberg compatibility at that version: V1, V2 or V3; V2 or V1 if several are; null if none is",
        ),
        "provider_is_empty": Column(pl.Boolean, "whether clusteringProvider is blank; null if it is absent"),
        "stats_fault": Column(pl.String, "why stats is not a valid JSON object of statistics; null if it is"),
        "stats_repeated_key": Column(pl.String, "JSON pointer of the first key in stats that occurs twice"),
        "stats_have_lone_surrogate": Column(
            pl.Boolean, "whether stats is valid except for escaped lone surrogates; null without statistics"
        ),
        "statistics_are_kept": Column(
            pl.Boolean,
            "whether the log file has all statistics of its files: a commit, or a checkpoint unless table properties "
            "leave them out; null for a compaction",
        ),
        "num_records": Column(pl.Int64, "numRecords of stats, or of stats_parsed in a checkpoint"),
        "has_null_counts_key": Column(
            pl.Boolean,
            "whether the statistics have the key nullCounts, which the protocol does not define; null without "
            "statistics",
        ),
        "unknown_statistics_key": Column(
            pl.String,
            "first key of the statistics that neither the protocol nor a proposal defines; null if there is none, for "
            "nullCounts, and without statistics",
        ),
        "partition_statistics_fault": Column(
            pl.String,
            "first statistic of a partition column that contradicts its value in partitionValues, with both; null if "
            "there is none",
        ),
        "null_count_fault": Column(
            pl.String,
            "first entry of nullCount that is negative or above numRecords; null if there is none, or bounds are wide",
        ),
        "column_mapping_mode": Column(pl.String, "column mapping mode at that version: id or name; null if off"),
        "misnamed_statistics": Column(
            pl.String,
            "statistics entry with the physical name of a column where logical names apply, or vice versa; if a "
            "dropped "
            "column may have had the name, only if no other entry has a valid name",
        ),
        "has_deletion_vector": Column(pl.Boolean, "whether deletionVector is not null"),
        "cardinality": Column(pl.Int64, "deletionVector.cardinality"),
        "deletion_vectors_supported": Column(
            pl.Boolean, "whether deletionVectors is supported at that version; null if unknown"
        ),
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
    },
)

file_history = View(
    name="file_history",
    grain="file action whose path has more than one action in the validated history",
    key=("path_key",),
    columns={
        **_LOCATION,
        "path_key": Column(pl.String, "normalized path, equal for all encodings of the same path"),
        "deletion_vector_id": Column(pl.String, "unique id of the deletion vector; null if there is none"),
        "same_path_same_kind": Column(
            pl.Int64,
            "number of actions of this kind for this path in the same commit or checkpoint; null except in the first",
        ),
        "same_file_same_kind": Column(
            pl.Int64,
            "number of actions of this kind for this path and deletion vector in the same commit or checkpoint; null "
            "except in the first",
        ),
        "same_file_other_kind": Column(
            pl.Int64,
            "number of removes (for an add) or adds (for a remove) of this path and vector in the same commit or "
            "checkpoint; null except in the first action of this kind",
        ),
        "unremoved_live_vector": Column(
            pl.String,
            "for an add in a commit, or a remove in one that does not add the path: id (or `none`) of another vector "
            "with which the path is live before the commit, and which the commit does not remove",
        ),
        "other_path_encoding": Column(
            pl.String, "encoding of the path in its previous action; null if it is the same, or there is none"
        ),
        "size": Column(pl.Int64, "size of the data file in bytes"),
        "size_before": Column(
            pl.Int64,
            "for an add in a commit: size in the previous add of the path, if that is in an earlier version",
        ),
        "added_size": Column(
            pl.Int64, "for a remove in a commit: size in the last add of the logical file in an earlier version"
        ),
        "changed_partition_value": Column(
            pl.String,
            "for a remove in a commit: the first partition column whose value is not the value in the last add of the "
            "logical file in an earlier version, with both values; null without one",
        ),
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "extended_file_metadata": Column(pl.Boolean, "extendedFileMetadata"),
        "has_tags": Column(pl.Boolean, "whether tags has entries"),
        "had_tags": Column(
            pl.Boolean, "for a remove in a commit: has_tags of the last add of the logical file in an earlier version"
        ),
        "base_row_id_before": Column(
            pl.Int64,
            "for an add or remove in a commit to a table that assigns row ids: baseRowId of the last add of the "
            "path in "
            "an earlier version; null for an add in a commit that changes the table id",
        ),
        "default_row_commit_version": Column(pl.Int64, "defaultRowCommitVersion"),
        "default_row_commit_version_before": Column(
            pl.Int64, "defaultRowCommitVersion of the last add of the path, as for base_row_id_before"
        ),
    },
)

deletion_vectors = View(
    name="deletion_vectors",
    grain="deletion-vector descriptor in any log file",
    key=(),
    columns={
        **_LOCATION,
        "storage_type": Column(pl.String, "storageType"),
        "path_or_inline": Column(pl.String, "pathOrInlineDv, truncated to 200 characters"),
        "offset": Column(pl.Int64, "offset in the vector file, in bytes"),
        "size_in_bytes": Column(pl.Int64, "sizeInBytes of the vector"),
        "cardinality": Column(pl.Int64, "cardinality"),
        "num_records": Column(pl.Int64, "stats.numRecords of the add that has the descriptor"),
        "path_fault": Column(
            pl.String, "why pathOrInlineDv is not a valid file reference (storage types u and p); null if it is"
        ),
        "decode_fault": Column(
            pl.String, "why the vector cannot be decoded; inline vectors at every level, stored ones from level files"
        ),
        "decoded_size": Column(pl.Int64, "size in bytes of a decoded inline vector, including padding"),
        "padding_is_zero": Column(pl.Boolean, "whether the bytes of an inline vector after sizeInBytes are all zero"),
        "decoded_cardinality": Column(pl.Int64, "number of rows in the decoded vector"),
        "decoded_last_row": Column(pl.Int64, "highest row index in the decoded vector"),
        "vector_file": Column(pl.String, "path of the file that stores the vector of a live file", "files", shown=True),
        "file_exists": Column(pl.Boolean, "whether vector_file exists; null if unknown", "files"),
        "removed_since": Column(
            pl.Boolean,
            "whether a commit after the validated version removes the logical file, so that its vector may be deleted",
            "files",
        ),
        "version_fault": Column(
            pl.String, "why the version byte of vector_file is invalid; null if it is valid", "files"
        ),
        "version_width_fault": Column(
            pl.String, "message if the version of vector_file is stored in two bytes; null otherwise", "files"
        ),
        "byte_order_fault": Column(
            pl.String,
            "message if size or checksum of the entry is little-endian and the entry is otherwise valid; null "
            "otherwise",
            "files",
        ),
        "entry_fault": Column(pl.String, "why the offset has no entry of that size; null if it has", "files"),
        "checksum_fault": Column(
            pl.String, "how the stored CRC-32 of the entry differs from the computed one; null if it does not", "files"
        ),
        "overlapping_entry": Column(
            pl.String,
            "offset and size of another entry in the file that overlaps this one; null if there is none",
            "files",
        ),
    },
)

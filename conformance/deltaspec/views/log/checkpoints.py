"""Views over checkpoints, sidecars, log compactions, version checksums and `_last_checkpoint`."""

import polars as pl

from deltaspec.views.base import PROTOCOL_KINDS, STATE_KINDS, Column, View

checkpoints = View(
    name="checkpoints",
    grain="checkpoint of the validated history, with all its parts",
    key=(),
    columns={
        "version": Column(pl.Int64, "version in the file name"),
        "file": Column(pl.String, "checkpoint file, relative to the table root; the first part of several"),
        "naming": Column(pl.String, "naming scheme: classic, multipart or uuid"),
        "parts": Column(pl.Int64, "number of part files"),
        "unreadable": Column(pl.String, "why a part cannot be read as Parquet or JSON; null if all parts can"),
        "protocols": Column(pl.Int64, "number of protocol actions"),
        "metadatas": Column(pl.Int64, "number of metaData actions"),
        "checkpoint_metadatas": Column(pl.Int64, "number of checkpointMetadata actions"),
        "checkpoint_metadata_version": Column(pl.Int64, "version in the checkpointMetadata action"),
        "false_tags": Column(
            pl.List(pl.String),
            "tags of checkpointMetadata that contradict the sidecars, with what they state and what was found; null if "
            "a sidecar could not be read",
        ),
        "sidecars": Column(pl.Int64, "number of sidecar actions"),
        "commit_infos": Column(pl.Int64, "number of commitInfo actions"),
        "cdcs": Column(pl.Int64, "number of cdc actions"),
        "adds": Column(pl.Int64, "number of add actions outside sidecars"),
        "removes": Column(pl.Int64, "number of remove actions outside sidecars"),
        "content": Column(pl.String, "v2 if the checkpoint has checkpointMetadata or sidecar actions; v1 otherwise"),
        "misplaced_files": Column(
            pl.Int64,
            "number of file actions in another part than Spark's hash assigns; null for a single file",
            decided_by=PROTOCOL_KINDS,
        ),
        "split_paths": Column(pl.Int64, "number of paths with actions in several parts; null for a single file"),
        "row_id_high_water_marks": Column(pl.Int64, "number of rowIdHighWaterMark actions (r1, r2)"),
        "rows_without_action": Column(pl.Int64, "number of rows in which every action column is null"),
        "rows_with_several_actions": Column(pl.Int64, "number of rows in which more than one action column is set"),
        "removed_domains": Column(pl.List(pl.String), "domains with a tombstone in the checkpoint"),
        "repeated_domains": Column(pl.List(pl.String), "domains with more than one action"),
        "repeated_apps": Column(pl.List(pl.String), "appIds with more than one txn action"),
        "v2_checkpoint_supported": Column(
            pl.Boolean, "whether the checkpoint's protocol supports v2Checkpoint; null if unknown"
        ),
    },
)

sidecars = View(
    name="sidecars",
    grain="sidecar action of a checkpoint of the validated history",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the checkpoint"),
        "file": Column(pl.String, "checkpoint file that holds the action"),
        "line": Column(pl.Int64, "line number or Parquet row number, starting at 1"),
        "path": Column(pl.String, "path, as written"),
        "path_is_name": Column(pl.Boolean, "whether the path is a file name without directories"),
        "path_in_sidecars": Column(pl.Boolean, "whether the path resolves into `_delta_log/_sidecars`"),
        "exists": Column(pl.Boolean, "whether the file is listed; null if it was not looked up"),
        "size_in_bytes": Column(pl.Int64, "sizeInBytes"),
        "actual_size": Column(pl.Int64, "file size in bytes"),
        "unreadable": Column(pl.String, "why the file cannot be read as Parquet; null if it can"),
        "unexpected_actions": Column(pl.List(pl.String), "kinds of actions in the file other than add and remove"),
        "occurrences": Column(pl.Int64, "number of sidecar actions of this checkpoint that name this file"),
    },
)

replay_differences = View(
    name="replay_differences",
    decided_by=STATE_KINDS | {"txn", "domainMetadata", "rowIdHighWaterMark"},
    grain="difference between a derived file (checkpoint, log compaction or version checksum) and replay",
    key=("path",),
    columns={
        "derived_file_kind": Column(pl.String, "kind of derived file: checkpoint, compaction or checksum"),
        "version": Column(pl.Int64, "version that was replayed"),
        "file": Column(pl.String, "derived file, relative to the table root"),
        "kind": Column(
            pl.String,
            "kind of action: add, remove, txn, domainMetadata, protocol, metaData, rowIdHighWaterMark (r1, r2), or one "
            "that the derived file may not contain",
        ),
        "path": Column(
            pl.String, "path of a file action, appId of a txn, domain of a domainMetadata; null for other kinds"
        ),
        "difference": Column(
            pl.String,
            "missing (only replay has it), extra (only the derived file has it), differs, or repeated (a compaction or "
            "version checksum has several actions that reconcile with each other)",
        ),
        "field": Column(pl.String, "field that differs; null for other differences", shown=True),
        "recorded": Column(pl.String, "value in the derived file", shown=True),
        "replayed": Column(pl.String, "value after replay", shown=True),
        "is_extended": Column(
            pl.Boolean,
            "for a field of a remove: whether the derived file states its size and partition values; size 0 without "
            "extendedFileMetadata is none",
        ),
        "compared_with": Column(
            pl.String,
            "checkpoint of the same version that replay starts from, relative to the table root; null if the values "
            "after replay come from commits",
            shown=True,
        ),
        "may_have_expired": Column(
            pl.Boolean, "for tombstones and transactions: whether retention may have removed the action legally"
        ),
        "is_unexpired": Column(
            pl.Boolean,
            "for missing tombstones: whether they are unexpired at the given clock; null if unknown",
            needs_clock=True,
        ),
    },
)

checksums = View(
    name="checksums",
    decided_by=STATE_KINDS,
    grain="version checksum of the validated history",
    key=(),
    columns={
        "version": Column(pl.Int64, "version in the file name"),
        "file": Column(pl.String, "file name, relative to the table root"),
        "repeated_key": Column(pl.String, "JSON pointer of the first key that occurs twice in its object"),
        "schema_error": Column(pl.String, "how the version checksum violates its schema; null if it does not"),
        "pointer": Column(pl.String, "JSON pointer to schema_error", shown=True),
        "is_older_form": Column(
            pl.Boolean,
            "whether it has the counts, but neither metadata nor protocol; null if it violates its schema otherwise",
        ),
        "table_size_bytes": Column(pl.Int64, "tableSizeBytes"),
        "replayed_table_size_bytes": Column(pl.Int64, "total size of the live files in bytes"),
        "num_files": Column(pl.Int64, "numFiles"),
        "replayed_num_files": Column(pl.Int64, "number of live files"),
        "num_metadata": Column(pl.Int64, "numMetadata"),
        "num_protocol": Column(pl.Int64, "numProtocol"),
        "num_deletion_vectors": Column(pl.Int64, "numDeletionVectorsOpt"),
        "replayed_num_deletion_vectors": Column(pl.Int64, "number of live files with a deletion vector"),
        "num_deleted_records": Column(pl.Int64, "numDeletedRecordsOpt"),
        "replayed_num_deleted_records": Column(pl.Int64, "total cardinality of the deletion vectors of live files"),
        "in_commit_timestamp": Column(pl.Int64, "inCommitTimestampOpt, milliseconds since the epoch"),
        "replayed_in_commit_timestamp": Column(
            pl.Int64, "commitInfo.inCommitTimestamp of the version, milliseconds since the epoch"
        ),
        "in_commit_timestamps_enabled": Column(
            pl.Boolean, "whether in-commit timestamps are enabled at the version; null if unknown"
        ),
        "txn_id": Column(pl.String, "txnId"),
        "commit_txn_id": Column(pl.String, "commitInfo.txnId of the version"),
        "catalog_managed": Column(pl.Boolean, "whether catalogManaged is supported at the version; null if unknown"),
        "all_files_fault": Column(
            pl.String, "first difference between allFiles and the live files; null if there is none"
        ),
        "histogram_schema_error": Column(pl.String, "how fileSizeHistogram violates its schema; null if it does not"),
        "histogram_fault": Column(
            pl.String, "first bin of fileSizeHistogram that differs from the live files; null if there is none"
        ),
        "deleted_histogram_schema_error": Column(
            pl.String, "how deletedRecordCountsHistogramOpt violates its schema; null if it does not"
        ),
        "deleted_histogram_fault": Column(
            pl.String, "first bin of deletedRecordCountsHistogramOpt that differs from the live files; null if none"
        ),
    },
)

last_checkpoint = View(
    name="last_checkpoint",
    grain="the `_last_checkpoint` file",
    key=(),
    columns={
        "file": Column(pl.String, "file name, relative to the table root"),
        "version": Column(pl.Int64, "checkpoint version in the file"),
        "is_empty": Column(
            pl.Boolean, "true if the file has no bytes but white space; all other columns are then null. Null otherwise"
        ),
        "schema_error": Column(pl.String, "how the file violates its schema; null if it does not"),
        "repeated_key": Column(pl.String, "JSON pointer to a key that occurs twice in one object"),
        "checkpoint_listed": Column(pl.Boolean, "whether a complete checkpoint of that version is listed"),
        "newest_checkpoint": Column(pl.Int64, "version of the newest complete checkpoint in the listing"),
        "older_checkpoint_listed": Column(pl.Boolean, "whether a complete checkpoint of an earlier version is listed"),
        "has_checksum": Column(pl.Boolean, "whether the file has a checksum"),
        "checksum": Column(
            pl.String,
            "result of the checksum comparison: matches, matches pair order or differs; null without a checksum, or "
            "if it cannot be computed",
        ),
        "parts": Column(pl.Int64, "number of parts in the file"),
        "listed_part_counts": Column(
            pl.List(pl.Int64),
            "number of parts of each complete checkpoint of that version; 0 if not multipart",
        ),
        "size": Column(pl.Int64, "size in the file, in actions"),
        "actual_sizes": Column(
            pl.List(pl.Int64), "number of actions in each checkpoint of that version, without and with sidecars"
        ),
        "has_sidecars": Column(pl.Boolean, "whether a checkpoint of that version has sidecars"),
        "size_in_bytes": Column(pl.Int64, "sizeInBytes"),
        "actual_sizes_in_bytes": Column(
            pl.List(pl.Int64), "size in bytes of each checkpoint of that version, without and with sidecars"
        ),
        "num_of_add_files": Column(pl.Int64, "numOfAddFiles"),
        "schema_difference": Column(
            pl.String,
            "difference between checkpointSchema and the columns of a Parquet checkpoint of that version; null if one "
            "has the schema, or none is Parquet",
        ),
        "actual_add_file_counts": Column(pl.List(pl.Int64), "number of add actions in each checkpoint of that version"),
    },
)

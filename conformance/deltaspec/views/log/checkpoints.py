"""Views over checkpoints, sidecars, compactions, version checksums and the checkpoint hint."""

import polars as pl

from deltaspec.views.base import Column, View

checkpoints = View(
    name="checkpoints",
    grain="checkpoint of the judged history, all its parts together",
    key=(),
    columns={
        "version": Column(pl.Int64, "version in the name"),
        "file": Column(pl.String, "name of the checkpoint, of its first part where it has several"),
        "naming": Column(pl.String, "classic, multipart or uuid"),
        "parts": Column(pl.Int64, "number of parts"),
        "unreadable": Column(pl.String, "why a part cannot be read as Parquet or JSON; null where all can"),
        "protocols": Column(pl.Int64, "protocol actions"),
        "metadatas": Column(pl.Int64, "metaData actions"),
        "checkpoint_metadatas": Column(pl.Int64, "checkpointMetadata actions"),
        "checkpoint_metadata_version": Column(pl.Int64, "version that checkpointMetadata claims"),
        "sidecars": Column(pl.Int64, "sidecar actions"),
        "commit_infos": Column(pl.Int64, "commitInfo actions"),
        "cdcs": Column(pl.Int64, "cdc actions"),
        "adds": Column(pl.Int64, "add actions outside sidecars"),
        "removes": Column(pl.Int64, "remove actions outside sidecars"),
        "content": Column(pl.String, "v2 where it holds checkpointMetadata or sidecar actions, v1 otherwise"),
        "misplaced_files": Column(
            pl.Int64,
            "file actions that stand in another part than Spark's hash says; null where there is one file only",
        ),
        "split_paths": Column(
            pl.Int64, "paths whose actions stand in several parts; null where there is one file only"
        ),
        "row_id_high_water_marks": Column(pl.Int64, "rowIdHighWaterMark actions, which r1 and r2 have"),
        "rows_without_action": Column(pl.Int64, "rows in which every action column is null"),
        "rows_with_several_actions": Column(pl.Int64, "rows in which more than one action column is set"),
        "removed_domains": Column(pl.List(pl.String), "domains whose tombstone it holds"),
        "repeated_domains": Column(pl.List(pl.String), "domains with several actions"),
        "repeated_apps": Column(pl.List(pl.String), "appIds with several txn actions"),
        "v2_checkpoint_supported": Column(pl.Boolean, "v2Checkpoint is supported by the protocol it holds"),
    },
)

sidecars = View(
    name="sidecars",
    grain="sidecar action of a checkpoint of the judged history",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the checkpoint"),
        "file": Column(pl.String, "checkpoint file it stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "path": Column(pl.String, "path as written"),
        "path_is_name": Column(pl.Boolean, "the path is a bare file name"),
        "path_in_sidecars": Column(pl.Boolean, "the path resolves into `_delta_log/_sidecars`"),
        "exists": Column(pl.Boolean, "the file is listed; null where it was not looked for"),
        "size_in_bytes": Column(pl.Int64, "sizeInBytes as recorded"),
        "actual_size": Column(pl.Int64, "length of the file"),
        "unreadable": Column(pl.String, "why the file cannot be read as Parquet; null where it can"),
        "unexpected_actions": Column(pl.List(pl.String), "action kinds in it other than add and remove"),
        "times": Column(pl.Int64, "sidecar actions of this checkpoint with this path"),
    },
)

replay_differences = View(
    name="replay_differences",
    grain="difference between a checkpoint, a log compaction or a version checksum and the replay it claims to equal",
    key=("path",),
    columns={
        "claim": Column(pl.String, "checkpoint, compaction or checksum"),
        "version": Column(pl.Int64, "version replayed to"),
        "file": Column(pl.String, "checkpoint, compaction or checksum file"),
        "kind": Column(
            pl.String,
            "add, remove, txn, domainMetadata, protocol, metaData, rowIdHighWaterMark (r1, r2), or one that the claim "
            "may not hold at all",
        ),
        "path": Column(pl.String, "path of a file action; appId, domain or nothing for others"),
        "difference": Column(pl.String, "missing (only replay has it), extra (only the claim has it) or differs"),
        "field": Column(pl.String, "the field that differs", shown=True),
        "recorded": Column(pl.String, "what the claim says", shown=True),
        "replayed": Column(pl.String, "what replay says", shown=True),
        "may_have_expired": Column(
            pl.Boolean, "for tombstones and transactions: retention may have taken the action away legally"
        ),
        "is_unexpired": Column(
            pl.Boolean, "for missing tombstones: by the clock given they have not expired", needs_clock=True
        ),
    },
)

checksums = View(
    name="checksums",
    grain="version checksum of the judged history",
    key=(),
    columns={
        "version": Column(pl.Int64, "version in the name"),
        "file": Column(pl.String, "name, relative to the table"),
        "schema_error": Column(pl.String, "what breaks the form of a version checksum; null where nothing does"),
        "pointer": Column(pl.String, "where `schema_error` is, as a JSON pointer", shown=True),
        "table_size_bytes": Column(pl.Int64, "tableSizeBytes"),
        "replayed_table_size_bytes": Column(pl.Int64, "sum of the sizes of the live files"),
        "num_files": Column(pl.Int64, "numFiles"),
        "replayed_num_files": Column(pl.Int64, "number of live files"),
        "num_metadata": Column(pl.Int64, "numMetadata"),
        "num_protocol": Column(pl.Int64, "numProtocol"),
        "num_deletion_vectors": Column(pl.Int64, "numDeletionVectorsOpt"),
        "replayed_num_deletion_vectors": Column(pl.Int64, "live files with a deletion vector"),
        "num_deleted_records": Column(pl.Int64, "numDeletedRecordsOpt"),
        "replayed_num_deleted_records": Column(pl.Int64, "sum of the cardinalities of the live deletion vectors"),
        "in_commit_timestamp": Column(pl.Int64, "inCommitTimestampOpt"),
        "replayed_in_commit_timestamp": Column(pl.Int64, "commitInfo.inCommitTimestamp of the version"),
        "in_commit_timestamps_enabled": Column(pl.Boolean, "in-commit timestamps are enabled at the version"),
        "txn_id": Column(pl.String, "txnId"),
        "commit_txn_id": Column(pl.String, "commitInfo.txnId of the version"),
        "catalog_managed": Column(pl.Boolean, "catalogManaged is supported at the version"),
        "all_files_fault": Column(pl.String, "first difference of allFiles from the live files"),
        "histogram_schema_error": Column(pl.String, "what breaks the form of fileSizeHistogram"),
        "histogram_fault": Column(pl.String, "first bin of fileSizeHistogram that differs from the live files"),
        "deleted_histogram_schema_error": Column(pl.String, "what breaks the form of deletedRecordCountsHistogramOpt"),
        "deleted_histogram_fault": Column(
            pl.String, "first bin of deletedRecordCountsHistogramOpt that differs from the live files"
        ),
    },
)

last_checkpoint = View(
    name="last_checkpoint",
    grain="the `_last_checkpoint` file",
    key=(),
    columns={
        "file": Column(pl.String, "name, relative to the table"),
        "version": Column(pl.Int64, "version it claims"),
        "schema_error": Column(pl.String, "what breaks its form; null where nothing does"),
        "repeated_key": Column(pl.String, "a key that stands twice in one object, as a JSON pointer"),
        "checkpoint_listed": Column(pl.Boolean, "a complete checkpoint of that version is listed"),
        "newest_checkpoint": Column(pl.Int64, "version of the newest complete checkpoint listed"),
        "older_checkpoint_listed": Column(pl.Boolean, "a complete checkpoint of an earlier version is listed"),
        "has_checksum": Column(pl.Boolean, "it has a checksum"),
        "checksum": Column(
            pl.String, "matches, matches pair order, differs, or null where there is none or it cannot be computed"
        ),
        "parts": Column(pl.Int64, "parts"),
        "listed_part_counts": Column(
            pl.List(pl.Int64),
            "part counts of the complete checkpoints of that version; 0 for one that is not multipart",
        ),
        "size": Column(pl.Int64, "size, in actions"),
        "actual_sizes": Column(
            pl.List(pl.Int64), "actions in each checkpoint of that version, without and with those in sidecars"
        ),
        "size_in_bytes": Column(pl.Int64, "sizeInBytes"),
        "actual_sizes_in_bytes": Column(
            pl.List(pl.Int64), "bytes of each checkpoint of that version, without and with its sidecars"
        ),
        "num_of_add_files": Column(pl.Int64, "numOfAddFiles"),
        "actual_add_file_counts": Column(pl.List(pl.Int64), "add actions in each checkpoint of that version"),
    },
)

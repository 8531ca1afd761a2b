"""Views over the log directory: `listing`, `commits` and `lines`."""

import polars as pl

from deltaspec.views.base import PROTOCOL_KINDS, STATE_KINDS, Column, View

listing = View(
    name="listing",
    grain="listed file under `_delta_log`, and one for a log without commits and complete checkpoints",
    key=(),
    columns={
        "file": Column(pl.String, "file name, relative to the table root"),
        "kind": Column(
            pl.String,
            "kind of file: commit, classic checkpoint, multipart checkpoint, uuid checkpoint, compaction, checksum, "
            "last checkpoint, sidecar, staged commit or other; emptied log for the directory of an emptied log",
        ),
        "version": Column(pl.Int64, "version in the file name; for a compaction the first version"),
        "end_version": Column(pl.Int64, "last version of a compaction; null for other files"),
        "part": Column(pl.Int64, "part number of a multipart checkpoint, starting at 1"),
        "parts": Column(pl.Int64, "number of parts in the name of a multipart checkpoint"),
        "size_bytes": Column(pl.Int64, "file size in bytes"),
        "checksum_missing": Column(
            pl.Boolean,
            "for a commit: whether it has no version checksum although an earlier and a later commit have one",
        ),
        "resembles": Column(
            pl.String, "for a file of kind other: the kind of log file that its name resembles, and why it is not one"
        ),
        "missing_commits_before": Column(
            pl.Int64,
            "for a commit: number of missing commits directly before it that a snapshot of the table needs; 1 for an "
            "emptied log",
        ),
        "missing_commits": Column(
            pl.String,
            "those commits and their listed neighbors, as `commit 13 is missing (12 and 14 exist)`",
            shown=True,
        ),
        "unpublished_before": Column(
            pl.String,
            "for a commit of a catalog-managed table: the commit before it that is ratified and not published, as "
            "`commit 2 is ratified, but not published (3 is)`; without the catalog, a staged one that the table needs; "
            "null if there is none",
        ),
        "older_missing_commits": Column(
            pl.Int64,
            "for a commit: number of missing commits directly before it that the validated version does not need, "
            "although older commits remain",
        ),
        "latest_commit": Column(pl.Int64, "highest commit version in the log; null if the log has no commit"),
        "catalog_managed": Column(
            pl.Boolean, "whether the table supports catalogManaged; null if unknown", decided_by=PROTOCOL_KINDS
        ),
        "cleaned_up_to": Column(
            pl.Int64,
            "oldest version that log cleanup retained: the first commit, or a checkpoint directly before it; null if "
            "the log starts at version 0, or is missing a commit that the validated version needs",
        ),
        "cleanup_revision": Column(
            pl.String,
            "oldest protocol revision that defines every feature of the first checkpoint that log cleanup retained; "
            "null if unknown",
            decided_by=PROTOCOL_KINDS,
        ),
        "unreachable_commits": Column(
            pl.Int64,
            "for the first commit of a cleaned-up log: number of commits that no checkpoint makes readable, although "
            "the validated version is readable",
        ),
        "commit_cleaned_up": Column(
            pl.Boolean,
            "for a checkpoint: whether the log starts with it, and its commit and all earlier ones are deleted",
        ),
        "in_commit_timestamps_enabled": Column(
            pl.Boolean,
            "for a checkpoint: whether in-commit timestamps are enabled at its version; null if unknown",
            decided_by=STATE_KINDS,
        ),
        "v2_checkpoint_supported": Column(
            pl.Boolean,
            "for a checkpoint: whether v2Checkpoint is supported at its version; null if unknown",
            decided_by=PROTOCOL_KINDS,
        ),
    },
)

commits = View(
    name="commits",
    grain="commit of the validated history",
    key=("version",),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "file name, relative to the table root"),
        "actions": Column(pl.Int64, "number of lines that hold an action"),
        "protocols": Column(pl.Int64, "number of protocol actions"),
        "metadatas": Column(pl.Int64, "number of metaData actions"),
        "commit_infos": Column(pl.Int64, "number of commitInfo actions"),
        "adds": Column(pl.Int64, "number of add actions"),
        "removes": Column(pl.Int64, "number of remove actions"),
        "cdcs": Column(pl.Int64, "number of cdc actions"),
        "checkpoint_only_actions": Column(pl.Int64, "number of checkpointMetadata and sidecar actions"),
        "first_action": Column(pl.String, "JSON name of the first action, or `unknown action`"),
        "in_commit_timestamp": Column(pl.Int64, "commitInfo.inCommitTimestamp, milliseconds since the epoch"),
        "in_commit_timestamps_differ": Column(
            pl.Boolean, "whether commitInfo actions of the commit differ in inCommitTimestamp, or only some have it"
        ),
        "txn_ids_differ": Column(
            pl.Boolean, "whether commitInfo actions of the commit differ in txnId, or only some have it"
        ),
        "previous_in_commit_timestamp": Column(
            pl.Int64,
            "in_commit_timestamp of the preceding version; null if in-commit timestamps were not enabled there",
            decided_by=STATE_KINDS,
        ),
        "in_commit_timestamps_enabled": Column(
            pl.Boolean,
            "whether in-commit timestamps are supported and enabled after this commit; null if unknown",
            decided_by=STATE_KINDS,
        ),
        "in_commit_timestamps_enabled_before": Column(
            pl.Boolean,
            "whether in-commit timestamps were supported and enabled before this commit; null if unknown",
            decided_by=STATE_KINDS,
        ),
        "enablement_version": Column(
            pl.Int64,
            "for a commit with protocol or metaData: version that enabled in-commit timestamps on a table with older "
            "commits; null if the validated history does not show it, or they are not enabled",
            decided_by=STATE_KINDS,
        ),
        "enablement_timestamp": Column(
            pl.Int64, "inCommitTimestamp of enablement_version, milliseconds since the epoch", decided_by=STATE_KINDS
        ),
        "recorded_enablement_version": Column(
            pl.Int64, "value of delta.inCommitTimestampEnablementVersion after this commit", decided_by=STATE_KINDS
        ),
        "recorded_enablement_timestamp": Column(
            pl.Int64,
            "value of delta.inCommitTimestampEnablementTimestamp after this commit, milliseconds since the epoch",
            decided_by=STATE_KINDS,
        ),
        "file_time_before": Column(
            pl.Int64,
            "for the commit that enables in-commit timestamps on a table with older commits: modification time of the "
            "preceding commit file, milliseconds since the epoch; null if no log file is older than the timestamp, as "
            "in a copied table",
            decided_by=STATE_KINDS,
        ),
        "catalog_managed": Column(
            pl.Boolean, "whether catalogManaged is supported after this commit", decided_by=PROTOCOL_KINDS
        ),
        "catalog_managed_before": Column(
            pl.Boolean,
            "whether catalogManaged was supported before this commit; null if unknown",
            decided_by=PROTOCOL_KINDS,
        ),
        "txn_id": Column(pl.String, "commitInfo.txnId", shown=True),
        "version_with_same_txn_id": Column(
            pl.Int64, "first version of the validated history with the same commitInfo.txnId; null if it is this one"
        ),
        "append_only": Column(pl.Boolean, "whether the table is append-only after this commit", decided_by=STATE_KINDS),
        "append_only_before": Column(
            pl.Boolean,
            "whether the table was append-only before this commit; null if unknown",
            decided_by=STATE_KINDS,
        ),
        "removes_with_data_change": Column(pl.Int64, "number of remove actions whose dataChange is true"),
        "repeated_domains": Column(pl.List(pl.String), "domains with more than one action in this commit"),
        "repeated_apps": Column(pl.List(pl.String), "appIds with more than one txn action in this commit"),
        "domains": Column(pl.Int64, "number of domainMetadata actions"),
        "domain_metadata_supported": Column(
            pl.Boolean, "whether domainMetadata is supported after this commit", decided_by=PROTOCOL_KINDS
        ),
        "new_columns_with_default": Column(
            pl.List(pl.String),
            "for a commit that changes the schema: columns with a default that no earlier version of the validated "
            "history had",
            decided_by=STATE_KINDS,
        ),
        "changed_identity_columns": Column(
            pl.List(pl.String),
            "identity columns whose start, step or allowExplicitInsert changed, as `column: key`",
            decided_by=STATE_KINDS,
        ),
        "identity_marks_moved_back": Column(
            pl.List(pl.String),
            "identity columns whose high-water mark was removed or moved back, as `id: 9, then 5`; null if the commit "
            "has no operation, because a restore may move the mark back",
            decided_by=STATE_KINDS,
        ),
    },
)

lines = View(
    name="lines",
    grain="line of a commit, log compaction or JSON checkpoint, as written",
    key=("file",),
    columns={
        "file": Column(pl.String, "file name, relative to the table root"),
        "version": Column(pl.Int64, "version of the file; for a compaction the last version"),
        "line": Column(pl.Int64, "line number, starting at 1"),
        "kind": Column(pl.String, "JSON name of the action; null unless the line has exactly one known action"),
        "json_error": Column(pl.String, "why the line is not a JSON object; null if it is"),
        "actions": Column(pl.Int64, "number of keys of the object whose value is not null, known or unknown"),
        "known_actions": Column(pl.Int64, "number of these keys that name an action of the revision"),
        "unrecognized_key": Column(
            pl.String, "first key that names no action of the revision, if the object has several keys; null otherwise"
        ),
        "schema_error": Column(pl.String, "how the action violates its schema; null if it does not"),
        "pointer": Column(pl.String, "JSON pointer to schema_error within the action", shown=True),
        "repeated_key": Column(pl.String, "JSON pointer to a key that occurs twice in one object"),
        "unexpected_whitespace": Column(
            pl.String, "unexpected whitespace in the line: blank line, byte order mark or carriage return"
        ),
        "has_lone_surrogate": Column(
            pl.Boolean, "whether a string has a lone surrogate, escaped or as octets, which UTF-8 cannot encode"
        ),
    },
)

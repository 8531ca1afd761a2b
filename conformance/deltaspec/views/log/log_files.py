"""Views over the log directory itself: `listing`, `commits` and `lines`."""

import polars as pl

from deltaspec.views.base import Column, View

listing = View(
    name="listing",
    grain="file under `_delta_log`",
    key=(),
    columns={
        "file": Column(pl.String, "name, relative to the table"),
        "kind": Column(
            pl.String,
            "commit, classic checkpoint, multipart checkpoint, uuid checkpoint, compaction, checksum, "
            "last checkpoint, sidecar, staged commit or other",
        ),
        "version": Column(pl.Int64, "version in the name; of a compaction its first"),
        "end_version": Column(pl.Int64, "last version of a compaction"),
        "part": Column(pl.Int64, "part number of a multipart checkpoint, from 1"),
        "parts": Column(pl.Int64, "number of parts that a multipart checkpoint claims"),
        "size_bytes": Column(pl.Int64, "length of the file"),
        "checksum_missing": Column(
            pl.Boolean, "for a commit: it has no version checksum, though one before and one after it have"
        ),
        "near_miss": Column(pl.String, "what the name of a file of kind other seems to want to be"),
        "missing_commits_before": Column(
            pl.Int64, "commits that are absent just before this one although a snapshot of the table needs them"
        ),
        "latest_commit": Column(pl.Int64, "highest version among the commits; null where there is no commit"),
        "catalog_managed": Column(pl.Boolean, "catalogManaged is supported; null where that is not known"),
        "cleaned_up_to": Column(
            pl.Int64,
            "version that a cleanup spared, and nothing before it: of the first commit, or of a checkpoint just "
            "before; null where the log begins with version 0, or lacks a commit that the judged version needs",
        ),
        "cleanup_revision": Column(
            pl.String,
            "oldest revision of the text that defines every feature of the first checkpoint that the cleanup spared: "
            "whoever cleaned up knew it; null where that is not known",
        ),
        "unreachable_commits": Column(
            pl.Int64,
            "for the first commit of a log that was cleaned up: commits from it on to which no checkpoint leads, "
            "although one leads to the judged version",
        ),
        "commit_cleaned_up": Column(
            pl.Boolean, "for a checkpoint: the log begins with it, and neither its commit nor one before is there"
        ),
        "in_commit_timestamps_enabled": Column(
            pl.Boolean,
            "for a checkpoint: in-commit timestamps are enabled at its version; null where that is not known",
        ),
        "v2_checkpoint_supported": Column(
            pl.Boolean, "for a checkpoint: v2Checkpoint is supported at its version; null where that is not known"
        ),
    },
)

commits = View(
    name="commits",
    grain="commit of the judged history",
    key=("version",),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "name, relative to the table"),
        "actions": Column(pl.Int64, "lines that hold an action"),
        "protocols": Column(pl.Int64, "protocol actions"),
        "metadatas": Column(pl.Int64, "metaData actions"),
        "commit_infos": Column(pl.Int64, "commitInfo actions"),
        "adds": Column(pl.Int64, "add actions"),
        "removes": Column(pl.Int64, "remove actions"),
        "cdcs": Column(pl.Int64, "cdc actions"),
        "checkpoint_only_actions": Column(pl.Int64, "checkpointMetadata and sidecar actions"),
        "first_action": Column(pl.String, "wire name of the first action"),
        "in_commit_timestamp": Column(pl.Int64, "commitInfo.inCommitTimestamp, milliseconds since the epoch"),
        "previous_in_commit_timestamp": Column(
            pl.Int64, "the same of the preceding version, where in-commit timestamps were enabled there too"
        ),
        "in_commit_timestamps_enabled": Column(pl.Boolean, "feature supported and property true after this commit"),
        "in_commit_timestamps_enabled_before": Column(pl.Boolean, "the same before this commit"),
        "enablement_version": Column(
            pl.Int64,
            "in a commit with protocol or metaData: the version that enabled in-commit timestamps on a table with "
            "older commits; null where the judged history does not show it, or they are not enabled",
        ),
        "enablement_timestamp": Column(pl.Int64, "inCommitTimestamp of that version"),
        "recorded_enablement_version": Column(pl.Int64, "delta.inCommitTimestampEnablementVersion after this commit"),
        "recorded_enablement_timestamp": Column(
            pl.Int64, "delta.inCommitTimestampEnablementTimestamp after this commit, milliseconds since the epoch"
        ),
        "file_time_before": Column(
            pl.Int64,
            "in the commit that enables in-commit timestamps on a table with older commits: file time of the commit "
            "before, milliseconds since the epoch; null where no file of the log is older than the timestamp, as in a "
            "copy",
        ),
        "catalog_managed": Column(pl.Boolean, "catalogManaged is supported after this commit"),
        "txn_id": Column(pl.String, "commitInfo.txnId"),
        "append_only": Column(pl.Boolean, "the table is append-only after this commit"),
        "removes_with_data_change": Column(pl.Int64, "remove actions whose dataChange is true"),
        "repeated_domains": Column(pl.List(pl.String), "domains that have several actions in this commit"),
        "repeated_apps": Column(pl.List(pl.String), "appIds that have several txn actions in this commit"),
        "domains": Column(pl.Int64, "domainMetadata actions"),
        "domain_metadata_supported": Column(pl.Boolean, "domainMetadata is supported after this commit"),
        "new_columns_with_default": Column(
            pl.List(pl.String),
            "in a commit that changes the columns of the table: those that no version of the judged history had, and "
            "that have a default",
        ),
        "changed_identity_columns": Column(
            pl.List(pl.String),
            "identity columns whose start, step or allowExplicitInsert is another than before, as `id: key`",
        ),
        "identity_marks_moved_back": Column(
            pl.List(pl.String),
            "identity columns whose mark is gone, or behind the one before, as `id: 9, then 5`; null where the commit "
            "does not say what it does: a restore brings the mark back",
        ),
    },
)

lines = View(
    name="lines",
    grain="line of a commit, a log compaction or a JSON checkpoint, as written",
    key=("file",),
    columns={
        "file": Column(pl.String, "name, relative to the table"),
        "version": Column(pl.Int64, "version of the file; of a compaction its last"),
        "line": Column(pl.Int64, "counted from 1"),
        "kind": Column(pl.String, "wire name of the action; null where there is not exactly one known action"),
        "json_error": Column(pl.String, "why the line is not a JSON object; null where it is one"),
        "actions": Column(pl.Int64, "keys of the object whose value is not null, known or unknown"),
        "schema_error": Column(pl.String, "what in the action breaks its schema; null where nothing does"),
        "pointer": Column(pl.String, "where in the action `schema_error` is, as a JSON pointer", shown=True),
        "repeated_key": Column(pl.String, "a key that stands twice in one object, as a JSON pointer"),
        "unexpected_whitespace": Column(
            pl.String, "blank line, byte order mark, carriage return: space that JSON lines tolerate or not"
        ),
        "has_lone_surrogate": Column(pl.Boolean, "a text in it escapes half of a surrogate pair, which no UTF-8 holds"),
    },
)

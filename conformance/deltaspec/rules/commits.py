"""Rules over commits as wholes. Source: chapters Actions, In-Commit Timestamps, Append-only Tables."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import commits


@rule("COM001", requires="protocol.one-a-version", view=commits)
def several_protocols() -> pl.Expr:
    """A commit holds more than one protocol action.

    The order of actions in a commit carries no meaning, so which of them holds is undefined.
    Fix: restore the table to the version before, and repeat the change with one protocol.

    Conforms::
        protocols: 1
    Violates::
        protocols: 2
    """
    return pl.col("protocols") > 1


@rule("COM002", requires="metadata.one-a-version", view=commits)
def several_metadata() -> pl.Expr:
    """A commit holds more than one metaData action.

    The order of actions in a commit carries no meaning, so which schema holds is undefined.
    Fix: restore the table to the version before, and repeat the change with one metaData.

    Conforms::
        metadatas: 0
    Violates::
        metadatas: 2
    """
    return pl.col("metadatas") > 1


@rule("COM003", requires="metadata.in-first-version", view=commits)
def first_version_without_metadata() -> pl.Expr:
    """Version 0 has no metaData.

    Until one comes the table has no schema, and readers of version 0 fail.
    Fix: the table must be created anew.

    Conforms::
        version: 0, metadatas: 1
        version: 5, metadatas: 0
    Violates::
        version: 0, metadatas: 0
    """
    return (pl.col("version") == 0) & (pl.col("metadatas") == 0)


@rule("COM004", requires="reconciliation.one-protocol", view=commits)
def first_version_without_protocol() -> pl.Expr:
    """Version 0 has no protocol.

    Without one nobody knows what it takes to read the table, and readers of version 0 fail.
    Fix: the table must be created anew.

    Conforms::
        version: 0, protocols: 1
        version: 5, protocols: 0
    Violates::
        version: 0, protocols: 0
    """
    return (pl.col("version") == 0) & (pl.col("protocols") == 0)


@rule("COM005", requires="in-commit-timestamp.present", view=commits)
def in_commit_timestamp_missing() -> pl.Expr:
    """In-commit timestamps are enabled, and a commit has none.

    Time travel by timestamp and change data rely on it; clients fail or fall back to file times.
    Fix: the writer of this commit does not support inCommitTimestamp and must not write to the table.

    Conforms::
        in_commit_timestamps_enabled: true, in_commit_timestamp: 1700000000000
        in_commit_timestamps_enabled: false, in_commit_timestamp: null
    Violates::
        in_commit_timestamps_enabled: true, in_commit_timestamp: null
    """
    return pl.col("in_commit_timestamps_enabled") & pl.col("in_commit_timestamp").is_null()


@rule("COM006", requires="in-commit-timestamp.commit-info-first", view=commits)
def commit_info_not_first() -> pl.Expr:
    """In-commit timestamps are enabled, and commitInfo is not the first action of a commit.

    Readers take the timestamp from the first line without reading the whole commit.
    Fix: the writer of this commit must put commitInfo first.

    Conforms::
        in_commit_timestamps_enabled: true, commit_infos: 1, first_action: commitInfo
        in_commit_timestamps_enabled: false, commit_infos: 1, first_action: add
    Violates::
        in_commit_timestamps_enabled: true, commit_infos: 1, first_action: add
    """
    misplaced = (pl.col("commit_infos") > 0) & (pl.col("first_action") != "commitInfo")
    return pl.col("in_commit_timestamps_enabled") & misplaced


@rule("COM007", requires="in-commit-timestamp.increases", view=commits)
def in_commit_timestamp_not_increasing() -> pl.Expr:
    """The in-commit timestamp of a commit is not later than that of the version before.

    Time travel searches by timestamp and relies on strict order: it lands on another version.
    Fix: the writer must take the larger of its clock and the previous timestamp plus one.

    Conforms::
        in_commit_timestamp: 1700000000001, previous_in_commit_timestamp: 1700000000000
        in_commit_timestamp: 1700000000001, previous_in_commit_timestamp: null
    Violates::
        in_commit_timestamp: 1700000000000, previous_in_commit_timestamp: 1700000000000
    """
    return pl.col("in_commit_timestamp") <= pl.col("previous_in_commit_timestamp")


@rule("COM008", requires="domain.one-a-version", view=commits, divergence="E37")
def repeated_domain() -> pl.Expr:
    """A commit holds several actions of one metadata domain.

    Which of them holds is undefined, because actions of a commit have no order. The text names the case for
    transactions only by saying that they conflict.
    Fix: the writer must merge them into one action.

    Conforms::
        repeated_domains: []
    Violates::
        repeated_domains: ["myApp"]
    """
    return pl.col("repeated_domains").list.len() > 0


@rule("COM009", requires="reconciliation.no-repeated-actions", view=commits)
def repeated_application() -> pl.Expr:
    """A commit holds several txn actions of one application.

    Actions of a commit have no order: readers disagree on the version recorded, and a stream may repeat or skip data.
    Fix: the writer must merge them into one action.

    Conforms::
        repeated_apps: []
    Violates::
        repeated_apps: ["app-1"]
    """
    return pl.col("repeated_apps").list.len() > 0


@rule("COM010", requires=("append-only.no-removal", "append-only.lifted"), view=commits)
def append_only_table_loses_data() -> pl.Expr:
    """Data was removed from an append-only table.

    Rows that the table's owner declared untouchable are gone from its current version.
    Fix: restore the version before; the writer of this commit ignores delta.appendOnly.

    Conforms::
        append_only: true, removes_with_data_change: 0
        append_only: false, removes_with_data_change: 3
    Violates::
        append_only: true, removes_with_data_change: 1
    """
    return pl.col("append_only") & (pl.col("removes_with_data_change") > 0)


@rule("COM011", requires="commit-info.transaction-id", view=commits)
def transaction_id_missing() -> pl.Expr:
    """A catalog-managed table has a commit without commitInfo.txnId.

    The catalog and its clients tell attempts at one version apart by it.
    Fix: the writer of this commit does not support catalogManaged and must not write to the table.

    Conforms::
        catalog_managed: true, txn_id: "3f2a"
        catalog_managed: false, txn_id: null
    Violates::
        catalog_managed: true, txn_id: null
    """
    return pl.col("catalog_managed") & pl.col("txn_id").is_null()


@rule(
    "COM012",
    requires=(
        "reconciliation.checkpoint-actions-not-in-commits",
        "checkpoint-metadata.only-in-v2",
        "sidecar.only-in-v2",
    ),
    view=commits,
)
def checkpoint_action_in_commit() -> pl.Expr:
    """A commit holds checkpointMetadata or sidecar actions.

    They describe V2 checkpoints only; a reader that meets one in a commit may follow a sidecar twice.
    Fix: the writer must leave them out of commits.

    Conforms::
        checkpoint_only_actions: 0
    Violates::
        checkpoint_only_actions: 1
    """
    return pl.col("checkpoint_only_actions") > 0


@rule("COM013", requires="log.commit-lines", view=commits, divergence="S21")
def empty_commit() -> pl.Expr:
    """A commit holds no action at all.

    The text does not say whether a version may change nothing without even provenance; some readers fail on empty
    files, and an interrupted upload looks the same.
    Fix: find out whether the commit was cut short.

    Conforms::
        actions: 1
    Violates::
        actions: 0
    """
    return pl.col("actions") == 0


@rule("COM014", requires="catalog-managed.in-commit-timestamps", view=commits)
def catalog_managed_without_in_commit_timestamps() -> pl.Expr:
    """The table is catalog-managed after a commit, and in-commit timestamps are not enabled.

    A commit is ratified before it is published, so the time of its file says nothing: time travel goes wrong.
    Fix: commit a metaData with delta.enableInCommitTimestamps true.

    Conforms::
        catalog_managed: true, in_commit_timestamps_enabled: true
        catalog_managed: false, in_commit_timestamps_enabled: false
    Violates::
        catalog_managed: true, in_commit_timestamps_enabled: false
    """
    return pl.col("catalog_managed") & ~pl.col("in_commit_timestamps_enabled")


@rule("COM015", requires="in-commit-timestamp.enablement-recorded", view=commits)
def enablement_not_recorded() -> pl.Expr:
    """In-commit timestamps were enabled on a table with older commits, and its properties do not say by which commit.

    Readers take file times up to that version and in-commit timestamps from it on: without the properties, or with
    others, time travel lands on another version. A later metaData that drops them is as bad.
    Fix: commit a metaData whose two properties name the version that enabled them and its timestamp.

    Conforms::
        enablement_version: 5, enablement_timestamp: 1700, recorded_enablement_version: 5, recorded_enablement_timestamp: 1700
        enablement_version: null, enablement_timestamp: null, recorded_enablement_version: null, recorded_enablement_timestamp: null
    Violates::
        enablement_version: 5, enablement_timestamp: 1700, recorded_enablement_version: null, recorded_enablement_timestamp: null
        enablement_version: 5, enablement_timestamp: 1700, recorded_enablement_version: 5, recorded_enablement_timestamp: 1699
    """
    version = pl.col("recorded_enablement_version").ne_missing(pl.col("enablement_version"))
    timestamp = pl.col("recorded_enablement_timestamp").ne_missing(pl.col("enablement_timestamp"))
    known = pl.col("enablement_timestamp").is_not_null()
    return pl.col("enablement_version").is_not_null() & (version | (known & timestamp))

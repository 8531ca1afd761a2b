"""Rules over complete commits.

Source: chapters Actions, In-Commit Timestamps, Append-only Tables, Add File and Remove File.
"""

import polars as pl

from deltaspec.rules.command_fixes import ENABLE_TIMESTAMPS_AGAIN
from deltaspec.rules.fixes import (
    COMPARE_ROWS_ADDED,
    COMPARE_ROWS_CHANGED,
    COMPARE_ROWS_REMOVED,
    RESTORE_LOADABLE_TABLE,
    WRITE_PROTOCOL,
)
from deltaspec.rules.registry import rule
from deltaspec.views.data.rearranged_rows import rearranged_rows
from deltaspec.views.files.rearrangements import rearrangements
from deltaspec.views.log.log_files import commits


@rule("COM001", requires="protocol.one-a-version", view=commits, fix=WRITE_PROTOCOL)
def several_protocols() -> pl.Expr:
    """A commit contains more than one protocol action.

    Actions of a commit have no order, so it is undefined which protocol applies.

    Conforms::
        protocols: 1
    Violates::
        protocols: 2
    """
    return pl.col("protocols") > 1


@rule("COM002", requires="metadata.one-a-version", view=commits, fix=RESTORE_LOADABLE_TABLE)
def several_metadata() -> pl.Expr:
    """A commit contains more than one metaData action.

    Actions of a commit have no order, so it is undefined which schema applies.

    Conforms::
        metadatas: 0
    Violates::
        metadatas: 2
    """
    return pl.col("metadatas") > 1


@rule("COM003", requires="metadata.in-first-version", view=commits)
def first_version_without_metadata() -> pl.Expr:
    """Version 0 has no metaData action.

    The table has no schema until a later version adds one, and readers of version 0 fail.
    Fix (rewrite): If a later version has a metaData action, write a checkpoint there with
    `DeltaTable.create_checkpoint()` (delta-rs) and do not read version 0. Otherwise create the table again from its
    data files.

    Conforms::
        version: 0, metadatas: 1
        version: 5, metadatas: 0
    Violates::
        version: 0, metadatas: 0
    """
    return (pl.col("version") == 0) & (pl.col("metadatas") == 0)


@rule("COM004", requires="reconciliation.one-protocol", view=commits)
def first_version_without_protocol() -> pl.Expr:
    """Version 0 has no protocol action.

    Clients cannot determine which features they must support, and readers of version 0 fail.
    Fix (rewrite): If a later version has a protocol action, write a checkpoint there with
    `DeltaTable.create_checkpoint()` (delta-rs) and do not read version 0. Otherwise create the table again from its
    data files.

    Conforms::
        version: 0, protocols: 1
        version: 5, protocols: 0
    Violates::
        version: 0, protocols: 0
    """
    return (pl.col("version") == 0) & (pl.col("protocols") == 0)


@rule("COM005", requires=("in-commit-timestamp.present", "commit-info.known-fields"), view=commits)
def in_commit_timestamp_missing() -> pl.Expr:
    """In-commit timestamps are enabled, but a commit has no `inCommitTimestamp` that is a long.

    Time travel and the change data feed depend on the timestamp. Clients fail or fall back to file times.
    Fix (restore): Stop the writer of this commit; it does not support inCommitTimestamp. Run `RESTORE TABLE t TO
    VERSION AS OF n` with the last version before the defect, then repeat later changes with a corrected writer.

    Conforms::
        in_commit_timestamps_enabled: true, in_commit_timestamp: 1700000000000
        in_commit_timestamps_enabled: false, in_commit_timestamp: null
    Violates::
        in_commit_timestamps_enabled: true, in_commit_timestamp: null
    """
    return pl.col("in_commit_timestamps_enabled") & pl.col("in_commit_timestamp").is_null()


@rule("COM006", requires="in-commit-timestamp.commit-info-first", view=commits)
def commit_info_not_first() -> pl.Expr:
    """In-commit timestamps are enabled, but commitInfo is not the first action of a commit.

    Readers take the timestamp from the first line and do not read the rest of the commit.
    Fix (none): No repair is needed; time travel by version still works. Stop the writer of this commit; it does not
    support inCommitTimestamp. Do not edit the commit file.

    Conforms::
        in_commit_timestamps_enabled: true, commit_infos: 1, first_action: commitInfo
        in_commit_timestamps_enabled: false, commit_infos: 1, first_action: add
        in_commit_timestamps_enabled: true, commit_infos: 0, first_action: add
    Violates::
        in_commit_timestamps_enabled: true, commit_infos: 1, first_action: add
    """
    misplaced = (pl.col("commit_infos") > 0) & (pl.col("first_action") != "commitInfo")
    return pl.col("in_commit_timestamps_enabled") & misplaced


@rule(
    "COM023",
    requires=("in-commit-timestamp.present", "commit-info.transaction-id"),
    view=commits,
    divergence="S63",
)
def commit_infos_disagree() -> pl.Expr:
    """A commit has several commitInfo actions with different in-commit timestamps or transaction ids.

    The protocol does not say how many commitInfo actions a commit has, or which one counts. Engines read the first or
    the last, so they travel to different versions. (Only where in-commit timestamps are enabled, or for the id if a
    catalog manages the table.)
    Fix (none): Travel by version around this commit, and fix the writer: it must write one commitInfo. Do not edit
    the commit file.

    Conforms::
        in_commit_timestamps_enabled: true, in_commit_timestamps_differ: false, catalog_managed: true, txn_ids_differ: false
        in_commit_timestamps_enabled: false, in_commit_timestamps_differ: true, catalog_managed: false, txn_ids_differ: true
    Violates::
        in_commit_timestamps_enabled: true, in_commit_timestamps_differ: true, catalog_managed: false, txn_ids_differ: false
        in_commit_timestamps_enabled: true, in_commit_timestamps_differ: false, catalog_managed: true, txn_ids_differ: true
    """
    timestamps = pl.col("in_commit_timestamps_enabled") & pl.col("in_commit_timestamps_differ")
    return timestamps.fill_null(False) | (pl.col("catalog_managed") & pl.col("txn_ids_differ"))


@rule("COM007", requires="in-commit-timestamp.increases", view=commits)
def in_commit_timestamp_not_increasing() -> pl.Expr:
    """The in-commit timestamp of a commit is not later than the timestamp of the previous version.

    Time travel by timestamp relies on strictly increasing timestamps and returns the wrong version.
    Fix (none): Fix the writer: it must use the later of its clock and the previous timestamp plus one millisecond.
    For this commit, travel by version instead of timestamp.

    Conforms::
        in_commit_timestamps_enabled: true, in_commit_timestamp: 1700000000001, previous_in_commit_timestamp: 1700000000000
        in_commit_timestamps_enabled: true, in_commit_timestamp: 1700000000001, previous_in_commit_timestamp: null
        in_commit_timestamps_enabled: false, in_commit_timestamp: 1699999999999, previous_in_commit_timestamp: 1700000000000
    Violates::
        in_commit_timestamps_enabled: true, in_commit_timestamp: 1700000000000, previous_in_commit_timestamp: 1700000000000
    """
    is_not_later = pl.col("in_commit_timestamp") <= pl.col("previous_in_commit_timestamp")
    return pl.col("in_commit_timestamps_enabled") & is_not_later


@rule("COM008", requires="reconciliation.no-repeated-actions", view=commits, divergence="E37")
def repeated_domain() -> pl.Expr:
    """A commit contains several actions of the same metadata domain.

    Actions of a commit have no order, so it is undefined which one applies. The protocol forbids this only indirectly,
    because such transactions conflict.
    Fix (decide): Fix the writer so that it writes one action for each domain. Then write the intended state of the
    domain again.

    Conforms::
        repeated_domains: []
    Violates::
        repeated_domains: ["myApp"]
    """
    return pl.col("repeated_domains").list.len() > 0


@rule("COM009", requires="reconciliation.no-repeated-actions", view=commits)
def repeated_application() -> pl.Expr:
    """A commit contains several txn actions of the same application.

    Actions of a commit have no order. Readers disagree on the recorded version, and a stream may repeat or skip data.
    Fix (decide): Fix the writer so that it writes one txn for each application. Check which data the stream already
    wrote before it resumes.

    Conforms::
        repeated_apps: []
    Violates::
        repeated_apps: ["app-1"]
    """
    return pl.col("repeated_apps").list.len() > 0


@rule("COM010", requires=("append-only.no-removal", "append-only.lifted"), view=commits)
def append_only_table_loses_data() -> pl.Expr:
    """A commit removed data from a table that was append-only before and after it.

    Rows that the table's owner protected are missing from the current version.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Stop the writer of this commit, which ignores delta.appendOnly. Do not
    run `VACUUM` before the restore.

    Conforms::
        append_only: true, append_only_before: true, removes_with_data_change: 0
        append_only: false, append_only_before: false, removes_with_data_change: 3
        append_only: true, append_only_before: false, removes_with_data_change: 1
        append_only: true, append_only_before: null, removes_with_data_change: 1
    Violates::
        append_only: true, append_only_before: true, removes_with_data_change: 1
    """
    return pl.col("append_only") & pl.col("append_only_before") & (pl.col("removes_with_data_change") > 0)


@rule("COM030", requires="append-only.no-removal", view=commits, divergence="S33")
def data_removed_with_change_of_append_only() -> pl.Expr:
    """A commit removes data and also changes whether the table is append-only.

    The protocol does not say whether the metadata before or after the commit decides. Engines that use the metadata
    before it accept the commit that sets delta.appendOnly (`CREATE OR REPLACE TABLE` replaces data and properties in
    one commit), and refuse the one that ends the restriction.
    Fix (none): No repair is needed if the removal was intended. Set or unset delta.appendOnly in a separate commit.

    Conforms::
        append_only: true, append_only_before: true, removes_with_data_change: 1
        append_only: false, append_only_before: false, removes_with_data_change: 1
        append_only: true, append_only_before: false, removes_with_data_change: 0
        append_only: false, append_only_before: null, removes_with_data_change: 1
    Violates::
        append_only: true, append_only_before: false, removes_with_data_change: 1
        append_only: false, append_only_before: true, removes_with_data_change: 1
        append_only: true, append_only_before: null, removes_with_data_change: 1
    """
    changed = pl.col("append_only") ^ pl.col("append_only_before").fill_null(value=False)
    return changed & (pl.col("removes_with_data_change") > 0)


@rule("COM011", requires=("commit-info.transaction-id", "commit-info.known-fields"), view=commits)
def transaction_id_missing() -> pl.Expr:
    """A commit of a catalog-managed table has no commitInfo.txnId that is a string.

    The catalog and its clients cannot tell different attempts at the version apart.
    Fix (none): Stop the writer of this commit; it does not support catalogManaged. The committed version itself
    does not need a repair.

    Conforms::
        catalog_managed: true, txn_id: "3f2a"
        catalog_managed: false, txn_id: null
    Violates::
        catalog_managed: true, txn_id: null
    """
    return pl.col("catalog_managed") & pl.col("txn_id").is_null()


@rule("COM016", requires="commit-info.transaction-id-unique", view=commits)
def transaction_id_repeated() -> pl.Expr:
    """A commit of a catalog-managed table has the commitInfo.txnId of an earlier version.

    The catalog and its clients take one commit for another attempt at the earlier one, and lose its changes.
    Fix (none): Fix the writer: each transaction needs a unique identifier, such as a random UUID. The committed
    versions themselves do not need a repair.

    Conforms::
        catalog_managed: true, version_with_same_txn_id: null
        catalog_managed: false, version_with_same_txn_id: 3
    Violates::
        catalog_managed: true, version_with_same_txn_id: 3
    """
    return pl.col("catalog_managed") & pl.col("version_with_same_txn_id").is_not_null()


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
    """A commit contains checkpointMetadata or sidecar actions.

    These actions describe V2 checkpoints only. Readers of the commit may fail or load a sidecar twice.
    Fix (restore): Stop the writer of this commit. If an engine can still load the table, run `RESTORE TABLE t TO
    VERSION AS OF n` with the last version before the defect, then repeat later changes with a corrected writer.
    Otherwise restore the log from backup. Do not edit or delete commit files.

    Conforms::
        checkpoint_only_actions: 0
    Violates::
        checkpoint_only_actions: 1
    """
    return pl.col("checkpoint_only_actions") > 0


@rule("COM013", requires="log.commit-lines", view=commits, divergence="S21")
def empty_commit() -> pl.Expr:
    """A commit contains no action.

    The protocol does not say whether a version may be empty. Some readers fail on empty files, and an interrupted
    upload looks the same.
    Fix (decide): Find out from the writer's log whether the upload was interrupted. If it was, write the lost
    changes again; do not delete or fill the commit file.

    Conforms::
        actions: 1
    Violates::
        actions: 0
    """
    return pl.col("actions") == 0


@rule("COM014", requires="catalog-managed.in-commit-timestamps", view=commits)
def catalog_managed_without_in_commit_timestamps() -> pl.Expr:
    """A table is catalog-managed after a commit, but in-commit timestamps are not enabled.

    A commit is ratified before it is published, so its file time is meaningless and time travel by timestamp is wrong.
    Fix (restore): Restore the log from backup, because Delta Spark refuses to load the table. The writer must
    enable in-commit timestamps in the commit that makes the table catalog-managed.

    Conforms::
        catalog_managed: true, in_commit_timestamps_enabled: true, \
            catalog_managed_before: null, in_commit_timestamps_enabled_before: null
        catalog_managed: false, in_commit_timestamps_enabled: false, \
            catalog_managed_before: false, in_commit_timestamps_enabled_before: false
        catalog_managed: true, in_commit_timestamps_enabled: false, \
            catalog_managed_before: true, in_commit_timestamps_enabled_before: false
    Violates::
        catalog_managed: true, in_commit_timestamps_enabled: false, \
            catalog_managed_before: null, in_commit_timestamps_enabled_before: null
        catalog_managed: true, in_commit_timestamps_enabled: false, \
            catalog_managed_before: true, in_commit_timestamps_enabled_before: true
        catalog_managed: true, in_commit_timestamps_enabled: false, \
            catalog_managed_before: false, in_commit_timestamps_enabled_before: false
    """
    reported = pl.col("catalog_managed_before") & ~pl.col("in_commit_timestamps_enabled_before")
    return pl.col("catalog_managed") & ~pl.col("in_commit_timestamps_enabled") & ~reported.fill_null(False)


@rule("COM015", requires="in-commit-timestamp.enablement-recorded", view=commits, fix=ENABLE_TIMESTAMPS_AGAIN)
def enablement_not_recorded() -> pl.Expr:
    """In-commit timestamps were enabled on an existing table, but its properties do not record the enabling commit.

    Readers use file times before the enabling version and in-commit timestamps after it. If the properties are missing
    or wrong, also because a later commit dropped them, time travel by timestamp returns the wrong version.

    Conforms::
        enablement_version: 5, enablement_timestamp: 1700, recorded_enablement_version: 5, recorded_enablement_timestamp: 1700
        enablement_version: null, enablement_timestamp: null, recorded_enablement_version: null, recorded_enablement_timestamp: null
        enablement_version: 5, enablement_timestamp: null, recorded_enablement_version: 5, recorded_enablement_timestamp: 1700
    Violates::
        enablement_version: 5, enablement_timestamp: null, recorded_enablement_version: 4, recorded_enablement_timestamp: 1700
        enablement_version: 5, enablement_timestamp: 1700, recorded_enablement_version: null, recorded_enablement_timestamp: null
        enablement_version: 5, enablement_timestamp: 1700, recorded_enablement_version: 5, recorded_enablement_timestamp: 1699
    """
    version = pl.col("recorded_enablement_version").ne_missing(pl.col("enablement_version"))
    timestamp = pl.col("recorded_enablement_timestamp").ne_missing(pl.col("enablement_timestamp"))
    known = pl.col("enablement_timestamp").is_not_null()
    return pl.col("enablement_version").is_not_null() & (version | (known & timestamp))


@rule("COM020", requires="add.unchanged-rows", view=rearrangements, fix=COMPARE_ROWS_ADDED)
def rows_added_without_data_change() -> pl.Expr:
    """A commit adds more rows than it removes although its files have dataChange false.

    Streams and other consumers skip these files and never read the new rows. If the commit removes files that are not
    live (FIL053), it writes rows again that are elsewhere in the table: readers return them twice.

    Conforms::
        rows_added_unchanged: 10, removed_rows: 10
        rows_added_unchanged: 0, removed_rows: 5
        rows_added_unchanged: 11, removed_rows: null
    Violates::
        rows_added_unchanged: 11, removed_rows: 10
    """
    return pl.col("rows_added_unchanged") > pl.col("removed_rows")


@rule("COM021", requires="remove.unchanged-rows", view=rearrangements, fix=COMPARE_ROWS_REMOVED)
def rows_removed_without_data_change() -> pl.Expr:
    """A commit removes more rows than it adds although its files have dataChange false.

    Streams and other consumers skip the commit and keep rows that no longer exist. The rows may have been lost by
    mistake.

    Conforms::
        rows_removed_unchanged: 10, added_rows: 10
        rows_removed_unchanged: 0, added_rows: 5
        rows_removed_unchanged: 10, added_rows: null
    Violates::
        rows_removed_unchanged: 10, added_rows: 9
    """
    return pl.col("rows_removed_unchanged") > pl.col("added_rows")


@rule(
    "COM022", requires=("add.unchanged-rows", "remove.unchanged-rows"), view=rearranged_rows, fix=COMPARE_ROWS_CHANGED
)
def rows_changed_without_data_change() -> pl.Expr:
    """A commit changes rows of the table although its files have dataChange false.

    The added files and the removed files have different rows. The rows of the table are wrong, or streams and
    other consumers that skip the commit never see the change.

    Conforms::
        adds_unchanged: true, removes_unchanged: true, net_rows: 0, stated_net_rows: 0, rows_match: true
        adds_unchanged: true, removes_unchanged: true, net_rows: 0, stated_net_rows: 0, rows_match: null
        adds_unchanged: false, removes_unchanged: true, net_rows: 3, stated_net_rows: null, rows_match: null
        adds_unchanged: true, removes_unchanged: false, net_rows: -3, stated_net_rows: null, rows_match: null
        adds_unchanged: true, removes_unchanged: true, net_rows: 3, stated_net_rows: 3, rows_match: null
    Violates::
        adds_unchanged: true, removes_unchanged: true, net_rows: 0, stated_net_rows: null, rows_match: false
        adds_unchanged: true, removes_unchanged: false, net_rows: 3, stated_net_rows: null, rows_match: null
        adds_unchanged: true, removes_unchanged: false, net_rows: 3, stated_net_rows: -3, rows_match: null
        adds_unchanged: false, removes_unchanged: true, net_rows: -3, stated_net_rows: 0, rows_match: null
    """
    actual, stated = pl.col("net_rows"), pl.col("stated_net_rows").fill_null(0)
    # COM020 and COM021 report counts that the log states
    is_more = pl.col("adds_unchanged") & (actual > 0) & (stated <= 0)
    is_less = pl.col("removes_unchanged") & (actual < 0) & (stated >= 0)
    return ~pl.col("rows_match") | is_more | is_less

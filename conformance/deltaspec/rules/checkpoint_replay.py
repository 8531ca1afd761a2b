"""Rules over what a checkpoint says otherwise than replay. Source: chapters Checkpoints, Action Reconciliation."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import replay_differences


def _differs(kind: str, difference: str) -> pl.Expr:
    of_kind = (pl.col("derived_file_kind") == "checkpoint") & (pl.col("kind") == kind)
    return of_kind & (pl.col("difference") == difference)


@rule(
    "CKP030",
    requires=("checkpoint.equals-replay", "checkpoint.classic-same-content", "checkpoint-contents.has-adds"),
    view=replay_differences,
)
def live_file_missing_from_checkpoint() -> pl.Expr:
    """A checkpoint lacks a file that is live at its version.

    Readers that start from it lose the file's rows; those that replay the commits see them.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: missing
    Violates::
        derived_file_kind: checkpoint, kind: add, difference: missing
    """
    return _differs("add", "missing")


@rule("CKP031", requires="checkpoint.equals-replay", view=replay_differences)
def removed_file_in_checkpoint() -> pl.Expr:
    """A checkpoint holds a file that is not live at its version.

    Readers that start from it return rows that were deleted or never were.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checkpoint, kind: add, difference: differs
    Violates::
        derived_file_kind: checkpoint, kind: add, difference: extra
    """
    return _differs("add", "extra")


@rule(
    "CKP032",
    requires=("checkpoint.equals-replay", "row-tracking.base-row-id-kept", "row-tracking.commit-version-kept"),
    view=replay_differences,
)
def file_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint says something else of a live file than the commits.

    Readers get another deletion vector, partition value, size or statistic, depending on where they start.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: compaction, kind: add, difference: differs
    Violates::
        derived_file_kind: checkpoint, kind: add, difference: differs
    """
    return _differs("add", "differs")


@rule("CKP033", requires="checkpoint.equals-replay", view=replay_differences)
def unknown_tombstone_in_checkpoint() -> pl.Expr:
    """A checkpoint holds a tombstone that no commit made.

    Its file may be deleted although it is live.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: extra, may_have_expired: true
        derived_file_kind: checkpoint, kind: remove, difference: missing, may_have_expired: true
    Violates::
        derived_file_kind: checkpoint, kind: remove, difference: extra, may_have_expired: false
    """
    return _differs("remove", "extra") & ~pl.col("may_have_expired")


@rule("CKP034", requires="checkpoint.equals-replay", view=replay_differences)
def tombstone_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint says something else of a tombstone than the commit that made it.

    Its file is deleted too early or too late, or change data goes wrong.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: missing
    Violates::
        derived_file_kind: checkpoint, kind: remove, difference: differs
    """
    return _differs("remove", "differs")


@rule("CKP035", requires="checkpoint.equals-replay", view=replay_differences)
def protocol_differs_in_checkpoint() -> pl.Expr:
    """The protocol of a checkpoint is not that of its version.

    Clients that start from it believe that they need other features than they do.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checksum, kind: protocol, difference: differs
    Violates::
        derived_file_kind: checkpoint, kind: protocol, difference: differs
    """
    return _differs("protocol", "differs")


@rule("CKP036", requires="checkpoint.equals-replay", view=replay_differences)
def metadata_differs_in_checkpoint() -> pl.Expr:
    """The metaData of a checkpoint is not that of its version.

    Readers that start from it see another schema or configuration.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checksum, kind: metaData, difference: differs
    Violates::
        derived_file_kind: checkpoint, kind: metaData, difference: differs
    """
    return _differs("metaData", "differs")


@rule("CKP037", requires=("checkpoint.equals-replay", "checkpoint-contents.has-transactions"), view=replay_differences)
def transaction_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint has another txn of an application than the commits, or lacks one that cannot have expired.

    The application repeats or skips data.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checkpoint, kind: txn, may_have_expired: true
        derived_file_kind: checkpoint, kind: add, may_have_expired: false
    Violates::
        derived_file_kind: checkpoint, kind: txn, may_have_expired: false
    """
    return (pl.col("derived_file_kind") == "checkpoint") & (pl.col("kind") == "txn") & ~pl.col("may_have_expired")


@rule(
    "CKP038",
    requires=("checkpoint.equals-replay", "checkpoint-contents.has-domains", "domain.preserved"),
    view=replay_differences,
)
def domain_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint has another state of a metadata domain than the commits.

    Writers that go on from it reuse row ids or lose clustering.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checkpoint, kind: txn
    Violates::
        derived_file_kind: checkpoint, kind: domainMetadata
    """
    return (pl.col("derived_file_kind") == "checkpoint") & (pl.col("kind") == "domainMetadata")


@rule(
    "CKP050",
    requires=("checkpoint-contents.has-removes", "checkpoint.tombstones-kept", "remove.tombstone-kept"),
    view=replay_differences,
)
def unexpired_tombstone_missing_from_checkpoint() -> pl.Expr:
    """A checkpoint lacks a tombstone that has not expired.

    Readers of older snapshots lose the file too early, or nobody deletes it at all.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: missing, is_unexpired: false
        derived_file_kind: checkpoint, kind: remove, difference: missing, is_unexpired: null
        derived_file_kind: compaction, kind: remove, difference: missing, is_unexpired: true
    Violates::
        derived_file_kind: checkpoint, kind: remove, difference: missing, is_unexpired: true
    """
    return _differs("remove", "missing") & pl.col("is_unexpired")

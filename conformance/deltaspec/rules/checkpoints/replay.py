"""Rules over differences between checkpoints and replay. Source: chapters Checkpoints, Action Reconciliation."""

import polars as pl

from deltaspec.rules.fixes import (
    REWRITE_CHECKPOINT,
    REWRITE_CHECKPOINT_AFTER_COMMIT,
    REWRITE_CHECKPOINT_BEFORE_VACUUM,
    STOP_WRITERS_AND_REWRITE_CHECKPOINT,
)
from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import replay_differences


def _differs(kind: str, difference: str) -> pl.Expr:
    of_kind = (pl.col("derived_file_kind") == "checkpoint") & (pl.col("kind") == kind)
    return of_kind & (pl.col("difference") == difference)


@rule(
    "CKP030",
    requires=("checkpoint.equals-replay", "checkpoint.classic-same-content", "checkpoint-contents.has-adds"),
    view=replay_differences,
    fix=REWRITE_CHECKPOINT_AFTER_COMMIT,
)
def live_file_missing_from_checkpoint() -> pl.Expr:
    """A live file is missing from a checkpoint of its version.

    Readers that start from the checkpoint lose the file's rows. Readers that replay the commits return them.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: missing
    Violates::
        derived_file_kind: checkpoint, kind: add, difference: missing
    """
    return _differs("add", "missing")


@rule("CKP031", requires="checkpoint.equals-replay", view=replay_differences, fix=REWRITE_CHECKPOINT)
def removed_file_in_checkpoint() -> pl.Expr:
    """A checkpoint contains a file that is not live at its version.

    Readers that start from the checkpoint return rows that were deleted or never committed.

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
    fix=REWRITE_CHECKPOINT,
)
def file_differs_in_checkpoint() -> pl.Expr:
    """An add action in a checkpoint differs from the add action that the commits or another checkpoint leave.

    Readers get another deletion vector, partition value, size or statistic, depending on where they start.

    Conforms::
        derived_file_kind: compaction, kind: add, difference: differs
    Violates::
        derived_file_kind: checkpoint, kind: add, difference: differs
    """
    return _differs("add", "differs")


@rule("CKP033", requires="checkpoint.equals-replay", view=replay_differences, fix=REWRITE_CHECKPOINT_BEFORE_VACUUM)
def unknown_tombstone_in_checkpoint() -> pl.Expr:
    """A checkpoint contains a tombstone that replay does not leave.

    No commit wrote it, or a later add cancelled it. `VACUUM` may delete the file although it is live.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: extra, may_have_expired: true
        derived_file_kind: checkpoint, kind: remove, difference: missing, may_have_expired: true
    Violates::
        derived_file_kind: checkpoint, kind: remove, difference: extra, may_have_expired: false
    """
    return _differs("remove", "extra") & ~pl.col("may_have_expired")


def _is_left_out() -> pl.Expr:
    """Build whether the difference is a field that the sample schema of a tombstone does not have (E10).

    A tombstone that leaves out size or partition values truly states `extendedFileMetadata: false`, or size 0.
    """
    fields = ("extendedFileMetadata", "partitionValues", "size")
    states_absence = (pl.col("field") == "extendedFileMetadata") & (pl.col("recorded") == "false")
    states_absence |= (pl.col("field") == "size") & (pl.col("recorded") == "0")
    states_absence &= ~pl.col("is_extended")
    return ((pl.col("field").is_in(fields) & pl.col("recorded").is_null()) | states_absence).fill_null(False)


@rule("CKP034", requires="checkpoint.equals-replay", view=replay_differences, fix=REWRITE_CHECKPOINT_BEFORE_VACUUM)
def tombstone_differs_in_checkpoint() -> pl.Expr:
    """A tombstone in a checkpoint differs from the remove action that the commits leave.

    `VACUUM` uses the deletion time, readers of the change data feed use dataChange and the deletion vector, and tools
    that sum up removed bytes use the size. Clients that start from the checkpoint read a wrong value. Delta Spark keeps
    the first tombstone of a file that is removed twice, although the last one counts.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: missing, field: null, recorded: null, is_extended: true
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: size, recorded: null, is_extended: true
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: size, recorded: "0", is_extended: false
    Violates::
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: size, recorded: "5", is_extended: true
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: size, recorded: "0", is_extended: true
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: dataChange, recorded: null, is_extended: true
    """
    return _differs("remove", "differs") & ~_is_left_out()


@rule("CKP067", requires="checkpoint.equals-replay", view=replay_differences, divergence="E10")
def tombstone_without_file_metadata() -> pl.Expr:
    """A tombstone in a checkpoint leaves out partition values, size or extendedFileMetadata of the remove action.

    A checkpoint must contain all information of the remove actions, but the sample schema of the protocol does not have
    these fields, and some engines do not write them, or write `extendedFileMetadata: false` instead (delta-rs 0.12 to
    0.25). Tools that sum up removed bytes report less.
    Fix (none): No repair is needed, because `VACUUM` does not read the fields. Use a writer that keeps them.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: size, recorded: "5", is_extended: true
        derived_file_kind: compaction, kind: remove, difference: differs, field: size, recorded: null, is_extended: true
    Violates::
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: size, recorded: null, is_extended: true
        derived_file_kind: checkpoint, kind: remove, difference: differs, field: size, recorded: "0", is_extended: false
    """
    return _differs("remove", "differs") & _is_left_out()


@rule("CKP035", requires="checkpoint.equals-replay", view=replay_differences, fix=REWRITE_CHECKPOINT)
def protocol_differs_in_checkpoint() -> pl.Expr:
    """The protocol in a checkpoint differs from the protocol of its version.

    Clients that start from the checkpoint assume other required features, so they refuse or misread the table.

    Conforms::
        derived_file_kind: checksum, kind: protocol, difference: differs
    Violates::
        derived_file_kind: checkpoint, kind: protocol, difference: differs
    """
    return _differs("protocol", "differs")


@rule("CKP036", requires="checkpoint.equals-replay", view=replay_differences, fix=REWRITE_CHECKPOINT)
def metadata_differs_in_checkpoint() -> pl.Expr:
    """The metaData in a checkpoint differs from the metaData of its version.

    Readers that start from the checkpoint use another schema or configuration.

    Conforms::
        derived_file_kind: checksum, kind: metaData, difference: differs
    Violates::
        derived_file_kind: checkpoint, kind: metaData, difference: differs
    """
    return _differs("metaData", "differs")


@rule(
    "CKP037",
    requires=("checkpoint.equals-replay", "checkpoint-contents.has-transactions"),
    view=replay_differences,
    fix=STOP_WRITERS_AND_REWRITE_CHECKPOINT,
)
def transaction_differs_in_checkpoint() -> pl.Expr:
    """The txn of an application in a checkpoint differs from the commits, or is missing and cannot have expired.

    The application repeats or skips data when it resumes.

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
    fix=STOP_WRITERS_AND_REWRITE_CHECKPOINT,
)
def domain_differs_in_checkpoint() -> pl.Expr:
    """The state of a metadata domain in a checkpoint differs from the commits.

    Writers that start from the checkpoint reuse row ids or lose the clustering columns.

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
    fix=REWRITE_CHECKPOINT_BEFORE_VACUUM,
)
def unexpired_tombstone_missing_from_checkpoint() -> pl.Expr:
    """A tombstone that has not expired is missing from a checkpoint.

    `VACUUM` may delete the file before its retention ends, or never delete it.

    Conforms::
        derived_file_kind: checkpoint, kind: remove, difference: missing, is_unexpired: false
        derived_file_kind: checkpoint, kind: remove, difference: missing, is_unexpired: null
        derived_file_kind: compaction, kind: remove, difference: missing, is_unexpired: true
    Violates::
        derived_file_kind: checkpoint, kind: remove, difference: missing, is_unexpired: true
    """
    return _differs("remove", "missing") & pl.col("is_unexpired")

"""Rules over complete checkpoints. Source: chapters Checkpoints, Checkpoint Specs, Action Reconciliation."""

import polars as pl

from deltaspec.rules.fixes import (
    REWRITE_CHECKPOINT,
    REWRITE_CHECKPOINT_NEVER_RENAME,
    REWRITE_CHECKPOINT_OR_ADD_V2,
    STOP_WRITERS_AND_REWRITE_CHECKPOINT,
    WRITE_NEW_CHECKPOINT,
)
from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import checkpoints, replay_differences


@rule(
    "CKP001",
    requires=("checkpoint.format", "checkpoint-contents.parquet", "checkpoint.multipart-format"),
    view=checkpoints,
    fix=REWRITE_CHECKPOINT,
)
def checkpoint_unreadable() -> pl.Expr:
    """A checkpoint cannot be read as a Parquet or JSON file of actions, or a page checksum does not match.

    Readers that start from the checkpoint fail, even if the commits alone would be enough. Readers that do not verify
    page checksums may return wrong files.

    Conforms::
        unreadable: null
    Violates::
        unreadable: "Parquet magic bytes not found in footer"
    """
    return pl.col("unreadable").is_not_null()


@rule(
    "CKP002",
    requires=("reconciliation.one-protocol", "checkpoint-contents.has-protocol"),
    view=checkpoints,
    fix=REWRITE_CHECKPOINT,
)
def checkpoint_protocol_count() -> pl.Expr:
    """A checkpoint does not contain exactly one protocol action.

    Readers that start from it cannot determine which features they must support.

    Conforms::
        protocols: 1
    Violates::
        protocols: 0
        protocols: 2
    """
    return pl.col("protocols") != 1


@rule(
    "CKP003",
    requires=("reconciliation.one-metadata", "checkpoint-contents.has-metadata"),
    view=checkpoints,
    fix=REWRITE_CHECKPOINT,
)
def checkpoint_metadata_count() -> pl.Expr:
    """A checkpoint does not contain exactly one metaData action.

    Readers that start from it have no schema, or two.

    Conforms::
        metadatas: 1
    Violates::
        metadatas: 0
        metadatas: 2
    """
    return pl.col("metadatas") != 1


@rule("CKP004", requires="checkpoint.no-commit-info-no-cdc", view=checkpoints, fix=REWRITE_CHECKPOINT)
def commit_action_in_checkpoint() -> pl.Expr:
    """A checkpoint contains commitInfo or cdc actions.

    These actions belong to single versions and are not part of the table state. Readers may fail on them.

    Conforms::
        commit_infos: 0, cdcs: 0
    Violates::
        commit_infos: 1, cdcs: 0
        commit_infos: 0, cdcs: 2
    """
    return (pl.col("commit_infos") > 0) | (pl.col("cdcs") > 0)


@rule(
    "CKP005", requires=("checkpoint.v2-has-metadata", "checkpoint.uuid-is-v2"), view=checkpoints, fix=REWRITE_CHECKPOINT
)
def checkpoint_metadata_action_count() -> pl.Expr:
    """A checkpoint with V2 content does not contain exactly one checkpointMetadata action.

    Readers cannot recognize the V2 content and miss the files in its sidecars.

    Conforms::
        naming: uuid, sidecars: 2, checkpoint_metadatas: 1
        naming: classic, sidecars: 0, checkpoint_metadatas: 0
    Violates::
        naming: uuid, sidecars: 2, checkpoint_metadatas: 0
        naming: classic, sidecars: 1, checkpoint_metadatas: 0
        naming: uuid, sidecars: 0, checkpoint_metadatas: 2
    """
    is_v2 = (pl.col("naming") == "uuid") | (pl.col("sidecars") > 0)
    return (is_v2 & (pl.col("checkpoint_metadatas") != 1)) | (pl.col("checkpoint_metadatas") > 1)


@rule("CKP006", requires="checkpoint-metadata.version", view=checkpoints, fix=REWRITE_CHECKPOINT_NEVER_RENAME)
def checkpoint_metadata_version_differs() -> pl.Expr:
    """The version in checkpointMetadata differs from the version in the checkpoint's file name.

    The file was renamed or written for another version, so readers load the wrong state.

    Conforms::
        version: 7, checkpoint_metadata_version: 7
        version: 7, checkpoint_metadata_version: null
    Violates::
        version: 7, checkpoint_metadata_version: 6
    """
    return pl.col("version") != pl.col("checkpoint_metadata_version")


@rule("CKP007", requires="checkpoint.v2-needs-feature", view=checkpoints, fix=REWRITE_CHECKPOINT_OR_ADD_V2)
def v2_content_without_feature() -> pl.Expr:
    """A checkpoint has V2 content although the table does not support v2Checkpoint.

    Clients of this table need not understand sidecars. They may see a table without its files.

    Conforms::
        naming: classic, checkpoint_metadatas: 1, sidecars: 1, v2_checkpoint_supported: true
        naming: classic, checkpoint_metadatas: 0, sidecars: 0, v2_checkpoint_supported: false
    Violates::
        naming: classic, checkpoint_metadatas: 1, sidecars: 0, v2_checkpoint_supported: false
    """
    has_v2 = (pl.col("checkpoint_metadatas") > 0) | (pl.col("sidecars") > 0)
    return (pl.col("naming") == "classic") & has_v2 & ~pl.col("v2_checkpoint_supported")


@rule(
    "CKP008",
    requires=("checkpoint.multipart-is-v1", "checkpoint-metadata.only-in-v2", "sidecar.only-in-v2"),
    view=checkpoints,
    fix=REWRITE_CHECKPOINT,
)
def v2_content_in_multipart_checkpoint() -> pl.Expr:
    """A multipart checkpoint has V2 content.

    Readers expect V1 content in multipart checkpoints and do not follow the sidecars.

    Conforms::
        naming: multipart, checkpoint_metadatas: 0, sidecars: 0
        naming: uuid, checkpoint_metadatas: 1, sidecars: 3
    Violates::
        naming: multipart, checkpoint_metadatas: 1, sidecars: 0
    """
    has_v2 = (pl.col("checkpoint_metadatas") > 0) | (pl.col("sidecars") > 0)
    return (pl.col("naming") == "multipart") & has_v2


@rule("CKP009", requires="checkpoint.one-action-a-row", view=checkpoints, fix=REWRITE_CHECKPOINT)
def row_without_exactly_one_action() -> pl.Expr:
    """A row of a checkpoint contains no action, or several actions.

    Readers that read one action for each row lose the others.

    Conforms::
        rows_without_action: 0, rows_with_several_actions: 0
    Violates::
        rows_without_action: 1, rows_with_several_actions: 0
        rows_without_action: 0, rows_with_several_actions: 1
    """
    return (pl.col("rows_without_action") > 0) | (pl.col("rows_with_several_actions") > 0)


@rule(
    "CKP010",
    requires=("domain.no-tombstones-in-checkpoint", "checkpoint-contents.no-domain-tombstones"),
    view=checkpoints,
    fix=REWRITE_CHECKPOINT,
)
def removed_domain_in_checkpoint() -> pl.Expr:
    """A checkpoint contains the tombstone of a metadata domain.

    A removed domain is not part of the table state. Readers that ignore the flag restore the domain.

    Conforms::
        removed_domains: []
    Violates::
        removed_domains: ["myApp"]
    """
    return pl.col("removed_domains").list.len() > 0


@rule("CKP011", requires="reconciliation.domain-unique", view=checkpoints, fix=REWRITE_CHECKPOINT)
def repeated_domain_in_checkpoint() -> pl.Expr:
    """A checkpoint contains the same metadata domain more than once.

    Rows of a checkpoint have no order, so readers disagree on the configuration of the domain.

    Conforms::
        repeated_domains: []
    Violates::
        repeated_domains: ["myApp"]
    """
    return pl.col("repeated_domains").list.len() > 0


@rule("CKP013", requires="checkpoint.v2-files-in-one-place", view=checkpoints, fix=REWRITE_CHECKPOINT)
def file_actions_alongside_sidecars() -> pl.Expr:
    """A checkpoint lists files both directly and in sidecars.

    Readers that find a sidecar may read files only from sidecars, and lose the others.

    Conforms::
        sidecars: 2, adds: 0, removes: 0
        sidecars: 0, adds: 10, removes: 1
    Violates::
        sidecars: 2, adds: 1, removes: 0
        sidecars: 2, adds: 0, removes: 1
    """
    return (pl.col("sidecars") > 0) & ((pl.col("adds") > 0) | (pl.col("removes") > 0))


@rule("CKP012", requires="reconciliation.transaction-unique", view=checkpoints, fix=REWRITE_CHECKPOINT)
def repeated_application_in_checkpoint() -> pl.Expr:
    """A checkpoint contains several txn actions of the same application.

    Rows of a checkpoint have no order, so a stream may resume from the wrong version and repeat or skip data.

    Conforms::
        repeated_apps: []
    Violates::
        repeated_apps: ["app-1"]
    """
    return pl.col("repeated_apps").list.len() > 0


@rule("CKP070", requires="checkpoint.multipart-avoided", view=checkpoints)
def multipart_checkpoint() -> pl.Expr:
    """A checkpoint was written in several parts, which is deprecated.

    The parts are not written atomically. If writers race, the checkpoint can mix their parts. (Multipart checkpoints
    with other defects, or that the features of the table forbid, are reported by other rules.)
    Fix (rewrite): Write a new checkpoint in one file with `DeltaTable.create_checkpoint()` (delta-rs). In Delta
    Spark, unset `spark.databricks.delta.checkpoint.partSize`, or use V2 checkpoints.

    Conforms::
        naming: classic, content: v1, misplaced_files: null, v2_checkpoint_supported: false
        naming: multipart, content: v1, misplaced_files: 0, v2_checkpoint_supported: true
    Violates::
        naming: multipart, content: v1, misplaced_files: 0, v2_checkpoint_supported: false
    """
    sound = (pl.col("content") == "v1") & (pl.col("misplaced_files") == 0)
    return (pl.col("naming") == "multipart") & sound & ~pl.col("v2_checkpoint_supported")


@rule(
    "CKP071", requires="checkpoint-contents.parts-hashed", view=checkpoints, divergence="S28", fix=WRITE_NEW_CHECKPOINT
)
def file_in_wrong_checkpoint_part() -> pl.Expr:
    """Files of a multipart checkpoint are in other parts than Spark's hash of their keys gives.

    If writers raced, parts of different checkpoints are mixed: files are listed twice or not at all.

    Conforms::
        misplaced_files: 0
        misplaced_files: null
    Violates::
        misplaced_files: 2
    """
    return pl.col("misplaced_files") > 0


@rule("CKP072", requires="checkpoint-contents.parts-clustered-by-path", view=checkpoints, fix=REWRITE_CHECKPOINT)
def path_in_several_parts() -> pl.Expr:
    """Actions of the same path are in several parts of a checkpoint.

    Whether paths are assigned by hash or by range, all actions of a path belong to one part. If writers raced, parts of
    different checkpoints are mixed: files are listed twice or not at all.

    Conforms::
        split_paths: 0
        split_paths: null
    Violates::
        split_paths: 1
    """
    return pl.col("split_paths") > 0


@rule(
    "CKP090", requires="reconciliation.one-high-water-mark", view=checkpoints, fix=STOP_WRITERS_AND_REWRITE_CHECKPOINT
)
def several_row_id_marks_in_checkpoint() -> pl.Expr:
    """A checkpoint contains more than one rowIdHighWaterMark action.

    Rows of a checkpoint have no order, so the valid mark is undefined and writers may assign row ids twice.

    Conforms::
        row_id_high_water_marks: 0
        row_id_high_water_marks: 1
    Violates::
        row_id_high_water_marks: 2
    """
    return pl.col("row_id_high_water_marks") > 1


@rule(
    "CKP091",
    requires="checkpoint.equals-replay",
    view=replay_differences,
    until="r2",
    fix=STOP_WRITERS_AND_REWRITE_CHECKPOINT,
)
def row_id_mark_differs_in_checkpoint() -> pl.Expr:
    """The row id high-water mark in a checkpoint differs from the commits.

    Writers that start from the checkpoint assign row ids twice.

    Conforms::
        derived_file_kind: checkpoint, kind: txn
        derived_file_kind: compaction, kind: rowIdHighWaterMark
    Violates::
        derived_file_kind: checkpoint, kind: rowIdHighWaterMark
    """
    return (pl.col("derived_file_kind") == "checkpoint") & (pl.col("kind") == "rowIdHighWaterMark")


@rule("CKP068", requires="checkpoint-metadata.tag-values", view=checkpoints, fix=REWRITE_CHECKPOINT)
def checkpoint_tags_contradict_sidecars() -> pl.Expr:
    """A tag of checkpointMetadata contradicts the checkpoint and its sidecars.

    Readers that plan with the tags use wrong counts or a wrong schema. If the tags are right, a sidecar was replaced.

    Conforms::
        false_tags: []
        false_tags: null
    Violates::
        false_tags: ["numOfAddFiles: expected 2, found 77"]
    """
    return pl.col("false_tags").list.len() > 0

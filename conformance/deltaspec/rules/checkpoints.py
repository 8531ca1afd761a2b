"""Rules over checkpoints as wholes. Source: chapters Checkpoints, Checkpoint Specs, Action Reconciliation."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import checkpoints, replay_differences


@rule(
    "CKP001",
    requires=("checkpoint.format", "checkpoint-contents.parquet", "checkpoint.multipart-format"),
    view=checkpoints,
)
def checkpoint_unreadable() -> pl.Expr:
    """A checkpoint cannot be read as the Parquet or JSON file of actions that its name promises.

    Readers that start from it fail, even where the commits would do without it.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        unreadable: null
    Violates::
        unreadable: "Parquet magic bytes not found in footer"
    """
    return pl.col("unreadable").is_not_null()


@rule("CKP002", requires=("reconciliation.one-protocol", "checkpoint-contents.has-protocol"), view=checkpoints)
def checkpoint_protocol_count() -> pl.Expr:
    """A checkpoint does not hold exactly one protocol.

    Readers that start from it do not know what it takes to read the table.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        protocols: 1
    Violates::
        protocols: 0
        protocols: 2
    """
    return pl.col("protocols") != 1


@rule("CKP003", requires=("reconciliation.one-metadata", "checkpoint-contents.has-metadata"), view=checkpoints)
def checkpoint_metadata_count() -> pl.Expr:
    """A checkpoint does not hold exactly one metaData.

    Readers that start from it have no schema, or two.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        metadatas: 1
    Violates::
        metadatas: 0
        metadatas: 2
    """
    return pl.col("metadatas") != 1


@rule("CKP004", requires="checkpoint.no-commit-info-no-cdc", view=checkpoints)
def commit_action_in_checkpoint() -> pl.Expr:
    """A checkpoint holds commitInfo or cdc actions.

    They belong to single versions; in a checkpoint they claim to be part of the state.
    Fix: write the checkpoint anew without them.

    Conforms::
        commit_infos: 0, cdcs: 0
    Violates::
        commit_infos: 1, cdcs: 0
        commit_infos: 0, cdcs: 2
    """
    return (pl.col("commit_infos") > 0) | (pl.col("cdcs") > 0)


@rule("CKP005", requires=("checkpoint.v2-has-metadata", "checkpoint.uuid-is-v2"), view=checkpoints)
def checkpoint_metadata_action_count() -> pl.Expr:
    """A checkpoint with V2 content does not hold exactly one checkpointMetadata.

    Readers cannot tell that its content is V2, and miss the sidecars.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

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


@rule("CKP006", requires="checkpoint-metadata.version", view=checkpoints)
def checkpoint_metadata_version_differs() -> pl.Expr:
    """The version in checkpointMetadata is not that in the checkpoint's name.

    The file was renamed or made of another version: readers get another state than they asked for.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        version: 7, checkpoint_metadata_version: 7
        version: 7, checkpoint_metadata_version: null
    Violates::
        version: 7, checkpoint_metadata_version: 6
    """
    return pl.col("version") != pl.col("checkpoint_metadata_version")


@rule("CKP007", requires="checkpoint.v2-needs-feature", view=checkpoints)
def v2_content_without_feature() -> pl.Expr:
    """A checkpoint has V2 content although the table does not support v2Checkpoint.

    Clients of this table need not know sidecars: they see a table without its files.
    Fix: write a checkpoint with V1 content, or add the feature.

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
)
def v2_content_in_multipart_checkpoint() -> pl.Expr:
    """A multipart checkpoint has V2 content.

    Readers of its name expect V1 content and do not follow sidecars.
    Fix: write a checkpoint with a UUID name and delete the parts.

    Conforms::
        naming: multipart, checkpoint_metadatas: 0, sidecars: 0
        naming: uuid, checkpoint_metadatas: 1, sidecars: 3
    Violates::
        naming: multipart, checkpoint_metadatas: 1, sidecars: 0
    """
    has_v2 = (pl.col("checkpoint_metadatas") > 0) | (pl.col("sidecars") > 0)
    return (pl.col("naming") == "multipart") & has_v2


@rule("CKP009", requires="checkpoint.one-action-a-row", view=checkpoints)
def row_without_exactly_one_action() -> pl.Expr:
    """A row of a checkpoint holds no action, or several.

    Readers that look at one column of a row after another lose what the others hold.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

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
)
def removed_domain_in_checkpoint() -> pl.Expr:
    """A checkpoint holds the tombstone of a metadata domain.

    A removed domain is no part of the state; readers that overlook the flag bring it back.
    Fix: write the checkpoint anew without it.

    Conforms::
        removed_domains: []
    Violates::
        removed_domains: ["myApp"]
    """
    return pl.col("removed_domains").list.len() > 0


@rule("CKP011", requires="reconciliation.domain-unique", view=checkpoints)
def repeated_domain_in_checkpoint() -> pl.Expr:
    """A checkpoint holds one metadata domain several times.

    Rows of a checkpoint have no order: readers disagree on the configuration.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        repeated_domains: []
    Violates::
        repeated_domains: ["myApp"]
    """
    return pl.col("repeated_domains").list.len() > 0


@rule("CKP013", requires="checkpoint.v2-files-in-one-place", view=checkpoints)
def file_actions_alongside_sidecars() -> pl.Expr:
    """A checkpoint lists files both itself and in sidecars.

    Readers that meet a sidecar look for files there only, and lose those in the checkpoint.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        sidecars: 2, adds: 0, removes: 0
        sidecars: 0, adds: 10, removes: 1
    Violates::
        sidecars: 2, adds: 1, removes: 0
        sidecars: 2, adds: 0, removes: 1
    """
    return (pl.col("sidecars") > 0) & ((pl.col("adds") > 0) | (pl.col("removes") > 0))


@rule("CKP012", requires="reconciliation.transaction-unique", view=checkpoints)
def repeated_application_in_checkpoint() -> pl.Expr:
    """A checkpoint holds several txn actions of one application.

    Rows of a checkpoint have no order: a stream may repeat or skip data.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        repeated_apps: []
    Violates::
        repeated_apps: ["app-1"]
    """
    return pl.col("repeated_apps").list.len() > 0


@rule("CKP070", requires="checkpoint.multipart-avoided", view=checkpoints)
def multipart_checkpoint() -> pl.Expr:
    """A checkpoint was written in several parts, which is deprecated.

    Parts are not written as one: while they are, and after writers raced, they can be an arbitrary mix. (One that is
    wrong in itself, or that the table's features forbid, is reported for that.)
    Fix: write a checkpoint in one file, or one with a UUID name and sidecars where v2Checkpoint is supported.

    Conforms::
        naming: classic, content: v1, misplaced_files: null, v2_checkpoint_supported: false
        naming: multipart, content: v1, misplaced_files: 0, v2_checkpoint_supported: true
    Violates::
        naming: multipart, content: v1, misplaced_files: 0, v2_checkpoint_supported: false
    """
    sound = (pl.col("content") == "v1") & (pl.col("misplaced_files") == 0)
    return (pl.col("naming") == "multipart") & sound & ~pl.col("v2_checkpoint_supported")


@rule("CKP071", requires="checkpoint-contents.parts-hashed", view=checkpoints, divergence="S28")
def file_in_wrong_checkpoint_part() -> pl.Expr:
    """Files of a multipart checkpoint stand in other parts than Spark's hash of their keys says.

    Where writers race, the parts of one are overwritten by the other's: files are then listed twice or not at all.
    Fix: write a checkpoint in one file, and delete the parts.

    Conforms::
        misplaced_files: 0
        misplaced_files: null
    Violates::
        misplaced_files: 2
    """
    return pl.col("misplaced_files") > 0


@rule("CKP072", requires="checkpoint-contents.parts-clustered-by-path", view=checkpoints, divergence="S28")
def path_in_several_parts() -> pl.Expr:
    """Actions of one path stand in several parts of a checkpoint, which no hash and no range of paths gives.

    Where writers race, the parts of one are overwritten by the other's: files are then listed twice or not at all.
    Fix: write a checkpoint in one file, and delete the parts.

    Conforms::
        split_paths: 0
        split_paths: null
    Violates::
        split_paths: 1
    """
    return pl.col("split_paths") > 0


@rule("CKP090", requires="reconciliation.one-high-water-mark", view=checkpoints)
def several_row_id_marks_in_checkpoint() -> pl.Expr:
    """A checkpoint holds more than one rowIdHighWaterMark.

    Its actions have no order: which mark holds is undefined, and writers may give row ids a second time.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        row_id_high_water_marks: 0
        row_id_high_water_marks: 1
    Violates::
        row_id_high_water_marks: 2
    """
    return pl.col("row_id_high_water_marks") > 1


@rule("CKP091", requires="checkpoint.equals-replay", view=replay_differences, until="r2")
def row_id_mark_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint has another mark of row ids than the commits.

    Writers that go on from it give row ids a second time.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checkpoint, kind: txn
        claim: compaction, kind: rowIdHighWaterMark
    Violates::
        claim: checkpoint, kind: rowIdHighWaterMark
    """
    return (pl.col("claim") == "checkpoint") & (pl.col("kind") == "rowIdHighWaterMark")

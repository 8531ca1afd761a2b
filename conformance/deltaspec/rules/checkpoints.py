"""Rules over checkpoints and their sidecars. Source: chapters Checkpoints, Checkpoint Specs, Sidecar Files."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.checkpoints import checkpoint_rows, checkpoints, sidecars


@rule("CKP001", requires="checkpoint.format", view=checkpoints)
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


@rule("CKP002", requires="reconciliation.one-protocol", view=checkpoints)
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


@rule("CKP003", requires="reconciliation.one-metadata", view=checkpoints)
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


@rule("CKP005", requires="checkpoint.v2-has-metadata", view=checkpoints)
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


@rule("CKP008", requires="checkpoint.multipart-is-v1", view=checkpoints)
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
def row_without_one_action() -> pl.Expr:
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


@rule("CKP010", requires="domain.no-tombstones-in-checkpoint", view=checkpoints)
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


@rule("CKP020", requires="sidecar.path", view=sidecars)
def sidecar_elsewhere() -> pl.Expr:
    """A sidecar action leads to a place other than `_delta_log/_sidecars`.

    Readers look for the file in that folder and do not find it.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        path_in_sidecars: true
    Violates::
        path_in_sidecars: false
    """
    return ~pl.col("path_in_sidecars")


@rule("CKP021", requires="sidecar.path-is-name", view=sidecars)
def sidecar_path_is_no_bare_name() -> pl.Expr:
    """A sidecar action names its file by a path instead of the bare name.

    The reference breaks when the table is copied or moved.
    Fix: write the checkpoint anew with bare names.

    Conforms::
        path_is_name: true, path_in_sidecars: true
        path_is_name: false, path_in_sidecars: false
    Violates::
        path_is_name: false, path_in_sidecars: true
    """
    return ~pl.col("path_is_name") & pl.col("path_in_sidecars")


@rule("CKP022", requires="sidecar.exists", view=sidecars)
def sidecar_missing() -> pl.Expr:
    """A sidecar of a checkpoint is not there.

    Readers that start from the checkpoint fail, or see a table without the files that the sidecar lists.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        exists: true
    Violates::
        exists: false
    """
    return ~pl.col("exists")


@rule("CKP023", requires="sidecar.size", view=sidecars)
def sidecar_size_differs() -> pl.Expr:
    """A sidecar is not as long as the checkpoint says.

    Readers that fetch its end by the claimed size fail.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        size_in_bytes: 9268, actual_size: 9268
        size_in_bytes: 9268, actual_size: null
    Violates::
        size_in_bytes: 9268, actual_size: 9267
    """
    return pl.col("size_in_bytes") != pl.col("actual_size")


@rule("CKP024", requires="sidecar.format", view=sidecars)
def sidecar_unreadable() -> pl.Expr:
    """A sidecar cannot be read as a Parquet file of actions.

    Readers that start from the checkpoint fail.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        unreadable: null
    Violates::
        unreadable: "Parquet magic bytes not found in footer"
    """
    return pl.col("unreadable").is_not_null()


@rule("CKP025", requires="sidecar.files-only", view=sidecars)
def foreign_action_in_sidecar() -> pl.Expr:
    """A sidecar holds actions other than add and remove.

    Readers look at files only and lose the others.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        other_actions: []
    Violates::
        other_actions: ["txn"]
    """
    return pl.col("other_actions").list.len() > 0


@rule("CKP026", requires="reconciliation.add-unique", view=sidecars)
def sidecar_listed_twice() -> pl.Expr:
    """A checkpoint lists one sidecar twice.

    Every file of it is read twice.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        times: 1
    Violates::
        times: 2
    """
    return pl.col("times") > 1


def _differs(kind: str, difference: str) -> pl.Expr:
    of_kind = (pl.col("claim") == "checkpoint") & (pl.col("kind") == kind)
    return of_kind & (pl.col("difference") == difference)


@rule("CKP030", requires="checkpoint.equals-replay", view=checkpoint_rows)
def live_file_missing_from_checkpoint() -> pl.Expr:
    """A checkpoint lacks a file that is live at its version.

    Readers that start from it lose the file's rows; those that replay the commits see them.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checkpoint, kind: remove, difference: missing
    Violates::
        claim: checkpoint, kind: add, difference: missing
    """
    return _differs("add", "missing")


@rule("CKP031", requires="checkpoint.equals-replay", view=checkpoint_rows)
def dead_file_in_checkpoint() -> pl.Expr:
    """A checkpoint holds a file that is not live at its version.

    Readers that start from it return rows that were deleted or never were.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checkpoint, kind: add, difference: differs
    Violates::
        claim: checkpoint, kind: add, difference: extra
    """
    return _differs("add", "extra")


@rule("CKP032", requires="checkpoint.equals-replay", view=checkpoint_rows)
def file_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint says something else of a live file than the commits.

    Readers get another deletion vector, partition value, size or statistic, depending on where they start.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: compaction, kind: add, difference: differs
    Violates::
        claim: checkpoint, kind: add, difference: differs
    """
    return _differs("add", "differs")


@rule("CKP033", requires="checkpoint.equals-replay", view=checkpoint_rows)
def unknown_tombstone_in_checkpoint() -> pl.Expr:
    """A checkpoint holds a tombstone that no commit made.

    Its file may be deleted although it is live.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checkpoint, kind: remove, difference: extra, expired_possible: true
        claim: checkpoint, kind: remove, difference: missing, expired_possible: true
    Violates::
        claim: checkpoint, kind: remove, difference: extra, expired_possible: false
    """
    return _differs("remove", "extra") & ~pl.col("expired_possible")


@rule("CKP034", requires="checkpoint.equals-replay", view=checkpoint_rows)
def tombstone_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint says something else of a tombstone than the commit that made it.

    Its file is deleted too early or too late, or change data goes wrong.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checkpoint, kind: remove, difference: missing
    Violates::
        claim: checkpoint, kind: remove, difference: differs
    """
    return _differs("remove", "differs")


@rule("CKP035", requires="checkpoint.equals-replay", view=checkpoint_rows)
def protocol_differs_in_checkpoint() -> pl.Expr:
    """The protocol of a checkpoint is not that of its version.

    Clients that start from it believe that they need other features than they do.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checksum, kind: protocol, difference: differs
    Violates::
        claim: checkpoint, kind: protocol, difference: differs
    """
    return _differs("protocol", "differs")


@rule("CKP036", requires="checkpoint.equals-replay", view=checkpoint_rows)
def metadata_differs_in_checkpoint() -> pl.Expr:
    """The metaData of a checkpoint is not that of its version.

    Readers that start from it see another schema or configuration.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checksum, kind: metaData, difference: differs
    Violates::
        claim: checkpoint, kind: metaData, difference: differs
    """
    return _differs("metaData", "differs")


@rule("CKP037", requires="checkpoint.equals-replay", view=checkpoint_rows)
def transaction_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint has another txn of an application than the commits, or lacks one that cannot have expired.

    The application repeats or skips data.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checkpoint, kind: txn, expired_possible: true
        claim: checkpoint, kind: add, expired_possible: false
    Violates::
        claim: checkpoint, kind: txn, expired_possible: false
    """
    return (pl.col("claim") == "checkpoint") & (pl.col("kind") == "txn") & ~pl.col("expired_possible")


@rule("CKP038", requires="checkpoint.equals-replay", view=checkpoint_rows)
def domain_differs_in_checkpoint() -> pl.Expr:
    """A checkpoint has another state of a metadata domain than the commits.

    Writers that go on from it reuse row ids or lose clustering.
    Fix: delete the checkpoint while the commits before it remain, and write it anew.

    Conforms::
        claim: checkpoint, kind: txn
    Violates::
        claim: checkpoint, kind: domainMetadata
    """
    return (pl.col("claim") == "checkpoint") & (pl.col("kind") == "domainMetadata")

"""Rules over the sidecars of checkpoints. Source: chapters Sidecar Files, Sidecar File Information."""

import polars as pl

from deltaspec.rules.fixes import RESTORE_SIDECAR, REWRITE_CHECKPOINT
from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import sidecars


@rule("CKP020", requires="sidecar.path", view=sidecars, fix=REWRITE_CHECKPOINT)
def sidecar_outside_sidecars_directory() -> pl.Expr:
    """A sidecar action refers to a file outside `_delta_log/_sidecars`.

    Readers look for the sidecar in that directory and do not find it.

    Conforms::
        path_in_sidecars: true
    Violates::
        path_in_sidecars: false
    """
    return ~pl.col("path_in_sidecars")


@rule("CKP021", requires="sidecar.path-is-name", view=sidecars)
def sidecar_path_is_not_file_name() -> pl.Expr:
    """A sidecar action refers to its file by a path instead of a file name.

    The reference breaks when the table is copied or moved.
    Fix (rewrite): Write a new checkpoint with a corrected writer. Do this before the table is copied or moved.

    Conforms::
        path_is_name: true, path_in_sidecars: true
        path_is_name: false, path_in_sidecars: false
    Violates::
        path_is_name: false, path_in_sidecars: true
    """
    return ~pl.col("path_is_name") & pl.col("path_in_sidecars")


@rule("CKP022", requires=("sidecar.exists", "sidecar.protected-from-cleanup"), view=sidecars, fix=RESTORE_SIDECAR)
def sidecar_missing() -> pl.Expr:
    """A sidecar of a checkpoint does not exist.

    Readers that start from the checkpoint fail, or see a table without the files of the sidecar.

    Conforms::
        exists: true
    Violates::
        exists: false
    """
    return ~pl.col("exists")


@rule("CKP023", requires="sidecar.size", view=sidecars, fix=RESTORE_SIDECAR)
def sidecar_size_differs() -> pl.Expr:
    """The size of a sidecar differs from the size in the checkpoint.

    The sidecar was truncated or overwritten. Readers that locate its footer by the size fail or read other files.

    Conforms::
        size_in_bytes: 9268, actual_size: 9268
        size_in_bytes: 9268, actual_size: null
    Violates::
        size_in_bytes: 9268, actual_size: 9267
    """
    return pl.col("size_in_bytes") != pl.col("actual_size")


@rule("CKP024", requires=("sidecar.format", "sidecar.columns"), view=sidecars, fix=RESTORE_SIDECAR)
def sidecar_unreadable() -> pl.Expr:
    """A sidecar cannot be read as a Parquet file of actions, or a page checksum does not match.

    Readers that start from the checkpoint fail. Readers that do not verify page checksums may return wrong files.

    Conforms::
        unreadable: null
    Violates::
        unreadable: "Parquet magic bytes not found in footer"
    """
    return pl.col("unreadable").is_not_null()


@rule("CKP025", requires=("sidecar.files-only", "checkpoint.v2-others-inline"), view=sidecars, fix=REWRITE_CHECKPOINT)
def unexpected_action_in_sidecar() -> pl.Expr:
    """A sidecar contains actions other than add and remove.

    Readers take only file actions from sidecars and lose the others.

    Conforms::
        unexpected_actions: []
    Violates::
        unexpected_actions: ["txn"]
    """
    return pl.col("unexpected_actions").list.len() > 0


@rule("CKP026", requires="sidecar.unique-name", view=sidecars, fix=REWRITE_CHECKPOINT)
def sidecar_listed_twice() -> pl.Expr:
    """A checkpoint lists the same sidecar twice.

    Readers read every file of the sidecar twice, so rows are duplicated.

    Conforms::
        occurrences: 1
    Violates::
        occurrences: 2
    """
    return pl.col("occurrences") > 1

"""Rules over the sidecars of checkpoints. Source: chapters Sidecar Files, Sidecar File Information."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import sidecars


@rule("CKP020", requires="sidecar.path", view=sidecars)
def sidecar_outside_sidecars_directory() -> pl.Expr:
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
def sidecar_path_is_not_file_name() -> pl.Expr:
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


@rule("CKP022", requires=("sidecar.exists", "sidecar.protected-from-cleanup"), view=sidecars)
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


@rule("CKP024", requires=("sidecar.format", "sidecar.columns"), view=sidecars)
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


@rule("CKP025", requires=("sidecar.files-only", "checkpoint.v2-others-inline"), view=sidecars)
def unexpected_action_in_sidecar() -> pl.Expr:
    """A sidecar holds actions other than add and remove.

    Readers look at files only and lose the others.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        unexpected_actions: []
    Violates::
        unexpected_actions: ["txn"]
    """
    return pl.col("unexpected_actions").list.len() > 0


@rule("CKP026", requires="sidecar.unique-name", view=sidecars)
def sidecar_listed_twice() -> pl.Expr:
    """A checkpoint lists one sidecar twice.

    Every file of it is read twice.
    Fix: delete the checkpoint if the commits before it remain, and write it anew.

    Conforms::
        occurrences: 1
    Violates::
        occurrences: 2
    """
    return pl.col("occurrences") > 1

"""Deletion vectors added while delta.enableDeletionVectors is not true. Source: Deletion Vectors (since r3)."""

from collections.abc import Mapping

import polars as pl

from deltaspec.protocol.log.operations import FILE_REUSING_OPERATIONS
from deltaspec.protocol.log.operations import reuses_existing_files as reuses_existing_files
from deltaspec.views.base import Column, View
from deltaspec.views.table.enablement import EnablementHistory

FEATURE = "deletionVectors"
_VECTOR_CREATING_OPERATIONS = ("DELETE", "UPDATE", "MERGE")
"""Operations that create deletion vectors."""

added_vectors = View(
    name="added_vectors",
    grain="deletion vector that a commit adds while deletionVectors is supported but delta.enableDeletionVectors is "
    "not true; no earlier action of the validated history has the same path and vector",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "log file of the commit, relative to the table root"),
        "line": Column(pl.Int64, "line number, starting at 1"),
        "path": Column(pl.String, "path of the data file, as written"),
        "deletion_vector_id": Column(pl.String, "unique id of the deletion vector", shown=True),
        "operation": Column(pl.String, "commitInfo.operation; null if the commit has none", shown=True),
        "may_predate_commit": Column(
            pl.Boolean,
            "whether the vector may be older than the commit: the operation reuses existing files, or the commit "
            "creates the table, or the history starts at a checkpoint and the operation creates no vectors",
        ),
    },
)


def build_added_vector_rows(
    chain: pl.DataFrame,
    enabled: EnablementHistory,
    operations: Mapping[int, str | None],
    *,
    begins_with_checkpoint: bool,
) -> pl.DataFrame:
    """Return the rows of `added_vectors`.

    Args:
        chain: every add and remove of the validated history, with the columns of `file_replay.REPLAY_COLUMNS`.
        enabled: versions at which feature support or the property changed.
        operations: version to commitInfo.operation, null if a commit has none.
        begins_with_checkpoint: whether versions before the validated history exist.
    """
    if chain["deletion_vector_id"].null_count() == len(chain):
        return added_vectors.frame([])
    with_vector = chain.filter(pl.col("deletion_vector_id").is_not_null())
    added = with_vector.filter((pl.col("kind") == "add") & (pl.col("source") == "commit") & _not_enabled(enabled))
    if added.is_empty():
        return added_vectors.frame([])
    keys = ["path_key", "deletion_vector_id"]
    first = with_vector.join(added.select(keys).unique(), on=keys, how="semi")
    first = first.group_by(keys).agg(first_version=pl.col("version").min())
    new = added.join(first, on=keys, how="left").filter(pl.col("version") == pl.col("first_version"))
    operation_rows = pl.DataFrame(
        {"version": list(operations), "operation": list(operations.values())},
        schema={"version": pl.Int64, "operation": pl.String},
    )
    reuses_files = pl.col("operation").str.to_lowercase().str.contains(FILE_REUSING_OPERATIONS)
    creates_vectors = pl.col("operation").str.to_uppercase().is_in(_VECTOR_CREATING_OPERATIONS).fill_null(False)
    origin_is_unknown = (pl.col("version") == 0) | (pl.lit(begins_with_checkpoint) & ~creates_vectors)
    return (
        new.join(operation_rows, on="version", how="left")
        .with_columns(
            path=pl.coalesce("path", "path_key"), may_predate_commit=reuses_files.fill_null(False) | origin_is_unknown
        )
        .select(list(added_vectors.columns))
    )


def _not_enabled(enabled: EnablementHistory) -> pl.Expr:
    """Build the condition "supported but not enabled"; it is false before the known history."""
    ends = [*(version for version, _, _ in enabled[1:]), None][: len(enabled)]
    intervals = [
        (pl.col("version") >= start) & (pl.lit(True) if end is None else pl.col("version") < end)
        for (start, supported, is_true), end in zip(enabled, ends, strict=True)
        if supported and not is_true
    ]
    return pl.any_horizontal(intervals) if intervals else pl.lit(False)

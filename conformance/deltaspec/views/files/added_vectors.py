"""Deletion vectors that commits add while the table does not ask for them. Source: Deletion Vectors (since r3)."""

from collections.abc import Mapping

import polars as pl

from deltaspec.model.commit.operations import FILE_REUSING_OPERATIONS
from deltaspec.model.commit.operations import reuses_existing_files as reuses_existing_files
from deltaspec.views.base import Column, View
from deltaspec.views.table.enablement import EnablementHistory

FEATURE = "deletionVectors"
ENABLED = "delta.enableDeletionVectors"
_MAKE_VECTORS = ("DELETE", "UPDATE", "MERGE")
"""Operations by which engines make vectors."""

added_vectors = View(
    name="added_vectors",
    grain="deletion vector in an add of a commit, where deletionVectors is supported, delta.enableDeletionVectors not "
    "true, and no earlier action of the judged history has the path and the vector",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "name of the log file, relative to the table"),
        "line": Column(pl.Int64, "line, counted from 1"),
        "path": Column(pl.String, "path of the data file as written"),
        "deletion_vector_id": Column(pl.String, "unique id of the vector", shown=True),
        "operation": Column(pl.String, "commitInfo.operation of the commit; null where it says none", shown=True),
        "may_be_older": Column(
            pl.Boolean,
            "the vector may have been made before: the operation takes over files of another state or table; or the "
            "commit begins the table; or the history begins with a checkpoint and the operation makes no vectors",
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
    """Rows of `added_vectors`.

    Args:
        chain: every add and remove of the judged history, the columns of `file_replay.REPLAY_COLUMNS`.
        enabled: since when the feature is supported and the property true.
        operations: of each commit.
        begins_with_checkpoint: there are versions before the judged history.
    """
    with_vector = chain.filter(pl.col("deletion_vector_id").is_not_null())
    added = with_vector.filter((pl.col("kind") == "add") & (pl.col("source") == "commit") & _not_enabled(enabled))
    if added.is_empty():
        return added_vectors.frame([])
    keys = ["path_key", "deletion_vector_id"]
    first = with_vector.join(added.select(keys).unique(), on=keys, how="semi")
    first = first.group_by(keys).agg(first_version=pl.col("version").min())
    new = added.join(first, on=keys, how="left").filter(pl.col("version") == pl.col("first_version"))
    told = pl.DataFrame(
        {"version": list(operations), "operation": list(operations.values())},
        schema={"version": pl.Int64, "operation": pl.String},
    )
    of_others = pl.col("operation").str.to_lowercase().str.contains(FILE_REUSING_OPERATIONS)
    makes = pl.col("operation").str.to_uppercase().is_in(_MAKE_VECTORS).fill_null(False)
    unsaid = (pl.col("version") == 0) | (pl.lit(begins_with_checkpoint) & ~makes)
    return (
        new.join(told, on="version", how="left")
        .with_columns(path=pl.coalesce("path", "path_key"), may_be_older=of_others.fill_null(False) | unsaid)
        .select(list(added_vectors.columns))
    )


def _not_enabled(enabled: EnablementHistory) -> pl.Expr:
    """Versions at which the feature is supported and the property is not true; none before the first that is known."""
    ends = [*(version for version, _, _ in enabled[1:]), None][: len(enabled)]
    spans = [
        (pl.col("version") >= start) & (pl.lit(True) if end is None else pl.col("version") < end)
        for (start, supported, true), end in zip(enabled, ends, strict=True)
        if supported and not true
    ]
    return pl.any_horizontal(spans) if spans else pl.lit(False)

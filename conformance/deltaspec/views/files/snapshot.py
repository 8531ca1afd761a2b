"""The view over the judged snapshot."""

import polars as pl

from deltaspec.views.base import Column, View

snapshot_files = View(
    name="snapshot_files",
    grain="logical file of the judged snapshot",
    key=("path_key",),
    columns={
        "version": Column(pl.Int64, "version of the snapshot"),
        "path": Column(pl.String, "path as written"),
        "path_key": Column(pl.String, "what equals for all spellings of one path"),
        "deletion_vector_id": Column(pl.String, "unique id of the deletion vector; null without one"),
        "size": Column(pl.Int64, "size in bytes"),
        "cardinality": Column(pl.Int64, "rows that the deletion vector takes away"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "added_version": Column(pl.Int64, "version whose add is in force; of the checkpoint where it came from one"),
    },
)


def build_snapshot_rows(live: pl.DataFrame, version: int) -> pl.DataFrame:
    """Live files as the view `snapshot_files`."""
    return live.with_columns(
        added_version=pl.col("version"), version=pl.lit(version, pl.Int64), path=pl.coalesce("path", "path_key")
    ).select(list(snapshot_files.columns))

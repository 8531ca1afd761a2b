"""View over the live files of the validated version."""

import polars as pl

from deltaspec.views.base import Column, View

snapshot_files = View(
    name="snapshot_files",
    grain="live logical file of the validated version",
    key=("path_key",),
    columns={
        "version": Column(pl.Int64, "validated version"),
        "path": Column(pl.String, "path, as written"),
        "path_key": Column(pl.String, "normalized path, equal for all encodings of the same path"),
        "deletion_vector_id": Column(pl.String, "unique id of the deletion vector; null if there is none"),
        "size": Column(pl.Int64, "size of the data file in bytes"),
        "cardinality": Column(pl.Int64, "number of rows that the deletion vector deletes"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "base_row_id": Column(pl.Int64, "baseRowId"),
        "added_version": Column(
            pl.Int64, "version of the file's current add; for an add from a checkpoint the checkpoint version"
        ),
    },
)


def build_snapshot_rows(live: pl.DataFrame, version: int) -> pl.DataFrame:
    """Return the live files as rows of `snapshot_files`."""
    return live.with_columns(
        added_version=pl.col("version"), version=pl.lit(version, pl.Int64), path=pl.coalesce("path", "path_key")
    ).select(list(snapshot_files.columns))

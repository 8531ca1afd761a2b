"""The view over the files that the judged snapshot, and the change data of the judged commits, are made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from deltaspec.model.actions import DeletionVectorDescriptor
from deltaspec.views.base import Column, View

_AT_ONCE = 10_000

data_files = View(
    name="data_files",
    grain="live data file of the judged snapshot, or change data file of a judged commit",
    key=("path_key",),
    level="files",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint whose action is in force"),
        "file": Column(pl.String, "log file the action stands in"),
        "line": Column(pl.Int64, "line or Parquet row, counted from 1"),
        "kind": Column(pl.String, "add or cdc"),
        "path": Column(pl.String, "path as written"),
        "path_key": Column(pl.String, "what equals for all spellings of one path"),
        "size": Column(pl.Int64, "size in bytes, as the action says"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "exists": Column(pl.Boolean, "the file is there; null where that could not be asked"),
        "removed_since": Column(
            pl.Boolean, "a later commit than the judged one removes it: then it may be gone; null where that is unknown"
        ),
        "actual_size": Column(pl.Int64, "length of the file in bytes; null where it is not there"),
        "footer_fault": Column(pl.String, "why the file is no Parquet file; null where it is one", "footers"),
        "row_count": Column(pl.Int64, "rows that the footer says the file has", "footers"),
        "row_group_rows": Column(pl.Int64, "rows that the footer says its row groups have together", "footers"),
        "external_path": Column(pl.String, "another file that the footer says holds columns of this one", "footers"),
        "column_mapping_mode": Column(pl.String, "id, name, or null where column mapping is off", "footers"),
        "has_field_ids": Column(pl.Boolean, "a node of the file has a field id", "footers"),
        "physical_names": Column(
            pl.Int64, "top-level columns that the file has under their physical names; null without mapping", "footers"
        ),
        "logical_names": Column(
            pl.Int64,
            "top-level columns whose logical, not physical, name the file has; null without mapping",
            "footers",
        ),
        "generated_names": Column(
            pl.Int64, "physical names in the file that only column mapping gives, `col-` and a UUID", "footers"
        ),
        "iceberg_compatibility": Column(
            pl.String,
            "V1 or V2, which is enabled at the judged version, of a change file at that of its commit; V2 where both "
            "are, null where neither is",
            "footers",
        ),
        "written_under_v2": Column(
            pl.Boolean,
            "beyond doubt the file was written while Iceberg compatibility V2 was enabled, as it is at the judged "
            "version",
            "footers",
        ),
        "absent_partition_columns": Column(
            pl.List(pl.String),
            "with compatibility: partition columns, not void, that the file does not hold",
            "footers",
        ),
        "misplaced_partition_columns": Column(
            pl.List(pl.String), "with compatibility: partition columns that it holds before a column of data", "footers"
        ),
        "int96_timestamps": Column(
            pl.List(pl.String), "with compatibility: columns of timestamps that it stores as INT96", "footers"
        ),
    },
)


@dataclass(frozen=True)
class DataFile:
    """What the log says of one live data file, or of one change data file."""

    version: int
    file: str
    """Log file that its action stands in."""
    line: int
    kind: str
    """`add` or `cdc`."""
    path: str
    """As written."""
    path_key: str
    """As `deltaspec.wire.storage.data_access` takes it."""
    size: int | None
    num_records: int | None
    stats: str | None
    """The statistics text; None below level `rows`."""
    partition_values: dict[str, str | None]
    """By physical name, as written; empty below level `rows`."""
    deletion_vector: DeletionVectorDescriptor | None
    base_row_id: int | None
    default_row_commit_version: int | None
    actual_size: int | None = None
    """Length of the file; None where it is not there, or could not be asked for."""

    @property
    def place(self) -> dict[str, Any]:
        """The location columns that views have in common."""
        return {"version": self.version, "file": self.file, "line": self.line, "path": self.path}


class DataFiles:
    """Data files in the order of their paths, held as columns and made one by one: there may be millions."""

    def __init__(self, rows: pl.DataFrame) -> None:
        """`rows`: file actions with the columns of `DATA_REPLAY_COLUMNS`, and optionally `actual_size`."""
        self.rows = rows.sort("path_key", "version", "file", "line")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[DataFile]:
        for part in self.rows.iter_slices(_AT_ONCE):
            for row in part.iter_rows(named=True):
                yield _data_file(row)


def _data_file(row: dict[str, Any]) -> DataFile:
    values = {each["key"]: each["value"] for each in row["partition_values"] or ()}
    vector = None
    if row["dv_storage_type"] is not None:
        vector = DeletionVectorDescriptor(
            storage_type=row["dv_storage_type"],
            path_or_inline_dv=row["dv_path_or_inline"] or "",
            offset=row["dv_offset"],
            size_in_bytes=row["dv_size_in_bytes"] or 0,
            cardinality=row["cardinality"] or 0,
        )
    return DataFile(
        version=row["version"],
        file=row["file"],
        line=row["line"],
        kind=row["kind"],
        path=row["path"] if row["path"] is not None else row["path_key"],
        path_key=row["path_key"],
        size=row["size"],
        num_records=row["num_records"],
        stats=row["stats"],
        partition_values=values,
        deletion_vector=vector,
        base_row_id=row["base_row_id"],
        default_row_commit_version=row["default_row_commit_version"],
        actual_size=row.get("actual_size"),
    )

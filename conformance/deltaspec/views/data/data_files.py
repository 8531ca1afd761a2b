"""View over the data files of the validated version and the change data files of the validated commits."""

from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.views.base import Column, View

_ROWS_PER_SLICE = 10_000

data_files = View(
    name="data_files",
    grain="live data file of the validated version, or change data file of a validated commit",
    key=("path_key",),
    level="files",
    columns={
        "version": Column(pl.Int64, "version of the commit or checkpoint that holds the file's current action"),
        "file": Column(pl.String, "log file of the action, relative to the table root"),
        "line": Column(pl.Int64, "line number or Parquet row number, starting at 1"),
        "kind": Column(pl.String, "kind of action: add or cdc"),
        "path": Column(pl.String, "path, as written"),
        "path_key": Column(pl.String, "normalized path, equal for all encodings of the same path"),
        "size": Column(pl.Int64, "size in the action, in bytes"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "exists": Column(pl.Boolean, "whether the file exists; null if unknown"),
        "name_in_table": Column(
            pl.String,
            "for a missing file whose path begins with a slash: path without it, if the table has that file",
            shown=True,
        ),
        "removed_since": Column(
            pl.Boolean,
            "whether a commit after the validated version removes the file, so that it may be deleted; null if unknown",
        ),
        "actual_size": Column(pl.Int64, "actual file size in bytes; null if the file does not exist"),
        "footer_fault": Column(pl.String, "why the file is not a valid Parquet file; null if it is", "footers"),
        "row_count": Column(pl.Int64, "number of rows of the file in the footer", "footers"),
        "row_group_rows": Column(pl.Int64, "total number of rows of the row groups in the footer", "footers"),
        "external_path": Column(
            pl.String,
            "other file that, according to the footer, stores columns of this one; null if there is none",
            "footers",
        ),
        "column_mapping_mode": Column(pl.String, "column mapping mode: id or name; null if off", "footers"),
        "has_field_ids": Column(pl.Boolean, "whether a schema node of the file has a field id", "footers"),
        "physical_names": Column(
            pl.Int64,
            "number of top-level columns stored under their physical names; null without column mapping",
            "footers",
        ),
        "logical_names": Column(
            pl.Int64,
            "number of top-level columns stored under logical names that differ from the physical ones; null without "
            "column mapping",
            "footers",
        ),
        "generated_names": Column(
            pl.Int64,
            "number of physical names in the file that column mapping generated (`col-` and a UUID)",
            "footers",
        ),
        "iceberg_compatibility": Column(
            pl.String,
            "enabled Iceberg compatibility at the validated version (for a change data file at its commit): V1, V2 "
            "or V3, if several are enabled V2 or else V1; null if none is",
            "footers",
        ),
        "written_under_v2": Column(
            pl.Boolean,
            "whether the file was certainly written while Iceberg compatibility V2 was enabled",
            "footers",
        ),
        "written_under_v3": Column(
            pl.Boolean,
            "whether the file was certainly written while Iceberg compatibility V3 was enabled",
            "footers",
        ),
        "written_under_mapping": Column(
            pl.Boolean,
            "whether the file was certainly written while columns were mapped; null if they are not",
            "footers",
        ),
        "written_to_materialize": Column(
            pl.Boolean,
            "whether the file was certainly written while materializePartitionColumns was supported; null if it is not",
            "footers",
        ),
        "partition_columns_requested": Column(
            pl.Boolean,
            "value of delta.writePartitionColumnsToParquet while the file was certainly written; null if it was not "
            "set, or if a feature ever required partition columns",
            "footers",
        ),
        "stored_partition_columns": Column(
            pl.List(pl.String),
            "partition columns that the file stores; null unless delta.writePartitionColumnsToParquet is set",
            "footers",
        ),
        "absent_partition_columns": Column(
            pl.List(pl.String),
            "with Iceberg compatibility or delta.writePartitionColumnsToParquet: partition columns, except void ones, "
            "that the file does not store",
            "footers",
        ),
        "misplaced_partition_columns": Column(
            pl.List(pl.String), "with Iceberg compatibility: partition columns stored before a data column", "footers"
        ),
        "int96_timestamps": Column(
            pl.List(pl.String), "with Iceberg compatibility: timestamp columns stored as INT96", "footers"
        ),
    },
)


class DataFile(msgspec.Struct, frozen=True):
    """Log entry of one live data file or change data file."""

    version: int
    file: str
    """Log file that holds its action."""
    line: int
    kind: str
    """`add` or `cdc`."""
    path: str
    """As written."""
    path_key: str
    """Normalized path, as `deltaspec.wire.storage.data_access` expects it."""
    size: int | None
    num_records: int | None
    stats: str | None
    """Statistics as JSON; None below level `rows`."""
    partition_values: dict[str, str | None]
    """By physical name, as written; empty below level `rows`."""
    deletion_vector: DeletionVectorDescriptor | None
    base_row_id: int | None
    default_row_commit_version: int | None
    actual_size: int | None = None
    """Actual file size in bytes; None if the file does not exist, or the size is unknown."""
    until: int | None = None
    """First version that no longer has the file; None if the latest version has it."""

    since: int | None = None
    """First version that has the file with the same content; None if it is the version of the action."""
    null_columns: str | None = None
    """Columns that null counts prove to be null, as in `statistics_facts.columns`."""

    @property
    def first_version(self) -> int:
        """First version that has the file with the same content, as far as the history is known."""
        return self.version if self.since is None else self.since

    @property
    def place(self) -> dict[str, Any]:
        """Location columns that are common to all views over data files."""
        return {"version": self.version, "file": self.file, "line": self.line, "path": self.path}


class DataFiles:
    """Data files ordered by path. They are stored as columns and built one by one, because there may be millions."""

    def __init__(self, rows: pl.DataFrame) -> None:
        """`rows`: file actions with the columns of `DATA_REPLAY_COLUMNS`, and optionally `actual_size`."""
        self.rows = rows.sort("path_key", "version", "file", "line")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[DataFile]:
        for part in self.rows.iter_slices(_ROWS_PER_SLICE):
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
        until=row.get("until"),
        since=row.get("since"),
        null_columns=row.get("null_columns"),
    )

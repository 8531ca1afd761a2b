"""Rules over what of file actions hangs on the types of columns. Source: Partition Value Serialization, Void Type."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_actions


@rule("FIL060", requires="partition-values.serialization", view=file_actions, until="r3")
def timestamp_partition_value_in_newer_format() -> pl.Expr:
    """A partition value of a timestamp column is spelled in ISO 8601, which this text does not know.

    Readers of the time expect a space between date and time and no zone: they fail, or take null for the value.
    Fix: have the writer spell timestamps as `1970-01-01 00:00:00`, or judge the table by the current text.

    Conforms::
        kind: add, utc_partition_value: null
        kind: remove, utc_partition_value: "at=2024-03-01T10:00:00.000000Z"
    Violates::
        kind: add, utc_partition_value: "at=2024-03-01T10:00:00.000000Z"
        kind: cdc, utc_partition_value: "at=2024-03-01T10:00:00.000000Z"
    """
    return (pl.col("kind") != "remove") & pl.col("utc_partition_value").is_not_null()


@rule("FIL061", requires="partition-values.timestamp-in-utc-recommended", view=file_actions)
def timestamp_without_zone_added() -> pl.Expr:
    """A file was added whose partition value of a timestamp column has no zone.

    Which moment it stands for hangs on the zone of the system that wrote it, which no reader knows. (A file that is
    committed anew, with a vector or without change of data, was added before.)
    Fix: have the writer adjust timestamps to UTC and spell them as `1970-01-01T00:00:00.000000Z`.

    Conforms::
        kind: add, source: commit, data_change: true, has_deletion_vector: false, zoneless_partition_value: null
        kind: add, source: checkpoint, data_change: true, has_deletion_vector: false, zoneless_partition_value: "at=2024"
        kind: add, source: commit, data_change: false, has_deletion_vector: false, zoneless_partition_value: "at=2024"
        kind: remove, source: commit, data_change: true, has_deletion_vector: false, zoneless_partition_value: "at=2024"
    Violates::
        kind: add, source: commit, data_change: true, has_deletion_vector: false, zoneless_partition_value: "at=2024"
    """
    added = (pl.col("kind") == "add") & (pl.col("source") == "commit")
    added &= pl.col("data_change") & ~pl.col("has_deletion_vector")
    return added & pl.col("zoneless_partition_value").is_not_null()


@rule(
    "FIL062",
    requires=("schema.void-not-in-containers", "schema.void-not-all-of-a-struct", "schema.void-not-all-columns"),
    view=file_actions,
)
def file_added_with_void_columns() -> pl.Expr:
    """A file was added to a table whose columns of type void let none be written.

    Parquet has no group or container without columns: readers cannot tell how many values there are, and fail. (A file
    that is committed anew, with a vector or without change of data, was added before.)
    Fix: remove the file, give the columns a type, and write its rows again.

    Conforms::
        kind: add, source: commit, data_change: true, has_deletion_vector: false, void_columns_reason: null
        kind: add, source: commit, data_change: false, has_deletion_vector: false, void_columns_reason: "all columns are void"
        kind: add, source: commit, data_change: true, has_deletion_vector: true, void_columns_reason: "all columns are void"
        kind: add, source: checkpoint, data_change: true, has_deletion_vector: false, void_columns_reason: "all columns are void"
        kind: remove, source: commit, data_change: true, has_deletion_vector: false, void_columns_reason: "all columns are void"
    Violates::
        kind: add, source: commit, data_change: true, has_deletion_vector: false, void_columns_reason: "all columns are void"
    """
    added = (pl.col("kind") == "add") & (pl.col("source") == "commit") & pl.col("data_change")
    return added & ~pl.col("has_deletion_vector") & pl.col("void_columns_reason").is_not_null()

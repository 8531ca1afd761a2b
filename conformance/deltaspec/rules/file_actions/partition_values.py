"""Rules over file actions that depend on the types of columns. Source: Partition Value Serialization, Void Type."""

import polars as pl

from deltaspec.rules.file_fixes import REPAIR_PARTITION_VALUE
from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_actions
from deltaspec.views.files.null_columns import null_columns


@rule("FIL060", requires="partition-values.serialization", view=file_actions, until="r3")
def timestamp_partition_value_in_newer_format() -> pl.Expr:
    """A timestamp partition value uses ISO 8601, which this revision does not define.

    Readers of this revision expect a space between date and time and no zone. They fail or return null.
    Fix (rewrite): Validate with a newer revision if your readers support the format. Otherwise use a writer that
    stores `1970-01-01 00:00:00`.

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
    """A new file has a timestamp partition value without a time zone.

    The value depends on the time zone of the writer, which readers do not know. (Files that are only committed again,
    with a vector or without data change, are not checked.)
    Fix (rewrite): Find out the writer's time zone before you rewrite the rows. Use a writer that stores UTC as
    `1970-01-01T00:00:00.000000Z`.

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


@rule("FIL064", requires="partition-values.serialization", view=file_actions, fix=REPAIR_PARTITION_VALUE)
def timestamp_partition_value_in_undefined_format() -> pl.Expr:
    """A timestamp partition value has a format that the protocol does not define.

    The protocol has `1970-01-01 00:00:00`, with a fraction of up to six digits, and for timestamps with time zone also
    ISO 8601 in UTC, `1970-01-01T00:00:00.000000Z`. Readers fail on other formats, or read null or another moment. (Remove
    actions are not checked, because the column may have had another type.)

    Conforms::
        kind: add, undefined_partition_values: []
        kind: remove, undefined_partition_values: ["at=2024-03-01 10:00:00Z"]
    Violates::
        kind: add, undefined_partition_values: ["at=2024-03-01 10:00:00Z"]
        kind: cdc, undefined_partition_values: ["at=2024-03-01"]
    """
    return (pl.col("kind") != "remove") & (pl.col("undefined_partition_values").list.len() > 0)


@rule("FIL065", requires="partition-values.serialization", view=file_actions, divergence="S61")
def ambiguous_date_or_timestamp() -> pl.Expr:
    """A date or timestamp partition value has numbers without leading zeros, or an offset of zero instead of Z.

    The protocol shows `{year}-{month}-{day}` and ISO 8601 in UTC by examples. Some engines fail on other spellings, and
    those that compare partition values as strings skip the wrong files.
    Fix (rewrite): Rewrite the partition with a writer that uses the format of the examples, for example with
    `replaceWhere` in Delta Spark. Read it without a filter on this column.

    Conforms::
        kind: add, ambiguous_partition_values: []
        kind: remove, ambiguous_partition_values: ["day=2024-3-1"]
    Violates::
        kind: add, ambiguous_partition_values: ["day=2024-3-1"]
    """
    return (pl.col("kind") != "remove") & (pl.col("ambiguous_partition_values").list.len() > 0)


@rule("FIL066", requires="partition-values.serialization", view=file_actions, divergence="S67")
def binary_partition_value_with_high_bytes() -> pl.Expr:
    """A binary partition value has characters above U+007F.

    The protocol calls it a string of escaped binary values, and its examples have bytes below 0x80. Engines read other
    characters as one byte each or as UTF-8, so they return other bytes.
    Fix (rewrite): Find out from the writer which bytes it means. Rewrite the rows with a column that is not binary,
    such as the bytes in base64, as partition column.

    Conforms::
        kind: add, high_byte_partition_values: []
        kind: remove, high_byte_partition_values: ["b=é"]
    Violates::
        kind: add, high_byte_partition_values: ["b=é"]
    """
    return (pl.col("kind") != "remove") & (pl.col("high_byte_partition_values").list.len() > 0)


@rule(
    "FIL062",
    requires=("schema.void-not-in-containers", "schema.void-not-all-of-a-struct", "schema.void-not-all-columns"),
    view=file_actions,
)
def file_added_with_void_columns() -> pl.Expr:
    """A file was added to a table that has only void columns to store.

    Parquet has no groups without columns. Readers cannot determine the number of rows and fail. (Files that are only
    committed again, with a vector or without data change, are not checked.)
    Fix (rewrite): Give the columns a type or add a column, then write the rows again. Remove the file only after
    that.

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


@rule("FIL063", requires="data-files.required-columns", view=null_columns)
def required_partition_value_null() -> pl.Expr:
    """The partition value of a file is null, but the column is not nullable.

    Engines rely on the schema: they skip null checks, count such rows, or fail. (The null may be older than the NOT
    NULL. The partition of a file without rows is not checked.)
    Fix (decide): Allow null with `ALTER TABLE t ALTER COLUMN column DROP NOT NULL`, or move the rows with `UPDATE t
    SET column = value WHERE column IS NULL`. Check first that an unfiltered read returns the rows.

    Conforms::
        source: partition value, num_records: 0, deleted_rows: null
        source: partition value, num_records: 2, deleted_rows: 2
        source: null count, num_records: 2, deleted_rows: null
    Violates::
        source: partition value, num_records: 2, deleted_rows: null
        source: partition value, num_records: 2, deleted_rows: 1
        source: partition value, num_records: null, deleted_rows: null
    """
    rows = pl.col("num_records") - pl.col("deleted_rows").fill_null(0)
    return (pl.col("source") == "partition value") & (rows.is_null() | (rows > 0))

"""Rules over footers of data files. Sources: Delta Data Type to Parquet Type Mappings, Column Mapping."""

import polars as pl

from deltaspec.rules.file_fixes import (
    COMPARE_FILE_THEN_RECOMPUTE_STATISTICS,
    RESTORE_DATA_FILE,
    REWRITE_FILE,
    WRITE_ROWS_AGAIN,
)
from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns

_TIMESTAMPS = ["timestamp", "timestamp_ntz"]
_NESTED = ["struct", "array", "map"]


@rule("PQT001", requires="parquet.format", view=data_files, fix=RESTORE_DATA_FILE)
def file_is_not_parquet() -> pl.Expr:
    """A data file is not a Parquet file, or its footer is damaged.

    Every query that reads the file fails, or loses its rows.

    Conforms::
        footer_fault: null
    Violates::
        footer_fault: "ends with b'name', not with b'PAR1'"
    """
    return pl.col("footer_fault").is_not_null()


@rule(
    "PQT002",
    requires=("statistics.num-records", "deletion-vectors.needs-num-records"),
    view=data_files,
    fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS,
)
def row_count_differs() -> pl.Expr:
    """The number of rows in a data file differs from numRecords in its statistics.

    Row counts from the log are wrong, and deletion vectors and row ids may refer to other rows.

    Conforms::
        num_records: 10, row_count: 10
        num_records: null, row_count: 10
    Violates::
        num_records: 10, row_count: 9
    """
    return pl.col("num_records") != pl.col("row_count")


@rule("PQT003", requires="parquet.listed-encodings", view=data_files, fix=WRITE_ROWS_AGAIN)
def columns_stored_in_external_file() -> pl.Expr:
    """A data file states that its columns are stored in another file.

    Parquet uses this for summary files. Readers of a table look for the columns in the file itself and fail.

    Conforms::
        external_path: null
    Violates::
        external_path: part-0.parquet
    """
    return pl.col("external_path").is_not_null()


@rule("PQT004", requires="parquet.format", view=data_files, fix=RESTORE_DATA_FILE)
def row_group_row_counts_differ() -> pl.Expr:
    """The row count in a data file's footer differs from the sum of its row groups.

    Readers use one or the other, so they disagree on counts. Deletion vectors and row ids depend on the rows of the
    groups.

    Conforms::
        row_count: 10, row_group_rows: 10
    Violates::
        row_count: 11, row_group_rows: 10
    """
    return pl.col("row_count") != pl.col("row_group_rows")


@rule(
    "PQT010",
    requires=(
        "parquet.column-types",
        "consistency.file-columns",
        "schema.number-widths",
        "cdc.change-type-column",
    ),
    view=file_columns,
    fix=WRITE_ROWS_AGAIN,
)
def stored_type_differs() -> pl.Expr:
    """The physical type of a column cannot store values of its schema type.

    Readers fail, or return other values than were written.

    Conforms::
        type: long, role: null, type_fault: null
        type: timestamp, role: null, type_fault: "the file stores INT64; the schema says timestamp"
        type: long, role: "row id", type_fault: "the file stores BYTE_ARRAY; the schema says long"
    Violates::
        type: long, role: null, type_fault: "the file stores BYTE_ARRAY STRING; the schema says long"
        type: string, role: "change type", type_fault: "the file stores INT32; the schema says string"
        type: integer, role: "partition column", type_fault: "the file stores BYTE_ARRAY STRING; the schema says integer"
    """
    own = pl.col("role").is_null() | pl.col("role").is_in(["change type", "partition column"])
    other = pl.col("type").is_in([*_TIMESTAMPS, *_NESTED, "variant"])
    return pl.col("type_fault").is_not_null() & own & ~other


@rule("PQT011", requires="parquet.timestamps", view=file_columns)
def timestamp_type_differs() -> pl.Expr:
    """A timestamp column is not stored as a timestamp, or its UTC adjustment differs from its schema type.

    Readers shift the values by a time zone offset, or fail.
    Fix (rewrite): Write the rows again from their source, or with an engine that returns the right values for this
    file. Do not rewrite the file through a reader that returns null or wrong values: that makes the damage
    permanent. Compare some values with the source to find out which time zone applies.

    Conforms::
        type: timestamp, type_fault: null
        type: long, type_fault: "the file stores BYTE_ARRAY; the schema says long"
    Violates::
        type: timestamp, type_fault: "the file stores INT64 TIMESTAMP(MICROS, no zone); the schema says timestamp"
    """
    return pl.col("type_fault").is_not_null() & pl.col("type").is_in(_TIMESTAMPS)


@rule("PQT012", requires="parquet.nested-types", view=file_columns, fix=WRITE_ROWS_AGAIN)
def nested_column_structure_differs() -> pl.Expr:
    """A struct, array or map is not stored as the matching Parquet group.

    Readers fail, or return null for all values in it.

    Conforms::
        type: array, type_fault: null
        type: variant, type_fault: "the variant has no metadata"
    Violates::
        type: array, type_fault: "group is not annotated as a list"
        type: struct, type_fault: "the file stores BYTE_ARRAY STRING; the schema says struct"
    """
    return pl.col("type_fault").is_not_null() & pl.col("type").is_in(_NESTED)


@rule(
    "PQT013",
    requires=("variant.unshredded-form", "variant-shredding.typed-column-form"),
    view=file_columns,
    fix=WRITE_ROWS_AGAIN,
)
def variant_structure_differs() -> pl.Expr:
    """A variant is not stored as a group of binary metadata and value, or a typed column has an unlisted type.

    Readers fail, or decode the wrong part.

    Conforms::
        type: variant, type_fault: null
    Violates::
        type: variant, type_fault: "the variant has no metadata"
    """
    return pl.col("type_fault").is_not_null() & (pl.col("type") == "variant")


@rule(
    "PQT014",
    requires=(
        "variant.shredding-needs-feature",
        "variant.unshredded-without-feature",
        "variant-shredding.feature",
        "variant-shredding.older-files",
    ),
    view=file_columns,
    without_feature=True,
)
def shredded_without_feature() -> pl.Expr:
    """A file has a shredded variant although the protocol does not support variantShredding.

    Readers look only at the binary value and return null for the shredded parts.
    Fix (rewrite): Rewrite the file's rows with an engine that supports shredding and writes without it. To add the
    feature is not enough if delta.enableVariantShredding was not true (VAR007). Do not rewrite the file through a
    reader without the feature: it loses values.

    Conforms::
        is_shredded: true, shredding_supported: true
        is_shredded: false, shredding_supported: false
        is_shredded: null, shredding_supported: false
    Violates::
        is_shredded: true, shredding_supported: false
    """
    return pl.col("is_shredded") & ~pl.col("shredding_supported")


@rule("PQT015", requires="type-widening.narrower-files", view=file_columns, without_feature=True)
def narrower_type_without_type_widening() -> pl.Expr:
    """A column is stored in a narrower type although the protocol does not support typeWidening.

    Readers that do not widen types fail, or interpret the bytes as other values.
    Fix (rewrite): Rewrite the file with an engine that reads its values correctly. To add the feature
    (`delta.feature.typeWidening`) is not enough, because no type change is recorded (WID016).

    Conforms::
        role: null, narrower_type: integer, type_widening_supported: true
        role: null, narrower_type: null, type_widening_supported: false
        role: "row id", narrower_type: integer, type_widening_supported: false
    Violates::
        role: null, narrower_type: integer, type_widening_supported: false
        role: "partition column", narrower_type: integer, type_widening_supported: false
    """
    own = pl.col("role").is_null() | (pl.col("role") == "partition column")
    return own & pl.col("narrower_type").is_not_null() & ~pl.col("type_widening_supported")


@rule("PQT016", requires="parquet.void-omitted", view=file_columns, fix=REWRITE_FILE)
def void_is_stored() -> pl.Expr:
    """A data file stores a column of type void.

    Void columns are never stored, so readers may fail on the file.

    Conforms::
        type: void, stored_type: null, void_storage_supported: false
        type: void, stored_type: "INT32 UNKNOWN", void_storage_supported: true
        type: long, stored_type: INT64, void_storage_supported: false
    Violates::
        type: void, stored_type: "INT32 UNKNOWN", void_storage_supported: false
    """
    return (pl.col("type") == "void") & pl.col("stored_type").is_not_null() & ~pl.col("void_storage_supported")


@rule("PQT017", requires="parquet.listed-encodings", view=file_columns)
def unusual_encoding() -> pl.Expr:
    """A column is stored in a Parquet type that the protocol does not list for its schema type.

    Some readers accept it, others fail or round values.
    Fix (rewrite): Rewrite the file's rows with a conforming writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark). Read it with an engine that returns exact values.

    Conforms::
        type_warning: null
    Violates::
        type_warning: "INT64 TIMESTAMP(NANOS, UTC) is not in microseconds"
    """
    return pl.col("type_warning").is_not_null()


@rule("PQT018", requires="parquet.required-columns", view=file_columns)
def required_column_missing() -> pl.Expr:
    """A data file with remaining rows does not store a required column.

    Readers fill the column with null, which the schema forbids, or fail.
    Fix (rewrite): Write the rows again from their source. If null is correct, run `ALTER TABLE t ALTER COLUMN c
    DROP NOT NULL`. Do not rewrite the file through a reader that returns null.

    Conforms::
        is_required: true, remaining_rows: 0, matching_nodes: 0, node_with_other_id: false, node_with_other_name: null, type: long
        is_required: true, remaining_rows: 5, matching_nodes: 1, node_with_other_id: false, node_with_other_name: null, type: long
        is_required: true, remaining_rows: 5, matching_nodes: 0, node_with_other_id: true, node_with_other_name: null, type: long
        is_required: false, remaining_rows: 5, matching_nodes: 0, node_with_other_id: false, node_with_other_name: null, type: long
        is_required: true, remaining_rows: 5, matching_nodes: 0, node_with_other_id: false, node_with_other_name: "c", type: long
    Violates::
        is_required: true, remaining_rows: 5, matching_nodes: 0, node_with_other_id: false, node_with_other_name: null, type: long
    """
    known_elsewhere = pl.col("node_with_other_id") | pl.col("node_with_other_name").is_not_null()
    must_be_stored = pl.col("is_required") & (pl.col("remaining_rows") > 0) & (pl.col("type") != "void")
    return must_be_stored & (pl.col("matching_nodes") == 0) & ~known_elsewhere


@rule("PQT019", requires="parquet.column-types", view=file_columns)
def column_stored_twice() -> pl.Expr:
    """A data file stores several columns that match the same column of the table.

    Readers choose different columns, so they return different values.
    Fix (decide): Find out from the writer which column has the right values, and write the rows again from it. Do
    not let an engine choose.

    Conforms::
        matching_nodes: 1
        matching_nodes: 0
    Violates::
        matching_nodes: 2
    """
    return pl.col("matching_nodes") > 1


@rule("PQT020", requires="parquet.names", view=file_columns, divergence="S34", fix=WRITE_ROWS_AGAIN)
def column_name_case_differs() -> pl.Expr:
    """The name of a stored column differs from the schema only in case.

    Case-sensitive readers find no column and return null.

    Conforms::
        physical_name: id, stored_name: id, column_mapping_mode: null
        physical_name: id, stored_name: null, column_mapping_mode: null
        physical_name: null, stored_name: element, column_mapping_mode: null
        physical_name: id, stored_name: ID, column_mapping_mode: id
    Violates::
        physical_name: id, stored_name: ID, column_mapping_mode: null
        physical_name: col-1, stored_name: COL-1, column_mapping_mode: name
    """
    by_id = (pl.col("column_mapping_mode") == "id").fill_null(False)
    return (pl.col("physical_name") != pl.col("stored_name")) & ~by_id


@rule("PQT021", requires="parquet.row-tracking-columns", view=file_columns, divergence="S31")
def row_tracking_column_type_differs() -> pl.Expr:
    """Materialized row ids or row commit versions are stored as integers that are not 64-bit longs.

    The protocol does not define the width of these integers. Engines write and read longs.
    Fix (none): No repair is needed if your readers accept the file. Otherwise rewrite it with an engine that
    supports row tracking, so that the ids are kept.

    Conforms::
        role: "row id", type_fault: null, narrower_type: null, stored_type: INT64
        role: "change type", type_fault: "the file stores INT32; the schema says string", narrower_type: null, stored_type: INT32
        role: "row id", type_fault: "the file stores BYTE_ARRAY; the schema says long", narrower_type: null, stored_type: BYTE_ARRAY
    Violates::
        role: "row id", type_fault: "unsigned", narrower_type: null, stored_type: "INT64 INT(64, unsigned)"
        role: "row commit version", type_fault: null, narrower_type: integer, stored_type: INT32
    """
    other = pl.col("type_fault").is_not_null() | pl.col("narrower_type").is_not_null()
    integers = pl.col("stored_type").str.contains(r"^INT(?:32|64)(?: INT\(.*\))?$")
    return pl.col("role").is_in(["row id", "row commit version"]) & other & integers


@rule("PQT038", requires="materialized-partitions.stored", view=data_files, divergence="S44")
def partition_column_not_materialized() -> pl.Expr:
    """A data file that was written under materializePartitionColumns does not store a partition column.

    Readers of Delta take the value from the log. Readers that open the Parquet file directly miss the column. (The
    feature is a proposal.)
    Fix (rewrite): Rewrite the file's rows with a writer that supports the feature, for example by overwriting its
    partition (`replaceWhere` in Delta Spark).

    Conforms::
        kind: add, written_to_materialize: true, absent_partition_columns: []
        kind: add, written_to_materialize: false, absent_partition_columns: ["day"]
        kind: cdc, written_to_materialize: true, absent_partition_columns: ["day"]
        kind: add, written_to_materialize: null, absent_partition_columns: null
    Violates::
        kind: add, written_to_materialize: true, absent_partition_columns: ["day"]
    """
    is_absent = pl.col("absent_partition_columns").list.len() > 0
    return (pl.col("kind") == "add") & pl.col("written_to_materialize") & is_absent

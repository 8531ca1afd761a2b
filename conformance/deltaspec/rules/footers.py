"""Rules over what footers of data files say. Sources: Delta Data Type to Parquet Type Mappings, Column Mapping."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns

_TIMESTAMPS = ["timestamp", "timestamp_ntz"]
_NESTED = ["struct", "array", "map"]


@rule("PQT001", requires="parquet.format", view=data_files)
def file_is_not_parquet() -> pl.Expr:
    """A data file is no Parquet file, or its footer is broken.

    Every query that touches the file fails, or loses its rows.
    Fix: restore the file from a copy, or the version before it.

    Conforms::
        footer_fault: null
    Violates::
        footer_fault: "ends with b'name', not with b'PAR1'"
    """
    return pl.col("footer_fault").is_not_null()


@rule("PQT002", requires=("statistics.num-records", "deletion-vectors.needs-num-records"), view=data_files)
def row_count_differs() -> pl.Expr:
    """A data file has another number of rows than its statistics say.

    Readers that count from the log, and deletion vectors and row ids that count rows, are wrong.
    Fix: commit the file again with the statistics of its rows, once it is known to be the right file.

    Conforms::
        num_records: 10, row_count: 10
        num_records: null, row_count: 10
    Violates::
        num_records: 10, row_count: 9
    """
    return pl.col("num_records") != pl.col("row_count")


@rule("PQT003", requires="parquet.listed-encodings", view=data_files)
def columns_stored_in_external_file() -> pl.Expr:
    """A data file says that its columns are in another file.

    Parquet has this for summaries of several files; readers of a table take the columns from the file itself, and fail.
    Fix: rewrite the file as one that holds its own columns.

    Conforms::
        external_path: null
    Violates::
        external_path: part-0.parquet
    """
    return pl.col("external_path").is_not_null()


@rule("PQT004", requires="parquet.format", view=data_files)
def row_group_row_counts_differ() -> pl.Expr:
    """The footer of a data file counts other rows than its row groups.

    Some readers take the one number and some the other; deletion vectors and row ids go by the rows of the groups.
    Fix: rewrite the file, once it is known which rows it is to have.

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
)
def stored_type_differs() -> pl.Expr:
    """A column is stored in a form that holds no values of its type.

    Readers fail, or take other values than were written.
    Fix: rewrite the file with the column in its type.

    Conforms::
        type: long, role: null, type_fault: null
        type: timestamp, role: null, type_fault: "INT64 holds no timestamp"
        type: long, role: "row id", type_fault: "BYTE_ARRAY holds no long"
    Violates::
        type: long, role: null, type_fault: "BYTE_ARRAY STRING holds no long"
        type: string, role: "change type", type_fault: "INT32 holds no string"
    """
    own = pl.col("role").is_null() | (pl.col("role") == "change type")
    other = pl.col("type").is_in([*_TIMESTAMPS, *_NESTED, "variant"])
    return pl.col("type_fault").is_not_null() & own & ~other


@rule("PQT011", requires="parquet.timestamps", view=file_columns)
def timestamp_type_differs() -> pl.Expr:
    """A timestamp is stored with, or without, adjustment to UTC where its type asks for the opposite, or as no timestamp.

    Readers shift it by the offset of a time zone, or fail.
    Fix: rewrite the file with the column as the type asks.

    Conforms::
        type: timestamp, type_fault: null
        type: long, type_fault: "BYTE_ARRAY holds no long"
    Violates::
        type: timestamp, type_fault: "INT64 TIMESTAMP(MICROS, no zone) holds no timestamp"
    """
    return pl.col("type_fault").is_not_null() & pl.col("type").is_in(_TIMESTAMPS)


@rule("PQT012", requires="parquet.nested-types", view=file_columns)
def nested_column_structure_differs() -> pl.Expr:
    """A struct, an array or a map is stored as no group of its kind.

    Readers fail, or take null for all that is in it.
    Fix: rewrite the file with the column as a group of its kind.

    Conforms::
        type: array, type_fault: null
        type: variant, type_fault: "a variant has metadata"
    Violates::
        type: array, type_fault: "group is not annotated as a list"
        type: struct, type_fault: "BYTE_ARRAY STRING holds no struct"
    """
    return pl.col("type_fault").is_not_null() & pl.col("type").is_in(_NESTED)


@rule("PQT013", requires="variant.unshredded-form", view=file_columns)
def variant_structure_differs() -> pl.Expr:
    """A variant is stored as something else than a group of binary metadata and value.

    Readers fail, or take what they find for the wrong part.
    Fix: rewrite the file with the variant in the form of the text.

    Conforms::
        type: variant, type_fault: null
    Violates::
        type: variant, type_fault: "a variant has metadata"
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
)
def shredded_without_feature() -> pl.Expr:
    """A variant is shredded, and the table does not support variantShredding.

    Readers look for its values in the binary part alone and take null for the rest.
    Fix: add the feature to the protocol, or rewrite the file with variants that are not shredded.

    Conforms::
        is_shredded: true, shredding_supported: true
        is_shredded: false, shredding_supported: false
        is_shredded: null, shredding_supported: false
    Violates::
        is_shredded: true, shredding_supported: false
    """
    return pl.col("is_shredded") & ~pl.col("shredding_supported")


@rule("PQT015", requires="type-widening.narrower-files", view=file_columns)
def narrower_type_without_type_widening() -> pl.Expr:
    """A column is stored in a narrower type, and the table does not support type widening.

    Readers that are not asked to widen fail, or take other bytes for the value.
    Fix: rewrite the file with the column in its type, or add typeWidening to the protocol.

    Conforms::
        role: null, narrower_type: integer, type_widening_supported: true
        role: null, narrower_type: null, type_widening_supported: false
        role: "row id", narrower_type: integer, type_widening_supported: false
    Violates::
        role: null, narrower_type: integer, type_widening_supported: false
    """
    return pl.col("role").is_null() & pl.col("narrower_type").is_not_null() & ~pl.col("type_widening_supported")


@rule("PQT016", requires="parquet.void-omitted", view=file_columns)
def void_is_stored() -> pl.Expr:
    """A data file has a column of type void.

    Readers that know that void is never stored may fail on it.
    Fix: rewrite the file without the column.

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
    """A column is stored in a form that the text does not list for its type.

    Some readers take it, others fail or round.
    Fix: have the writer store the form that the text lists, and rewrite the file.

    Conforms::
        type_warning: null
    Violates::
        type_warning: "INT64 TIMESTAMP(NANOS, UTC) is not of microseconds"
    """
    return pl.col("type_warning").is_not_null()


@rule("PQT018", requires="parquet.required-columns", view=file_columns)
def required_column_missing() -> pl.Expr:
    """A data file with rows that are left lacks a column that may not be null.

    Readers fill it with null, which the schema rules out, or fail.
    Fix: rewrite the file with the column, or commit a schema that lets it be null.

    Conforms::
        is_required: true, remaining_rows: 0, matching_nodes: 0, node_with_other_id: false, node_with_other_name: null, type: long
        is_required: true, remaining_rows: 5, matching_nodes: 1, node_with_other_id: false, node_with_other_name: null, type: long
        is_required: true, remaining_rows: 5, matching_nodes: 0, node_with_other_id: true, node_with_other_name: null, type: long
        is_required: false, remaining_rows: 5, matching_nodes: 0, node_with_other_id: false, node_with_other_name: null, type: long
    Violates::
        is_required: true, remaining_rows: 5, matching_nodes: 0, node_with_other_id: false, node_with_other_name: null, type: long
    """
    known_elsewhere = pl.col("node_with_other_id") | pl.col("node_with_other_name").is_not_null()
    asked = pl.col("is_required") & (pl.col("remaining_rows") > 0) & (pl.col("type") != "void")
    return asked & (pl.col("matching_nodes") == 0) & ~known_elsewhere


@rule("PQT019", requires="parquet.column-types", view=file_columns)
def column_stored_twice() -> pl.Expr:
    """A data file has several columns that a reader would take for one column of the table.

    Which of them is read is up to the reader.
    Fix: rewrite the file with one column for each.

    Conforms::
        matching_nodes: 1
        matching_nodes: 0
    Violates::
        matching_nodes: 2
    """
    return pl.col("matching_nodes") > 1


@rule("PQT020", requires="parquet.names", view=file_columns, divergence="S34")
def column_name_case_differs() -> pl.Expr:
    """A data file spells the name of a column in another case than the table.

    Readers that heed case find no column and take null.
    Fix: rewrite the file with the name as the schema spells it.

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
    """A column of materialized row ids or row commit versions is stored as integers, and not as longs.

    The text does not say of which width the integers are; engines write and read longs.
    Fix: rewrite the file with the column as a 64-bit integer.

    Conforms::
        role: "row id", type_fault: null, narrower_type: null, stored_type: INT64
        role: "change type", type_fault: "INT32 holds no string", narrower_type: null, stored_type: INT32
        role: "row id", type_fault: "BYTE_ARRAY holds no long", narrower_type: null, stored_type: BYTE_ARRAY
    Violates::
        role: "row id", type_fault: "unsigned", narrower_type: null, stored_type: "INT64 INT(64, unsigned)"
        role: "row commit version", type_fault: null, narrower_type: integer, stored_type: INT32
    """
    other = pl.col("type_fault").is_not_null() | pl.col("narrower_type").is_not_null()
    integers = pl.col("stored_type").str.contains(r"^INT(?:32|64)(?: INT\(.*\))?$")
    return pl.col("role").is_in(["row id", "row commit version"]) & other & integers

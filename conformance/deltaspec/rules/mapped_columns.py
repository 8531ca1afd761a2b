"""Rules over the names and field ids that data files have under column mapping. Source: chapter Column Mapping."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns


@rule("PQT030", requires="column-mapping.field-ids-in-files", view=file_columns)
def field_id_differs_from_column() -> pl.Expr:
    """Columns are mapped by id, and a data file gives a column of its name another field id, or none.

    Readers find no column of the id and take null for every value. (Where the name may come from elsewhere, as in files
    of Iceberg whose columns were renamed since, another id may be right.)
    Fix: rewrite the file with the column's id as its Parquet field id.

    Conforms::
        column_mapping_mode: id, node_with_other_id: false, file_has_ids: true, stored_id: null, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: false, stored_id: null, name_is_generated: true
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: false
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: null
    Violates::
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: null, name_is_generated: false
    """
    other = pl.col("node_with_other_id") & pl.col("file_has_ids") & pl.col("name_is_generated").is_not_null()
    certain = pl.col("name_is_generated") | pl.col("stored_id").is_null()
    return (pl.col("column_mapping_mode") == "id") & other & certain


@rule("PQT031", requires="column-mapping.field-ids-in-files", view=file_columns, divergence="S30")
def field_id_differs() -> pl.Expr:
    """A data file gives a column another field id than the table, and readers may be right to pass over that.

    By name, readers of Delta do not look at it; those that go by ids, as Iceberg's do, take another column or null. By
    id, the column is another one that had the name before, or its writer is wrong and readers take null.
    Fix: rewrite the file with the column's id as its Parquet field id, if it is the column.

    Conforms::
        column_mapping_mode: name, node_with_other_id: false, file_has_ids: true, stored_id: null, name_is_generated: true
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: false, stored_id: null, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: null, name_is_generated: false
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: null
    Violates::
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: false
    """
    other = pl.col("node_with_other_id") & pl.col("file_has_ids") & pl.col("name_is_generated").is_not_null()
    unclear = ~pl.col("name_is_generated") & pl.col("stored_id").is_not_null()
    by_name, by_id = (pl.col("column_mapping_mode") == mode for mode in ("name", "id"))
    return other & (by_name | (by_id & unclear))


@rule("PQT032", requires="column-mapping.physical-names-in-files", view=file_columns)
def column_not_under_its_physical_name() -> pl.Expr:
    """Columns are mapped by name, and a data file has a column's id under another name than its physical one.

    Readers find no column of the name and take null for every value. (Asked of files that know the mapping by other
    columns: those that are older may have field ids of their own.)
    Fix: rewrite the file with physical names.

    Conforms::
        column_mapping_mode: name, node_with_other_name: null, generated_names: 2
        column_mapping_mode: name, node_with_other_name: price, generated_names: 0
        column_mapping_mode: id, node_with_other_name: price, generated_names: 2
    Violates::
        column_mapping_mode: name, node_with_other_name: price, generated_names: 2
    """
    knows_mapping = pl.col("generated_names") > 0
    return (pl.col("column_mapping_mode") == "name") & pl.col("node_with_other_name").is_not_null() & knows_mapping


@rule("PQT033", requires="column-mapping.physical-names-in-files", view=file_columns, divergence="S30")
def column_id_under_another_name() -> pl.Expr:
    """A data file has a column's id under another name than its physical one, and readers may find the column even so.

    By id, readers do not look at the name, but statistics are found by it. By name, the file may be older than the
    mapping, with field ids of its own; if it is not, readers take null.
    Fix: rewrite the file with physical names, if it is the column.

    Conforms::
        column_mapping_mode: id, node_with_other_name: null, generated_names: 2
        column_mapping_mode: name, node_with_other_name: price, generated_names: 2
    Violates::
        column_mapping_mode: id, node_with_other_name: price, generated_names: 2
        column_mapping_mode: name, node_with_other_name: price, generated_names: 0
    """
    may_be_older = (pl.col("column_mapping_mode") == "name") & (pl.col("generated_names") == 0)
    return pl.col("node_with_other_name").is_not_null() & ((pl.col("column_mapping_mode") == "id") | may_be_older)


@rule("PQT034", requires="column-mapping.field-ids-in-files", view=data_files, divergence="S30")
def file_without_field_ids() -> pl.Expr:
    """Columns are mapped, and a data file that is no older than the mapping has no field ids.

    In id mode readers refuse it, or take null for every column; in name mode only those that go by ids do.
    Fix: rewrite the file with the columns' ids as Parquet field ids.

    Conforms::
        column_mapping_mode: id, has_field_ids: true, generated_names: 2, row_count: 5
        column_mapping_mode: name, has_field_ids: false, generated_names: 0, row_count: 5
        column_mapping_mode: null, has_field_ids: false, generated_names: null, row_count: 5
        column_mapping_mode: id, has_field_ids: false, generated_names: 0, row_count: 0
    Violates::
        column_mapping_mode: id, has_field_ids: false, generated_names: 0, row_count: 5
        column_mapping_mode: name, has_field_ids: false, generated_names: 2, row_count: 5
    """
    # in name mode a file without ids may be older, unless it has names that only the mapping gives
    by_id, generated = pl.col("column_mapping_mode") == "id", pl.col("generated_names") > 0
    return (by_id | generated) & ~pl.col("has_field_ids") & (pl.col("row_count") > 0)


@rule("PQT035", requires="column-mapping.physical-names-in-files", view=data_files, divergence="S30")
def file_with_logical_names() -> pl.Expr:
    """Columns are mapped by name, and a data file has none by its physical name, but some by their logical names.

    If its writer did not know of the mapping, readers take null for every value; or all its columns were dropped since.
    Fix: look at the commit that added it; rewrite the file with physical names if it holds the table's columns.

    Conforms::
        column_mapping_mode: name, physical_names: 1, logical_names: 1, has_field_ids: false, row_count: 5
        column_mapping_mode: name, physical_names: 0, logical_names: 0, has_field_ids: false, row_count: 5
        column_mapping_mode: name, physical_names: 0, logical_names: 1, has_field_ids: true, row_count: 5
        column_mapping_mode: id, physical_names: 0, logical_names: 1, has_field_ids: false, row_count: 5
        column_mapping_mode: name, physical_names: 0, logical_names: 1, has_field_ids: false, row_count: 0
    Violates::
        column_mapping_mode: name, physical_names: 0, logical_names: 2, has_field_ids: false, row_count: 5
    """
    logical = (pl.col("physical_names") == 0) & (pl.col("logical_names") > 0) & (pl.col("row_count") > 0)
    return (pl.col("column_mapping_mode") == "name") & logical & ~pl.col("has_field_ids")


@rule("PQT036", requires="column-mapping.nested-ids-in-files", view=file_columns, divergence="S30")
def nested_field_id_differs() -> pl.Expr:
    """A data file gives an array's element, or a map's key or value, another field id than the schema assigns.

    Readers of Iceberg look for it by that id and take null. A file that is older than the ids may have others.
    Fix: rewrite the file with the ids that the schema assigns.

    Conforms::
        node_with_other_id: false, physical_name: null, written_under_v2: null
        node_with_other_id: true, physical_name: col-1, written_under_v2: null
        node_with_other_id: true, physical_name: null, written_under_v2: true
    Violates::
        node_with_other_id: true, physical_name: null, written_under_v2: null
        node_with_other_id: true, physical_name: null, written_under_v2: false
    """
    may_be_older = ~pl.col("written_under_v2").fill_null(False)
    return pl.col("node_with_other_id") & pl.col("physical_name").is_null() & may_be_older

"""Rules over names and field ids in data files under column mapping. Source: chapter Column Mapping."""

import polars as pl

from deltaspec.rules.command_fixes import ASSIGN_FIELD_IDS
from deltaspec.rules.file_fixes import WRITE_ROWS_AGAIN, WRITE_ROWS_OF_COLUMN_AGAIN
from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns


@rule("PQT030", requires="column-mapping.field-ids-in-files", view=file_columns, fix=WRITE_ROWS_AGAIN)
def field_id_differs_from_column() -> pl.Expr:
    """Columns are mapped, but a data file stores a column with another field id or none.

    Readers by id (in name mode, Iceberg readers) find no column with the id and return null. (If the name may come from
    elsewhere, as in Iceberg files with renamed columns, another id may be right and is not reported. In name mode,
    only a column without an id under a generated name is.)

    Conforms::
        column_mapping_mode: id, node_with_other_id: false, file_has_ids: true, stored_id: null, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: false, stored_id: null, name_is_generated: true
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: null, name_is_generated: false
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: false
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: null
    Violates::
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: null, name_is_generated: false
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: null, name_is_generated: true
    """
    other = pl.col("node_with_other_id") & pl.col("file_has_ids") & pl.col("name_is_generated").is_not_null()
    certain = pl.col("name_is_generated") | pl.col("stored_id").is_null()
    by_id = (pl.col("column_mapping_mode") == "id") & certain
    return other & (by_id | _is_generated_name_without_id())


def _is_generated_name_without_id() -> pl.Expr:
    """Select columns in name mode that were certainly written under the mapping, without their id."""
    is_generated = pl.col("name_is_generated") & pl.col("stored_id").is_null()
    return (pl.col("column_mapping_mode") == "name") & is_generated


@rule(
    "PQT031",
    requires="column-mapping.field-ids-in-files",
    view=file_columns,
    divergence="S30",
    fix=WRITE_ROWS_OF_COLUMN_AGAIN,
)
def field_id_differs() -> pl.Expr:
    """A data file stores a column with another field id than the schema, which readers may ignore.

    In name mode, Delta readers ignore ids, but Iceberg readers return another column or null. In id mode, it is either
    another column that had the name before, or readers wrongly return null.

    Conforms::
        column_mapping_mode: name, node_with_other_id: false, file_has_ids: true, stored_id: null, name_is_generated: true
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: false, stored_id: null, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: null, name_is_generated: false
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: null
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: null, name_is_generated: true
    Violates::
        column_mapping_mode: name, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: true
        column_mapping_mode: id, node_with_other_id: true, file_has_ids: true, stored_id: 7, name_is_generated: false
    """
    other = pl.col("node_with_other_id") & pl.col("file_has_ids") & pl.col("name_is_generated").is_not_null()
    unclear = ~pl.col("name_is_generated") & pl.col("stored_id").is_not_null()
    by_name, by_id = (pl.col("column_mapping_mode") == mode for mode in ("name", "id"))
    return other & ((by_name & ~_is_generated_name_without_id()) | (by_id & unclear))


@rule("PQT032", requires="column-mapping.physical-names-in-files", view=file_columns, fix=WRITE_ROWS_AGAIN)
def column_not_under_its_physical_name() -> pl.Expr:
    """Columns are mapped by name, but a data file stores a column id under another name.

    Readers find no column with the physical name and return null. (Only files with other physical names are checked;
    older files may have their own field ids.)

    Conforms::
        column_mapping_mode: name, node_with_other_name: null, generated_names: 2
        column_mapping_mode: name, node_with_other_name: price, generated_names: 0
        column_mapping_mode: id, node_with_other_name: price, generated_names: 2
    Violates::
        column_mapping_mode: name, node_with_other_name: price, generated_names: 2
    """
    knows_mapping = pl.col("generated_names") > 0
    return (pl.col("column_mapping_mode") == "name") & pl.col("node_with_other_name").is_not_null() & knows_mapping


@rule(
    "PQT033",
    requires="column-mapping.physical-names-in-files",
    view=file_columns,
    divergence="S30",
    fix=WRITE_ROWS_OF_COLUMN_AGAIN,
)
def column_id_under_another_name() -> pl.Expr:
    """A data file stores a column id under another name, and readers may find the column anyway.

    In id mode, readers ignore the name, but statistics use it. In name mode, the file may be older than the mapping; if
    not, readers return null.

    Conforms::
        column_mapping_mode: id, node_with_other_name: null, generated_names: 2
        column_mapping_mode: name, node_with_other_name: price, generated_names: 2
    Violates::
        column_mapping_mode: id, node_with_other_name: price, generated_names: 2
        column_mapping_mode: name, node_with_other_name: price, generated_names: 0
    """
    may_be_older = (pl.col("column_mapping_mode") == "name") & (pl.col("generated_names") == 0)
    return pl.col("node_with_other_name").is_not_null() & ((pl.col("column_mapping_mode") == "id") | may_be_older)


@rule("PQT034", requires="column-mapping.field-ids-in-files", view=data_files, fix=WRITE_ROWS_AGAIN)
def file_without_field_ids() -> pl.Expr:
    """A data file has no field ids although it was written while columns were mapped.

    "Write the 32 bit integer column identifier as part of the `field_id` field": readers by id (in name mode, also
    Iceberg readers) refuse the file or return null for every column. (In name mode, another rule reports a file without
    physical names.)

    Conforms::
        column_mapping_mode: id, has_field_ids: true, physical_names: 2, generated_names: 2, written_under_mapping: true, row_count: 5
        column_mapping_mode: name, has_field_ids: false, physical_names: 2, generated_names: 0, written_under_mapping: false, row_count: 5
        column_mapping_mode: name, has_field_ids: false, physical_names: 0, generated_names: 0, written_under_mapping: true, row_count: 5
        column_mapping_mode: null, has_field_ids: false, physical_names: null, generated_names: null, written_under_mapping: null, row_count: 5
        column_mapping_mode: id, has_field_ids: false, physical_names: 2, generated_names: 0, written_under_mapping: true, row_count: 0
    Violates::
        column_mapping_mode: id, has_field_ids: false, physical_names: 0, generated_names: 0, written_under_mapping: true, row_count: 5
        column_mapping_mode: name, has_field_ids: false, physical_names: 2, generated_names: 0, written_under_mapping: true, row_count: 5
        column_mapping_mode: name, has_field_ids: false, physical_names: 2, generated_names: 2, written_under_mapping: false, row_count: 5
    """
    has_own_names = (pl.col("column_mapping_mode") == "id") | (pl.col("physical_names") > 0)
    return has_own_names & _is_younger_than_mapping() & ~pl.col("has_field_ids") & (pl.col("row_count") > 0)


def _is_younger_than_mapping() -> pl.Expr:
    """Select files that are certainly younger: the log shows it, or a generated physical name."""
    return pl.col("written_under_mapping") | (pl.col("generated_names") > 0)


@rule("PQT037", requires="column-mapping.field-ids-in-files", view=data_files, divergence="S30")
def older_file_without_field_ids() -> pl.Expr:
    """Columns are mapped by id, but a data file that may be older than the mapping has no field ids.

    The protocol does not say how readers treat such a file: some refuse it, others return null for every column.
    Fix (rewrite): Write the rows again with an engine that returns the right values. `REORG TABLE t APPLY (PURGE)`
    does not rewrite such a file. Do not rewrite it through a reader that returns null: that makes the damage
    permanent.

    Conforms::
        column_mapping_mode: id, has_field_ids: true, generated_names: 0, written_under_mapping: false, row_count: 5
        column_mapping_mode: name, has_field_ids: false, generated_names: 0, written_under_mapping: false, row_count: 5
        column_mapping_mode: id, has_field_ids: false, generated_names: 0, written_under_mapping: true, row_count: 5
        column_mapping_mode: id, has_field_ids: false, generated_names: 0, written_under_mapping: false, row_count: 0
    Violates::
        column_mapping_mode: id, has_field_ids: false, generated_names: 0, written_under_mapping: false, row_count: 5
    """
    is_older = (pl.col("column_mapping_mode") == "id") & ~_is_younger_than_mapping()
    return is_older & ~pl.col("has_field_ids") & (pl.col("row_count") > 0)


@rule("PQT035", requires="column-mapping.physical-names-in-files", view=data_files, divergence="S30")
def file_with_logical_names() -> pl.Expr:
    """Columns are mapped by name, but a data file that may be older has logical names and no physical names.

    Either its writer does not support column mapping and readers return null, or all of its columns were dropped.
    Fix (rewrite): Find the commit that added the file. If its columns belong to the table: write the rows again
    from their source, or with an engine that returns the right values for this file. Do not rewrite the file
    through a reader that returns null or wrong values: that makes the damage permanent.

    Conforms::
        column_mapping_mode: name, physical_names: 1, logical_names: 1, has_field_ids: false, row_count: 5, written_under_mapping: false
        column_mapping_mode: name, physical_names: 0, logical_names: 2, has_field_ids: false, row_count: 5, written_under_mapping: true
        column_mapping_mode: name, physical_names: 0, logical_names: 0, has_field_ids: false, row_count: 5, written_under_mapping: false
        column_mapping_mode: name, physical_names: 0, logical_names: 1, has_field_ids: true, row_count: 5, written_under_mapping: false
        column_mapping_mode: id, physical_names: 0, logical_names: 1, has_field_ids: false, row_count: 5, written_under_mapping: false
        column_mapping_mode: name, physical_names: 0, logical_names: 1, has_field_ids: false, row_count: 0, written_under_mapping: null
    Violates::
        column_mapping_mode: name, physical_names: 0, logical_names: 2, has_field_ids: false, row_count: 5, written_under_mapping: false
    """
    logical = (pl.col("physical_names") == 0) & (pl.col("logical_names") > 0) & (pl.col("row_count") > 0)
    may_be_older = (pl.col("column_mapping_mode") == "name") & ~pl.col("written_under_mapping").fill_null(False)
    return may_be_older & logical & ~pl.col("has_field_ids")


@rule("PQT039", requires="column-mapping.physical-names-in-files", view=file_columns)
def column_under_its_logical_name() -> pl.Expr:
    """Columns are mapped by name, but a file that was written later stores a column under its logical name.

    Readers look for the physical name and return null. No column ever had the stored name in files.
    Fix (rewrite): Stop the writer; it does not support columnMapping. Write the rows again from their source. Do
    not rewrite the file through a reader that returns null: that makes the damage permanent.

    Conforms::
        has_logical_name: true, written_under_mapping: false, remaining_rows: 5
        has_logical_name: false, written_under_mapping: true, remaining_rows: 5
        has_logical_name: true, written_under_mapping: true, remaining_rows: 0
        has_logical_name: null, written_under_mapping: null, remaining_rows: 5
    Violates::
        has_logical_name: true, written_under_mapping: true, remaining_rows: 5
    """
    return pl.col("has_logical_name") & pl.col("written_under_mapping") & (pl.col("remaining_rows") > 0)


@rule(
    "PQT036", requires="column-mapping.nested-ids-in-files", view=file_columns, divergence="S30", fix=ASSIGN_FIELD_IDS
)
def nested_field_id_differs() -> pl.Expr:
    """A data file stores an element, key or value with another field id than the schema.

    Iceberg readers look for it by the id of the schema and return null. Files that are older than the ids may have
    others.

    Conforms::
        node_with_other_id: false, physical_name: null, written_under_v2: null, written_under_v3: null
        node_with_other_id: true, physical_name: col-1, written_under_v2: null, written_under_v3: null
        node_with_other_id: true, physical_name: null, written_under_v2: true, written_under_v3: null
        node_with_other_id: true, physical_name: null, written_under_v2: null, written_under_v3: true
    Violates::
        node_with_other_id: true, physical_name: null, written_under_v2: null, written_under_v3: null
        node_with_other_id: true, physical_name: null, written_under_v2: false, written_under_v3: false
    """
    may_be_older = ~(pl.col("written_under_v2").fill_null(False) | pl.col("written_under_v3").fill_null(False))
    return pl.col("node_with_other_id") & pl.col("physical_name").is_null() & may_be_older

"""Rules of column mapping. Source: chapter Column Mapping."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table_state import configuration, metadata, schema_fields


@rule("CMP001", requires=("column-mapping.ids-assigned", "column-mapping.new-columns-have-ids"), view=schema_fields)
def column_id_missing() -> pl.Expr:
    """Column mapping is on, and a field has no column id.

    Readers that resolve columns by id return nulls for it.
    Fix: commit a metaData that gives every field an id, nested fields included.

    Conforms::
        column_mapping_mode: name, column_id: 1
        column_mapping_mode: null, column_id: null
    Violates::
        column_mapping_mode: id, column_id: null
    """
    return pl.col("column_mapping_mode").is_not_null() & pl.col("column_id").is_null()


@rule("CMP002", requires="column-mapping.physical-names-assigned", view=schema_fields)
def physical_name_missing() -> pl.Expr:
    """Column mapping is on, and a field has no physical name.

    Readers look for the column under another name than the one it was written with.
    Fix: commit a metaData that gives every field a physical name, nested fields included.

    Conforms::
        column_mapping_mode: name, physical_name: "col-5f422f40"
        column_mapping_mode: null, physical_name: null
    Violates::
        column_mapping_mode: name, physical_name: null
    """
    return pl.col("column_mapping_mode").is_not_null() & pl.col("physical_name").is_null()


@rule("CMP003", requires="column-mapping.ids-unique", view=schema_fields)
def repeated_column_id() -> pl.Expr:
    """Two fields of a schema have the same column id.

    Readers that resolve columns by id return one for the other.
    Fix: commit a metaData with an id of its own for every field; files written with the shared id must be rewritten.

    Conforms::
        column_mapping_mode: id, column_id: 1, fields_of_id: 1
        column_mapping_mode: null, column_id: null, fields_of_id: 3
    Violates::
        column_mapping_mode: id, column_id: 1, fields_of_id: 2
    """
    mapped = pl.col("column_mapping_mode").is_not_null() & pl.col("column_id").is_not_null()
    return mapped & (pl.col("fields_of_id") > 1)


@rule(
    "CMP004",
    requires=("column-mapping.physical-paths-unique", "column-mapping.physical-names-unique"),
    view=schema_fields,
)
def repeated_physical_name() -> pl.Expr:
    """Two fields of one struct have the same physical name.

    Both are read from the same column of the data files.
    Fix: commit a metaData with a physical name of its own for every field.

    Conforms::
        column_mapping_mode: name, fields_of_physical_path: 1
        column_mapping_mode: null, fields_of_physical_path: 2
    Violates::
        column_mapping_mode: name, fields_of_physical_path: 2
    """
    return pl.col("column_mapping_mode").is_not_null() & (pl.col("fields_of_physical_path") > 1)


@rule("CMP005", requires="column-mapping.max-column-id", view=metadata)
def max_column_id_too_low() -> pl.Expr:
    """A field has a column id above delta.columnMapping.maxColumnId, or the property is not set.

    The next column is given an id that another one has or had: old files show its values.
    Fix: commit a metaData with the property at the highest id ever assigned.

    Conforms::
        column_mapping_mode: name, max_column_id: 5, max_used_column_id: 4
        column_mapping_mode: null, max_column_id: null, max_used_column_id: null
    Violates::
        column_mapping_mode: name, max_column_id: 3, max_used_column_id: 4
        column_mapping_mode: id, max_column_id: null, max_used_column_id: 4
    """
    lower = pl.col("max_column_id").fill_null(-1) < pl.col("max_used_column_id")
    return pl.col("column_mapping_mode").is_not_null() & lower


@rule(
    "CMP022",
    requires=("column-mapping.writer-versions", "column-mapping.reader-versions"),
    view=configuration,
    divergence="E43",
)
def mode_without_its_feature() -> pl.Expr:
    """A mode of column mapping is set on a table whose protocol does not support column mapping.

    The mode has no effect: columns go by their logical names. An engine that heeds it all the same writes files in
    which others find nothing.
    Fix: commit a protocol that supports columnMapping, or set the mode to `none`.

    Conforms::
        property: "delta.columnMapping.mode", unsupported_feature: null
        property: "delta.enableDeletionVectors", unsupported_feature: deletionVectors
    Violates::
        property: "delta.columnMapping.mode", unsupported_feature: columnMapping
    """
    return (pl.col("property") == "delta.columnMapping.mode") & pl.col("unsupported_feature").is_not_null()

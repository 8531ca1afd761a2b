"""Rules of column mapping. Source: chapter Column Mapping."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_actions
from deltaspec.views.table.table_actions import configuration, metadata, schema_fields


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
        column_mapping_mode: id, column_id: 1, fields_with_column_id: 1
        column_mapping_mode: null, column_id: null, fields_with_column_id: 3
    Violates::
        column_mapping_mode: id, column_id: 1, fields_with_column_id: 2
    """
    mapped = pl.col("column_mapping_mode").is_not_null() & pl.col("column_id").is_not_null()
    return mapped & (pl.col("fields_with_column_id") > 1)


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
        column_mapping_mode: name, fields_with_physical_path: 1
        column_mapping_mode: null, fields_with_physical_path: 2
    Violates::
        column_mapping_mode: name, fields_with_physical_path: 2
    """
    return pl.col("column_mapping_mode").is_not_null() & (pl.col("fields_with_physical_path") > 1)


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
def column_mapping_mode_without_feature() -> pl.Expr:
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


@rule("CMP020", requires="column-mapping.ids-assigned", view=schema_fields)
def column_id_beyond_32_bits() -> pl.Expr:
    """A column id does not fit 32 bits.

    Data files cannot hold it as a field id: readers that resolve columns by id find nothing.
    Fix: commit a metaData with an id of its own for the column; files written with another id must be rewritten.

    Conforms::
        column_mapping_mode: id, column_id: 2147483647
        column_mapping_mode: null, column_id: 2147483648
    Violates::
        column_mapping_mode: id, column_id: 2147483648
        column_mapping_mode: name, column_id: -2147483649
    """
    fits = pl.col("column_id").is_between(-(2**31), 2**31 - 1)
    return pl.col("column_mapping_mode").is_not_null() & ~fits


@rule("CMP021", requires="column-mapping.physical-names-unique", view=schema_fields, until="r3")
def physical_name_shared_between_structs() -> pl.Expr:
    """Two fields of different structs have the same physical name.

    The text wants each name only once in a table; clients that look fields up by physical name alone take one for the
    other. (Fields from before the mapping keep their names, which may be alike.)
    Fix: commit a metaData with a physical name of its own for every field, before files are written with the shared one.

    Conforms::
        column_mapping_mode: name, shares_physical_name: false, fields_with_physical_path: 1
        column_mapping_mode: null, shares_physical_name: true, fields_with_physical_path: 1
        column_mapping_mode: name, shares_physical_name: true, fields_with_physical_path: 2
    Violates::
        column_mapping_mode: name, shares_physical_name: true, fields_with_physical_path: 1
    """
    shared = pl.col("shares_physical_name") & (pl.col("fields_with_physical_path") == 1)
    return pl.col("column_mapping_mode").is_not_null() & shared


@rule("CMP023", requires="column-mapping.physical-name-stays", view=schema_fields)
def physical_name_changed() -> pl.Expr:
    """A column has another physical name than it had before.

    Readers no longer find it in the files that are there: its values become null.
    Fix: commit a metaData with the column's former physical name; to rename a column, change its `name`.

    Conforms::
        physical_name_before: null
    Violates::
        physical_name_before: col-1
    """
    return pl.col("physical_name_before").is_not_null()


@rule("CMP024", requires="column-mapping.max-id-never-falls", view=metadata)
def max_column_id_decreased() -> pl.Expr:
    """`delta.columnMapping.maxColumnId` is lower than it was.

    The next column is given an id that another one has or had: old files show its values.
    Fix: commit a metaData with the property at the highest id ever assigned.

    Conforms::
        max_column_id: 5, max_column_id_before: 5
        max_column_id: 5, max_column_id_before: null
    Violates::
        max_column_id: 4, max_column_id_before: 5
    """
    return pl.col("max_column_id") < pl.col("max_column_id_before")


@rule(
    "CMP026",
    requires=("column-mapping.new-columns-have-new-paths", "column-mapping.physical-paths-unique"),
    view=schema_fields,
    since="current",
)
def reused_physical_path() -> pl.Expr:
    """A new column has the physical path of one that the table has or had.

    Old files show the values of the other column in it.
    Fix: commit a metaData that gives the column a new physical name, before files are written with the old one.

    Conforms::
        path_was_reused: false, fields_with_physical_path: 1
        path_was_reused: true, fields_with_physical_path: 2
    Violates::
        path_was_reused: true, fields_with_physical_path: 1
    """
    return pl.col("path_was_reused") & (pl.col("fields_with_physical_path") == 1)


@rule(
    "CMP027",
    requires=("column-mapping.new-columns-named-anew", "column-mapping.physical-names-unique"),
    view=schema_fields,
    until="r3",
)
def reused_physical_name() -> pl.Expr:
    """A new column has the physical name of one that the table has or had.

    Old files may show the values of the other column in it; the text wants a globally unique name.
    Fix: commit a metaData that gives the column a new physical name, before files are written with the old one.

    Conforms::
        name_was_reused: false, fields_with_physical_path: 1
        name_was_reused: true, fields_with_physical_path: 2
    Violates::
        name_was_reused: true, fields_with_physical_path: 1
    """
    return pl.col("name_was_reused") & (pl.col("fields_with_physical_path") == 1)


@rule("CMP028", requires="column-mapping.partition-keys-physical", view=file_actions)
def partition_value_by_logical_name() -> pl.Expr:
    """Under column mapping a partition value stands under the logical name of its column.

    Readers look for the physical name and take null, or fail.
    Fix: commit the file again with the physical name as the key.

    Conforms::
        kind: add, logical_partition_keys: []
        kind: remove, logical_partition_keys: ["day"]
    Violates::
        kind: add, logical_partition_keys: ["day"]
    """
    return (pl.col("kind") != "remove") & (pl.col("logical_partition_keys").list.len() > 0)


@rule("CMP029", requires="column-mapping.statistics-physical", view=file_actions)
def statistics_by_logical_name() -> pl.Expr:
    """Under column mapping statistics name a column by its logical name.

    Readers look for the physical name and find no statistics, or those of another column after a rename.
    Fix: commit the file again with physical names in its statistics.

    Conforms::
        kind: add, column_mapping_mode: name, misnamed_statistics: null
        kind: remove, column_mapping_mode: name, misnamed_statistics: "minValues.id"
        kind: add, column_mapping_mode: null, misnamed_statistics: "minValues.col-1"
    Violates::
        kind: add, column_mapping_mode: name, misnamed_statistics: "minValues.id"
    """
    misnamed = pl.col("misnamed_statistics").is_not_null() & pl.col("column_mapping_mode").is_not_null()
    return (pl.col("kind") == "add") & misnamed


@rule(
    "CMP030",
    requires=("column-mapping.enabled-by-property", "column-mapping.enabled-by-feature"),
    view=file_actions,
)
def physical_names_without_mapping() -> pl.Expr:
    """Statistics name a column by a physical name of the schema, and no mode of column mapping is in force.

    The writer maps columns on a table where the mapping was never turned on: readers look for logical names and find
    nothing, in the statistics and in the file.
    Fix: commit a metaData that sets the mode, and a protocol that supports it, if the files have physical names.

    Conforms::
        kind: add, column_mapping_mode: null, misnamed_statistics: null
        kind: remove, column_mapping_mode: null, misnamed_statistics: "minValues.col-1"
        kind: add, column_mapping_mode: name, misnamed_statistics: "minValues.id"
    Violates::
        kind: add, column_mapping_mode: null, misnamed_statistics: "minValues.col-1"
    """
    misnamed = pl.col("misnamed_statistics").is_not_null() & pl.col("column_mapping_mode").is_null()
    return (pl.col("kind") == "add") & misnamed

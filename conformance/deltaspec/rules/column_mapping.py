"""Rules over column mapping. Source: chapter Column Mapping."""

import polars as pl

from deltaspec.rules.file_fixes import REWRITE_STATISTICS
from deltaspec.rules.fixes import (
    RAISE_MAX_COLUMN_ID,
    RESTORE_MAX_COLUMN_ID,
    RESTORE_VERSION_AND_COLUMN,
    RESTORE_VERSION_AND_MAPPING,
    RESTORE_VERSION_NOT_NULLS,
)
from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_actions
from deltaspec.views.files.outdated_files import outdated_files
from deltaspec.views.table.table_actions import configuration, metadata, schema_fields


@rule(
    "CMP001",
    requires=("column-mapping.ids-assigned", "column-mapping.new-columns-have-ids"),
    view=schema_fields,
    fix=RESTORE_VERSION_AND_MAPPING,
)
def column_id_missing() -> pl.Expr:
    """Column mapping is enabled, but a field has no column id.

    Readers that resolve columns by id return null for the column.

    Conforms::
        column_mapping_mode: name, column_id: 1
        column_mapping_mode: null, column_id: null
    Violates::
        column_mapping_mode: id, column_id: null
    """
    return pl.col("column_mapping_mode").is_not_null() & pl.col("column_id").is_null()


@rule("CMP002", requires="column-mapping.physical-names-assigned", view=schema_fields, fix=RESTORE_VERSION_AND_MAPPING)
def physical_name_missing() -> pl.Expr:
    """Column mapping is enabled, but a field has no physical name.

    Readers do not know under which name the column is stored, and return null or fail.

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

    Readers that resolve columns by id return the values of one column for the other.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Files that were written with the shared id must be rewritten; check their
    values against the source first.

    Conforms::
        column_mapping_mode: id, column_id: 1, fields_with_column_id: 1
        column_mapping_mode: null, column_id: null, fields_with_column_id: 3
        column_mapping_mode: id, column_id: null, fields_with_column_id: 2
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
    """Two fields of the same struct have the same physical name.

    Readers read both columns from the same column of the data files.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Files that were written with the shared name must be rewritten from their
    source.

    Conforms::
        column_mapping_mode: name, fields_with_physical_path: 1
        column_mapping_mode: null, fields_with_physical_path: 2
    Violates::
        column_mapping_mode: name, fields_with_physical_path: 2
    """
    return pl.col("column_mapping_mode").is_not_null() & (pl.col("fields_with_physical_path") > 1)


@rule("CMP005", requires="column-mapping.max-column-id", view=metadata, fix=RAISE_MAX_COLUMN_ID)
def max_column_id_too_low() -> pl.Expr:
    """A column id is above delta.columnMapping.maxColumnId, or the property is missing.

    The next new column gets an id that is or was in use, so older files show values of another column in it.

    Conforms::
        column_mapping_mode: name, max_column_id: 5, max_used_column_id: 4
        column_mapping_mode: null, max_column_id: null, max_used_column_id: null
        column_mapping_mode: null, max_column_id: 3, max_used_column_id: 4
    Violates::
        column_mapping_mode: name, max_column_id: 3, max_used_column_id: 4
        column_mapping_mode: id, max_column_id: null, max_used_column_id: 4
        column_mapping_mode: id, max_column_id: null, max_used_column_id: 0
    """
    lower = pl.col("max_column_id").fill_null(-1) < pl.col("max_used_column_id")
    return pl.col("column_mapping_mode").is_not_null() & lower


@rule(
    "CMP022",
    requires=("column-mapping.writer-versions", "column-mapping.reader-versions"),
    view=configuration,
    divergence="E43",
    without_feature=True,
)
def column_mapping_mode_without_feature() -> pl.Expr:
    """A column mapping mode is set although the protocol does not support column mapping.

    The mode has no effect, so columns go by their logical names. An engine that applies it anyway writes files in which
    others find no columns.
    Fix (decide): Check which names the data files use. If physical ones, add the feature
    (`'delta.feature.columnMapping' = 'supported'`); otherwise set `delta.columnMapping.mode` to `none`.

    Conforms::
        property: "delta.columnMapping.mode", unsupported_feature: null
        property: "delta.enableDeletionVectors", unsupported_feature: deletionVectors
    Violates::
        property: "delta.columnMapping.mode", unsupported_feature: columnMapping
    """
    return (pl.col("property") == "delta.columnMapping.mode") & pl.col("unsupported_feature").is_not_null()


@rule("CMP020", requires="column-mapping.ids-assigned", view=schema_fields)
def column_id_beyond_32_bits() -> pl.Expr:
    """A column id does not fit into 32 bits.

    Parquet field ids have 32 bits, so data files cannot store it. Readers that resolve columns by id find nothing.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Rewrite files that were written with another id, using a reader that
    resolves columns by name.

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

    Physical names must be unique in the table. Clients that look up fields by physical name alone confuse the two.
    (Fields that are older than the mapping keep their names, which may be equal.)
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Do this before files are written under the shared name; otherwise rewrite
    those files.

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
    """The physical name of a column changed.

    Readers no longer find the column in existing files and return null.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. To rename a column, use `ALTER TABLE t RENAME COLUMN`, which keeps the
    physical name. Do not rewrite files while readers return null for the column.

    Conforms::
        physical_name_before: null
    Violates::
        physical_name_before: col-1
    """
    return pl.col("physical_name_before").is_not_null()


@rule("CMP024", requires="column-mapping.max-id-never-falls", view=metadata, fix=RESTORE_MAX_COLUMN_ID)
def max_column_id_decreased() -> pl.Expr:
    """`delta.columnMapping.maxColumnId` decreased, although not below a column id of the schema.

    The next new column gets an id that is or was in use, so older files show values of another column in it.

    Conforms::
        max_column_id: 5, max_column_id_before: 5, max_used_column_id: 5
        max_column_id: 5, max_column_id_before: null, max_used_column_id: 5
        max_column_id: 4, max_column_id_before: 5, max_used_column_id: 5
    Violates::
        max_column_id: 4, max_column_id_before: 5, max_used_column_id: 4
        max_column_id: 4, max_column_id_before: 5, max_used_column_id: null
    """
    is_too_low = (pl.col("max_column_id") < pl.col("max_used_column_id")).fill_null(False)
    return (pl.col("max_column_id") < pl.col("max_column_id_before")) & ~is_too_low


@rule(
    "CMP026",
    requires=("column-mapping.new-columns-have-new-paths", "column-mapping.physical-paths-unique"),
    view=schema_fields,
    since="current",
    fix=RESTORE_VERSION_AND_COLUMN,
)
def reused_physical_path() -> pl.Expr:
    """A new column has the physical path of a column that the table has or had.

    Older files show the values of the other column in it.

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
    fix=RESTORE_VERSION_AND_COLUMN,
)
def reused_physical_name() -> pl.Expr:
    """A new column has the physical name of a column that the table has or had.

    Physical names must be globally unique. Older files may show the values of the other column in it.

    Conforms::
        name_was_reused: false, fields_with_physical_path: 1
        name_was_reused: true, fields_with_physical_path: 2
    Violates::
        name_was_reused: true, fields_with_physical_path: 1
    """
    return pl.col("name_was_reused") & (pl.col("fields_with_physical_path") == 1)


@rule("CMP028", requires="column-mapping.partition-keys-physical", view=file_actions, fix=RESTORE_VERSION_NOT_NULLS)
def partition_value_by_logical_name() -> pl.Expr:
    """Column mapping is enabled, but a partition value is stored under the logical name of its column.

    Readers look for the physical name. They find no value and return null or fail.

    Conforms::
        kind: add, logical_partition_keys: []
        kind: remove, logical_partition_keys: ["day"]
    Violates::
        kind: add, logical_partition_keys: ["day"]
    """
    return (pl.col("kind") != "remove") & (pl.col("logical_partition_keys").list.len() > 0)


@rule("CMP029", requires="column-mapping.statistics-physical", view=file_actions, fix=REWRITE_STATISTICS)
def statistics_by_logical_name() -> pl.Expr:
    """Column mapping is enabled, but statistics name a column by its logical name.

    Readers find no statistics for the column. After a rename they may skip files by the statistics of another column.

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
    without_feature=True,
)
def physical_names_without_mapping() -> pl.Expr:
    """Statistics name a column by its physical name, but no column mapping mode is set.

    The writer applies a mapping that was never enabled. Readers look for logical names and find nothing in the
    statistics or in the file.
    Fix (decide): Check which names the data file uses. If physical ones, enable the mapping with `ALTER TABLE t SET
    TBLPROPERTIES ('delta.columnMapping.mode' = 'name')`; otherwise recompute the statistics.

    Conforms::
        kind: add, column_mapping_mode: null, misnamed_statistics: null
        kind: remove, column_mapping_mode: null, misnamed_statistics: "minValues.col-1"
        kind: add, column_mapping_mode: name, misnamed_statistics: "minValues.id"
    Violates::
        kind: add, column_mapping_mode: null, misnamed_statistics: "minValues.col-1"
    """
    misnamed = pl.col("misnamed_statistics").is_not_null() & pl.col("column_mapping_mode").is_null()
    return (pl.col("kind") == "add") & misnamed


@rule("CMP031", requires="column-mapping.partition-keys-physical", view=outdated_files)
def partition_values_left_under_logical_names() -> pl.Expr:
    """A partition column has a new physical name, but live files have its values under the logical name.

    Readers look for the physical name. They find no value and return null or fail.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last legal version. A writer that enables
    column mapping must keep the names of existing columns as physical names.

    Conforms::
        with_logical_partition_key: 0
    Violates::
        with_logical_partition_key: 2
    """
    return pl.col("with_logical_partition_key") > 0


@rule("CMP032", requires="column-mapping.physical-names-in-files", view=outdated_files)
def columns_left_under_other_names() -> pl.Expr:
    """Column mapping is turned on or off, and live files store a column under another name than readers look for.

    Readers return null for the column in all rows of these files, and ignore its statistics.
    Fix (restore): Copy the last legal version (`VERSION AS OF n`) to a new table, then repeat later changes with a
    corrected writer. Delta Spark refuses to `RESTORE` a version with another mapping mode. A writer that enables
    column mapping must keep the names of existing columns as physical names; one that disables it must rewrite the
    files.

    Conforms::
        with_other_column_names: 0
    Violates::
        with_other_column_names: 2
    """
    return pl.col("with_other_column_names") > 0


@rule("CMP033", requires="column-mapping.modes", view=metadata, divergence="S64")
def mapping_mode_changed() -> pl.Expr:
    """The column mapping mode changed from id to name, or from name to id.

    The protocol does not say whether the mode may change. Readers of the new mode find the columns of older files by
    another key: names that a writer in id mode chose freely, or field ids that the files may not have.
    Fix (restore): Read all columns of old files and compare their row counts of null with the statistics. If
    columns are null, run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the change.

    Conforms::
        column_mapping_mode: name, column_mapping_mode_before: name
        column_mapping_mode: name, column_mapping_mode_before: null
        column_mapping_mode: null, column_mapping_mode_before: id
    Violates::
        column_mapping_mode: name, column_mapping_mode_before: id
        column_mapping_mode: id, column_mapping_mode_before: name
    """
    return pl.col("column_mapping_mode") != pl.col("column_mapping_mode_before")

"""Rules over tables with Iceberg compatibility. Source: chapters Iceberg Compatibility V1 and V2."""

import polars as pl

from deltaspec.rules.command_fixes import DISABLE_FIRST_COMPATIBILITY
from deltaspec.rules.file_fixes import RECOMPUTE_STATISTICS, REWRITE_FILE_WITH_MICROSECONDS
from deltaspec.rules.fixes import (
    DISABLE_COMPATIBILITY,
    RESTORE_ICEBERG_IDS,
    RESTORE_NESTED_IDS,
    RESTORE_REPLACED_CONTENT,
)
from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.files.outdated_files import outdated_files
from deltaspec.views.table.iceberg import iceberg, nested_ids


@rule("ICE001", requires=("iceberg-v2.mapped", "iceberg-v1.mapped"), view=iceberg)
def compatible_without_mapping() -> pl.Expr:
    """Iceberg compatibility is enabled, but column mapping is not.

    Iceberg identifies columns by ids, which only column mapping assigns. No Iceberg metadata can be written.
    Fix (decide): Run `ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')`, or set
    `delta.enableIcebergCompatV1` or `delta.enableIcebergCompatV2` to false.

    Conforms::
        column_mapping_mode: name, compatibility: V1
        column_mapping_mode: id, compatibility: V2
        column_mapping_mode: null, compatibility: null
    Violates::
        column_mapping_mode: null, compatibility: V2
    """
    return pl.col("compatibility").is_not_null() & pl.col("column_mapping_mode").is_null()


@rule("ICE002", requires=("iceberg-v2.no-deletion-vectors", "iceberg-v1.no-deletion-vectors"), view=iceberg)
def compatible_with_deletion_vectors() -> pl.Expr:
    """Iceberg compatibility is enabled together with deletion vectors.

    Iceberg readers do not read the deletion vectors of Delta, so they return deleted rows. (V1 excludes the feature, V2
    excludes the property.)
    Fix (decide): Set `delta.enableIcebergCompatV1` or `delta.enableIcebergCompatV2` to false. To keep the
    compatibility, copy the rows to a new table: Delta Spark refuses to disable deletion vectors while V2 is
    enabled.

    Conforms::
        conflicts_with_deletion_vectors: false
    Violates::
        conflicts_with_deletion_vectors: true
    """
    return pl.col("conflicts_with_deletion_vectors")


@rule("ICE003", requires="iceberg-v2.not-with-first", view=iceberg, fix=DISABLE_FIRST_COMPATIBILITY)
def both_iceberg_compatibilities_enabled() -> pl.Expr:
    """Iceberg compatibility V1 and V2 are both enabled.

    V2 permits what V1 forbids, and a writer that follows V1 assigns no ids to elements, keys and values.

    Conforms::
        v1_also_enabled: false
    Violates::
        v1_also_enabled: true
    """
    return pl.col("v1_also_enabled")


@rule("ICE004", requires=("iceberg-v2.types", "iceberg-v1.types"), view=iceberg)
def type_not_supported_by_iceberg() -> pl.Expr:
    """The schema has a type that the enabled Iceberg compatibility does not support.

    The column has no Iceberg type, or none that converters of this version know. Iceberg readers cannot read the table.
    Fix (decide): Disable the compatibility, or copy the rows into a table without the column. Arrays and maps are
    supported by V2. Do not drop a column whose values you need.

    Conforms::
        forbidden_columns: []
    Violates::
        forbidden_columns: ["tags: array"]
    """
    return pl.col("forbidden_columns").list.len() > 0


@rule(
    "ICE005", requires=("iceberg-v2.type-changes", "iceberg-v1.type-changes"), view=iceberg, fix=DISABLE_COMPATIBILITY
)
def type_change_not_supported_by_iceberg() -> pl.Expr:
    """A column of a table with Iceberg compatibility records a type change that Iceberg does not support.

    Files from before the change store values of the old type. Iceberg readers cannot read them as the new type.

    Conforms::
        forbidden_type_changes: []
        forbidden_type_changes: null
    Violates::
        forbidden_type_changes: ["price: integer to double"]
    """
    return pl.col("forbidden_type_changes").list.len() > 0


@rule(
    "ICE006",
    requires=("iceberg-v2.partitions-keep-names", "iceberg-v1.partitions-keep-names"),
    view=iceberg,
    fix=RESTORE_REPLACED_CONTENT,
)
def partition_columns_renamed() -> pl.Expr:
    """A table with Iceberg compatibility was replaced by one with other partition column names.

    Its Iceberg history would need a second partition spec, which the conversion does not write.

    Conforms::
        renamed_partition_columns: []
        renamed_partition_columns: null
    Violates::
        renamed_partition_columns: ["part_b"]
        renamed_partition_columns: ["part_b", "part_a"]
    """
    return pl.col("renamed_partition_columns").list.len() > 0


@rule(
    "ICE007",
    requires=("iceberg-v2.numbers-of-records", "iceberg-v1.numbers-of-records"),
    view=adds_without_stats,
    fix=RECOMPUTE_STATISTICS,
)
def compatible_file_without_num_records() -> pl.Expr:
    """A file was added to a table with Iceberg compatibility, but its statistics have no numRecords.

    Iceberg manifests require the number of records of every file. (V1 requires it for every add action, V2 for new
    files.)

    Conforms::
        iceberg_compatibility: V2, num_records_missing: false, path_is_new: true
        iceberg_compatibility: V2, num_records_missing: true, path_is_new: false
        iceberg_compatibility: V2, num_records_missing: true, path_is_new: null
        iceberg_compatibility: V3, num_records_missing: true, path_is_new: true
        iceberg_compatibility: null, num_records_missing: null, path_is_new: true
    Violates::
        iceberg_compatibility: V1, num_records_missing: true, path_is_new: false
        iceberg_compatibility: V2, num_records_missing: true, path_is_new: true
    """
    compatibility = pl.col("iceberg_compatibility")
    is_required = (compatibility == "V1") | ((compatibility == "V2") & pl.col("path_is_new"))
    return is_required & pl.col("num_records_missing")


@rule("ICE008", requires="iceberg-v1.numbers-of-records", view=outdated_files)
def files_left_without_num_records() -> pl.Expr:
    """Iceberg compatibility V1 is enabled, but the statistics of live files have no numRecords.

    Iceberg manifests require the number of records of every file. (V1 requires it for all files, V2 only for new
    files.)
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the rows of the files with a conforming writer.

    Conforms::
        without_num_records: 0
    Violates::
        without_num_records: 2
    """
    return pl.col("without_num_records") > 0


# Ids of elements, keys and values


def _is_under_v2() -> pl.Expr:
    return pl.col("compatibility") == "V2"


@rule("ICE010", requires="iceberg-v2.nested-ids", view=nested_ids, fix=RESTORE_NESTED_IDS)
def nested_field_without_unique_id() -> pl.Expr:
    """An array element, map key or map value has no unique 32-bit id.

    Iceberg identifies it by the id. Iceberg readers return null, or confuse two parts.

    Conforms::
        compatibility: V2, missing_ids: [], out_of_range_ids: [], duplicate_ids: []
        compatibility: V3, missing_ids: ["col-1.element"], out_of_range_ids: [], duplicate_ids: []
    Violates::
        compatibility: V2, missing_ids: ["col-1.element"], out_of_range_ids: [], duplicate_ids: []
        compatibility: V2, missing_ids: [], out_of_range_ids: ["col-1.element=4294967296"], duplicate_ids: []
        compatibility: V2, missing_ids: [], out_of_range_ids: [], duplicate_ids: ["col-1.key=3", "col-1.value=3"]
    """
    faults = [pl.col(name).list.len() > 0 for name in ("missing_ids", "out_of_range_ids", "duplicate_ids")]
    return _is_under_v2() & pl.any_horizontal(faults)


@rule("ICE011", requires="iceberg-v2.nested-ids-place", view=nested_ids, fix=RESTORE_ICEBERG_IDS)
def nested_id_in_another_field() -> pl.Expr:
    """Ids of elements, keys or values are not in the nearest struct field, or not in a map.

    Clients that look for them where the protocol defines them find none.

    Conforms::
        compatibility: V2, ids_in_wrong_field: []
        compatibility: V3, ids_in_wrong_field: ["col-4.element"]
    Violates::
        compatibility: V2, ids_in_wrong_field: ["col-4.element"]
    """
    return _is_under_v2() & (pl.col("ids_in_wrong_field").list.len() > 0)


@rule("ICE012", requires="iceberg-v2.nested-ids-path", view=nested_ids, fix=RESTORE_ICEBERG_IDS)
def nested_id_without_field() -> pl.Expr:
    """The map of nested ids has a name that matches no part of the field, and a part has no id.

    The name is wrong. It must consist of the field name and the parts key, value and element from the outside in,
    separated by dots.

    Conforms::
        compatibility: V2, unresolved_names: []
    Violates::
        compatibility: V2, unresolved_names: ["col-1.list.element"]
    """
    return _is_under_v2() & (pl.col("unresolved_names").list.len() > 0)


@rule("ICE013", requires=("iceberg-v2.nested-ids-key", "iceberg-v2.nested-ids-key-by-name"), view=nested_ids)
def nested_ids_under_another_key() -> pl.Expr:
    """Nested ids use a metadata key, or a field name, that the revision does not define.

    Until Delta 3.1 the protocol used another key and the logical name of the field. Readers look for only one of the
    two.
    Fix (rewrite): Use a writer that stores the ids in `delta.columnMapping.nested.ids` under physical names. `REORG
    TABLE t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=2))` writes them again.

    Conforms::
        compatibility: V2, ids_under_wrong_key: []
        compatibility: V3, ids_under_wrong_key: ["col-1.element"]
    Violates::
        compatibility: V2, ids_under_wrong_key: ["col-1.element"]
    """
    return _is_under_v2() & (pl.col("ids_under_wrong_key").list.len() > 0)


# Data files


@rule(
    "ICE020", requires=("iceberg-v1.partition-columns-stored", "iceberg-v2.partition-columns-stored"), view=data_files
)
def partition_column_not_stored() -> pl.Expr:
    """A data file of a table with Iceberg compatibility does not store a partition column.

    Iceberg readers take partition values from the file and return null. (V1 requires the column in every file, V2 in
    files written while it was enabled.)
    Fix (rewrite): Run `REORG TABLE t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=2))`, which rewrites files that
    are not compatible. For V1, rewrite the file's rows.

    Conforms::
        kind: add, iceberg_compatibility: V1, written_under_v2: null, absent_partition_columns: []
        kind: add, iceberg_compatibility: V2, written_under_v2: false, absent_partition_columns: ["day"]
        kind: add, iceberg_compatibility: null, written_under_v2: null, absent_partition_columns: null
        kind: cdc, iceberg_compatibility: V1, written_under_v2: null, absent_partition_columns: ["day"]
    Violates::
        kind: add, iceberg_compatibility: V1, written_under_v2: null, absent_partition_columns: ["day"]
        kind: add, iceberg_compatibility: V2, written_under_v2: true, absent_partition_columns: ["day"]
    """
    is_required = (pl.col("iceberg_compatibility") == "V1") | pl.col("written_under_v2")
    return (pl.col("kind") == "add") & is_required & (pl.col("absent_partition_columns").list.len() > 0)


@rule("ICE021", requires="iceberg-v1.partition-columns-stored", view=data_files)
def partition_column_before_data() -> pl.Expr:
    """A data file of a table with Iceberg compatibility V1 stores a partition column before a data column.

    V1 requires partition columns after the data columns, where converters cut them off.
    Fix (rewrite): Rewrite the file's rows with a conforming writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark). The writer must store partition columns last.

    Conforms::
        kind: add, iceberg_compatibility: V1, misplaced_partition_columns: []
        kind: add, iceberg_compatibility: V2, misplaced_partition_columns: ["day"]
        kind: cdc, iceberg_compatibility: V1, misplaced_partition_columns: ["day"]
    Violates::
        kind: add, iceberg_compatibility: V1, misplaced_partition_columns: ["day"]
    """
    under_first = (pl.col("kind") == "add") & (pl.col("iceberg_compatibility") == "V1")
    return under_first & (pl.col("misplaced_partition_columns").list.len() > 0)


@rule("ICE022", requires="iceberg-v2.timestamps", view=data_files, fix=REWRITE_FILE_WITH_MICROSECONDS)
def compatible_timestamp_as_int96() -> pl.Expr:
    """A data file that was written under Iceberg compatibility V2 stores a timestamp as INT96.

    Iceberg supports only 64-bit timestamps, so its readers fail on the file.

    Conforms::
        written_under_v2: true, int96_timestamps: []
        written_under_v2: false, int96_timestamps: ["at"]
    Violates::
        written_under_v2: true, int96_timestamps: ["at"]
    """
    return pl.col("written_under_v2") & (pl.col("int96_timestamps").list.len() > 0)


@rule("ICE023", requires="iceberg-v2.nested-ids-in-files", view=file_columns)
def nested_field_stored_without_id() -> pl.Expr:
    """A file written under Iceberg compatibility V2 gives an element, key or value no id, or a wrong one.

    Iceberg readers look for the part by the id of the schema and return null.
    Fix (rewrite): Write the rows again from their source, or with an engine that returns the right values for this
    file. Do not rewrite the file through a reader that returns null or wrong values: that makes the damage
    permanent. The writer must store the ids of the schema as Parquet field ids.

    Conforms::
        written_under_v2: true, physical_name: null, role: null, column_id: 7, node_id: 7
        written_under_v2: true, physical_name: null, role: null, column_id: null, node_id: null
        written_under_v2: true, physical_name: col-1, role: null, column_id: 1, node_id: null
        written_under_v2: true, physical_name: null, role: "change type", column_id: 7, node_id: null
        written_under_v2: false, physical_name: null, role: null, column_id: 7, node_id: null
    Violates::
        written_under_v2: true, physical_name: null, role: null, column_id: 7, node_id: null
        written_under_v2: true, physical_name: null, role: null, column_id: 7, node_id: 8
    """
    is_part = pl.col("physical_name").is_null() & pl.col("role").is_null() & pl.col("column_id").is_not_null()
    return pl.col("written_under_v2") & is_part & (pl.col("node_id").ne_missing(pl.col("column_id")))

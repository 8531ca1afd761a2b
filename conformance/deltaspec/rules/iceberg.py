"""Rules over tables that are compatible with Iceberg. Source: chapters Iceberg Compatibility V1 and V2."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.table.iceberg import iceberg, nested_ids


@rule("ICE001", requires=("iceberg-v2.mapped", "iceberg-v1.mapped"), view=iceberg)
def compatible_without_mapping() -> pl.Expr:
    """Iceberg compatibility is enabled, and columns are not mapped.

    Iceberg knows columns by ids, which only column mapping gives: without them no metadata of Iceberg can be made.
    Fix: set delta.columnMapping.mode to name or id, or turn the compatibility off.

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

    Readers of Iceberg do not know the vectors of Delta: they return rows that were deleted. (V1 does not go with the
    feature as such, V2 not with its property.)
    Fix: unset delta.enableDeletionVectors and purge the vectors there are; under V1 drop the feature as well.

    Conforms::
        conflicts_with_deletion_vectors: false
    Violates::
        conflicts_with_deletion_vectors: true
    """
    return pl.col("conflicts_with_deletion_vectors")


@rule("ICE003", requires="iceberg-v2.not-with-first", view=iceberg)
def both_iceberg_compatibilities_enabled() -> pl.Expr:
    """Iceberg compatibility V1 and V2 are enabled at once.

    What one lets in the other forbids: a writer that keeps to V1 assigns no ids to the parts of arrays and maps.
    Fix: set delta.enableIcebergCompatV1 to false.

    Conforms::
        v1_also_enabled: false
    Violates::
        v1_also_enabled: true
    """
    return pl.col("v1_also_enabled")


@rule("ICE004", requires=("iceberg-v2.types", "iceberg-v1.types"), view=iceberg)
def type_not_supported_by_iceberg() -> pl.Expr:
    """The schema has a type that the enabled Iceberg compatibility has no room for.

    The column has no type in Iceberg, or none that a converter of this compatibility knows: the table cannot be read.
    Fix: drop the column, or turn the compatibility off; arrays and maps go with V2.

    Conforms::
        forbidden_columns: []
    Violates::
        forbidden_columns: ["tags: array"]
    """
    return pl.col("forbidden_columns").list.len() > 0


@rule("ICE005", requires=("iceberg-v2.type-changes", "iceberg-v1.type-changes"), view=iceberg)
def type_change_not_supported_by_iceberg() -> pl.Expr:
    """A column of a table with Iceberg compatibility records a change of its type that Iceberg does not know.

    Files from before the change hold values of the old type, which readers of Iceberg do not take for the new one.
    Fix: rewrite these files and take the record out, or turn the compatibility off.

    Conforms::
        forbidden_type_changes: []
        forbidden_type_changes: null
    Violates::
        forbidden_type_changes: ["price: integer to double"]
    """
    return pl.col("forbidden_type_changes").list.len() > 0


@rule("ICE006", requires=("iceberg-v2.partitions-keep-names", "iceberg-v1.partitions-keep-names"), view=iceberg)
def partition_columns_renamed() -> pl.Expr:
    """A partitioned table with Iceberg compatibility was replaced by one whose partition columns have other names.

    Its history in Iceberg would need a second partition spec, which the conversion does not make.
    Fix: replace the table by one that is partitioned by columns of the same names, or write to a new table.

    Conforms::
        renamed_partition_columns: []
        renamed_partition_columns: null
    Violates::
        renamed_partition_columns: ["part_b"]
        renamed_partition_columns: ["part_b", "part_a"]
    """
    return pl.col("renamed_partition_columns").list.len() > 0


@rule("ICE007", requires=("iceberg-v2.numbers-of-records", "iceberg-v1.numbers-of-records"), view=adds_without_stats)
def compatible_file_without_num_records() -> pl.Expr:
    """A file was added to a table with Iceberg compatibility, and its statistics have no numRecords.

    A manifest of Iceberg names the number of records of every file: without it none can be written. (V1 asks it of every
    add, V2 of new ones.)
    Fix: commit the file again with statistics.

    Conforms::
        iceberg_compatibility: V2, num_records_missing: false, path_is_new: true
        iceberg_compatibility: V2, num_records_missing: true, path_is_new: false
        iceberg_compatibility: V2, num_records_missing: true, path_is_new: null
        iceberg_compatibility: null, num_records_missing: null, path_is_new: true
    Violates::
        iceberg_compatibility: V1, num_records_missing: true, path_is_new: false
        iceberg_compatibility: V2, num_records_missing: true, path_is_new: true
    """
    asked = (pl.col("iceberg_compatibility") == "V1") | pl.col("path_is_new")
    return asked & pl.col("num_records_missing")


# ids of elements, keys and values


@rule("ICE010", requires="iceberg-v2.nested-ids", view=nested_ids)
def nested_field_without_unique_id() -> pl.Expr:
    """The element of an array, or a key or value of a map, has no id of 32 bits that nothing else has.

    Iceberg knows it by the id: readers return null, or take one part for another.
    Fix: commit the schema with an id for it, above every id that was used.

    Conforms::
        missing_ids: [], out_of_range_ids: [], duplicate_ids: []
    Violates::
        missing_ids: ["col-1.element"], out_of_range_ids: [], duplicate_ids: []
        missing_ids: [], out_of_range_ids: ["col-1.element=4294967296"], duplicate_ids: []
        missing_ids: [], out_of_range_ids: [], duplicate_ids: ["col-1.key=3", "col-1.value=3"]
    """
    faults = [pl.col(name).list.len() > 0 for name in ("missing_ids", "out_of_range_ids", "duplicate_ids")]
    return pl.any_horizontal(faults)


@rule("ICE011", requires="iceberg-v2.nested-ids-place", view=nested_ids)
def nested_id_in_another_field() -> pl.Expr:
    """Ids of an array's elements, or a map's keys and values, stand in another field than the nearest, or in no map.

    Whoever looks for them where the text has them finds none.
    Fix: commit the schema with the ids as one map in the metadata of the nearest struct field around them.

    Conforms::
        ids_in_wrong_field: []
    Violates::
        ids_in_wrong_field: ["col-4.element"]
    """
    return pl.col("ids_in_wrong_field").list.len() > 0


@rule("ICE012", requires="iceberg-v2.nested-ids-path", view=nested_ids)
def nested_id_without_field() -> pl.Expr:
    """The map of nested ids has a name that leads to no part of the field, and a part that has no id.

    The name is misspelt: behind that of the field come element, key and value, parents first, with dots between.
    Fix: commit the schema with the names that the text describes.

    Conforms::
        unresolved_names: []
    Violates::
        unresolved_names: ["col-1.list.element"]
    """
    return pl.col("unresolved_names").list.len() > 0


@rule("ICE013", requires=("iceberg-v2.nested-ids-key", "iceberg-v2.nested-ids-key-by-name"), view=nested_ids)
def nested_ids_under_another_key() -> pl.Expr:
    """Nested ids stand under a key, or by a name of their field, that the judged text does not give.

    Up to 3.1 the text had another key, and names that begin with the displayed name: of the two, readers look for one.
    Fix: commit the schema with delta.columnMapping.nested.ids, whose names begin with the physical name of the field.

    Conforms::
        ids_under_wrong_key: []
    Violates::
        ids_under_wrong_key: ["col-1.element"]
    """
    return pl.col("ids_under_wrong_key").list.len() > 0


# data files


@rule(
    "ICE020", requires=("iceberg-v1.partition-columns-stored", "iceberg-v2.partition-columns-stored"), view=data_files
)
def partition_column_not_stored() -> pl.Expr:
    """A data file of a table with Iceberg compatibility does not hold a partition column.

    Readers of Iceberg take partition values from the file, not from the log: they return null. (V1 asks it of every
    file, V2 of those that were written while it was enabled.)
    Fix: rewrite the file with its partition columns behind the others.

    Conforms::
        kind: add, iceberg_compatibility: V1, written_under_v2: null, absent_partition_columns: []
        kind: add, iceberg_compatibility: V2, written_under_v2: false, absent_partition_columns: ["day"]
        kind: add, iceberg_compatibility: null, written_under_v2: null, absent_partition_columns: null
        kind: cdc, iceberg_compatibility: V1, written_under_v2: null, absent_partition_columns: ["day"]
    Violates::
        kind: add, iceberg_compatibility: V1, written_under_v2: null, absent_partition_columns: ["day"]
        kind: add, iceberg_compatibility: V2, written_under_v2: true, absent_partition_columns: ["day"]
    """
    asked = (pl.col("iceberg_compatibility") == "V1") | pl.col("written_under_v2")
    return (pl.col("kind") == "add") & asked & (pl.col("absent_partition_columns").list.len() > 0)


@rule("ICE021", requires="iceberg-v1.partition-columns-stored", view=data_files)
def partition_column_before_data() -> pl.Expr:
    """A data file of a table with Iceberg compatibility V1 holds a partition column before a column of data.

    V1 has them behind the others, where converters cut them off.
    Fix: rewrite the file with its partition columns behind the others.

    Conforms::
        kind: add, iceberg_compatibility: V1, misplaced_partition_columns: []
        kind: add, iceberg_compatibility: V2, misplaced_partition_columns: ["day"]
        kind: cdc, iceberg_compatibility: V1, misplaced_partition_columns: ["day"]
    Violates::
        kind: add, iceberg_compatibility: V1, misplaced_partition_columns: ["day"]
    """
    under_first = (pl.col("kind") == "add") & (pl.col("iceberg_compatibility") == "V1")
    return under_first & (pl.col("misplaced_partition_columns").list.len() > 0)


@rule("ICE022", requires="iceberg-v2.timestamps", view=data_files)
def compatible_timestamp_as_int96() -> pl.Expr:
    """A data file that was written under Iceberg compatibility V2 stores a timestamp as INT96.

    Iceberg has timestamps of 64 bits only: its readers fail on the file.
    Fix: rewrite the file with timestamps as INT64.

    Conforms::
        written_under_v2: true, int96_timestamps: []
        written_under_v2: false, int96_timestamps: ["at"]
    Violates::
        written_under_v2: true, int96_timestamps: ["at"]
    """
    return pl.col("written_under_v2") & (pl.col("int96_timestamps").list.len() > 0)


@rule("ICE023", requires="iceberg-v2.nested-ids-in-files", view=file_columns)
def nested_field_stored_without_id() -> pl.Expr:
    """A file that was written under Iceberg compatibility V2 gives an element, key or value no id, or another one.

    Readers of Iceberg look for it by the id that the schema assigns, and return null.
    Fix: rewrite the file with that id as the field id of its Parquet node.

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

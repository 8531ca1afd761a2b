"""Rules over tables with Iceberg compatibility V3. It is a proposal, so every finding is a divergence.

Source: Iceberg Compatibility V3.
"""

import polars as pl

from deltaspec.rules.command_fixes import ENABLE_MAPPING, ENABLE_ROW_TRACKING
from deltaspec.rules.file_fixes import REWRITE_FILE, REWRITE_FILE_WITH_MICROSECONDS, REWRITE_STATISTICS
from deltaspec.rules.fixes import RESTORE_REPLACED_CONTENT
from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.table.iceberg import iceberg_v3, nested_ids


@rule("ICE030", requires="iceberg-v3.mapped", view=iceberg_v3, divergence="S44", fix=ENABLE_MAPPING)
def v3_without_mapping() -> pl.Expr:
    """Iceberg compatibility V3 is enabled, but column mapping is not.

    Iceberg identifies columns by ids, which only column mapping assigns. No Iceberg metadata can be written.

    Conforms::
        columns_are_mapped: true
    Violates::
        columns_are_mapped: false
    """
    return ~pl.col("columns_are_mapped")


@rule("ICE031", requires="iceberg-v3.row-tracking", view=iceberg_v3, divergence="S44", fix=ENABLE_ROW_TRACKING)
def v3_without_row_tracking() -> pl.Expr:
    """Iceberg compatibility V3 is enabled, but row tracking is not.

    Iceberg tables of format version 3 have row ids, which the conversion takes from row tracking.

    Conforms::
        row_tracking_enabled: true
    Violates::
        row_tracking_enabled: false
    """
    return ~pl.col("row_tracking_enabled")


@rule("ICE032", requires="iceberg-v3.not-with-others", view=iceberg_v3, divergence="S44")
def v3_with_earlier_compatibility() -> pl.Expr:
    """Iceberg compatibility V3 is enabled together with V1 or V2.

    V3 permits what V1 and V2 forbid, for example deletion vectors, and converters do not know which one to follow.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the version before V3 was enabled. Delta Spark
    refuses to disable the other versions afterwards.

    Conforms::
        other_compatibilities: []
    Violates::
        other_compatibilities: ["V2"]
    """
    return pl.col("other_compatibilities").list.len() > 0


@rule("ICE033", requires="iceberg-v3.types", view=iceberg_v3, divergence="S44")
def type_not_supported_by_v3() -> pl.Expr:
    """The schema has a type that Iceberg compatibility V3 does not support.

    The column has no Iceberg type, or none that converters know. Iceberg readers cannot read the table.
    Fix (decide): Disable the compatibility, or copy the rows into a table without the column. Do not drop a column
    whose values you need.

    Conforms::
        forbidden_columns: []
    Violates::
        forbidden_columns: ["nothing: void"]
    """
    return pl.col("forbidden_columns").list.len() > 0


@rule("ICE034", requires="iceberg-v3.type-changes", view=iceberg_v3, divergence="S44")
def type_change_not_supported_by_v3() -> pl.Expr:
    """A column of a table with Iceberg compatibility V3 records a type change that Iceberg does not support.

    Files from before the change store values of the old type. Iceberg readers cannot read them as the new type.
    Fix (decide): Copy the rows to a new table without the compatibility, or with the new type from the start. Delta
    Spark refuses `REORG TABLE t APPLY (UPGRADE UNIFORM ...)` for such a type change.

    Conforms::
        forbidden_type_changes: []
        forbidden_type_changes: null
    Violates::
        forbidden_type_changes: ["price: integer to double"]
    """
    return pl.col("forbidden_type_changes").list.len() > 0


@rule(
    "ICE035",
    requires="iceberg-v3.partitions-keep-names",
    view=iceberg_v3,
    divergence="S44",
    fix=RESTORE_REPLACED_CONTENT,
)
def partition_columns_renamed_under_v3() -> pl.Expr:
    """A table with Iceberg compatibility V3 was replaced by one with other partition column names.

    Its Iceberg history would need a second partition spec, which the conversion does not write.

    Conforms::
        renamed_partition_columns: []
        renamed_partition_columns: null
    Violates::
        renamed_partition_columns: ["part_b"]
    """
    return pl.col("renamed_partition_columns").list.len() > 0


@rule(
    "ICE036",
    requires="iceberg-v3.literal-defaults",
    view=iceberg_v3,
    undecided="it is unknown whether a default is a literal",
    divergence="S44",
)
def computed_default_under_v3() -> pl.Expr:
    """A column of a table with Iceberg compatibility V3 has a default that is not a literal.

    An Iceberg schema stores a default as a value, so the conversion cannot write an expression.
    Fix (decide): Run `ALTER TABLE t ALTER COLUMN c SET DEFAULT literal`, or `DROP DEFAULT` and compute the value in
    the query that writes the rows.

    Conforms::
        computed_defaults: []
        computed_defaults: null
    Violates::
        computed_defaults: ["at: current_timestamp()"]
    """
    return pl.col("computed_defaults").list.len() > 0


@rule(
    "ICE037",
    requires="iceberg-v3.numbers-of-records",
    view=adds_without_stats,
    divergence="S44",
    fix=REWRITE_STATISTICS,
)
def file_without_num_records_under_v3() -> pl.Expr:
    """A new file was added under Iceberg compatibility V3, but its statistics have no numRecords.

    Iceberg manifests require the number of records of every file.

    Conforms::
        iceberg_compatibility: V3, num_records_missing: false, path_is_new: true
        iceberg_compatibility: V3, num_records_missing: true, path_is_new: null
        iceberg_compatibility: V2, num_records_missing: true, path_is_new: true
    Violates::
        iceberg_compatibility: V3, num_records_missing: true, path_is_new: true
    """
    return (pl.col("iceberg_compatibility") == "V3") & pl.col("path_is_new") & pl.col("num_records_missing")


@rule("ICE038", requires="iceberg-v3.nested-ids", view=nested_ids, divergence="S44")
def nested_field_without_id_under_v3() -> pl.Expr:
    """Under Iceberg compatibility V3, an array element, map key or map value has no id where readers look for it.

    The id is missing, not unique, beyond 32 bits, or stored under a name, key or field that V2 does not define. Iceberg
    readers return null, or confuse two parts.
    Fix (decide): Run `REORG TABLE t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=3))` in Delta Spark, which
    assigns the ids and rewrites the files.

    Conforms::
        compatibility: V3, faulty_ids: []
        compatibility: V2, faulty_ids: ["col-1.element"]
    Violates::
        compatibility: V3, faulty_ids: ["col-1.element"]
    """
    return (pl.col("compatibility") == "V3") & (pl.col("faulty_ids").list.len() > 0)


# Data files


@rule("ICE040", requires="iceberg-v3.partition-columns-stored", view=data_files, divergence="S44", fix=REWRITE_FILE)
def partition_column_not_stored_under_v3() -> pl.Expr:
    """A data file that was written under Iceberg compatibility V3 does not store a partition column.

    Iceberg readers take partition values from the file and return null.

    Conforms::
        kind: add, written_under_v3: true, absent_partition_columns: []
        kind: add, written_under_v3: false, absent_partition_columns: ["day"]
        kind: cdc, written_under_v3: true, absent_partition_columns: ["day"]
        kind: add, written_under_v3: null, absent_partition_columns: null
    Violates::
        kind: add, written_under_v3: true, absent_partition_columns: ["day"]
    """
    is_absent = pl.col("absent_partition_columns").list.len() > 0
    return (pl.col("kind") == "add") & pl.col("written_under_v3") & is_absent


@rule("ICE041", requires="iceberg-v3.timestamps", view=data_files, divergence="S44", fix=REWRITE_FILE_WITH_MICROSECONDS)
def timestamp_as_int96_under_v3() -> pl.Expr:
    """A data file that was written under Iceberg compatibility V3 stores a timestamp as INT96.

    Iceberg supports only 64-bit timestamps, so its readers fail on the file.

    Conforms::
        written_under_v3: true, int96_timestamps: []
        written_under_v3: false, int96_timestamps: ["at"]
    Violates::
        written_under_v3: true, int96_timestamps: ["at"]
    """
    return pl.col("written_under_v3") & (pl.col("int96_timestamps").list.len() > 0)


@rule("ICE042", requires="iceberg-v3.nested-ids-in-files", view=file_columns, divergence="S44")
def nested_field_stored_without_id_under_v3() -> pl.Expr:
    """A file written under Iceberg compatibility V3 gives an element, key or value no id, or a wrong one.

    Iceberg readers look for the part by the id of the schema and return null.
    Fix (rewrite): Write the rows again from their source, or with an engine that returns the right values for this
    file. The writer must store the ids of the schema as Parquet field ids.

    Conforms::
        written_under_v3: true, physical_name: null, role: null, column_id: 7, node_id: 7
        written_under_v3: true, physical_name: null, role: null, column_id: null, node_id: null
        written_under_v3: true, physical_name: col-1, role: null, column_id: 1, node_id: null
        written_under_v3: false, physical_name: null, role: null, column_id: 7, node_id: null
    Violates::
        written_under_v3: true, physical_name: null, role: null, column_id: 7, node_id: null
        written_under_v3: true, physical_name: null, role: null, column_id: 7, node_id: 8
    """
    is_part = pl.col("physical_name").is_null() & pl.col("role").is_null() & pl.col("column_id").is_not_null()
    return pl.col("written_under_v3") & is_part & pl.col("node_id").ne_missing(pl.col("column_id"))


@rule("ICE043", requires="iceberg-v3.row-tracking-ids", view=file_columns, divergence="S44")
def row_tracking_column_without_reserved_id() -> pl.Expr:
    """A file written under Iceberg compatibility V3 stores row ids or row commit versions without their field id.

    Iceberg reserves 2147483540 for row ids and 2147483539 for their versions. Its readers do not find the columns and
    compute other ids.
    Fix (rewrite): Rewrite the file's rows with an engine that supports row tracking and the compatibility, so that
    the ids are kept.

    Conforms::
        written_under_v3: true, reserved_id: 2147483540, node_id: 2147483540
        written_under_v3: true, reserved_id: null, node_id: 7
        written_under_v3: false, reserved_id: 2147483540, node_id: null
    Violates::
        written_under_v3: true, reserved_id: 2147483540, node_id: null
        written_under_v3: true, reserved_id: 2147483539, node_id: 2147483540
    """
    differs = pl.col("node_id").ne_missing(pl.col("reserved_id"))
    return pl.col("written_under_v3") & pl.col("reserved_id").is_not_null() & differs

"""Valid tables with Iceberg compatibility V3, including near misses."""

from deltaspec.protocol.property_names import ICEBERG_COMPAT_V3, ROWS_PRESERVED_TAG, TYPE_CHANGES
from deltaspec_generators.table_files import TableFiles, commit_info_action, get_action
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.iceberg import (
    build_compatible_table,
    build_nested_data_table,
    build_nested_table,
    build_timestamp_table,
)
from planted_tables.bases.iceberg_v3 import RESERVED_IDS, build_table_with_row_tracking_columns, upgrade_to_v3
from planted_tables.permissions import iceberg
from planted_tables.permissions.registry import permission


@permission("iceberg-v3.enabled")
def nested_columns_under_third_compatibility() -> TableFiles:
    return upgrade_to_v3(build_nested_table())


@permission("iceberg-v3.enabled")
def third_compatibility_supported_and_not_enabled() -> TableFiles:
    """Nothing is required: the table has a void column, a file without statistics and no row tracking."""
    fields = [build_mapped_field("id", 1), build_mapped_field("nothing", 3, "void")]
    files = build_compatible_table("V3", fields=fields)
    get_action(files, 0, "metaData")["configuration"][ICEBERG_COMPAT_V3] = "false"
    del get_action(files, 2, "add")["stats"]
    return files


@permission("iceberg-v3.enabled")
def variant_and_literal_defaults() -> TableFiles:
    """A default may have a sign, or a cast."""
    fields = [build_mapped_field("id", 1), build_mapped_field("v", 3, "variant")]
    for number, (kind, default) in enumerate(
        [("long", "-7"), ("string", "'a b'"), ("date", "DATE '2024-02-29'"), ("date", "CAST('2024-02-29' AS DATE)")], 4
    ):
        field = build_mapped_field(f"c{number}", number, kind)
        field["metadata"]["CURRENT_DEFAULT"] = default
        fields.append(field)
    files = upgrade_to_v3(build_compatible_table("V2", "variantType", fields=fields))
    get_action(files, 0, "protocol")["writerFeatures"].append("allowColumnDefaults")
    return files


@permission("iceberg-v3.enabled")
def column_widened_as_v3_permits() -> TableFiles:
    fields = [build_mapped_field("id", 1)]
    for number, (old, new) in enumerate([("byte", "long"), ("float", "double"), ("decimal(6,2)", "decimal(8,2)")], 2):
        field = build_mapped_field(f"c{number}", number, new)
        field["metadata"][TYPE_CHANGES] = [{"fromType": old, "toType": new}]
        fields.append(field)
    return upgrade_to_v3(build_compatible_table("V2", "typeWidening", fields=fields, enableTypeWidening="true"))


@permission("iceberg-v3.enabled")
def partition_column_of_another_type_under_third_compatibility() -> TableFiles:
    return upgrade_to_v3(iceberg.partition_column_of_another_type())


@permission("iceberg-v3.enabled")
def older_file_added_again_under_third_compatibility() -> TableFiles:
    """The requirement of statistics covers new files."""
    return upgrade_to_v3(iceberg.older_file_that_comes_again_is_not_counted())


@permission("iceberg-v3.deletion-vectors")
def vectors_enabled_under_third_compatibility() -> TableFiles:
    return upgrade_to_v3(build_compatible_table("V2", "deletionVectors", enableDeletionVectors="true"))


@permission("iceberg-v3.enabled", "footers")
def files_from_before_the_third_compatibility() -> TableFiles:
    return upgrade_to_v3(iceberg.files_from_before_the_compatibility())


@permission("iceberg-v3.enabled", "footers")
def timestamps_of_64_bits_under_third_compatibility() -> TableFiles:
    return upgrade_to_v3(build_timestamp_table("timestamp", int96=False))


@permission("iceberg-v3.enabled", "footers")
def parts_stored_with_their_ids_under_third_compatibility() -> TableFiles:
    return upgrade_to_v3(build_nested_data_table(10, 11, 12))


@permission("iceberg-v3.enabled", "rows")
def row_tracking_columns_with_reserved_ids() -> TableFiles:
    return build_table_with_row_tracking_columns(*RESERVED_IDS)


@permission("iceberg-v3.enabled", "footers")
def row_tracking_columns_from_before_the_third_compatibility() -> TableFiles:
    """The compatibility is enabled by the commit after the one that wrote the file."""
    files = build_table_with_row_tracking_columns(None, None)
    body = get_action(files, 0, "metaData")
    files.commits[3] = [
        commit_info_action(3, tags={ROWS_PRESERVED_TAG: "true"}),
        {"metaData": {**body, "configuration": dict(body["configuration"])}},
    ]
    del body["configuration"][ICEBERG_COMPAT_V3]
    return files

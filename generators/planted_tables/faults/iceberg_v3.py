"""Planted faults of Iceberg compatibility V3, most of them made from faults of V2."""

from hypothesis import strategies as st

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, ICEBERG_COMPAT_V3, MAX_COLUMN_ID, ROW_TRACKING
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.iceberg import build_compatible_table
from planted_tables.bases.iceberg_v3 import build_table_with_row_tracking_columns, upgrade_to_v3
from planted_tables.faults import iceberg
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("iceberg-v3.readers")
def third_compatibility_without_mapping_feature(draw: st.DrawFn) -> TableFiles:
    files = upgrade_to_v3(build_compatible_table("V2"))
    writers = ["icebergCompatV3", "rowTracking", "domainMetadata"]
    files.commits[0][1] = draw_one(draw, protocol_action(1, 7, None, writers), protocol_action(3, 7, [], writers))
    properties = get_action(files, 0, "metaData")["configuration"]
    for name in (COLUMN_MAPPING_MODE, MAX_COLUMN_ID, ICEBERG_COMPAT_V3):
        del properties[name]
    return files


@planted_fault("iceberg-v3.feature")
def third_compatibility_without_feature(draw: st.DrawFn) -> TableFiles:
    files = upgrade_to_v3(build_compatible_table("V2"))
    get_action(files, 0, "protocol")["writerFeatures"].remove("icebergCompatV3")
    return files


@planted_fault("iceberg-v3.mapped")
def third_compatibility_without_mapping(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.second_compatibility_without_mapping(draw))


@planted_fault("iceberg-v3.row-tracking")
def third_compatibility_without_row_tracking(draw: st.DrawFn) -> TableFiles:
    files = upgrade_to_v3(build_compatible_table("V2"))
    properties = get_action(files, 0, "metaData")["configuration"]
    del properties[ROW_TRACKING]
    properties |= draw_one(draw, {}, {ROW_TRACKING: "false"})
    return files


@planted_fault("iceberg-v3.not-with-others")
def third_compatibility_beside_another(draw: st.DrawFn) -> TableFiles:
    other = draw_one(draw, "V1", "V2")
    files = upgrade_to_v3(build_compatible_table("V2"))
    get_action(files, 0, "protocol")["writerFeatures"].append(f"icebergCompat{other}")
    get_action(files, 0, "metaData")["configuration"][f"delta.enableIcebergCompat{other}"] = "true"
    return files


@planted_fault("iceberg-v3.types")
def void_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.void_under_second_compatibility(draw))


@planted_fault("iceberg-v3.type-changes")
def widened_before_third_compatibility(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.widened_before_second_compatibility(draw))


@planted_fault("iceberg-v3.partitions-keep-names")
def third_compatible_table_partitioned_anew(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.second_compatible_table_partitioned_anew(draw))


@planted_fault("iceberg-v3.literal-defaults")
def default_computed_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    """A function with or without brackets, or arithmetic."""
    field = build_mapped_field("name", 2, "string")
    field["metadata"]["CURRENT_DEFAULT"] = draw_one(draw, "current_user()", "current_user", "'a' || 'b'")
    files = upgrade_to_v3(build_compatible_table("V2", fields=[build_mapped_field("id", 1), field]))
    get_action(files, 0, "protocol")["writerFeatures"].append("allowColumnDefaults")
    return files


@planted_fault("iceberg-v3.numbers-of-records")
def file_not_counted_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.file_not_counted_under_second_compatibility(draw))


@planted_fault("iceberg-v3.nested-ids")
def nested_id_missing_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.part_without_id(draw))


@planted_fault("iceberg-v3.nested-ids")
def nested_id_misplaced_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    breaks = draw_one(
        draw,
        iceberg.nested_id_not_its_own,
        iceberg.nested_ids_in_the_outer_field,
        iceberg.nested_ids_by_other_paths,
        iceberg.nested_ids_under_the_key_of_r3,
    )
    return upgrade_to_v3(breaks(draw))


@planted_fault("iceberg-v3.partition-columns-stored", "footers")
def partition_column_left_out_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.partition_column_left_out_of_new_file(draw))


@planted_fault("iceberg-v3.timestamps", "footers")
def timestamp_of_96_bits_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.timestamp_of_96_bits(draw))


@planted_fault("iceberg-v3.nested-ids-in-files", "footers")
def parts_stored_without_their_ids_under_third_compatibility(draw: st.DrawFn) -> TableFiles:
    return upgrade_to_v3(iceberg.parts_stored_without_their_ids(draw))


@planted_fault("iceberg-v3.row-tracking-ids", "footers")
def row_tracking_columns_without_reserved_ids(draw: st.DrawFn) -> TableFiles:
    """One column without a field id or with the id of another column, or both exchanged."""
    row_id, version = 2147483540, 2147483539
    ids = draw_one(draw, (None, version), (row_id, None), (1, version), (row_id, 20), (version, row_id))
    return build_table_with_row_tracking_columns(*ids)

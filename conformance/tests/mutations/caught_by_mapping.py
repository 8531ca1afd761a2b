"""Mutations of column mapping."""

CAUGHT_BY: dict[str, str] = {
    "mode_of_no_kind": "CFG001",
    "mapping_that_readers_miss": "FEA003",
    "feature_enabled_for_writers_alone": "FEA003",
    "mode_without_writers_of_it": "CMP022",
    "added_column_without_id": "CMP001",
    "physical_name_of_a_neighbour": "CMP004",
    "clustered_by_logical_name": "DOM005",
    "column_id_of_more_than_32_bits": "CMP020",
    "physical_name_replaced": "CMP023",
    "max_column_id_lowered": "CMP024",
    "new_column_in_the_place_of_a_dropped_one": "CMP026",
    "new_column_by_the_name_of_a_dropped_one": "CMP027",
    "partition_value_by_display_name": "CMP028",
    "statistics_by_display_name": "CMP029",
    "statistics_of_both_names": "CMP029",
    "mapped_without_a_mode": "CMP030",
    "physical_name_of_another_parent": "CMP021",
}

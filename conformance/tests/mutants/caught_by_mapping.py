"""Mutations of column mapping."""

CAUGHT_BY: dict[str, str] = {
    "mode_of_no_kind": "CFG001",
    "mapping_that_readers_miss": "FEA003",
    "feature_enabled_for_writers_alone": "FEA003",
    "mode_without_writers_of_it": "CMP022",
    "added_column_without_id": "CMP001",
    "physical_name_of_a_neighbour": "CMP004",
    "clustered_by_logical_name": "DOM005",
}

"""Mutations of Parquet footers."""

CAUGHT_BY: dict[str, str] = {
    "file_is_garbage": "PQT001",
    "row_count_of_another_file": "PQT002",
    "columns_in_another_file": "PQT003",
    "row_groups_miscounted": "PQT004",
    "column_of_another_type": "PQT010",
    "element_of_another_type": "PQT010",
    "timestamp_of_another_zone": "PQT011",
    "nested_as_something_else": "PQT012",
    "variant_in_pieces": "PQT013",
    "variant_shredded": "PQT014",
    "column_of_a_narrower_type": "PQT015",
    "void_column_stored": "PQT016",
    "encoding_not_listed": "PQT017",
    "required_column_absent": "PQT018",
    "column_stored_twice": "PQT019",
    "column_in_another_case": "PQT020",
    "row_ids_of_another_type": "PQT021",
    "field_ids_wrong": "PQT030",
    "field_ids_wrong_by_name": "PQT031",
    "logical_name_with_its_id": "PQT032",
    "other_name_by_id": "PQT033",
    "field_ids_absent": "PQT034",
    "mapping_not_known_to_the_writer": "PQT035",
    "nested_ids_wrong": "PQT036",
}
"""Tables broken in Parquet footers; level `footers` shows it."""

"""Mutations of schemas, partition values and what files hold by the text of their types."""

CAUGHT_BY: dict[str, str] = {
    "struct_of_another_form": "MET002",
    "field_without_a_member": "MET002",
    "field_of_another_form": "MET002",
    "field_metadata_of_another_form": "MET002",
    "array_of_another_form": "MET002",
    "map_of_another_form": "MET002",
    "map_without_word_of_nulls": "MET002",
    "variant_by_another_name": "MET003",
    "shredding_neither_on_nor_off": "CFG001",
    "page_version_unknown": "CFG050",
    "timestamp_in_utc_too_early": "FIL060",
    "timestamp_without_zone": "FIL061",
    "value_of_no_such_type": "FIL009",
    "file_beside_void_in_a_container": "FIL062",
    "file_beside_struct_of_voids": "FIL062",
    "file_of_voids_alone": "FIL062",
    "column_of_no_column": "PQT010",
    "number_of_another_width": "PQT010",
    "variant_nulls_miscounted": "STA005",
}

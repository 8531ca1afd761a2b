"""Mutations of row ids."""

CAUGHT_BY: dict[str, str] = {
    "row_ids_given_twice": "RID001",
    "high_water_mark_behind": "RID002",
    "older_high_water_mark_behind": "RID002",
    "first_high_water_mark_behind": "RID002",
    "high_water_mark_absent": "RID003",
    "older_high_water_mark_absent": "RID003",
    "first_high_water_mark_absent": "RID003",
    "row_ids_left_out_of_remove": "FIL036",
    "base_row_id_absent": "RID004",
    "default_row_commit_version_absent": "RID005",
    "hidden_column_without_a_name": "RID006",
    "hidden_column_of_a_taken_name": "RID007",
    "row_id_kept_by_two_rows": "RID008",
    "row_id_from_nowhere": "RID009",
    "row_commit_version_from_nowhere": "RID010",
    "row_ids_not_kept": "RID011",
    "row_commit_versions_not_kept": "RID012",
}

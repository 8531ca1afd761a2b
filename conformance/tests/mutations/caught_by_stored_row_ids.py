"""Mutations of row ids that files hold."""

CAUGHT_BY: dict[str, str] = {
    "id_stored_for_an_inserted_row": "RID033",
    "first_id_stored_for_an_inserted_row": "RID033",
    "version_stored_for_an_inserted_row": "RID034",
    "fresh_id_stored": "RID035",
    "first_fresh_id_stored": "RID035",
    "version_stored_for_an_updated_row": "RID036",
    "stored_ids_that_are_texts": "RID037",
    "first_stable_ids_that_are_texts": "RID037",
    "first_stored_ids_that_are_fractions": "RID037",
    "stored_versions_that_are_texts": "RID037",
    "ids_given_twice_to_rows_that_nobody_counted": "RID032",
    "first_ids_given_twice_to_rows_that_nobody_counted": "RID032",
    "first_row_id_kept_by_two_rows": "RID008",
    "first_row_id_from_nowhere": "RID009",
    "first_row_ids_not_kept": "RID011",
    "row_ids_not_kept_by_an_update": "RID011",
    "kept_ids_denied": "RID031",
    "first_kept_ids_denied": "RID031",
}

"""Mutations of types that change, and of what schemas record of it."""

CAUGHT_BY: dict[str, str] = {
    "type_changes_without_the_feature": "WID001",
    "type_changes_of_another_form": "WID002",
    "type_changes_in_a_text": "WID003",
    "type_change_of_unnamed_types": "WID004",
    "type_change_of_an_unnamed_place": "WID005",
    "type_change_noted_further_out": "WID005",
    "unlisted_type_change_recorded": "WID006",
    "type_changes_that_lack_one": "WID007",
    "type_changed_in_an_unlisted_way": "WID010",
    "nested_type_changed": "WID010",
    "widened_while_not_enabled": "WID011",
    "widened_in_a_way_iceberg_does_not_know": "WID012",
    "widened_without_a_record": "WID013",
    "type_changes_forgotten": "WID014",
    "traces_left_by_a_dropped_feature": "WID015",
}

"""Mutations of constraints, defaults and identity columns."""

CAUGHT_BY: dict[str, str] = {
    "constraint_added_without_support": "CFG004",
    "constraint_of_a_table_without_constraints": "CFG004",
    "constraint_of_no_name": "CON003",
    "constraint_of_no_text": "CON004",
    "constraint_of_no_condition": "CON004",
    "default_of_an_added_column": "CON005",
    "default_of_an_added_column_by_id": "CON005",
    "default_that_no_feature_backs": "CON001",
    "expression_that_no_version_backs": "CON001",
    "identity_begun_anew": "IDN001",
    "identity_mark_that_went_back": "IDN002",
    "identity_value_before_the_mark": "IDN006",
    "identity_value_given_twice": "IDN005",
    "identity_value_out_of_sequence": "IDN004",
    "identity_value_that_the_mark_forgets": "IDN003",
    "identity_that_no_version_backs": "CON001",
    "invariant_of_another_form": "CON002",
    "invariant_that_no_feature_backs": "CON001",
    "invariant_that_no_older_feature_backs": "CON001",
}

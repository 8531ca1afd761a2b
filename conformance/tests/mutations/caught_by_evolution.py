"""Mutations of protocols and features."""

CAUGHT_BY: dict[str, str] = {
    "append_only_lifted_by_something_else": "COM010",
    "append_only_without_support": "CFG002",
    "constraint_that_old_writers_pass_over": "CFG004",
    "feature_added_for_writers_alone": "FEA003",
    "feature_since_v2_checkpoints_misspelt": "FEA006",
    "newest_feature_misspelt": "FEA006",
    "old_timestamp_feature_in_one_list": "FEA003",
    "old_timestamp_feature_misspelt": "FEA006",
    "property_of_a_disabled_feature": "CFG002",
    "protocol_as_the_samples_print_it": "LIN014",
    "row_ids_by_another_name": "FEA006",
    "row_tracking_by_another_name": "FEA006",
    "table_created_with_a_reader_list_too_many": "PRO001",
    "table_created_without_reader_list": "PRO003",
    "table_of_reader_features_alone": "FEA001",
    "used_change_feed_not_listed": "EVO001",
    "used_constraint_not_listed": "EVO001",
    "v2_checkpoint_for_writers_alone": "FEA003",
    "vacuum_check_for_writers_alone": "FEA003",
}

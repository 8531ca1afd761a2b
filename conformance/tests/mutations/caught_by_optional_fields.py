"""Mutations of fields that actions may have, and of features enabled too early."""

CAUGHT_BY: dict[str, str] = {
    "option_of_add_of_another_type": "LIN010",
    "option_of_remove_of_another_type": "LIN011",
    "tags_of_cdc_that_are_no_map": "LIN012",
    "option_of_metadata_of_another_type": "LIN013",
    "field_of_metadata_of_another_type": "LIN013",
    "feature_list_of_another_type": "LIN014",
    "time_of_transaction_of_another_type": "LIN015",
    "tags_of_checkpoint_metadata_that_are_no_map": "LIN018",
    "tags_of_sidecar_that_are_no_map": "LIN019",
    "clustering_columns_that_are_no_list": "DOM003",
    "row_tracking_enabled_without_feature": "CFG004",
    "row_tracking_enabled_over_files_without_ids": "RID004",
}

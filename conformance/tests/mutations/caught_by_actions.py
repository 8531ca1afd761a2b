"""Mutations of what actions say."""

CAUGHT_BY: dict[str, str] = {
    "configuration_of_domain_is_a_map": "LIN016",
    "configuration_of_domain_is_no_map": "LIN016",
    "mark_without_a_number": "LIN020",
    "mark_that_says_not_whether_ids_were_kept": "LIN020",
    "domain_removed_with_another_configuration": "DOM010",
    "unknown_system_domain_for_readers": "DOM002",
    "system_domain_of_an_absent_feature": "DOM011",
    "domain_named_like_another": "DOM012",
    "domain_of_others_dropped_from_checkpoint": "CKP038",
    "tombstone_forgotten": "CKP050",
    "logical_file_added_and_removed": "FIL032",
    "change_file_beside_its_partition": "FIL050",
    "update_without_changes_at_version_4": "CDF008",
    "update_without_changes_with_feature": "CDF008",
    "change_types_in_a_data_file": "ROW007",
    "new_rows_without_data_change": "COM020",
    "lost_rows_without_data_change": "COM021",
    "tags_lost_with_the_file": "FIL051",
}

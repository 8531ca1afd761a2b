"""Mutations of in-commit timestamps, of catalog-managed tables, and of what may be deleted when."""

CAUGHT_BY: dict[str, str] = {
    "checkpoint_of_what_is_only_staged": "LOG004",
    "compaction_of_what_is_only_staged": "CAT004",
    "history_cut_off_at_once": "VAC003",
    "managed_for_writers_alone": "FEA003",
    "published_before_the_one_before": "LOG001",
    "published_under_another_name": "LOG008",
    "published_with_other_actions": "CAT003",
    "removed_file_vacuumed_at_once": "VAC001",
    "staged_commit_of_another_kind": "CAT001",
    "timestamps_begin_before_the_last_file": "ICT001",
    "timestamps_enabled_by_another_word": "CFG001",
    "timestamps_listed_for_an_older_writer": "PRO002",
    "uuid_of_an_attempt_at_another_version": "CAT002",
    "vector_of_a_removed_file_vacuumed_at_once": "VAC002",
}

"""Mutations of the log directory, of checkpoints as wholes and of cleanup."""

CAUGHT_BY: dict[str, str] = {
    "checkpoint_of_kept_commits_deleted": "LOG020",
    "compaction_left_behind": "LOG021",
    "checksum_left_behind": "LOG022",
    "staged_commit_left_behind": "LOG023",
    "cleaned_up_without_a_checkpoint": "LOG001",
    "commit_after_the_checkpoint_deleted": "LOG001",
    "checkpoint_in_another_folder": "LOG001",
    "sidecar_cleaned_up": "CKP022",
    "version_of_checkpoint_cut_short": "LOG008",
    "numbers_not_padded": "LOG008",
    "classic_name_of_another_kind": "LOG008",
    "part_beyond_the_last": "LOG008",
    "name_with_something_else_than_a_uuid": "LOG008",
    "compaction_of_one_number": "LOG008",
    "checksum_name_of_18_digits": "LOG008",
    "staged_commit_misplaced": "LOG008",
    "staged_commit_misspelt": "LOG008",
}

"""Mutations of change data."""

CAUGHT_BY: dict[str, str] = {
    "change_type_absent": "CDF001",
    "change_type_as_a_number": "PQT010",
    "change_type_of_no_kind": "CDF002",
    "commit_version_stored": "CDF003",
    "change_file_of_another_partition": "CDF004",
    "preimage_called_a_delete": "CDF005",
    "change_left_out": "CDF006",
    "change_of_another_row": "CDF007",
    "update_without_changes": "CDF008",
}

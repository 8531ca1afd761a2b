"""Mutations of files of the table: presence, size, deletion-vector files."""

CAUGHT_BY: dict[str, str] = {
    "live_file_gone": "DAT001",
    "file_shorter_or_longer": "DAT002",
    "change_file_shorter_or_longer": "DAT003",
    "change_file_gone": "DAT004",
    "stored_vector_counts_otherwise": "DVX006",
    "stored_vector_beyond_file": "DVX008",
    "stored_vector_undecodable": "DVX009",
    "vector_file_gone": "DVX010",
    "vector_file_of_other_version": "DVX011",
    "vector_entry_elsewhere": "DVX012",
    "vector_bit_flipped": "DVX013",
    "vector_entries_overlap": "DVX014",
}

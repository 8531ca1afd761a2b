"""Mutations of deletion vectors and their files."""

CAUGHT_BY: dict[str, str] = {
    "inline_text_of_no_bitmap": "DVX009",
    "vector_removed_and_added_under_its_id": "FIL032",
    "records_without_the_deleted_ones": "PQT002",
    "bitmap_of_another_magic": "DVX009",
    "bitmap_of_big_endian_numbers": "DVX009",
    "buckets_out_of_order": "DVX009",
    "bucket_key_with_its_highest_bit": "DVX009",
    "offset_of_the_bitmap": "DVX012",
    "vector_file_of_another_name": "DVX010",
    "vector_file_outside_its_prefix": "DVX010",
    "vector_file_of_another_kind": "DVX011",
    "version_as_the_table_of_bytes_reads": "DVX021",
    "version_of_two_bytes": "DVX022",
    "numbers_of_the_file_are_little_endian": "DVX023",
    "numbers_of_the_file_in_an_unsaid_order": "DVX024",
    "inline_vector_filled_up_with_ones": "DVX025",
    "vector_made_while_disabled": "DVX020",
    "live_file_gets_a_vector_while_disabled": "DVX020",
}

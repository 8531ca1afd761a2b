"""Mutations of rows of data files."""

CAUGHT_BY: dict[str, str] = {
    "page_damaged": "ROW001",
    "required_column_null": "ROW002",
    "required_partition_value_null": "ROW002",
    "string_of_other_bytes": "ROW003",
    "decimal_of_more_digits": "ROW004",
    "stored_partition_value_other": "ROW005",
    "null_in_container": "ROW006",
}

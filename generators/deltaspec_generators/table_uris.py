"""Absolute paths in the log of a table whose directory is not known yet.

Log lines contain `TABLE_URI`. The code that writes the table replaces it by the URI of its directory, so a corpus does
not depend on its location.
"""

from typing import Any

TABLE_URI = "deltaspec-table:///"


def has_table_uri(value: Any) -> bool:
    """Return whether a raw value contains `TABLE_URI` at any depth."""
    match value:
        case str():
            return TABLE_URI in value
        case dict():
            return any(map(has_table_uri, value.values()))
        case list():
            return any(map(has_table_uri, value))
    return False


def replace_table_uri(value: Any, uri: str) -> Any:
    """Replace `TABLE_URI` in a raw value, at any depth."""
    match value:
        case str():
            return value.replace(TABLE_URI, uri)
        case bytes():
            return value.replace(TABLE_URI.encode(), uri.encode())
        case dict():
            return {key: replace_table_uri(each, uri) for key, each in value.items()}
        case list():
            return [replace_table_uri(each, uri) for each in value]
    return value

"""Absolute paths in the log of a table whose directory is not known yet.

Log lines contain `TABLE_URI`. The code that writes the table replaces it by the URI of its directory, so a corpus does
not depend on its location. `ELSEWHERE_URI` stands for a directory next to it, with data files outside of the table.
"""

from pathlib import Path
from typing import Any

TABLE_URI = "deltaspec-table:///"
ELSEWHERE_URI, ELSEWHERE_URI_OF_HADOOP = "deltaspec-elsewhere:///", "deltaspec-elsewhere:/"
"""Two spellings: Hadoop writes `file:/a` for `file:///a`."""
_SUFFIX = ".elsewhere"


def get_elsewhere(directory: Path) -> Path:
    """Return the directory of the files that a table in `directory` has outside of it."""
    return directory.with_name(directory.name + _SUFFIX)


def build_elsewhere_uri(uri: str) -> str:
    """Return the URI of the directory of files elsewhere, for the URI of a table; both end with a slash."""
    return ELSEWHERE_URI if uri == TABLE_URI else f"{uri.removesuffix('/')}{_SUFFIX}/"


def has_elsewhere_uri(path: str) -> bool:
    """Return whether the path of a file in the log begins with `ELSEWHERE_URI`, in either spelling."""
    return path.startswith(ELSEWHERE_URI_OF_HADOOP)


def has_table_uri(value: Any) -> bool:
    """Return whether a raw value contains `TABLE_URI` or `ELSEWHERE_URI` at any depth."""
    match value:
        case str():
            return TABLE_URI in value or ELSEWHERE_URI_OF_HADOOP in value
        case dict():
            return any(map(has_table_uri, value.values()))
        case list():
            return any(map(has_table_uri, value))
    return False


def replace_table_uri(value: Any, uri: str) -> Any:
    """Replace `TABLE_URI` in a raw value, at any depth, and `ELSEWHERE_URI` by the directory next to it."""
    match value:
        case str():
            elsewhere = build_elsewhere_uri(uri)
            found = value.replace(TABLE_URI, uri).replace(ELSEWHERE_URI, elsewhere)
            return found.replace(ELSEWHERE_URI_OF_HADOOP, elsewhere.replace(":///", ":/", 1))
        case bytes():
            text = value.decode(errors="surrogateescape")
            return replace_table_uri(text, uri).encode(errors="surrogateescape")
        case dict():
            return {key: replace_table_uri(each, uri) for key, each in value.items()}
        case list():
            return [replace_table_uri(each, uri) for each in value]
    return value

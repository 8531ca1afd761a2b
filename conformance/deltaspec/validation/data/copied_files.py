"""Find out whether files that absolute paths lead to are in the table: a copied table still refers to the old place."""

from collections.abc import Iterable

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.data_access import is_outside_table
from deltaspec.wire.storage.interface import StorageError, Store, redact_uri

_MOST_FILES = 3
_MOST_SEGMENTS = 5
"""Segments of a path within the table, because each number of them needs a request."""


def find_copies(store: Store, keys: Iterable[str]) -> dict[str, str]:
    """Return the locations of files outside of the table that are also in the table, with the relative path of one.

    Args:
        store: the table.
        keys: files outside of the table that are missing or must not be read. The first of them are searched.
    """
    found: dict[str, str] = {}
    for key in sorted(filter(_is_plain_location, keys))[:_MOST_FILES]:
        segments = key.split("/")
        first = 3 if "://" in key else 1
        for start in range(len(segments) - 1, max(first, len(segments) - _MOST_SEGMENTS) - 1, -1):
            location = redact_uri("/".join(segments[:start])) or "/"
            name = "/".join(segments[start:])
            if location in found or _has_file(store, name):
                found.setdefault(location, name)
                break
    return found


def _is_plain_location(key: str) -> bool:
    """Return whether a key is an absolute path or a URI whose segments are names."""
    if not is_outside_table(key) or key.startswith("../"):
        return False
    try:
        redact_uri(key)
    except InvalidUsage:  # a malformed URI, which other rules report
        return False
    names = key.partition("://")[2].split("/") if "://" in key else key.split("/")[1:]
    return "\0" not in key and not {"", ".", ".."} & set(names)


def _has_file(store: Store, name: str) -> bool:
    try:
        store.size(name)
    except StorageError:
        return False
    return True

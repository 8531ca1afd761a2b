"""Find out whether files that absolute paths lead to are in the table: a copied table still refers to the old place."""

from collections.abc import Iterable

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
    absolute = sorted(key for key in keys if is_outside_table(key) and not key.startswith("../"))
    for key in absolute[:_MOST_FILES]:
        segments = key.split("/")
        first = 3 if "://" in key else 1
        for start in range(len(segments) - 1, max(first, len(segments) - _MOST_SEGMENTS) - 1, -1):
            location = redact_uri("/".join(segments[:start])) or "/"
            name = "/".join(segments[start:])
            if location in found or _has_file(store, name):
                found.setdefault(location, name)
                break
    return found


def _has_file(store: Store, name: str) -> bool:
    try:
        store.size(name)
    except StorageError:
        return False
    return True

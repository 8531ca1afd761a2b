"""Find where a missing file may be: under another spelling, in a trash folder, or in another table nearby."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from urllib.parse import unquote

from deltaspec.protocol.actions import Add
from deltaspec.wire.storage.interface import Entry, Store, escape_file_name

MAX_ENTRIES = 200_000
"""Files of the table that are compared."""
MAX_NEARBY = 20_000
"""Files and folders near the table that are visited."""
_MAX_DEPTH = 4
_MAX_COPIES = 10
_TRASH_OF_USER = (".local/share/Trash/files", ".Trash")


def search_files(store: Store, missing: Mapping[str, Add], unreferenced: Collection[str] = ()) -> dict[str, list[str]]:
    """Return where each missing file may be.

    These may be it: a file with the same name in another spelling, one with the same name and size in another folder,
    and one of the table with the same size that no action names. The search is bounded: it visits the table, and for a
    table on this machine the folder that contains it and the trash of the user.

    Args:
        store: the table.
        missing: add action by key of the file.
        unreferenced: files of the table that no action names.
    """
    if not missing:
        return {}
    names: dict[str, list[str]] = {}
    for key in missing:
        names.setdefault(_fold(key.rpartition("/")[2]), []).append(key)
    sizes: dict[int, list[str]] = {}
    for key, add in missing.items():
        sizes.setdefault(add.size, []).append(key)
    unnamed = set(unreferenced)
    found: dict[str, list[str]] = {}
    for location, size, is_own in chain(_iter_table(store), _iter_nearby(store)):
        same_name = names.get(_fold(location.rpartition("/")[2]), [])
        same_size = sizes.get(size, []) if is_own and location in unnamed else []
        for key in dict.fromkeys([*same_name, *same_size]):
            is_same_place = is_own and location == key
            is_spelling = is_own and _fold(location) == _fold(key)
            copies = found.setdefault(key, [])
            if not is_same_place and (is_spelling or size == missing[key].size) and len(copies) < _MAX_COPIES:
                copies.append(escape_file_name(location))
    return {key: sorted(copies) for key, copies in found.items() if copies}


def _fold(name: str) -> str:
    """Return a key that is equal for the spellings of a name: percent escapes, case, and Unicode normal form."""
    return unicodedata.normalize("NFC", unquote(unquote(name))).casefold()


def _iter_table(store: Store) -> Iterator[tuple[str, int, bool]]:
    for entry in islice(store.list_files(), MAX_ENTRIES):
        if isinstance(entry, Entry):
            yield entry.name, entry.size_bytes, True


def _iter_nearby(store: Store) -> Iterator[tuple[str, int, bool]]:
    """Yield the files near a table on this machine: the path, and the size in bytes."""
    if store.is_remote or store.root is None or not os.path.isdir(store.root):
        return
    table = os.path.realpath(store.root)
    places = [os.path.dirname(table), *(str(Path.home() / each) for each in _TRASH_OF_USER)]
    yield from islice((each for place in places for each in _walk(place, table)), MAX_NEARBY)


def _walk(place: str, table: str) -> Iterator[tuple[str, int, bool]]:
    depth = place.rstrip("/").count("/")
    for folder, folders, names in os.walk(place):
        is_table = os.path.realpath(folder) == table
        if is_table or folder.count("/") - depth >= _MAX_DEPTH:
            folders.clear()
        if is_table:
            continue
        for name in names:
            path = os.path.join(folder, name)
            try:
                yield path, os.stat(path).st_size, False
            except OSError:  # it was deleted, or is a broken link
                continue

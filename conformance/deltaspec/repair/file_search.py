"""Find where a missing file may be: in another spelling, a trash folder, a copy of the table, or an older version."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from urllib.parse import unquote

import msgspec

from deltaspec.errors import DeltaspecError
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Entry, StorageError, Store, escape_file_name
from deltaspec.wire.storage.object_versions import ObjectVersions

MAX_ENTRIES = 200_000
"""Files of the table that are compared."""
MAX_NEARBY = 20_000
"""Files near a table on this machine that are compared."""
MAX_VERSIONED = 1000
"""Files whose versions are listed, one request for each."""
_MAX_DEPTH = 4
_MAX_COPIES = 10
_TRASH_OF_USER = (".local/share/Trash/files", ".Trash")


class Search(msgspec.Struct, frozen=True):
    """Where missing files may be, and where nobody looked."""

    found: Mapping[str, list[str]] = {}
    """Locations by key of the file."""
    not_searched: tuple[str, ...] = ()
    """Why the search is not complete."""

    def get(self, key: str) -> list[str]:
        """Return where a file may be."""
        return self.found.get(key, [])


def search_files(store: Store, missing: Mapping[str, int | None], unreferenced: Collection[str] = ()) -> Search:
    """Return where each missing file may be.

    These may be it: a file with the same name in another spelling, one with the same name and size in another folder,
    one of the table with the same size that no action names, and an earlier version of the object. The search is
    bounded: it visits the table, the folder that contains it, and for a table on this machine the trash of the user.

    Args:
        store: the table.
        missing: size by key of the file; None if it is not known.
        unreferenced: files of the table that no action names.
    """
    if not missing:
        return Search()
    notes: list[str] = []
    found = _search_listings(store, missing, set(unreferenced), notes)
    if store.is_remote:
        for key, versions in _search_versions(store, missing, notes).items():
            found[key] = [*versions, *found.get(key, [])][:_MAX_COPIES]
    return Search({key: copies for key, copies in found.items() if copies}, tuple(dict.fromkeys(notes)))


def _search_listings(
    store: Store, missing: Mapping[str, int | None], unnamed: set[str], notes: list[str]
) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    sizes: dict[int, list[str]] = {}
    for key, size in missing.items():
        names.setdefault(_fold(key.rpartition("/")[2]), []).append(key)
        if size is not None:
            sizes.setdefault(size, []).append(key)
    found: dict[str, list[str]] = {}
    for location, size, is_own in chain(_iter_table(store, notes), _iter_nearby(store, notes)):
        same_name = names.get(_fold(location.rpartition("/")[2]), [])
        same_size = sizes.get(size, []) if is_own and location in unnamed else []
        for key in dict.fromkeys([*same_name, *same_size]):
            is_same_place = is_own and location == key
            is_spelling = is_own and _fold(location) == _fold(key)
            copies = found.setdefault(key, [])
            is_copy = is_spelling or missing[key] in (size, None)
            if not is_same_place and is_copy and len(copies) < _MAX_COPIES:
                copies.append(escape_file_name(location))
    return {key: sorted(copies) for key, copies in found.items()}


def _search_versions(store: Store, missing: Mapping[str, int | None], notes: list[str]) -> dict[str, list[str]]:
    """Return the URIs of earlier versions of the objects, newest first; only of the right size if it is known."""
    found: dict[str, list[str]] = {}
    try:
        versions = ObjectVersions(store)
        for key, size in islice(missing.items(), MAX_VERSIONED):
            listed = [each for each in versions.list_versions(key) if not each.is_latest]
            found[key] = [escape_file_name(each.uri) for each in listed if size in (each.size_bytes, None)]
    except StorageError as fault:
        notes.append(str(fault))
    if len(missing) > MAX_VERSIONED:
        notes.append(f"the versions of only {MAX_VERSIONED:,} of {len(missing):,} files were listed")
    return found


def _fold(name: str) -> str:
    """Return a key that is equal for the spellings of a name: percent escapes, case, and Unicode normal form."""
    return unicodedata.normalize("NFC", unquote(unquote(name))).casefold()


def _iter_table(store: Store, notes: list[str]) -> Iterator[tuple[str, int, bool]]:
    for number, entry in enumerate(store.list_files()):
        if number == MAX_ENTRIES:
            notes.append(f"only {MAX_ENTRIES:,} files of the table were compared")
            return
        if isinstance(entry, Entry):
            yield entry.name, entry.size_bytes, True
        else:
            notes.append(str(entry))


def _iter_nearby(store: Store, notes: list[str]) -> Iterator[tuple[str, int, bool]]:
    """Yield the files near a table, such as copies of the table: the location, and the size in bytes."""
    if store.is_remote:
        yield from _iter_parent(store, notes)
        return
    if store.root is None or not os.path.isdir(store.root):
        return
    table = os.path.realpath(store.root)
    places = [os.path.dirname(table), *(str(Path.home() / each) for each in _TRASH_OF_USER)]
    for number, found in enumerate(each for place in places for each in _walk(place, table)):
        if number == MAX_NEARBY:
            notes.append(f"only {MAX_NEARBY:,} files near the table were compared")
            return
        yield found


def _iter_parent(store: Store, notes: list[str]) -> Iterator[tuple[str, int, bool]]:
    """Yield the objects below the prefix that contains a table, except the table's own."""
    parent, _, name = store.uri.rstrip("/").rpartition("/")
    if parent.endswith("/"):  # the table is a bucket
        return
    own = unquote(name)
    try:
        for number, entry in enumerate(open_store(parent, store.settings).list_files()):
            if number == MAX_ENTRIES:
                notes.append(f"only {MAX_ENTRIES:,} files below {parent} were compared")
                return
            if not isinstance(entry, Entry):
                notes.append(f"{parent}: {entry}")
            elif not entry.name.startswith(f"{own}/"):
                yield f"{parent}/{entry.name}", entry.size_bytes, False
    except DeltaspecError as fault:
        notes.append(str(fault))


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

"""Read the files that a log refers to: data, change data and deletion vectors, inside or outside of the table.

A key is the result of `deltaspec.model.log.paths.path_key`: a decoded path relative to the table, or an absolute path
or URI outside of it. Files outside of the table are read only if the options allow it.
"""

import posixpath
import re
from typing import Any

from deltaspec.errors import DeltaspecError
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import OutsideTable, StorageError, Store

_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:/")
_OBJECT_ROOT = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://[^/]*)/+(.+)", re.DOTALL)
NON_CANONICAL_KEY = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:/|(^|/)\.\.?(/|$)|//"
"""Keys that are absolute, or that a listing would name otherwise; a pattern that Polars takes as well."""
MAX_STORES = 100
"""Places outside of the table that are opened: a hostile log may name any number of hosts."""


def is_outside_table(key: str) -> bool:
    """Whether a key names a file outside of the table."""
    return _ABSOLUTE.match(key) is not None or normalize_key(key).startswith("../")


def normalize_key(key: str) -> str:
    """A relative key as a listing names it: without `.`, `..` and empty segments."""
    return posixpath.normpath(key) if ("." in key or "//" in key) else key


class DataAccess:
    """Reads files by their keys; every method raises `StorageError` as `Store.read` does, and `Outside`."""

    def __init__(self, store: Store, *, allow_outside: bool = False) -> None:
        self.store = store
        self._allow_outside = allow_outside
        self._elsewhere: dict[str, Store] = {}

    def size(self, key: str) -> int:
        """The length of a file in bytes."""
        store, path = self._place(key)
        return store.size(path)

    def read(self, key: str, limit: int) -> bytes:
        """A whole file of at most `limit` bytes."""
        store, path = self._place(key)
        return store.read(path, limit)

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """So many bytes from a place in a file, fewer where it ends before."""
        store, path = self._place(key)
        return store.read_range(path, start, length)

    def open_seekable(self, key: str) -> Any:
        """A file for random access, as `pyarrow.parquet.ParquetFile` takes it."""
        store, path = self._place(key)
        return store.open_seekable(path)

    def _place(self, key: str) -> tuple[Store, str]:
        if not is_outside_table(key):
            return self.store, normalize_key(key)
        if not self._allow_outside:
            raise OutsideTable(f"{key}: leads out of the table; --allow-outside lets it be followed")
        if key.startswith("../"):
            raise OutsideTable(f"{key}: a relative path that climbs out of the table is not followed")
        match = _OBJECT_ROOT.fullmatch(key)
        root, path = (match[1], match[2]) if match else ("/", posixpath.normpath(key).lstrip("/"))
        if ".." in path.split("/"):
            raise OutsideTable(f"{key}: climbs by `..` and is not followed")
        if root not in self._elsewhere:
            if len(self._elsewhere) >= MAX_STORES:
                raise OutsideTable(f"{key}: the table leads to more than {MAX_STORES} places")
            try:
                self._elsewhere[root] = open_store(root)
            except StorageError:
                raise
            except DeltaspecError as fault:
                raise StorageError(str(fault)) from fault
        return self._elsewhere[root], path

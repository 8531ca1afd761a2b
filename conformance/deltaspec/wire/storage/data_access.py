"""Read the files that a log refers to: data, change data and deletion vectors, inside or outside of the table.

A key is the result of `deltaspec.protocol.files.paths.path_key`: a decoded path relative to the table, or an absolute
path or URI outside of it. Files outside of the table are read only if the options allow it.
"""

import io
import posixpath
import re
from functools import partial
from threading import Lock
from typing import Any

import polars as pl

from deltaspec.errors import DeltaspecError
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import FileGone, OutsideTable, StorageError, Store

_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:/")
_OBJECT_ROOT = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://[^/]*)/+(.+)", re.DOTALL)
_NON_CANONICAL_KEY = r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:/|(^|/)\.\.?(/|$)|//"
_SIGN_OF_NON_CANONICAL_KEYS = "[./:]/"
"""Keys that the pattern matches contain this text, begin with `/` or end with `.`. Few other keys do."""
_FEW_KEYS = 500
"""Fewer keys are not worth the search for these signs."""
MAX_STORES = 100
"""Limit of locations outside of the table, because a hostile log may name any number of hosts."""

KEPT_FILE_BYTES = 1 << 20
"""Files up to this size are read at once where their rows are needed after their footers."""
MAX_KEPT_BYTES = 64 << 20
"""Limit of all contents that are kept for the next step."""

_MOST_MISSES = 20
"""Limit of absolute paths that are looked up in the table although they lead to other places."""


def is_outside_table(key: str) -> bool:
    """Return whether a key names a file outside of the table."""
    return _ABSOLUTE.match(key) is not None or normalize_key(key).startswith("../")


def normalize_key(key: str) -> str:
    """Return a relative key as a listing names it: without `.`, `..` and empty segments."""
    if "./" in key or "//" in key or (key.endswith((".", "/")) and "." in key):
        return posixpath.normpath(key)
    return key


def find_non_canonical_keys(keys: pl.Series) -> pl.Series:
    """Return whether each key is absolute or differs from the name in a listing (Boolean); null for null."""
    if len(keys) < _FEW_KEYS:
        return keys.str.contains(_NON_CANONICAL_KEY)
    found = keys.str.contains(_SIGN_OF_NON_CANONICAL_KEYS) | keys.str.starts_with("/") | keys.str.ends_with(".")
    rows = found.arg_true()
    return found.scatter(rows, keys.gather(rows).str.contains(_NON_CANONICAL_KEY)) if len(rows) else found


def is_non_canonical_key(column: str) -> pl.Expr:
    """Build the expression of `find_non_canonical_keys`."""
    return pl.col(column).map_batches(find_non_canonical_keys, pl.Boolean, is_elementwise=True)


class DataAccess:
    """Read files by their keys. Every method raises `StorageError` as `Store.read` does, or `OutsideTable`."""

    def __init__(self, store: Store, *, allow_outside: bool = False) -> None:
        self.store = store
        self._allow_outside = allow_outside
        self._outside_stores: dict[str, Store] = {}
        self._without_slash: dict[str, str | None] = {}
        """Results of `find_without_slash`."""
        self._misses = 0
        self._keeps_small_files = False
        self._kept: dict[str, bytes] = {}
        self._free_bytes = MAX_KEPT_BYTES
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Begin without kept files in another process."""
        return partial(DataAccess, allow_outside=self._allow_outside), (self.store,)

    def keep_small_files(self) -> None:
        """Keep small remote files that are read completely until they are opened once, which saves a request each."""
        self._keeps_small_files = self.store.is_remote

    def may_keep(self, size: int) -> bool:
        """Return whether a file of this size should be read completely, because it will be kept."""
        return self._keeps_small_files and size <= min(KEPT_FILE_BYTES, self._free_bytes)

    def keep(self, key: str, data: bytes) -> None:
        """Keep the content of a file for `open_seekable`, if there is room."""
        with self._lock:
            if self.may_keep(len(data)) and key not in self._kept:
                self._kept[key] = data
                self._free_bytes -= len(data)

    def size(self, key: str) -> int:
        """Return the length of a file in bytes."""
        store, path = self._locate(key)
        return store.size(path)

    def read(self, key: str, limit: int) -> bytes:
        """Read a complete file of at most `limit` bytes."""
        store, path = self._locate(key)
        return store.read(path, limit)

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Read `length` bytes from `start`, or fewer at the end of the file."""
        store, path = self._locate(key)
        return store.read_range(path, start, length)

    def open_seekable(self, key: str) -> Any:
        """Open a file for random access, as input of `pyarrow.parquet.ParquetFile`."""
        with self._lock:
            data = self._kept.pop(key, None)
            self._free_bytes += 0 if data is None else len(data)
        if data is not None:
            return io.BytesIO(data)
        store, path = self._locate(key)
        return store.open_seekable(path)

    def find_without_slash(self, key: str) -> str | None:
        """Return the name of a file in the table that a path with a leading slash means, apart from the slash.

        Such a path leads to the root of the storage. It is not followed, but if the table has the file, the writer
        meant the file in the table. After `_MOST_MISSES` other paths, none is looked up any more.
        """
        name = normalize_key(key[1:])
        if not key.startswith("/") or is_outside_table(name) or name in ("", ".", ".."):
            return None
        if key not in self._without_slash and self._misses < _MOST_MISSES:
            try:
                self.store.size(name)
                self._without_slash[key] = name
            except StorageError:
                self._without_slash[key] = None
                self._misses += 1
        return self._without_slash.get(key)

    def _locate(self, key: str) -> tuple[Store, str]:
        if not is_outside_table(key):
            return self.store, normalize_key(key)
        if not self._allow_outside and (name := self.find_without_slash(key)) is not None:
            raise FileGone(f"{key}: does not exist; the table has {name}, without the slash")
        if not self._allow_outside:
            raise OutsideTable(f"{key}: leads out of the table; --allow-outside allows reading it")
        if key.startswith("../"):
            raise OutsideTable(f"{key}: a relative path that climbs out of the table is not followed")
        match = _OBJECT_ROOT.fullmatch(key)
        root, path = (match[1], match[2]) if match else ("/", posixpath.normpath(key).lstrip("/"))
        if ".." in path.split("/"):
            raise OutsideTable(f"{key}: contains `..` and is not followed")
        if root not in self._outside_stores:
            if len(self._outside_stores) >= MAX_STORES:
                raise OutsideTable(f"{key}: the table refers to more than {MAX_STORES} locations outside of it")
            try:
                self._outside_stores[root] = open_store(root, self.store.settings)
            except StorageError:
                raise
            except DeltaspecError as fault:
                raise StorageError(str(fault)) from fault
        return self._outside_stores[root], path

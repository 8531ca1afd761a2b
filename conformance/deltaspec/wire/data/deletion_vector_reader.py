"""Read deletion vectors that are stored inline or as an entry of a file."""

from collections import OrderedDict
from threading import Lock

from pyroaring import BitMap64

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files.deletion_vectors import (
    DeletionVectorError,
    build_relative_path,
    check_file_version,
    decode_inline,
    read_entry,
)
from deltaspec.protocol.files.paths import path_key
from deltaspec.wire.data.bitmap_decoder import MAX_BITMAP_BYTES, decode_bitmap
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import FileTooLarge

SMALL_FILE_BYTES = 4 << 20
"""Files up to this size are read once for all vectors; larger files are read entry by entry."""
_MAX_CACHED_FILES = 8


def find_vector_key(descriptor: DeletionVectorDescriptor, table_root: str | None) -> str:
    """Return the `DataAccess` key of the file of a stored vector.

    Raises:
        DeletionVectorError: the descriptor names no file.
    """
    if descriptor.storage_type == "u":
        return build_relative_path(descriptor)
    if descriptor.storage_type == "p":
        return path_key(descriptor.path_or_inline_dv, table_root)
    raise DeletionVectorError(f"storage type {descriptor.storage_type!r} is not stored in a file")


class DeletionVectorReader:
    """Decode vectors, and cache small files. Safe to use in threads."""

    def __init__(self, access: DataAccess) -> None:
        self._access = access
        self._files: OrderedDict[str, bytes | None] = OrderedDict()
        self._lock = Lock()

    def bitmap(self, descriptor: DeletionVectorDescriptor) -> bytes:
        """Return magic number and bitmap of a vector.

        Raises:
            DeletionVectorError: its file or its inline text is malformed.
            StorageError: its file cannot be read.
        """
        if descriptor.storage_type == "i":
            return decode_inline(descriptor)
        key = find_vector_key(descriptor, self._access.store.root)
        size, start = descriptor.size_in_bytes, descriptor.offset or 0
        if size > MAX_BITMAP_BYTES:
            raise FileTooLarge(f"{key}: a vector of {size} bytes, more than the limit of {MAX_BITMAP_BYTES} bytes")
        data = self._read_small_file(key)
        if data is None:
            check_file_version(self._access.read_range(key, 0, 2))
            entry = b"" if start < 1 else self._access.read_range(key, start, max(size, 0) + 8)
        else:
            check_file_version(data)
            entry = data[start : start + max(size, 0) + 8]
        if start < 1:
            raise DeletionVectorError(f"offset {start} is not after the version byte of the file", "entry")
        return read_entry(entry, size)

    def rows(self, descriptor: DeletionVectorDescriptor) -> BitMap64:
        """Return the row indexes that a vector deletes. Raises as `bitmap` does."""
        return decode_bitmap(self.bitmap(descriptor))

    def _read_small_file(self, key: str) -> bytes | None:
        """Return the complete file; None if it is too large to be read at once."""
        with self._lock:
            if key in self._files:
                self._files.move_to_end(key)
                return self._files[key]
        try:
            data: bytes | None = self._access.read(key, SMALL_FILE_BYTES)
        except FileTooLarge:
            data = None
        with self._lock:
            self._files[key] = data
            if len(self._files) > _MAX_CACHED_FILES:
                self._files.popitem(last=False)
        return data

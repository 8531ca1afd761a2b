"""Where a table's bytes come from: a directory, an object store or HDFS, behind one small interface.

The log directory is listed once, and that listing is pinned for the run. Nothing is ever written. Secrets of a URI
never reach a message.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from deltaspec.errors import DeltaspecError, InvalidUsage

LOG = "_delta_log"
LISTED_FOLDERS = ("_sidecars", "_staged_commits")
"""Folders below the log directory whose files belong to the protocol; others are not entered."""
CHUNK_BYTES = 4 << 20


class StorageError(DeltaspecError):
    """A file could not be read; the rules that need it are not-checked."""


class FileGone(StorageError):
    """The file was listed, or is referred to, and is not there."""


class FileTooLarge(StorageError):
    """The file is larger than what is read into memory at once."""


@dataclass(frozen=True)
class Entry:
    """A file under `_delta_log`."""

    name: str
    """Relative to `_delta_log`."""
    size_bytes: int
    modified_ms: int


class Store(Protocol):
    """A table's root directory, for reading."""

    uri: str
    """For display: without secrets."""
    root: str | None
    """Decoded absolute path or URI that absolute paths in the log may begin with."""

    def list_log(self) -> list[Entry]:
        """Every file of the log directory, by name.

        Raises:
            TableUnreadable: there is no table here; says what there is.
        """
        ...

    def read(self, path: str, limit: int) -> bytes:
        """A whole file, by its path relative to the table.

        Raises:
            StorageError: gone, larger than `limit` bytes, no regular file, or not readable.
        """
        ...

    def chunks(self, path: str) -> Iterator[bytes]:
        """A file of any size, piece by piece. Raises as `read`."""
        ...

    def open_random(self, path: str) -> Any:
        """A file for random access, as `pyarrow.parquet.ParquetFile` takes it. Raises as `read`."""
        ...


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://")
_OBJECT_SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "memory")


def open_store(uri: str) -> Store:
    """The store of a table.

    Args:
        uri: a path, or a URI of scheme file, s3, s3a, gs, az, abfss, adl or hdfs.

    Raises:
        InvalidUsage: no such scheme.
    """
    match = _SCHEME.match(uri)
    scheme = match[1].lower() if match else "file"
    if scheme == "file":
        from deltaspec.wire.local_storage import LocalStore

        return LocalStore(unquote(urlsplit(uri).path) if match else uri)
    if scheme in _OBJECT_SCHEMES:
        from deltaspec.wire.object_storage import ObjectStore

        return ObjectStore(re.sub(r"^s3a://", "s3://", uri))
    if scheme in ("hdfs", "viewfs"):
        from deltaspec.wire.object_storage import ArrowStore

        return ArrowStore(uri)
    known = ", ".join(("file", "hdfs", *_OBJECT_SCHEMES[:-1]))
    raise InvalidUsage(f"{redacted(uri)}: no storage for scheme {scheme!r}; known are {known}")


def redacted(uri: str) -> str:
    """A URI without user info, query and fragment, which may hold secrets."""
    parts = urlsplit(uri)
    if not parts.scheme or not parts.netloc:
        return uri
    host = parts.netloc.rpartition("@")[2] if parts.scheme not in ("abfs", "abfss") else parts.netloc
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def read_lines(store: Store, path: str, limit: int) -> Iterator[bytes | None]:
    """The lines of a file without their line feeds; None for a line of more than `limit` bytes, which is dropped."""
    pending: list[bytes] = []
    length = 0
    for chunk in store.chunks(path):
        first, *rest = chunk.split(b"\n")
        for piece, ends in (
            (first, bool(rest)),
            *((line, True) for line in rest[:-1]),
            (rest[-1] if rest else b"", False),
        ):
            length += len(piece)
            if length <= limit:
                pending.append(piece)
            else:
                pending.clear()
            if ends:
                yield b"".join(pending) if length <= limit else None
                pending, length = [], 0
    yield b"".join(pending) if length <= limit else None

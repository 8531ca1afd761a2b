"""Where a table's bytes come from: a directory, an object store or HDFS, behind one small interface.

The log directory is listed once, and that listing is pinned for the run. Nothing is ever written. Secrets of a URI
never reach a message.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import SplitResult, urlsplit, urlunsplit

from deltaspec.errors import DeltaspecError, InvalidUsage

LOG_DIRECTORY = "_delta_log"
LISTED_FOLDERS = ("_sidecars", "_staged_commits")
"""Folders below the log directory whose files belong to the protocol; others are not entered."""
CHUNK_BYTES = 4 << 20


class StorageError(DeltaspecError):
    """A file could not be read; the rules that need it are not-checked."""


class FileGone(StorageError):
    """The file was listed, or is referred to, and is not there."""


class FileTooLarge(StorageError):
    """The file is larger than what is read into memory at once."""


class NoPermission(StorageError):
    """The file is there, and whoever runs the kit may not read it."""


class OutsideTable(StorageError):
    """The path leads out of the table, and is not followed without leave."""


@dataclass(frozen=True)
class Entry:
    """A file that a listing named."""

    name: str
    """Relative to the directory that was listed: `_delta_log`, or the table."""
    size_bytes: int
    modified_ms: int


class Store(Protocol):
    """A table's root directory, for reading."""

    uri: str
    """For display: without secrets."""
    is_remote: bool
    """Each read waits for a network: several are better under way at once."""
    root: str | None
    """Decoded absolute path or URI that absolute paths in the log may begin with."""

    def list_log(self) -> list[Entry]:
        """Every file of the log directory, by name.

        Raises:
            TableUnreadable: there is no table here; says what there is.
        """
        ...

    def list_files(self) -> Iterator[Entry | StorageError]:
        """Every regular file of the table but those of `_delta_log`, in no order.

        A directory that cannot be listed, or a listing that breaks off, is told by a `StorageError` in its place: what
        it would have named is then not known to be missing.
        """
        ...

    def read(self, path: str, limit: int) -> bytes:
        """A whole file, by its path relative to the table.

        Raises:
            StorageError: gone, larger than `limit` bytes, no regular file, or not readable.
        """
        ...

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """So many bytes from a place in a file, fewer where it ends before. Raises as `read`."""
        ...

    def size(self, path: str) -> int:
        """The length of one file in bytes. Raises as `read`."""
        ...

    def chunks(self, path: str) -> Iterator[bytes]:
        """A file of any size, piece by piece. Raises as `read`."""
        ...

    def open_seekable(self, path: str) -> Any:
        """A file for random access, as `pyarrow.parquet.ParquetFile` takes it. Raises as `read`."""
        ...


def split_uri(uri: str) -> SplitResult:
    """Split a URI. The message of `InvalidUsage` never repeats it."""
    try:
        return urlsplit(uri)
    except ValueError:  # its message may repeat what is between the brackets
        raise InvalidUsage("the table's URI is malformed; write scheme://bucket/path") from None


def redact_uri(uri: str) -> str:
    """A URI without user info, query and fragment, which may hold secrets.

    The part before `@` of an abfss URI is the container and stays, up to a colon.
    """
    parts = split_uri(uri)
    if not parts.scheme or not parts.netloc:
        return uri
    user, at, host = parts.netloc.rpartition("@")
    keep = user.partition(":")[0] + at if parts.scheme in ("abfs", "abfss") else ""
    return urlunsplit((parts.scheme, keep + host, parts.path, "", ""))


def check_inside_table(path: str) -> str:
    """A path relative to the table, unless it leads out of it: what a log names elsewhere is not followed.

    Raises:
        StorageError: the path is absolute or climbs out of the table.
    """
    if path.startswith("/") or (".." in path and ".." in path.split("/")):
        raise OutsideTable(f"{path}: leads out of the table and is not followed")
    return path


def escape_file_name(name: str) -> str:
    """A file name as text: bytes that are no UTF-8 become escapes, since reports are UTF-8."""
    if name.isascii():
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def format_error(fault: BaseException) -> str:
    """What a library says is wrong, in one line that is not long."""
    return " ".join(str(fault).split())[:200] or type(fault).__name__

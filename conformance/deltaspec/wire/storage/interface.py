"""Interface to the storage of a table: a local directory, an object store or HDFS.

The log directory is listed once per run. Nothing is ever written. Messages never contain secrets of a URI.
"""

import errno
import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit, urlunsplit

import msgspec

from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.protocol.log.file_names import LogFileName, OtherFile, parse_log_file_name
from deltaspec.wire.storage.settings import StorageSettings

LOG_DIRECTORY = "_delta_log"
LISTED_FOLDERS = ("_sidecars", "_staged_commits")
"""Folders below the log directory that the protocol defines; others are not listed."""
CHUNK_BYTES = 4 << 20
_UNQUOTED = "/!$&'()+,;=:@~"
"""Characters that need no escape in the path of a URI. Characters of globs are escaped."""


class StorageError(DeltaspecError):
    """A file cannot be read; the rules that need it are reported as not checked."""


class Unanswered(StorageError):
    """The storage did not answer, after all retries."""


_OUTAGES = frozenset(
    (
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EIO,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENOTCONN,
        errno.ESTALE,
        errno.ETIMEDOUT,
    )
)


def is_outage(fault: BaseException) -> bool:
    """Return whether an error of a file system says that a disk, a mounted share or a server does not work.

    The file system has retried the operation itself.
    """
    return isinstance(fault, OSError) and fault.errno in _OUTAGES


class FileGone(StorageError):
    """The file was listed or is referred to, but does not exist."""


class FileTooLarge(StorageError):
    """The file is larger than the limit for reading it at once."""


class NoPermission(StorageError):
    """The file exists, but this process has no permission to read it."""


class OutsideTable(StorageError):
    """The path leads out of the table, and the options do not allow that."""


class Entry(msgspec.Struct, frozen=True, dict=True):
    """A file in a listing."""

    name: str
    """Path relative to the listed directory, which is `_delta_log` or the table."""
    size_bytes: int
    modified_ms: int

    @cached_property
    def log_name(self) -> LogFileName:
        """The name parsed as the name of a log file, once: several steps need all names of a log."""
        return parse_log_file_name(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle an entry without its parsed name."""
        return Entry, (self.name, self.size_bytes, self.modified_ms)


class Store(Protocol):
    """Read access to a table's root directory."""

    uri: str
    """For display, without secrets."""
    is_remote: bool
    """Whether reads wait for a network, so that several should run concurrently."""
    root: str | None
    """Decoded absolute path or URI of the table; absolute paths in the log may start with it."""
    settings: StorageSettings
    """Settings of the storage clients, also for files outside of the table."""

    def list_log(self) -> list[Entry]:
        """List the files of the log directory and of `LISTED_FOLDERS`, sorted by name.

        A directory for which `has_log_file_name` is true is listed like an empty file. Reading it fails.

        Raises:
            TableUnreadable: there is no readable table; the message says what was found.
            StorageUnavailable: the storage did not answer.
        """
        ...

    def list_files(self) -> Iterator[Entry | StorageError]:
        """Yield every regular file of the table outside of `_delta_log`, in any order.

        A directory that cannot be listed completely yields a `StorageError`. A file that is absent from such a listing
        may still exist.
        """
        ...

    def read(self, path: str, limit: int) -> bytes:
        """Read a complete file, by its path relative to the table.

        Raises:
            StorageError: the file is missing, larger than `limit` bytes, not a regular file, or not readable.
        """
        ...

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read `length` bytes from `start`, or fewer at the end of the file. Raises as `read` does."""
        ...

    def size(self, path: str) -> int:
        """Return the length of a file in bytes. Raises as `read` does."""
        ...

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield a file of any size in chunks. Raises as `read` does."""
        ...

    def open_seekable(self, path: str) -> Any:
        """Open a file for random access, as input of `pyarrow.parquet.ParquetFile`. Raises as `read` does."""
        ...


def has_log_file_name(name: str) -> bool:
    """Return whether the protocol defines log files with such a name, relative to the log directory."""
    return not isinstance(parse_log_file_name(name), OtherFile)


def describe_irregular_file(path: str, *, is_directory: bool) -> str:
    """Return why a directory, FIFO or device is not read."""
    return f"{path}: is not a regular file{', but a directory' if is_directory else ''}"


def split_uri(uri: str) -> SplitResult:
    """Split a URI. The message of `InvalidUsage` never repeats it."""
    try:
        return urlsplit(uri)
    except ValueError:  # the message of ValueError may repeat a secret of the URI
        raise InvalidUsage("the table's URI is malformed; write scheme://bucket/path") from None


def redact_uri(uri: str) -> str:
    """Return a URI without user info, query and fragment, which may contain secrets.

    In an abfss URI the part before `@` is the container, which is kept up to a colon.
    """
    parts = split_uri(uri)
    if not parts.scheme or not parts.netloc:
        return uri
    user, at, host = parts.netloc.rpartition("@")
    keep = user.partition(":")[0] + at if parts.scheme in ("abfs", "abfss") else ""
    return urlunsplit((parts.scheme, keep + host, parts.path, "", ""))


def quote_path(path: str) -> str:
    """Return a path as the path of a URI."""
    return quote(os.fsencode(path), safe=_UNQUOTED)


def build_file_uri(path: str) -> str:
    """Return the URI of a local path, which may have bytes that are not UTF-8."""
    return f"file://{quote_path(os.path.abspath(path))}"


def decode_file_uri(uri: str) -> str:
    """Return the local path that a URI of scheme file names. Bytes that are not UTF-8 are as in `os.fsdecode`."""
    return os.fsdecode(unquote_to_bytes(os.fsencode(split_uri(uri).path)))


def format_local_path(path: str) -> str:
    """Return a local path, or its URI if it has bytes that are not UTF-8, because reports are UTF-8."""
    return path if is_text(path) else build_file_uri(path)


def is_text(text: str) -> bool:
    """Return whether UTF-8 can encode a string. File names with other bytes have lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_inside_table(path: str) -> str:
    """Return a path relative to the table.

    Raises:
        OutsideTable: the path is absolute or contains `..`.
    """
    if path.startswith("/") or (".." in path and ".." in path.split("/")):
        raise OutsideTable(f"{path}: leads out of the table and is not followed")
    return path


def escape_file_name(name: str) -> str:
    """Return a file name as text; bytes that are not UTF-8 become escapes, because reports are UTF-8."""
    if name.isascii():
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def format_error(fault: BaseException) -> str:
    """Return the message of an error in one line of at most 200 characters."""
    return " ".join(str(fault).split())[:200] or type(fault).__name__

"""Where a table's bytes come from: a directory, an object store or HDFS, behind one small interface.

The log directory is listed once, and that listing is pinned for the run. Nothing is ever written. Secrets of a URI
never reach a message.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from deltaspec.errors import DeltaspecError, InvalidUsage

_T = TypeVar("_T")

LOG_DIRECTORY = "_delta_log"
LISTED_FOLDERS = ("_sidecars", "_staged_commits")
"""Folders below the log directory whose files belong to the protocol; others are not entered."""
CHUNK_BYTES = 4 << 20
MAX_CONCURRENT_READS = 32


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


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://|(file):/", re.IGNORECASE)
_OBJECT_SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl")
_KNOWN = ", ".join(("file", "hdfs", *_OBJECT_SCHEMES))


def open_store(uri: str) -> Store:
    """The store of a table.

    Args:
        uri: a path, or a URI of scheme file, s3, s3a, gs, gcs, az, azure, abfs, abfss, adl, hdfs or viewfs.
            Credentials, regions and endpoints come from the environment variables of the store's own clients.

    Raises:
        InvalidUsage: no such scheme, or no URI.
        TableUnreadable: the client of the store does not take the URI.
    """
    match = _SCHEME.match(uri)
    if match is None:
        if not uri:
            raise InvalidUsage(f"no table is named; name the directory that holds {LOG_DIRECTORY}")
        from deltaspec.wire.storage.local import LocalStore

        return LocalStore(uri)
    parts = _split(uri)
    if parts.scheme == "file":
        from deltaspec.wire.storage.local import LocalStore

        if parts.netloc not in ("", "localhost"):
            raise InvalidUsage(f"{redact_uri(uri)}: a file URI names no host; write file:///path")
        return LocalStore(unquote(parts.path))
    if parts.scheme in _OBJECT_SCHEMES:
        from deltaspec.wire.storage.object_store import ObjectStore

        return ObjectStore(uri)
    if parts.scheme in ("hdfs", "viewfs"):
        from deltaspec.wire.storage.arrow import ArrowStore

        return ArrowStore(uri)
    raise InvalidUsage(f"{redact_uri(uri)}: no storage for scheme {parts.scheme!r}; known are {_KNOWN}")


def _split(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:  # its message may repeat what is between the brackets
        raise InvalidUsage("the table's URI is malformed; write scheme://bucket/path") from None


def redact_uri(uri: str) -> str:
    """A URI without user info, query and fragment, which may hold secrets.

    The part before `@` of an abfss URI is the container and stays, up to a colon.
    """
    parts = _split(uri)
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


def prefetch_contents(store: Store, paths: Iterable[str], limit: int) -> Iterator[bytes | StorageError]:
    """Whole files one after the other, each or why it could not be read; from remote stores some are read ahead."""
    return _in_order(store, paths, lambda path: store.read(path, limit))


def prefetch_handles(store: Store, paths: Iterable[str]) -> Iterator[Any | StorageError]:
    """Files for random access one after the other, or why not; of remote stores some are opened ahead."""
    return _in_order(store, paths, store.open_seekable)


def _in_order(store: Store, paths: Iterable[str], ask: Callable[[str], _T]) -> Iterator[_T | StorageError]:
    def answer(path: str) -> _T | StorageError:
        try:
            return ask(path)
        except StorageError as fault:
            return fault

    if not store.is_remote:
        yield from map(answer, paths)
        return
    with ThreadPoolExecutor(MAX_CONCURRENT_READS) as pool:
        coming: deque[Future[_T | StorageError]] = deque()
        for path in paths:
            coming.append(pool.submit(answer, path))
            if len(coming) >= MAX_CONCURRENT_READS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


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

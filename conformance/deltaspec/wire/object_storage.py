"""Tables in object stores (obstore) and in HDFS (pyarrow.fs). Imported only when a URI asks for it."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage import (
    CHUNK_BYTES,
    LISTED_FOLDERS,
    LOG,
    Entry,
    FileGone,
    FileTooLarge,
    NoPermission,
    StorageError,
    redacted,
    within,
)

_DENIED = ("PermissionError", "PermissionDeniedError", "UnauthenticatedError")
"""Names of what the clients raise where the reader has no right to."""


def _listed(name: str) -> bool:
    folder, slash, rest = name.partition("/")
    return bool(name) and (not slash or (folder in LISTED_FOLDERS and "/" not in rest))


class ObjectStore:
    """A prefix in S3, GCS or Azure. See `deltaspec.wire.storage.Store`."""

    def __init__(self, uri: str) -> None:
        from obstore.store import from_url

        self.uri = redacted(uri)
        self.root: str | None = unquote(self.uri).rstrip("/")
        self.remote = True
        try:
            self._store = from_url("gs://" + uri.partition("://")[2] if uri.startswith("gcs://") else uri)
        except Exception as fault:
            raise TableUnreadable(f"{self.uri}: {_reason(fault)}") from fault

    def list_log(self) -> list[Entry]:
        import obstore

        found = []
        try:
            for batch in obstore.list(self._store, prefix=LOG):
                for item in batch:
                    name = item["path"].removeprefix(f"{LOG}/")
                    if name != item["path"] and _listed(name):
                        found.append(Entry(name, item["size"], _milliseconds(item["last_modified"])))
        except Exception as fault:
            raise TableUnreadable(f"{self.uri}: {LOG} cannot be listed: {_reason(fault)}") from fault
        if not found:
            raise TableUnreadable(f"{self.uri}: holds no {LOG}; name the directory that does")
        return sorted(found, key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        import obstore

        try:
            for batch in obstore.list(self._store):
                for item in batch:
                    if not item["path"].startswith(f"{LOG}/"):
                        yield Entry(item["path"], item["size"], _milliseconds(item["last_modified"]))
        except Exception as fault:  # noqa: BLE001 - whatever the client says, the listing is not whole
            yield StorageError(f"the table cannot be listed: {_reason(fault)}")

    def read_range(self, path: str, start: int, length: int) -> bytes:
        import obstore

        with _faults_of(path):
            return bytes(obstore.get_range(self._store, within(path), start=start, length=length))

    def size(self, path: str) -> int:
        import obstore

        with _faults_of(path):
            return int(obstore.head(self._store, within(path))["size"])

    def read(self, path: str, limit: int) -> bytes:
        import obstore

        with _faults_of(path):
            answer = obstore.get(self._store, within(path))
            _check_size(path, answer.meta["size"], limit)
            return bytes(answer.bytes())

    def chunks(self, path: str) -> Iterator[bytes]:
        import obstore

        with _faults_of(path):
            for piece in obstore.get(self._store, within(path)).stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(piece)

    def open_random(self, path: str) -> Any:
        import obstore

        with _faults_of(path):
            return _Seekable(obstore.open_reader(self._store, within(path)), path)


class ArrowStore:
    """A directory of a file system that pyarrow knows, such as HDFS. See `deltaspec.wire.storage.Store`."""

    def __init__(self, uri: str) -> None:
        from pyarrow import fs

        self.uri = redacted(uri)
        self.root: str | None = unquote(self.uri).rstrip("/")
        self.remote = True
        try:
            self._system, self._base = fs.FileSystem.from_uri(uri)
        except Exception as fault:
            raise TableUnreadable(f"{self.uri}: {_reason(fault)}") from fault

    def list_log(self) -> list[Entry]:
        from pyarrow import fs

        found = []
        folders = ["", *(f"{folder}/" for folder in LISTED_FOLDERS)]
        try:
            for folder in folders:
                selector = fs.FileSelector(f"{self._base}/{LOG}/{folder}".rstrip("/"), allow_not_found=bool(folder))
                for item in self._system.get_file_info(selector):
                    if item.type == fs.FileType.File:
                        found.append(Entry(folder + item.base_name, item.size, (item.mtime_ns or 0) // 1_000_000))
        except FileNotFoundError as fault:
            raise TableUnreadable(f"{self.uri}: holds no {LOG}") from fault
        except Exception as fault:
            raise TableUnreadable(f"{self.uri}: {LOG} cannot be listed: {_reason(fault)}") from fault
        return sorted(found, key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        from pyarrow import fs

        try:
            for item in self._system.get_file_info(fs.FileSelector(self._base, recursive=True)):
                name = item.path.removeprefix(self._base).lstrip("/")
                if item.type == fs.FileType.File and not name.startswith(f"{LOG}/"):
                    yield Entry(name, item.size, (item.mtime_ns or 0) // 1_000_000)
        except Exception as fault:  # noqa: BLE001 - whatever the client says, the listing is not whole
            yield StorageError(f"the table cannot be listed: {_reason(fault)}")

    def read_range(self, path: str, start: int, length: int) -> bytes:
        with _faults_of(path), self.open_random(path) as file:
            file.seek(start)
            return bytes(file.read(length))

    def size(self, path: str) -> int:
        with _faults_of(path), self.open_random(path) as file:
            return int(file.seek(0, io.SEEK_END))

    def read(self, path: str, limit: int) -> bytes:
        with _faults_of(path), self.open_random(path) as file:
            _check_size(path, file.seek(0, io.SEEK_END), limit)
            file.seek(0)
            return bytes(file.read())

    def chunks(self, path: str) -> Iterator[bytes]:
        with _faults_of(path), self.open_random(path) as file:
            while piece := file.read(CHUNK_BYTES):
                yield bytes(piece)

    def open_random(self, path: str) -> Any:
        with _faults_of(path):
            return _Seekable(self._system.open_input_file(f"{self._base}/{within(path)}"), path)


@contextmanager
def _faults_of(path: str) -> Iterator[None]:
    """What a client raises while it reads `path`, as one of our own exceptions."""
    try:
        yield
    except StorageError:
        raise
    except FileNotFoundError as fault:
        raise FileGone(f"{path}: is not there") from fault
    except Exception as fault:
        if type(fault).__name__ in _DENIED:
            raise NoPermission(f"{path}: no permission to read") from fault
        raise StorageError(f"{path}: {_reason(fault)}") from fault


def _check_size(path: str, size: int, limit: int) -> None:
    if size > limit:
        raise FileTooLarge(f"{path}: {size} bytes, more than the {limit} that are read at once")


class _Seekable(io.RawIOBase):
    """A client's reader as pyarrow takes it: a fault of the storage stays one, and is not taken for bad Parquet."""

    def __init__(self, reader: Any, path: str) -> None:
        self._reader = reader
        self._path = path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._reader.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _faults_of(self._path):
            return int(self._reader.seek(offset, whence))

    def read(self, size: int = -1) -> bytes:
        with _faults_of(self._path):
            return bytes(self._reader.read(size if size >= 0 else None))

    def close(self) -> None:
        if not self.closed:
            self._reader.close()
        super().close()


def _milliseconds(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def _reason(fault: Exception) -> str:
    """The first line of a fault of a client, without any URL that may hold a signature."""
    first = str(fault).strip().splitlines()[0] if str(fault).strip() else type(fault).__name__
    return " ".join(word for word in first.split() if "://" not in word)[:200]

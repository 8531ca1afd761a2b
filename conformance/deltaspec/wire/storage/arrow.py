"""A store over file systems of pyarrow, such as HDFS. pyarrow.fs is imported on first use."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from deltaspec.errors import StorageUnavailable, TableUnreadable
from deltaspec.wire.storage.client import check_size, describe_error, translating_errors
from deltaspec.wire.storage.interface import (
    CHUNK_BYTES,
    LISTED_FOLDERS,
    LOG_DIRECTORY,
    Entry,
    StorageError,
    check_inside_table,
    describe_irregular_file,
    has_log_file_name,
    is_outage,
    redact_uri,
)
from deltaspec.wire.storage.listing_parts import Listed, ListingPart, list_below, split_by_folders
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings


class ArrowStore:
    """A directory in a file system of pyarrow. See `deltaspec.wire.storage.interface.Store`."""

    def __init__(self, uri: str, settings: StorageSettings = ENVIRONMENT) -> None:
        from pyarrow import fs

        self.settings = settings
        self.uri = redact_uri(uri)
        self._unredacted_uri = uri
        self.root: str | None = unquote(self.uri).rstrip("/")
        self.is_remote = True
        try:
            self.system, base = fs.FileSystem.from_uri(uri)
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            error = StorageUnavailable if is_outage(fault) else TableUnreadable
            raise error(f"{self.uri}: {describe_error(fault)}") from None
        self._base = base.rstrip("/")

    def __reduce__(self) -> tuple[Any, ...]:
        """Open the file system again after unpickling."""
        return ArrowStore, (self._unredacted_uri, self.settings)

    def list_log(self) -> list[Entry]:
        from pyarrow import fs

        found = []
        folders = ["", *(f"{folder}/" for folder in LISTED_FOLDERS)]
        try:
            for folder in folders:
                selector = fs.FileSelector(
                    f"{self._base}/{LOG_DIRECTORY}/{folder}".rstrip("/"), allow_not_found=bool(folder)
                )
                for item in self.system.get_file_info(selector):
                    name = folder + item.base_name
                    is_directory = item.type == fs.FileType.Directory
                    if item.type == fs.FileType.File or (is_directory and has_log_file_name(name)):
                        found.append(Entry(name, item.size or 0, (item.mtime_ns or 0) // 1_000_000))
        except FileNotFoundError:
            raise TableUnreadable(f"{self.uri}: has no {LOG_DIRECTORY} directory") from None
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            error = StorageUnavailable if is_outage(fault) else TableUnreadable
            raise error(f"{self.uri}: {LOG_DIRECTORY} cannot be listed: {describe_error(fault)}") from None
        return sorted(found, key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        return self.list_part(ListingPart())

    def split_listing(self, names: Sequence[str], count: int) -> Iterator[Listed]:
        return split_by_folders(self._list_folder, count, MAX_CONCURRENT_READS)

    def list_part(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        return list_below(self._list_folder, part)

    def _list_folder(self, part: ListingPart) -> Iterator[Listed]:
        from pyarrow import fs

        folder = part.folder
        try:
            items = self.system.get_file_info(fs.FileSelector(f"{self._base}/{folder}".rstrip("/") or "/"))
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            yield StorageError(f"{folder or '.'}: cannot be listed: {describe_error(fault)}")
            return
        for item in items:
            name = folder + item.base_name
            if item.type == fs.FileType.File:
                yield Entry(name, item.size, (item.mtime_ns or 0) // 1_000_000)
            elif item.type == fs.FileType.Directory and name != LOG_DIRECTORY:
                yield ListingPart(f"{name}/")

    def read_range(self, path: str, start: int, length: int) -> bytes:
        with self._open(path) as file:
            file.seek(min(start, file.size()))
            return bytes(file.read(max(length, 0)))

    def size(self, path: str) -> int:
        with self._open(path) as file:
            return int(file.size())

    def read(self, path: str, limit: int) -> bytes:
        with self._open(path) as file:
            check_size(path, file.size(), limit)
            return bytes(file.read())

    def chunks(self, path: str) -> Iterator[bytes]:
        with self._open(path) as file:
            while piece := file.read(CHUNK_BYTES):
                yield bytes(piece)

    def open_seekable(self, path: str) -> Any:
        with translating_errors(path):
            return _Seekable(self._open_input(path), path)

    @contextmanager
    def _open(self, path: str) -> Iterator[Any]:
        with translating_errors(path), self._open_input(path) as file:
            yield file

    def _open_input(self, path: str) -> Any:
        from pyarrow import fs

        full = f"{self._base}/{check_inside_table(path)}"
        try:
            return self.system.open_input_file(full)
        except Exception:
            if self.system.get_file_info(full).type == fs.FileType.Directory:
                raise StorageError(describe_irregular_file(path, is_directory=True)) from None
            raise


class _Seekable(io.RawIOBase):
    """Wrap a file of pyarrow as a Python file, so that storage errors stay `StorageError` in Parquet readers."""

    def __init__(self, reader: Any, path: str) -> None:
        self.reader = reader
        self._path = path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self.reader.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with translating_errors(self._path):
            return int(self.reader.seek(offset, whence))

    def read(self, size: int = -1) -> bytes:
        with translating_errors(self._path):
            return bytes(self.reader.read(size if size >= 0 else None))

    def close(self) -> None:
        if not self.closed:
            self.reader.close()
        super().close()

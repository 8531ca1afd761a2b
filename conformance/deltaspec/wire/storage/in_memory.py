"""A store over bytes in memory, for processes that cannot reach the storage of the table."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.client import check_size
from deltaspec.wire.storage.interface import CHUNK_BYTES, Entry, StorageError, Store, check_inside_table
from deltaspec.wire.storage.settings import ENVIRONMENT


class InMemoryStore:
    """Files in memory, with a fallback store for all others. See `deltaspec.wire.storage.interface.Store`.

    Without a fallback, other files are unreachable, which does not mean that they are missing. An instance pickles
    with its bytes, and with its fallback if that pickles.
    """

    def __init__(
        self,
        uri: str,
        files: Mapping[str, bytes | StorageError],
        *,
        root: str | None = None,
        log: Sequence[Entry] | None = None,
        fallback: Store | None = None,
    ) -> None:
        """Create a store.

        Args:
            uri: URI of the table, for display.
            files: path relative to the table -> content, or the error of reading it (`FileGone` if it is missing).
            root: absolute path or URI of the table; None uses the root of `fallback`.
            log: listing of the log directory, if another process made it.
            fallback: store for every other file; None if the table cannot be reached.
        """
        self.uri = uri
        self.root = root if root is not None or fallback is None else fallback.root
        self.is_remote = fallback is not None and fallback.is_remote
        self.settings = ENVIRONMENT if fallback is None else fallback.settings
        self._files = dict(files)
        self._log = None if log is None else sorted(log, key=lambda entry: entry.name)
        self._fallback = fallback

    def list_log(self) -> list[Entry]:
        if self._log is not None:
            return list(self._log)
        if self._fallback is None:
            raise TableUnreadable(f"{self.uri}: cannot be listed: executors cannot reach the table")
        return self._fallback.list_log()

    def list_files(self) -> Iterator[Entry | StorageError]:
        if self._fallback is None:
            yield StorageError(".: cannot be listed: executors cannot reach the table")
        else:
            yield from self._fallback.list_files()

    def read(self, path: str, limit: int) -> bytes:
        data = self._get_content(path)
        if data is None:
            return self._get_fallback(path).read(path, limit)
        check_size(path, len(data), limit)
        return data

    def read_range(self, path: str, start: int, length: int) -> bytes:
        data = self._get_content(path)
        if data is None:
            return self._get_fallback(path).read_range(path, start, length)
        return data[start : start + length] if length > 0 else b""

    def size(self, path: str) -> int:
        data = self._get_content(path)
        return self._get_fallback(path).size(path) if data is None else len(data)

    def chunks(self, path: str) -> Iterator[bytes]:
        data = self._get_content(path)
        if data is None:
            yield from self._get_fallback(path).chunks(path)
        else:
            for start in range(0, len(data), CHUNK_BYTES):
                yield data[start : start + CHUNK_BYTES]

    def open_seekable(self, path: str) -> Any:
        data = self._get_content(path)
        return self._get_fallback(path).open_seekable(path) if data is None else io.BytesIO(data)

    def _get_content(self, path: str) -> bytes | None:
        """Return the content of a path if it is in memory; raise the error if memory has an error for it."""
        data = self._files.get(check_inside_table(path))
        if isinstance(data, StorageError):
            raise data
        return data

    def _get_fallback(self, path: str) -> Store:
        if self._fallback is None:
            raise StorageError(f"{path}: not in memory, and executors cannot reach the storage of the table")
        return self._fallback

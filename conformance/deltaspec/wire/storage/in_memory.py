"""A table of which some files are held as bytes, for a process that has no way to the table's storage."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.client import check_size
from deltaspec.wire.storage.interface import CHUNK_BYTES, Entry, StorageError, Store, check_inside_table


class InMemoryStore:
    """Files that were handed over, over a store for all others. See `deltaspec.wire.storage.interface.Store`.

    A file that was not handed over and that no store is there for is not known to be gone: it cannot be reached.
    An instance pickles with its bytes, and with its store where that pickles.
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
        """Hold files.

        Args:
            uri: of the table, for display.
            files: by path relative to the table: content, or why there is none (`FileGone` of a file known to be gone).
            root: what absolute paths in the log may begin with; None takes that of `otherwise`.
            log: the listing of the log directory, where it was made elsewhere.
            otherwise: asked for every other file; None where the table cannot be reached.
        """
        self.uri = uri
        self.root = root if root is not None or fallback is None else fallback.root
        self.is_remote = fallback is not None and fallback.is_remote
        self._files = dict(files)
        self._log = None if log is None else sorted(log, key=lambda entry: entry.name)
        self._otherwise = fallback

    def list_log(self) -> list[Entry]:
        if self._log is not None:
            return list(self._log)
        if self._otherwise is None:
            raise TableUnreadable(f"{self.uri}: cannot be listed from here: executors do not reach the table")
        return self._otherwise.list_log()

    def list_files(self) -> Iterator[Entry | StorageError]:
        if self._otherwise is None:
            yield StorageError(".: cannot be listed: executors do not reach the table")
        else:
            yield from self._otherwise.list_files()

    def read(self, path: str, limit: int) -> bytes:
        data = self._given(path)
        if data is None:
            return self._store(path).read(path, limit)
        check_size(path, len(data), limit)
        return data

    def read_range(self, path: str, start: int, length: int) -> bytes:
        data = self._given(path)
        if data is None:
            return self._store(path).read_range(path, start, length)
        return data[start : start + length] if length > 0 else b""

    def size(self, path: str) -> int:
        data = self._given(path)
        return self._store(path).size(path) if data is None else len(data)

    def chunks(self, path: str) -> Iterator[bytes]:
        data = self._given(path)
        if data is None:
            yield from self._store(path).chunks(path)
        else:
            for start in range(0, len(data), CHUNK_BYTES):
                yield data[start : start + CHUNK_BYTES]

    def open_seekable(self, path: str) -> Any:
        data = self._given(path)
        return self._store(path).open_seekable(path) if data is None else io.BytesIO(data)

    def _given(self, path: str) -> bytes | None:
        """What was handed over of a path; raises what was handed over in place of its content."""
        data = self._files.get(check_inside_table(path))
        if isinstance(data, StorageError):
            raise data
        return data

    def _store(self, path: str) -> Store:
        if self._otherwise is None:
            raise StorageError(f"{path}: not at hand: executors do not reach the table's storage")
        return self._otherwise

"""Random access to a remote file for pyarrow: its tail first, then blocks on demand."""

import io
from collections.abc import Callable
from contextlib import suppress

TAIL_BYTES = 64 << 10
"""Bytes to fetch from the end when a file is opened; Arrow searches the footer in the same number of bytes."""
BLOCK_BYTES = 1 << 20
"""Minimum length of later requests, because each may wait for a network."""


class BlockReader(io.RawIOBase):
    """An open file of a known length; not safe for concurrent reads.

    Errors of the storage stay `StorageError` in Parquet readers.
    """

    def __init__(
        self,
        size: int,
        fetch: Callable[[int, int], bytes],
        tail: bytes = b"",
        *,
        block: int = BLOCK_BYTES,
        end: Callable[[], None] | None = None,
    ) -> None:
        """Open a file.

        Args:
            size: length of the file in bytes.
            fetch: return all bytes from start to end (exclusive), or raise `StorageError`.
            tail: last bytes of the file, if they were fetched already.
            block: minimum length of a request.
            end: called when the file is closed; its exceptions are ignored.
        """
        self._size = size
        self._fetch = fetch
        self._buffer = tail
        self._buffer_start = size - len(tail)
        self._block = block
        self._end = end
        self._position = 0

    def fetch_tail(self) -> None:
        """Fetch the tail, which Parquet readers need first."""
        start = max(self._size - TAIL_BYTES, 0)
        self._buffer, self._buffer_start = self._fetch(start, self._size), start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = max(offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence], 0)
        return self._position

    def read(self, size: int = -1) -> bytes:
        start = self._position
        end = self._size if size < 0 else min(start + size, self._size)
        if end <= start:
            return b""
        if start < self._buffer_start or end > self._buffer_start + len(self._buffer):
            until = min(max(end, start + self._block), self._size)
            self._buffer, self._buffer_start = self._fetch(start, until), start
        self._position = end
        return self._buffer[start - self._buffer_start : end - self._buffer_start]

    def close(self) -> None:
        if not self.closed and self._end is not None:
            with suppress(Exception):  # the session of the handle may have ended before
                self._end()
        super().close()

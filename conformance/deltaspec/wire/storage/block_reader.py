"""A remote file for random access, as pyarrow takes it: its end first, then blocks, each asked for when it is read."""

import io
from collections.abc import Callable
from contextlib import suppress

TAIL_BYTES = 64 << 10
"""What is fetched of a file's end as it is opened: as much as Arrow looks for a footer in."""
BLOCK_BYTES = 1 << 20
"""The least that is fetched of a file after that, since each request may wait for a network."""


class BlockReader(io.RawIOBase):
    """An open file of a known length; one read at a time.

    A fault of the storage stays one, and is not taken for bad Parquet.
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
            size: its length in bytes.
            fetch: gives all bytes from a place to before another, or raises `StorageError`.
            tail: its last bytes, if they were fetched by now.
            block: the least that is fetched at once.
            end: called when the file is closed; what it raises is left out.
        """
        self._size = size
        self._fetch = fetch
        self._held = tail
        self._held_at = size - len(tail)
        self._block = block
        self._end = end
        self._position = 0

    def fetch_tail(self) -> None:
        """Fetch what readers of Parquet ask for first."""
        start = max(self._size - TAIL_BYTES, 0)
        self._held, self._held_at = self._fetch(start, self._size), start

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
        if start < self._held_at or end > self._held_at + len(self._held):
            until = min(max(end, start + self._block), self._size)
            self._held, self._held_at = self._fetch(start, until), start
        self._position = end
        return self._held[start - self._held_at : end - self._held_at]

    def close(self) -> None:
        if not self.closed and self._end is not None:
            with suppress(Exception):  # what it belongs to may have ended before
                self._end()
        super().close()

"""Read several files of a table in order, with concurrent requests where the storage is remote."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from deltaspec.wire.storage.interface import StorageError, Store

_T = TypeVar("_T")

MAX_CONCURRENT_READS = 32


def prefetch_contents(store: Store, paths: Iterable[str], limit: int) -> Iterator[bytes | StorageError]:
    """Yield the content of each file, or the error of reading it, in the order of `paths`."""
    return _map_in_order(store, paths, lambda path: store.read(path, limit))


def prefetch_handles(store: Store, paths: Iterable[str]) -> Iterator[Any | StorageError]:
    """Yield a handle for random access to each file, or the error of opening it, in the order of `paths`."""
    return _map_in_order(store, paths, store.open_seekable)


def _map_in_order(store: Store, paths: Iterable[str], read: Callable[[str], _T]) -> Iterator[_T | StorageError]:
    def read_or_error(path: str) -> _T | StorageError:
        try:
            return read(path)
        except StorageError as fault:
            return fault

    if not store.is_remote:
        yield from map(read_or_error, paths)
        return
    with ThreadPoolExecutor(MAX_CONCURRENT_READS) as pool:
        pending: deque[Future[_T | StorageError]] = deque()
        for path in paths:
            pending.append(pool.submit(read_or_error, path))
            if len(pending) >= MAX_CONCURRENT_READS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def read_lines(store: Store, path: str, limit: int) -> Iterator[bytes | None]:
    """Yield the lines of a file without line feeds; None for each line of more than `limit` bytes."""
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

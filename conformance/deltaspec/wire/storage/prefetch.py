"""Read several files of a table in order, with concurrent requests where the storage is remote."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from deltaspec.wire.storage.interface import StorageError, Store

_T = TypeVar("_T")

MAX_CONCURRENT_READS = 32


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

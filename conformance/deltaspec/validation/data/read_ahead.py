"""Reads data files in threads and gives what they hold in the files' order: some ahead, never many at once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.data.data_files import DataFile

_LOCAL_READERS = 4
_REMOTE_READERS = 8

Held = TypeVar("Held")


def read_ahead(
    data: DataBucket, files: Iterable[DataFile], read: Callable[[DataFile], Held]
) -> Iterator[tuple[DataFile, Held]]:
    """Every file with what `read` makes of it."""
    readers = _REMOTE_READERS if data.access.store.is_remote else min(_LOCAL_READERS, os.cpu_count() or 1)
    pool = ThreadPoolExecutor(readers)
    coming: deque[tuple[DataFile, Future[Held]]] = deque()
    try:
        for data_file in files:
            coming.append((data_file, pool.submit(read, data_file)))
            if len(coming) > 2 * readers:
                first, future = coming.popleft()
                yield first, future.result()
        for first, future in coming:
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)  # who breaks off does not wait for what is not begun

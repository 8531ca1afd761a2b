"""Read data files in threads, a limited number ahead, and yield the results in file order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from deltaspec.views.data.data_files import DataFile
    from deltaspec.wire.storage.interface import Store

LOCAL_READERS = 4
"""Number of threads that read local files; fewer if there are fewer cores."""
REMOTE_READERS = 8
"""Number of threads that read remote files."""

Result = TypeVar("Result")


def read_ahead(
    store: Store, files: Iterable[DataFile], read: Callable[[DataFile], Result]
) -> Iterator[tuple[DataFile, Result]]:
    """Yield every file with the result of `read`."""
    readers = REMOTE_READERS if store.is_remote else min(LOCAL_READERS, os.cpu_count() or 1)
    pool = ThreadPoolExecutor(readers)
    coming: deque[tuple[DataFile, Future[Result]]] = deque()
    try:
        for data_file in files:
            coming.append((data_file, pool.submit(read, data_file)))
            if len(coming) > 2 * readers:
                first, future = coming.popleft()
                yield first, future.result()
        for first, future in coming:
            yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)  # a caller that stops early does not wait for reads that have not started

"""Compute results in threads, ahead of where they are used."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Result = TypeVar("Result")
MOST_AHEAD = 2
"""Results that are computed at the same time. More took more memory and no less time on two cores."""


class ResultsAhead(Generic[Result]):
    """Compute results in threads while the caller uses earlier results, in their order.

    It helps if either side works without the interpreter lock, as Polars and the Parquet decoder do.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._pending: deque[tuple[Future[Result], Callable[[Result], None]]] = deque()

    def add(self, compute: Callable[[], Result], use: Callable[[Result], None], *, most: int = MOST_AHEAD) -> None:
        """Start to compute a result, and use earlier ones.

        Args:
            compute: what to call in a thread.
            use: receives the result, in the thread that calls `add` or `finish`.
            most: number of results, up to `MOST_AHEAD`, that may remain unused: each takes memory. With 0, the result
                is computed in the thread of the caller, which is faster for a result that takes less than a switch of
                threads.

        Raises:
            Exception: what computing or using an earlier result raised. Later results are not used.
        """
        if most == 0:
            self._use_all_but(0)
            use(compute())
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(MOST_AHEAD)
        self._pending.append((self._pool.submit(compute), use))
        self._use_all_but(most)

    def finish(self) -> None:
        """Use all results, and end the threads. Raises as `add`."""
        try:
            self._use_all_but(0)
        finally:
            pool, self._pool = self._pool, None
            if pool is not None:
                pool.shutdown(cancel_futures=True)

    def _use_all_but(self, most: int) -> None:
        try:
            while len(self._pending) > most:
                future, use = self._pending.popleft()
                use(future.result())
        except BaseException:
            self._pending.clear()
            raise

"""Compute results in a thread, one ahead of where they are used."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Result = TypeVar("Result")


class OneAhead(Generic[Result]):
    """Compute a result in a thread while the caller uses the one before. Results are used in their order.

    It helps if either side works without the interpreter lock, as Polars and the Parquet decoder do.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._pending: tuple[Future[Result], Callable[[Result], None]] | None = None

    def add(self, compute: Callable[[], Result], use: Callable[[Result], None]) -> None:
        """Start to compute a result, and use that of the call before.

        Raises:
            Exception: what computing or using the result before raised.
        """
        coming = self._pool.submit(compute), use
        self.finish()
        self._pending = coming

    def finish(self) -> None:
        """Use the last result. Raises as `add`."""
        last, self._pending = self._pending, None
        if last is not None:
            future, use_last = last
            use_last(future.result())

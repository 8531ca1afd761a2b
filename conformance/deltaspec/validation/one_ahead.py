"""Produce the next item of an iterator in a thread while the last one is used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_one_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items in order. Errors of the iterator are raised in the place of the item.

    It pays if either side spends its time outside of the interpreter lock, as the decoder of Parquet does.
    """
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]  # not `end`

"""Produce the next item of an iterator in a thread while the last one is used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def read_one_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items in order. An error of the iterator is raised in place of its item.

    It helps if either side works without the interpreter lock, as the Parquet decoder does.
    """
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(list, islice(items, 1))
        while found := coming.result():
            coming = pool.submit(list, islice(items, 1))
            yield found[0]

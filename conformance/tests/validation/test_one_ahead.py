"""Items are produced one ahead, in order."""

import threading
from collections.abc import Iterator

import pytest

from deltaspec.validation.one_ahead import read_one_ahead


def test_items_come_in_order_and_from_one_other_thread() -> None:
    threads = set()

    def count() -> Iterator[int]:
        for number in range(50):
            threads.add(threading.get_ident())
            yield number

    assert list(read_one_ahead(count())) == list(range(50))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_one_item_is_produced_ahead_and_no_more() -> None:
    produced: list[int] = []
    second = threading.Event()

    def count() -> Iterator[int]:
        for number in range(5):
            produced.append(number)
            if number == 1:
                second.set()
            yield number

    items = read_one_ahead(count())
    assert next(items) == 0
    assert second.wait(30)
    assert produced == [0, 1]
    items.close()
    assert produced == [0, 1]


def test_error_is_raised_after_the_items_before_it() -> None:
    def fail() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    items = read_one_ahead(fail())
    assert next(items) == 1
    with pytest.raises(ValueError, match="broken"):
        next(items)


def test_no_items() -> None:
    assert list(read_one_ahead(iter(()))) == []

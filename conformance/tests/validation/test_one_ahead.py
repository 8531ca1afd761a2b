"""Results are computed one ahead, in a thread, and used in their order."""

import threading
from functools import partial

import pytest

from deltaspec.validation.one_ahead import OneAhead


def test_results_are_used_in_order_by_the_caller_and_computed_by_one_other_thread() -> None:
    computing: set[int] = set()
    used: list[int] = []
    users: set[int] = set()

    def compute(number: int) -> int:
        computing.add(threading.get_ident())
        return number

    def use(result: int) -> None:
        users.add(threading.get_ident())
        used.append(result)

    ahead = OneAhead[int]()
    for number in range(50):
        ahead.add(partial(compute, number), use)
        assert used == list(range(number))
    ahead.finish()
    assert used == list(range(50))
    assert users == {threading.get_ident()}
    assert len(computing) == 1
    assert computing.isdisjoint(users)


def test_a_result_is_computed_while_the_one_before_is_used() -> None:
    second = threading.Event()
    ahead = OneAhead[bool]()
    seen: list[bool] = []
    ahead.add(lambda: True, lambda _: seen.append(second.wait(30)))
    ahead.add(lambda: second.set() is None, seen.append)
    assert seen == [True]
    ahead.finish()
    assert seen == [True, True]


def test_error_is_raised_after_the_results_before_it() -> None:
    used: list[int] = []
    ahead = OneAhead[int]()
    ahead.add(lambda: 1, used.append)
    ahead.add(lambda: 1 // 0, used.append)
    assert used == [1]
    with pytest.raises(ZeroDivisionError):
        ahead.finish()
    assert used == [1]
    ahead.finish()


def test_nothing_to_finish() -> None:
    OneAhead[int]().finish()


def test_a_result_after_an_error_is_not_used() -> None:
    used: list[int] = []
    ahead = OneAhead[int]()
    ahead.add(lambda: 1 // 0, used.append)
    with pytest.raises(ZeroDivisionError):
        ahead.add(lambda: 2, used.append)
    ahead.finish()
    assert used == []

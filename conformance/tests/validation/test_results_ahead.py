"""Results are computed ahead, in threads, and used in their order."""

import threading
from functools import partial

import pytest

from deltaspec.validation.results_ahead import MOST_AHEAD, ResultsAhead


def test_results_are_used_in_order_by_the_caller_and_computed_by_other_threads() -> None:
    computing: set[int] = set()
    used: list[int] = []
    users: set[int] = set()

    def compute(number: int) -> int:
        computing.add(threading.get_ident())
        return number

    def use(result: int) -> None:
        users.add(threading.get_ident())
        used.append(result)

    ahead = ResultsAhead[int]()
    for number in range(50):
        ahead.add(partial(compute, number), use)
        assert used == list(range(number + 1 - MOST_AHEAD))
    ahead.finish()
    assert used == list(range(50))
    assert users == {threading.get_ident()}
    assert len(computing) <= MOST_AHEAD
    assert computing.isdisjoint(users)


@pytest.mark.parametrize("most", [1, MOST_AHEAD])
def test_results_are_computed_while_one_before_is_used(most: int) -> None:
    last = threading.Event()
    ahead = ResultsAhead[bool]()
    seen: list[bool] = []
    ahead.add(lambda: True, lambda _: seen.append(last.wait(30)), most=most)
    for _ in range(most - 1):
        ahead.add(lambda: True, lambda _: None, most=most)
    assert seen == []
    ahead.add(lambda: last.set() is None, seen.append, most=most)
    assert seen == [True]
    ahead.finish()
    assert seen == [True, True]


def test_small_result_is_computed_and_used_by_the_caller_after_earlier_ones() -> None:
    ahead = ResultsAhead[int]()
    used: list[int] = []
    threads: list[int] = []
    ahead.add(lambda: 1, used.append)
    ahead.add(lambda: threads.append(threading.get_ident()) or 2, used.append, most=0)
    assert used == [1, 2]
    assert threads == [threading.get_ident()]
    ahead.finish()


def test_threads_end_when_all_results_are_used() -> None:
    threads: list[threading.Thread] = []
    ahead = ResultsAhead[None]()
    for _ in range(2):
        ahead.add(lambda: threads.append(threading.current_thread()), lambda _: None)
        ahead.finish()
    assert [thread.is_alive() for thread in threads] == [False, False]


def test_threads_end_after_an_error() -> None:
    threads: list[threading.Thread] = []

    def fail() -> None:
        threads.append(threading.current_thread())
        raise ValueError("no result")

    ahead = ResultsAhead[None]()
    ahead.add(fail, lambda _: None)
    with pytest.raises(ValueError, match="no result"):
        ahead.finish()
    assert [thread.is_alive() for thread in threads] == [False]


def test_error_is_raised_after_the_results_before_it() -> None:
    used: list[int] = []
    ahead = ResultsAhead[int]()
    ahead.add(lambda: 1, used.append)
    ahead.add(lambda: 1 // 0, used.append, most=1)
    assert used == [1]
    with pytest.raises(ZeroDivisionError):
        ahead.finish()
    assert used == [1]
    ahead.finish()


def test_nothing_to_finish() -> None:
    ResultsAhead[int]().finish()


def test_a_result_after_an_error_is_not_used() -> None:
    used: list[int] = []
    ahead = ResultsAhead[int]()
    ahead.add(lambda: 1 // 0, used.append)
    with pytest.raises(ZeroDivisionError):
        ahead.add(lambda: 2, used.append, most=1)
    ahead.finish()
    assert used == []

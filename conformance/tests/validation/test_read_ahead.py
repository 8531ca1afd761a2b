"""`read_ahead` reads a bounded number of files ahead and yields them in order."""

from threading import Event, Lock, Timer
from types import SimpleNamespace
from typing import Any

import pytest

from deltaspec.validation.data import read_ahead
from deltaspec.validation.data.read_ahead import read_ahead as iter_read_ahead

REMOTE: Any = SimpleNamespace(is_remote=True)
LOCAL: Any = SimpleNamespace(is_remote=False)
FILES: Any = range(100)


@pytest.mark.parametrize("store", [REMOTE, LOCAL])
def test_files_are_yielded_in_order(store: Any) -> None:
    def read(number: Any) -> int:
        return int(number) * 2

    assert list(iter_read_ahead(store, FILES, read)) == [(number, number * 2) for number in range(100)]
    assert list(iter_read_ahead(store, [], read)) == []


def test_number_of_files_read_ahead_is_bounded() -> None:
    started: list[int] = []
    lock = Lock()

    def read(number: Any) -> None:
        with lock:
            started.append(number)

    for consumed, (number, _) in enumerate(iter_read_ahead(REMOTE, FILES, read)):
        assert number == consumed
        assert len(started) <= consumed + 1 + 2 * read_ahead.REMOTE_READERS


def test_closing_does_not_start_further_files() -> None:
    released = Event()
    started: list[int] = []

    def read(number: Any) -> str:
        started.append(number)
        if number > 0:
            released.wait(60)
        return ""

    results: Any = iter_read_ahead(REMOTE, FILES, read)
    assert next(results) == (0, "")
    Timer(0.5, released.set).start()
    results.close()
    assert len(started) <= 1 + read_ahead.REMOTE_READERS


def test_exception_of_a_reader_is_raised() -> None:
    def read(number: Any) -> None:
        raise ValueError(f"file {number}")

    with pytest.raises(ValueError, match="file 0"):
        next(iter(iter_read_ahead(LOCAL, FILES, read)))

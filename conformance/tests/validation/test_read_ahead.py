"""Files are read ahead, in their order, and never many at once."""

from threading import Event, Lock, Timer
from types import SimpleNamespace
from typing import Any

import pytest

from deltaspec.validation.data import read_ahead
from deltaspec.validation.data.read_ahead import read_ahead as reading

REMOTE: Any = SimpleNamespace(access=SimpleNamespace(store=SimpleNamespace(is_remote=True)))
LOCAL: Any = SimpleNamespace(access=SimpleNamespace(store=SimpleNamespace(is_remote=False)))
FILES: Any = range(100)


@pytest.mark.parametrize("run", [REMOTE, LOCAL])
def test_every_file_comes_in_its_order(run: Any) -> None:
    def read(number: Any) -> int:
        return int(number) * 2

    assert list(reading(run, FILES, read)) == [(number, number * 2) for number in range(100)]
    assert list(reading(run, [], read)) == []


def test_few_are_read_that_nobody_asked_for_yet() -> None:
    begun: list[int] = []
    lock = Lock()

    def read(number: Any) -> None:
        with lock:
            begun.append(number)

    for taken, (number, _) in enumerate(reading(REMOTE, FILES, read)):
        assert number == taken
        assert len(begun) <= taken + 1 + 2 * read_ahead._REMOTE_READERS


def test_who_breaks_off_does_not_wait_for_files_not_begun() -> None:
    released = Event()
    begun: list[int] = []

    def read(number: Any) -> str:
        begun.append(number)
        if number > 0:
            released.wait(60)
        return ""

    answers: Any = reading(REMOTE, FILES, read)
    assert next(answers) == (0, "")
    Timer(0.5, released.set).start()
    answers.close()
    assert len(begun) <= 1 + read_ahead._REMOTE_READERS


def test_fault_of_a_reader_is_raised() -> None:
    def read(number: Any) -> None:
        raise ValueError(f"file {number}")

    with pytest.raises(ValueError, match="file 0"):
        next(iter(reading(LOCAL, FILES, read)))

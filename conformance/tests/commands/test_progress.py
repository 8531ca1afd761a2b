"""Progress on stderr: a bar on terminals, and lines elsewhere."""

import sys
import threading
from io import StringIO

import pytest

from deltaspec.commands import progress as progress_module
from deltaspec.commands.progress import ProgressTracker, show_progress


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_total_rate_and_time_left_are_described(clock: Clock) -> None:
    tracker = ProgressTracker(clock)
    assert tracker.describe() == "start · 0 ms in all"
    clock.seconds += 10
    tracker("footers", 0, 300_000)
    clock.seconds += 100
    tracker("footers", 120_000, 300_000)
    assert (
        tracker.describe() == "footers 120,000 of 300,000 (40 %) · 1,200/s · about 2 min 30 s left · 1 min 50 s in all"
    )


def test_unknown_total_has_no_time_left(clock: Clock) -> None:
    tracker = ProgressTracker(clock)
    tracker("listing", 0, None)
    clock.seconds += 4
    tracker("listing", 10_000, None)
    assert tracker.describe() == "listing 10,000 · 2,500/s · 4.0 s in all"


@pytest.mark.parametrize(
    ("seconds", "rate"),
    [
        (4, "2.5/s"),
        (10, "1.0/s"),
        (11, "54.5/min"),
        (300, "2.0/min"),
        (601, "59.9/h"),
        (40_000, "0.9/h"),
    ],
)
def test_slow_rates_have_a_longer_unit(clock: Clock, seconds: float, rate: str) -> None:
    tracker = ProgressTracker(clock)
    tracker("trials", 0, 200)
    clock.seconds += seconds
    tracker("trials", 10, 200)
    assert f" · {rate} · " in tracker.describe()


def test_what_a_resumed_run_had_done_is_not_part_of_the_rate(clock: Clock) -> None:
    tracker = ProgressTracker(clock)
    tracker("footers", 90_000, 100_000)
    clock.seconds += 10
    tracker("footers", 91_000, 100_000)
    assert "100/s · about 1 min 30 s left" in tracker.describe()


def test_time_left_covers_all_buckets(clock: Clock) -> None:
    """Every bucket has the same phases, so that their totals say little about the stage."""
    tracker = ProgressTracker(clock)
    tracker("data files", 0, None)
    for bucket in range(2):
        clock.seconds += 60
        tracker("footers", 1000, 1000)
        tracker("buckets", bucket + 1, 64)
    clock.seconds += 20
    tracker("footers", 500, 1000)
    assert "bucket 3 of 64, about 1 h 12 min left" in tracker.describe()
    tracker("buckets", 64, 64)
    assert "bucket" not in tracker.describe()
    tracker("buckets", 1, 64)
    tracker("rows of commits", 0, None)
    assert "bucket" not in tracker.describe()


class Lines(StringIO):
    """A stream that reports when it has two lines about commits."""

    def __init__(self) -> None:
        super().__init__()
        self.enough = threading.Event()

    def flush(self) -> None:
        if self.getvalue().count("commits") >= 2:
            self.enough.set()


def test_lines_are_written_while_the_run_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines()
    monkeypatch.setattr(sys, "stderr", lines)
    with show_progress(interval=0.001) as progress:
        progress("commits", 3, 10)
        assert lines.enough.wait(30)
    written = lines.getvalue()
    assert "deltaspec: commits 3 of 10 (30 %)" in written.splitlines()[-1]
    assert threading.active_count() == 1 or "progress" not in {each.name for each in threading.enumerate()}


def test_short_runs_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines()
    monkeypatch.setattr(sys, "stderr", lines)
    with show_progress() as progress:
        progress("commits", 3, 10)
    assert lines.getvalue() == ""


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("delay", "drawn"), [(0.0, True), (3600.0, False)])
def test_terminal_shows_a_bar_after_a_delay(delay: float, drawn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress_module, "PROGRESS_DELAY_SECONDS", delay)
    monkeypatch.setenv("TERM", "xterm-256color")
    with show_progress() as progress:
        progress("commits", 3, 10)
        progress("replay", 0, None)
    assert ("replay" in terminal.getvalue()) is drawn
    assert bool(terminal.getvalue()) is drawn

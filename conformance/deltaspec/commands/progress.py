"""Progress on stderr: a bar on a terminal, a line in a notebook, and elsewhere a line every 30 seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from deltaspec.validation.progress import Progress

PROGRESS_DELAY_SECONDS = 1.0
"""Runs shorter than this show no progress bar."""
HEARTBEAT_SECONDS = 30.0
"""Time between two lines where stderr is not a terminal."""
_NOTEBOOK_SECONDS = 0.5
"""Time between two changes of the line in a notebook."""
_BUCKETS = "buckets"
_RATE_SECONDS = 1.0
"""Time of a phase after which its rate is shown."""


@dataclass
class ProgressTracker:
    """Phase, rate and remaining time of a run. A `Progress`."""

    clock: Callable[[], float] = time.monotonic
    phase: str = "start"
    done: int = 0
    total: int | None = None
    _started: float = field(init=False)
    _phase_started: float = field(init=False)
    _first: int = 0
    """Amount done when the phase began, which a resumed run has not done itself."""
    _stage_started: float = field(init=False)
    _buckets: tuple[int, int] | None = None
    """Buckets of the stage that are done, and their number. Every bucket has the same phases."""

    def __post_init__(self) -> None:
        self._started = self._phase_started = self._stage_started = self.clock()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if phase == _BUCKETS and total:
            self._buckets = (done, total) if done < total else None
            return
        if phase != self.phase or done < self.done:
            self.phase, self._first, self._phase_started = phase, done, self.clock()
            if total is None and done == 0:
                self._stage_started, self._buckets = self._phase_started, None
        self.done, self.total = done, total

    def describe(self) -> str:
        """Return the phase with amounts, the rate, the time left and the time since the start, in one line."""
        from deltaspec.report.text import format_duration

        now = self.clock()
        parts = [self._describe_amount()]
        seconds, number = now - self._phase_started, self.done - self._first
        rate = number / seconds if seconds >= _RATE_SECONDS else 0.0
        if rate:
            parts.append(_format_rate(rate))
        if self._buckets is not None:
            done, total = self._buckets
            left = (now - self._stage_started) / done * (total - done)
            parts.append(f"bucket {done + 1} of {total}, about {format_duration(left)} left")
        elif rate and self.total is not None and self.total > self.done:
            parts.append(f"about {format_duration((self.total - self.done) / rate)} left")
        return " · ".join([*parts, f"{format_duration(now - self._started)} in all"])

    def _describe_amount(self) -> str:
        if self.total:
            return f"{self.phase} {self.done:,} of {self.total:,} ({100 * self.done // self.total} %)"
        return f"{self.phase} {self.done:,}" if self.done else self.phase


def _format_rate(rate: float) -> str:
    """Return a rate with a unit of time in which it is at least one, up to an hour."""
    if rate >= 10:
        return f"{rate:,.0f}/s"
    number, unit = next(((rate * n, unit) for n, unit in ((1, "s"), (60, "min")) if rate * n >= 1), (rate * 3600, "h"))
    return f"{number:.1f}/{unit}"


@contextmanager
def show_progress(interval: float = HEARTBEAT_SECONDS) -> Iterator[Progress]:
    """Yield a callback whose calls are shown on stderr.

    Args:
        interval: seconds between two lines where stderr is not a terminal.
    """
    tracker = ProgressTracker()
    if is_notebook():
        show = _rewrite_line(tracker, sys.stderr)
    else:
        show = _show_bar(tracker) if sys.stderr.isatty() else _write_heartbeats(tracker, sys.stderr, interval)
    with show as callback:
        yield callback


@contextmanager
def _write_heartbeats(tracker: ProgressTracker, stream: TextIO, interval: float) -> Iterator[Progress]:
    """Write a line in each interval from a thread, to show that a run that waits for its storage is alive."""
    end = threading.Event()

    def write() -> None:
        while not end.wait(interval):
            with suppress(OSError, ValueError):  # nobody reads it any more
                stream.write(f"deltaspec: {tracker.describe()}\n")
                stream.flush()

    thread = threading.Thread(target=write, name="progress", daemon=True)
    thread.start()
    try:
        yield tracker
    finally:
        end.set()
        thread.join()


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, such as Jupyter or Databricks."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _rewrite_line(tracker: ProgressTracker, stream: TextIO) -> Iterator[Progress]:
    """Show one line that changes, from a thread, and remove it at the end. Short runs show nothing."""
    end = threading.Event()

    def write() -> None:
        width = 0
        pause = PROGRESS_DELAY_SECONDS
        while not end.wait(pause):
            text, pause = tracker.describe(), _NOTEBOOK_SECONDS
            _write_over(stream, text, width)
            width = len(text)
        if width:
            _write_over(stream, "", width)

    thread = threading.Thread(target=write, name="progress", daemon=True)
    thread.start()
    try:
        yield tracker
    finally:
        end.set()
        thread.join()


def _write_over(stream: TextIO, text: str, width: int) -> None:
    """Replace a line of some width."""
    with suppress(OSError, ValueError):  # nobody reads it any more
        stream.write(f"\r{text:<{width}}" if text else f"\r{' ' * width}\r")
        stream.flush()


@contextmanager
def _show_bar(tracker: ProgressTracker) -> Iterator[Progress]:
    """Draw a bar in runs that are not short, and remove it at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = BarColumn(bar_width=20), TextColumn("{task.description}", markup=False)
    bars = Bars(*columns, transient=True, console=Console(stderr=True))
    started = time.monotonic()
    task = bars.add_task("", total=None)

    def report(phase: str, done: int, total: int | None) -> None:
        tracker(phase, done, total)
        bars.update(task, description=tracker.describe(), completed=tracker.done, total=tracker.total)
        if time.monotonic() - started > PROGRESS_DELAY_SECONDS:
            bars.start()

    try:
        yield report
    finally:
        bars.stop()

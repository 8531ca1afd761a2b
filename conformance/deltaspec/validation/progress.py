"""Progress callbacks of a run."""

import time
from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the phase, the amount done, and the total amount or None. A phase lasts until another one is reported."""


def ignore_progress(phase: str, done: int, total: int | None) -> None:
    """Report nothing."""


class PhaseTimer:
    """Pass progress on, and measure how long each phase takes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._phase = "start"
        self._since = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if phase != self._phase:
            self._measure(phase)
        self._progress(phase, done, total)

    def finish(self) -> dict[str, float]:
        """Return the seconds of each phase, in the order in which they began."""
        self._measure("end")
        return dict(self._seconds)

    def _measure(self, following: str) -> None:
        """End the current phase."""
        now = time.perf_counter()
        self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = following, now

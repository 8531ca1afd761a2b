"""Runs that end before they have checked everything: their time is up, or the user interrupts them.

A run stops between two steps, where it reports its progress. What it has not checked by then is in the ledger.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.validation.progress import Progress

BudgetArgument = str | float | timedelta | None
"""A duration such as `1h30m`, or seconds; None for no limit."""
_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")


class RunStopped(Exception):
    """Ends a run cleanly: the report says what was not checked."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.levels: tuple[str, ...] | None = None
        """Levels whose rules are not decided; None for all."""


class Budget(msgspec.Struct, frozen=True):
    """Time that a run may take. Executors of Spark receive it, so that it ends at a time of the clock."""

    text: str
    """The duration as the user wrote it."""
    end: float
    """When the time is up, in seconds since the epoch."""
    clock: Callable[[], float] = time.time

    @property
    def reason(self) -> str:
        """Why a run stopped, for the ledger."""
        return f"the budget of {self.text} was used"

    def check(self) -> None:
        """Raise `RunStopped` if the time is up."""
        if self.clock() >= self.end:
            raise RunStopped(self.reason)

    def limit(self, progress: Progress) -> Progress:
        """Return a callback that passes progress on, and raises `RunStopped` between steps if the time is up."""

        def report(phase: str, done: int, total: int | None) -> None:
            progress(phase, done, total)
            if done != total:  # otherwise the phase is finished, and its result counts
                self.check()

        return report


def parse_budget(value: BudgetArgument, clock: Callable[[], float] = time.time) -> Budget | None:
    """Start a budget.

    Args:
        value: hours, minutes and seconds such as `30m` or `1h30m`; or seconds; None for no limit.
        clock: returns seconds since the epoch.

    Raises:
        InvalidUsage: the value is not a duration above 0.
    """
    if value is None:
        return None
    text = str(value)
    seconds = 0.0
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds, text = float(value), f"{value:g}s"
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        hours, minutes, rest = (int(each or 0) for each in match.groups())
        seconds = 3600.0 * hours + 60 * minutes + rest
    if not 0 < seconds < 1e10:
        raise InvalidUsage(f"invalid budget {text!r}; write a duration above 0 such as 30m, 90s or 1h30m")
    return Budget(text, clock() + seconds, clock)


@contextmanager
def leaving_undecided(*levels: str) -> Iterator[None]:
    """Name the levels that are not decided if a run stops in this step, unless the step has named them."""
    try:
        yield
    except RunStopped as stop:
        if stop.levels is None:
            stop.levels = levels
        raise

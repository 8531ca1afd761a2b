"""Progress callbacks of a run."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the phase, the amount done, and the total amount or None."""


def ignore_progress(phase: str, done: int, total: int | None) -> None:
    """Report nothing."""

"""Shorten a history that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltaspec.suites.history_requests import STEP_ARGUMENTS
from deltaspec_generators.histories.drawing import Step


def shrink_steps(
    steps: Sequence[Step], still_fails: Callable[[Sequence[Step]], bool], attempts: int = 60
) -> tuple[Step, ...]:
    """Return a shorter history that still fails: operations are left out one by one, the last ones first.

    Args:
        steps: a history that fails.
        still_fails: whether a shorter history fails in the same way.
        attempts: maximum number of histories to try.
    """
    best = list(steps)
    position = len(best) - 1
    while position > 0 and attempts > 0:
        renumbered = [_renumber(each, position) for each in (*best[:position], *best[position + 1 :])]
        shorter = [each for each in renumbered if each is not None]
        attempts -= 1
        if len(shorter) == len(renumbered) and still_fails(shorter):
            best = shorter
        position -= 1
    return tuple(best)


def _renumber(step: Step, dropped: int) -> Step | None:
    """Return a step with the numbers of steps after a dropped one; None if it refers to that step."""
    operation = dict(step.operation)
    for name in STEP_ARGUMENTS:
        if name in operation:
            if operation[name] == dropped:
                return None
            operation[name] -= operation[name] > dropped
    return Step(operation, step.commit)

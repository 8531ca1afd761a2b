"""Delta debugging (ddmin): find a small subset of units for which a test still holds.

Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

Unit = TypeVar("Unit")


def minimize(units: Sequence[Unit], holds: Callable[[list[Unit]], bool]) -> list[Unit]:
    """Return a subset, in order, for which the test holds. No single unit of it can be left out.

    Args:
        units: all units, for which the test holds.
        holds: the test. If it returns False from some call on, the best subset so far is returned.
    """
    kept = list(units)
    if kept and holds([]):
        return []
    parts = 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        for start in range(0, len(kept), size):
            rest = kept[:start] + kept[start + size :]
            if rest and holds(rest):
                kept = rest
                parts = max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(kept))
    return kept

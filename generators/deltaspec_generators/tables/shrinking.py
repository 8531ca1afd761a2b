"""Shrink the choices of a table that shows a failure."""

from collections.abc import Callable, Iterator, Sequence

from deltaspec_generators.choices import RecordedChoices
from deltaspec_generators.tables.corpus import draw_table
from deltaspec_generators.tables.readable import ReadableTable

_BLOCKS = (64, 32, 16, 8, 4, 2, 1)


def shrink(
    sequence: Sequence[int], still_fails: Callable[[ReadableTable], bool], *, attempts: int = 2000
) -> tuple[int, ...]:
    """Return a simpler sequence of choices whose table still fails.

    Blocks of choices are deleted and single choices lowered, as long as the table fails and attempts are left.

    Args:
        sequence: choices of a table that fails.
        still_fails: whether a table shows the same failure; it is called at most `attempts` times.
        attempts: maximum number of tables to try.
    """
    seen: set[tuple[int, ...]] = set()

    def try_choices(candidate: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the choices that the candidate's table used, without trailing zeros, if it fails and is simpler."""
        nonlocal attempts
        if attempts <= 0 or candidate in seen:
            return None
        seen.add(candidate)
        attempts -= 1
        choices = RecordedChoices(candidate)
        table = draw_table(choices)
        used = strip_zeros(choices.sequence)
        return used if _rank(used) < _rank(best) and still_fails(table) else None

    best = strip_zeros(sequence)
    improved = True
    while improved and attempts > 0:
        improved = False
        for propose in (_delete_blocks, _lower_choices):
            position = 0
            while (step := next(propose(best, position), None)) is not None:
                position, candidates = step
                found = next(filter(None, map(try_choices, candidates)), None)
                if found is None:
                    position += 1
                else:
                    best, improved = found, True
    return best


def strip_zeros(sequence: Sequence[int]) -> tuple[int, ...]:
    """Remove trailing zeros, which are implied."""
    found = list(sequence)
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def _rank(sequence: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(sequence), sequence


Step = tuple[int, list[tuple[int, ...]]]
"""A position and the candidates that change the sequence there."""


def _delete_blocks(sequence: tuple[int, ...], start: int) -> Iterator[Step]:
    """Yield positions from `start` with candidates without a block of choices at it."""
    for at in range(start, len(sequence)):
        candidates = [sequence[:at] + sequence[at + size :] for size in _BLOCKS if at + size <= len(sequence)]
        # A choice before the block often decides how many choices follow.
        if sequence[at]:
            lowered = (*sequence[:at], sequence[at] - 1)
            candidates += [lowered + sequence[at + 1 + size :] for size in _BLOCKS if at + size < len(sequence)]
        yield at, candidates


def _lower_choices(sequence: tuple[int, ...], start: int) -> Iterator[Step]:
    """Yield positions from `start` with candidates that have a lower choice there."""
    for at in range(start, len(sequence)):
        if sequence[at]:
            lower = dict.fromkeys((0, sequence[at] // 2, sequence[at] - 1))
            yield at, [(*sequence[:at], each, *sequence[at + 1 :]) for each in lower]

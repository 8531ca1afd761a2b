"""Shrink the choices of a table that shows a failure: operations, columns, types, values and the layout of the log."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from deltaspec_generators.choices import RecordedChoices
from deltaspec_generators.tables.corpus import draw_table
from deltaspec_generators.tables.readable import ReadableTable

_BLOCKS = (64, 32, 16, 8, 4, 2, 1)
_TAILS = (0, 1, 2, 4, 6, 7)
"""Eighths of the choices that remain when the tail is cut off."""

Span = tuple[int, int]
Recorded = tuple[int, ...]
"""Recorded of a table, for `RecordedChoices`."""
Proposal = Iterator[tuple[int, Iterator[Recorded]]]
"""Positions, each with candidates that change the choices there."""


def shrink(
    sequence: Sequence[int],
    still_fails: Callable[[ReadableTable], bool],
    *,
    attempts: int = 2000,
    seconds: float | None = None,
) -> Recorded:
    """Return a simpler sequence of choices whose table still fails.

    First the tail is cut off, which has the layout of the log. Then operations and columns are left out, and choices
    that belong together are replaced by the simplest ones or deleted; then blocks of choices and single ones.

    Args:
        sequence: choices of a table that fails.
        still_fails: whether a table shows the same failure; it is called at most `attempts` times.
        attempts: maximum number of tables to try.
        seconds: time after which no further table is tried; None for no limit.
    """
    return _Shrinker(still_fails, attempts, seconds).shrink(strip_zeros(sequence))


class _Shrinker:
    """State of one search."""

    def __init__(self, still_fails: Callable[[ReadableTable], bool], attempts: int, seconds: float | None) -> None:
        self._still_fails = still_fails
        self._attempts = attempts
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._seen: set[Recorded] = set()
        self._best: Recorded = ()

    def shrink(self, sequence: Recorded) -> Recorded:
        """Try every kind of change again until none helps."""
        self._best = sequence
        improved = True
        while improved and not self._is_over():
            before = self._best
            for propose in (_cut_tail, _leave_out, _simplify_spans, _zero_blocks, _delete_blocks, _lower_choices):
                self._apply(propose)
            improved = self._best != before
        return self._best

    def _is_over(self) -> bool:
        return self._attempts <= 0 or (self._deadline is not None and time.monotonic() >= self._deadline)

    def _apply(self, propose: Callable[[Recorded, int], Proposal]) -> None:
        """Try the changes of one kind at each position; after a success, go on at the same position."""
        position = 0
        while not self._is_over() and (step := next(propose(self._best, position), None)) is not None:
            position, candidates = step
            found = next(filter(None, map(self._try, candidates)), None)
            if found is None:
                position += 1
            else:
                self._best = found

    def _try(self, candidate: Recorded) -> Recorded | None:
        """Return the choices that the candidate's table used, without trailing zeros, if it fails and is simpler."""
        if self._is_over() or candidate in self._seen:
            return None
        self._seen.add(candidate)
        choices = RecordedChoices(candidate)
        table = draw_table(choices)
        used = strip_zeros(choices.sequence)
        if _rank(used) >= _rank(self._best) or (used != candidate and used in self._seen):
            return None
        self._seen.add(used)
        self._attempts -= 1
        return used if self._still_fails(table) else None


def strip_zeros(sequence: Sequence[int]) -> Recorded:
    """Remove trailing zeros, which are implied."""
    found = list(sequence)
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def _rank(sequence: Recorded) -> tuple[int, Recorded]:
    return len(sequence), sequence


def _cut_tail(sequence: Recorded, start: int) -> Proposal:
    """Yield sequences without their tail."""
    for index in range(start, len(_TAILS)):
        yield index, iter([sequence[: len(sequence) * _TAILS[index] // 8]])


def _leave_out(sequence: Recorded, start: int) -> Proposal:
    """Yield choices without an operation or a column, the last ones first."""
    used, _, joint = _list_spans(sequence)
    for index in range(start, len(joint)):
        left = list(used)
        for first, last in sorted(joint[index], reverse=True):
            del left[first:last]
        yield index, iter([strip_zeros(left)])


@lru_cache(maxsize=16)
def _list_spans(sequence: Recorded) -> tuple[Recorded, list[Span], list[list[Span]]]:
    """Return the choices of a table, its spans, the largest first, and its joint spans, the last ones first."""
    choices = RecordedChoices(sequence)
    draw_table(choices)
    spans = {each for each in choices.spans if each[1] - each[0] > 1}
    by_size = sorted(spans, key=lambda each: (each[0] - each[1], each))
    return tuple(choices.sequence), by_size, list(choices.joint_spans.values())[::-1]


def _simplify_spans(sequence: Recorded, start: int) -> Proposal:
    """Yield choices in which one span, the largest first, has the simplest choices or is missing."""
    used, spans, _ = _list_spans(sequence)
    for index in range(start, len(spans)):
        yield index, _simplify_span(used, spans[index])


def _simplify_span(sequence: Recorded, span: tuple[int, int]) -> Iterator[Recorded]:
    """Yield the choices with the simplest ones in a span, and without the span; later choices keep their meaning."""
    start, end = span
    if any(sequence[start:end]):
        simple = RecordedChoices(sequence[:start])
        draw_table(simple)
        ends = [last for first, last in simple.spans if first == start]
        yield from (strip_zeros((*sequence[:start], *([0] * (last - start)), *sequence[end:])) for last in ends)
    yield strip_zeros(sequence[:start] + sequence[end:])


def _zero_blocks(sequence: Recorded, start: int) -> Proposal:
    """Yield choices in which all choices of a block are the simplest."""
    positions = [(size, at) for size in _BLOCKS[:-1] for at in range(0, len(sequence), size)]
    for index in range(start, len(positions)):
        size, at = positions[index]
        if any(sequence[at : at + size]):
            block = (0,) * len(sequence[at : at + size])
            yield index, iter([strip_zeros(sequence[:at] + block + sequence[at + size :])])


def _delete_blocks(sequence: Recorded, start: int) -> Proposal:
    """Yield positions from `start` with candidates without a block of choices at it."""
    for at in range(start, len(sequence)):
        candidates = [sequence[:at] + sequence[at + size :] for size in _BLOCKS if at + size <= len(sequence)]
        # A choice before the block often decides how many choices follow.
        if sequence[at]:
            lowered = (*sequence[:at], sequence[at] - 1)
            candidates += [lowered + sequence[at + 1 + size :] for size in _BLOCKS if at + size < len(sequence)]
        yield at, iter(candidates)


def _lower_choices(sequence: Recorded, start: int) -> Proposal:
    """Yield positions from `start` with candidates that have a lower choice there."""
    for at in range(start, len(sequence)):
        if sequence[at]:
            lower = dict.fromkeys((0, sequence[at] // 2, sequence[at] - 1))
            yield at, iter([(*sequence[:at], each, *sequence[at + 1 :]) for each in lower])

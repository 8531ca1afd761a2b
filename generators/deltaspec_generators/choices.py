"""Choices that a generator makes: from a seed, from Hypothesis, or from a recorded sequence.

Every choice is one integer from 0 up to a limit, and 0 is the simplest. Therefore one generator serves corpora,
`@given` and the shrinking of failures:

    draw_table(SeededChoices(seed=7, index=3))    # the same table in every program
    draw_table(DrawnChoices(draw))                # Hypothesis shrinks it
    draw_table(RecordedChoices(failed.sequence))  # replays or simplifies a table
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_WORD = 2**32


class Choices(ABC):
    """Source of choices. All methods depend only on `choose`.

    A choice between one option counts too, so that the later choices keep their positions where options disappear.
    """

    def __init__(self) -> None:
        self.sequence: list[int] = []
        """The choices made so far, for `RecordedChoices`."""
        self.spans: list[tuple[int, int]] = []
        """Start and end of choices that belong together, such as one repetition or one operation, inner ones first."""
        self.joint_spans: dict[str, list[tuple[int, int]]] = {}
        """Spans that can only be left out together, by name, such as a column and its values in every file."""

    def choose(self, limit: int) -> int:
        """Return an integer from 0 to `limit - 1`; 0 is the simplest."""
        chosen = self._choose(limit)
        self.sequence.append(chosen)
        return chosen

    @abstractmethod
    def _choose(self, limit: int) -> int: ...

    def integer(self, low: int, high: int) -> int:
        """Return an integer from `low`, the simplest, to `high`."""
        return low + self.choose(high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options; the first is the simplest."""
        return options[self.choose(len(options))]

    def chance(self, numerator: int, denominator: int) -> bool:
        """Return True with this probability; False is simpler."""
        return self.choose(denominator) >= denominator - numerator

    def repeat(self, low: int, high: int) -> Iterator[int]:
        """Yield 0, 1, ... for `low` to `high` repetitions, all equally likely.

        The choice to continue comes before each repetition, so a shorter sequence of choices drops single repetitions.
        """
        begin = len(self.sequence)
        for number in range(high):
            start = len(self.sequence)
            if number >= low and not self.choose(high - number + 1):
                break
            yield number
            self.spans.append((start, len(self.sequence)))
        self.spans.append((begin, len(self.sequence)))

    @contextmanager
    def span(self, name: str = "", *, before: int = 0) -> Iterator[None]:
        """Record that the choices made within belong together.

        Args:
            name: name of the joint spans to which they belong; empty for none.
            before: number of choices already made that belong to them, too.
        """
        start = len(self.sequence) - before
        yield
        found = start, len(self.sequence)
        self.spans.append(found)
        if name:
            self.joint_spans.setdefault(name, []).append(found)

    def sample(self, options: Sequence[T], low: int, high: int) -> list[T]:
        """Return `low` to `high` different options, in random order."""
        left = list(options)
        return [left.pop(self.choose(len(left))) for _ in self.repeat(low, min(high, len(options)))]

    def group(self, function: Callable[[], None]) -> None:
        """Make the choices of a function, at least one; Hypothesis may drop them together."""
        function()

    def shuffle(self, options: Sequence[T]) -> list[T]:
        """Return all options in random order."""
        return self.sample(options, len(options), len(options))


class SeededChoices(Choices):
    """Choices of number `index` of a seed. They depend on nothing else: no platform, library or other table.

    Only `Random.random` is used, because Python guarantees its sequence for all releases.
    """

    def __init__(self, seed: int, index: int) -> None:
        super().__init__()
        self._random = random.Random(f"deltaspec tables {seed} {index}").random

    def _choose(self, limit: int) -> int:
        if limit <= _WORD:
            return int(self._random() * limit)
        words = (limit.bit_length() + 63) // 32  # at least 32 bits more than the limit has
        return sum(int(self._random() * _WORD) << 32 * index for index in range(words)) % limit


class RecordedChoices(Choices):
    """Choices of a recorded sequence. After its end every choice is 0; a choice above its limit is reduced to it."""

    def __init__(self, recorded: Sequence[int]) -> None:
        super().__init__()
        self._recorded = recorded

    def _choose(self, limit: int) -> int:
        at = len(self.sequence)
        return min(self._recorded[at], limit - 1) if at < len(self._recorded) else 0


class DrawnChoices(Choices):
    """Choices of a Hypothesis test."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        from hypothesis import strategies  # a dependency of tests only

        super().__init__()
        self._draw, self._integers = draw, strategies.integers
        self._groups = strategies.composite(self._make_choices)

    def group(self, function: Callable[[], None]) -> None:
        """Make the choices of a function, at least one, in a separate draw."""
        self._draw(self._groups(function))

    def _make_choices(self, draw: Callable[[Any], Any], function: Callable[[], None]) -> None:
        outer, self._draw = self._draw, draw
        function()
        self._draw = outer

    def _choose(self, limit: int) -> int:
        chosen: int = self._draw(self._integers(0, limit - 1))
        return chosen

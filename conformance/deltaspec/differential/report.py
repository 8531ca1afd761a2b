"""Results of compared histories."""

from __future__ import annotations

import msgspec

from deltaspec.differential.performing import Comparison
from deltaspec.suites.outcomes import build_signature


class FoundDifference(msgspec.Struct, frozen=True):
    """A difference of a history."""

    aspect: str
    message: str
    steps: int

    @property
    def signature(self) -> str:
        """The kind of difference, without numbers, names and values."""
        return build_signature(self.message)


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one history; seed and number draw it again."""

    seed: int
    number: int
    seconds: float
    titles: tuple[str, ...]
    """One line for each operation."""
    differences: tuple[FoundDifference, ...]
    counts: dict[str, int]

    @classmethod
    def of(cls, seed: int, number: int, done: Comparison, seconds: float) -> HistoryResult:
        """Return the result of a comparison."""
        found = tuple(FoundDifference(each.aspect, each.message, each.steps) for each in done.differences)
        counts = {name: count for name, count in sorted(done.counts.items()) if count}
        return cls(
            seed=seed, number=number, seconds=seconds, titles=tuple(done.titles), differences=found, counts=counts
        )


def describe_result(result: HistoryResult) -> str:
    """Return one line about a history."""
    found = "; ".join(each.signature for each in result.differences) or "equal"
    return f"{result.seed}.{result.number}: {len(result.titles)} operations, {result.seconds:.1f} s: {found}"

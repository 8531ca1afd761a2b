"""Results of a history that a candidate performed, operation by operation."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

import msgspec

from deltaspec.candidates.host import Died

Aspect: TypeAlias = Literal[
    "operations",
    "refusals",
    "files",
    "valid",
    "rows",
    "state",
    "changes",
    "row-ids",
    "timestamps",
    "cleanup",
    "clustering",
    "type-changes",
    "readers",
]
StepOutcome: TypeAlias = Literal["done", "refused", "not supported", "failed"]
"""Outcome of an operation, for the counts of reports. `failed`: the answer is wrong, or the table is wrong after it."""


class Problem(msgspec.Struct, frozen=True):
    """A fault found after an operation."""

    message: str
    """The first line describes the fault; the operation follows."""
    steps: int
    """Number of steps up to the operation."""
    is_weak: bool = False
    died: Died | None = None


class Performance(msgspec.Struct):
    """Results of one history, which all checks of the suite share."""

    titles: list[str] = msgspec.field(default_factory=list)
    """One line for each operation."""
    problems: dict[Aspect, Problem] = msgspec.field(default_factory=dict)
    """First problem of each aspect."""
    counts: dict[Aspect, Counter[str]] = msgspec.field(default_factory=dict)
    rules: set[str] = msgspec.field(default_factory=set)
    """Rules that the table violates."""
    not_asked: str = ""
    """Why the candidate cannot create the table; empty if it can."""
    not_supported: set[str] = msgspec.field(default_factory=set)
    """Kinds of operations that it declares but refused as unsupported."""

    def note(self, aspect: Aspect, problem: Problem) -> None:
        """Record the first problem of an aspect."""
        self.problems.setdefault(aspect, problem)

    def count(self, aspect: Aspect, name: str, number: int = 1) -> None:
        """Add to a count of an aspect."""
        self.counts.setdefault(aspect, Counter())[name] += number

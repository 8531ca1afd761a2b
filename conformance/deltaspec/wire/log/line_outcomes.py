"""What became of the lines of a JSON log file: a few bytes each, however many of them are at fault.

Lines of which the same is to be said share it, so that a file of line feeds takes four bytes for each.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from deltaspec.wire.log.line_validation import LineError


class Outcome(NamedTuple):
    """What became of a line."""

    kind: str | None
    """Wire name of its single known action, decodable or not; None otherwise."""
    fault: LineError | None = None
    """What is odd about it; None where nothing is."""


UNREAD = 0
"""Code of lines that were not decoded, though they may be sound."""


class LineOutcomes:
    """The outcomes of lines, in order."""

    def __init__(self) -> None:
        self.codes = array("I")
        """For each line the place of its outcome in `distinct`."""
        self.distinct = [Outcome(None)]
        """Every outcome once; that of lines that were not decoded is `UNREAD`."""
        self._codes: dict[tuple[str | None, LineError | None], int] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Outcome]:
        return map(self.distinct.__getitem__, self.codes)

    def code(self, kind: str | None, fault: LineError | None = None) -> int:
        """The code of an outcome, given to it when it is met for the first time."""
        code = self._codes.get((kind, fault))
        if code is None:
            outcome = Outcome(kind, fault)
            code = self._codes[outcome] = len(self.distinct)
            self.distinct.append(outcome)
        return code

    def counts(self) -> list[tuple[Outcome, int]]:
        """Every outcome, and of how many lines it is."""
        return [(self.distinct[code], number) for code, number in sorted(Counter(self.codes).items())]

    @property
    def undecoded_kinds(self) -> set[str | None]:
        """Kinds of the actions that could not be decoded; None stands for a line of unknown kind."""
        return {fault.kind for _, fault in self.distinct if fault is not None and fault.is_undecodable}

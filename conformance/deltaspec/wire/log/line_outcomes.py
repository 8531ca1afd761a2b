"""Outcomes of the lines of a JSON log file, in a few bytes each, however many have defects.

Lines with equal outcomes share one object, so a file of line feeds takes four bytes per line.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from deltaspec.wire.log.line_validation import LineError


class Outcome(NamedTuple):
    """Outcome of decoding a line."""

    kind: str | None
    """Wire name of its single known action, decodable or not; None otherwise."""
    fault: LineError | None = None
    """Defect of the line; None if it has none."""


UNKNOWN_ACTION = "unknown action"
UNREAD = 0
"""Code of lines that were not decoded but may be valid."""


class LineOutcomes:
    """The outcomes of lines, in order."""

    def __init__(self) -> None:
        self.codes = array("I")
        """Index in `distinct` of the outcome of each line."""
        self.distinct = [Outcome(None)]
        """Distinct outcomes; the one at index `UNREAD` is of lines that were not decoded."""
        self._codes: dict[tuple[str | None, LineError | None], int] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Outcome]:
        return map(self.distinct.__getitem__, self.codes)

    def code(self, kind: str | None, fault: LineError | None = None) -> int:
        """Return the code of an outcome; a new outcome gets a new code."""
        code = self._codes.get((kind, fault))
        if code is None:
            outcome = Outcome(kind, fault)
            code = self._codes[outcome] = len(self.distinct)
            self.distinct.append(outcome)
        return code

    def counts(self) -> list[tuple[Outcome, int]]:
        """Return every outcome and its number of lines."""
        codes = self.codes
        if len(self.distinct) < 10:  # as in almost every file
            found = [(code, codes.count(code)) for code in range(len(self.distinct))]
        else:
            found = sorted(Counter(codes).items())
        return [(self.distinct[code], number) for code, number in found if number]

    @property
    def first_kind(self) -> str | None:
        """Wire name of the first action; `UNKNOWN_ACTION` if its name is unknown, None if there is none."""
        for code in self.codes:
            kind, fault = self.distinct[code]
            if kind is not None:
                return kind
            if code != UNREAD and (fault is None or fault.actions):
                return UNKNOWN_ACTION
        return None

    @property
    def undecoded_kinds(self) -> set[str | None]:
        """Kinds of the actions that could not be decoded; None stands for a line of unknown kind."""
        return {fault.kind for _, fault in self.distinct if fault is not None and fault.is_undecodable}

"""Outcomes of the lines of a JSON log file, in a few bytes each, however many have defects.

Lines with equal outcomes share one object, so a file of line feeds takes four bytes per line.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from deltaspec.wire.log.line_validation import LineError


class Outcome(NamedTuple):
    """Outcome of decoding a line."""

    kind: str | None
    """Wire name of its single known action, decodable or not; None otherwise."""
    fault: LineError | None = None
    """Defect of the line; None if it has none."""


class OutcomeSummary(NamedTuple):
    """The outcomes of the lines of a file, counted. Summaries may be shared; do not change them."""

    kinds: Counter[str | None]
    """Number of lines by the wire name of their single known action; None for none or several."""
    first_kind: str | None
    """Wire name of the first action; `UNKNOWN_ACTION` if its name is unknown, None if there is none."""
    blank_lines: int
    undecoded_kinds: frozenset[str | None]
    """Kinds of the actions that could not be decoded; None stands for a line of unknown kind."""


UNKNOWN_ACTION = "unknown action"
UNREAD = 0
"""Code of lines that were not decoded but may be valid."""


class LineOutcomes:
    """The outcomes of lines, in order."""

    def __init__(self) -> None:
        self.codes = array("I")
        """Index in `distinct` of the outcome of each line."""
        self.distinct = [Outcome(None)]
        """Distinct outcomes; index `UNREAD` is for lines that were not decoded."""
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
        return [(self.distinct[code], number) for code, number in Counter(self.codes).items()]

    def summary(self) -> OutcomeSummary:
        """Return the summary of the outcomes, which does not depend on their lines."""
        codes, distinct = self.codes, tuple(self.distinct)
        if len(codes) > _FEW_LINES or any(fault is not None for _, fault in distinct):
            return _summarize_outcomes(codes, distinct)
        return summarize_few_outcomes(codes.tobytes(), distinct)


_FEW_LINES = 8
"""Maximum number of lines of a file whose summary is cached: most commits of a table have lines of the same kinds.

Summaries of files with defects are not cached, because the text of a defect may be as long as its line.
"""


@lru_cache(maxsize=1024)
def summarize_few_outcomes(codes: bytes, distinct: tuple[Outcome, ...]) -> OutcomeSummary:
    """Return the summary of a file with few lines, from a cache if it is known."""
    return _summarize_outcomes(array("I", codes), distinct)


def _summarize_outcomes(codes: "array[int]", distinct: tuple[Outcome, ...]) -> OutcomeSummary:
    kinds, blank_lines = Counter[str | None](), 0
    for code, number in Counter(codes).items():
        kind, fault = distinct[code]
        kinds[kind] += number
        if fault is not None and fault.is_blank:
            blank_lines += number
    undecoded = frozenset(fault.kind for _, fault in distinct if fault is not None and fault.is_undecodable)
    return OutcomeSummary(kinds, _find_first_kind(codes, distinct), blank_lines, undecoded)


def _find_first_kind(codes: "array[int]", distinct: tuple[Outcome, ...]) -> str | None:
    for code in codes:
        kind, fault = distinct[code]
        if kind is not None:
            return kind
        if code != UNREAD and (fault is None or fault.actions):
            return UNKNOWN_ACTION
    return None

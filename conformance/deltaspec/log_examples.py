"""Log lines of a table that violates a rule and of a similar sound table, for `deltaspec explain`.

The lines come from the planted faults that test the rules. These need hypothesis, which an installation may lack, so
`log_examples.json` has what `nox -s explain_data` wrote; a test compares it with the planted faults.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import accumulate
from pathlib import Path

import msgspec
from msgspec.json import decode

from deltaspec.report.text import count, escape_text

FILE = Path(__file__).with_suffix(".json")
_TOKEN = re.compile(r"\w+|.", re.S)
_APART = 4
"""Differences with fewer characters between them are marked as one."""
_CONTEXT = 36
"""Characters that are shown before and after a difference."""
_GAP = 16
"""Characters without a difference that are always shown."""
ELLIPSIS = "…"


class LinePair(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the sound table, and the line of the other table in its place."""

    file: str
    """Path relative to the table. A line of a Parquet file is a row as JSON, without nulls."""
    conforms: str | None = None
    """None if the sound table does not have the line."""
    violates: str | None = None
    """None if the other table does not have the line."""
    file_lines: int = 0
    """Lines of a file that only one table has; the first line stands for the file."""


class LogExample(msgspec.Struct, frozen=True, omit_defaults=True):
    """Lines in which a table that violates a rule differs from a sound one."""

    planted_fault: str
    """Function in `planted_tables.faults` that draws the table."""
    pairs: tuple[LinePair, ...]
    more: int = 0
    """Number of other lines that differ."""


@cache
def load_log_examples() -> dict[str, LogExample]:
    """Return the examples by code of the rule. Rules whose violation shows only in other files have none."""
    return decode(FILE.read_bytes(), type=dict[str, LogExample])


class Part(msgspec.Struct, frozen=True):
    """A part of a line as it is shown."""

    text: str
    """Empty if the other line has more at this position."""
    differs: bool


Mark = tuple[int, int]
"""First character of a difference, and the one after it."""


def find_marks(first: str | None, second: str | None) -> tuple[list[Mark], list[Mark]]:
    """Return the parts of two lines that differ, for each line; nothing if one line is missing.

    What only one line has is an empty part of the other. Spaces between words count only if nothing else differs.
    """
    if first is None or second is None:
        return [], []
    tokens, others = _TOKEN.findall(first), _TOKEN.findall(second)
    starts, other_starts = _find_starts(tokens), _find_starts(others)
    blocks = [
        each for each in SequenceMatcher(None, tokens, others, autojunk=False).get_opcodes() if each[0] != "equal"
    ]
    more_than_spaces = [each for each in blocks if {*tokens[each[1] : each[2]], *others[each[3] : each[4]]} != {" "}]
    marks: list[Mark] = []
    other_marks: list[Mark] = []
    for _, begin, end, other_begin, other_end in more_than_spaces or blocks:
        start, other_start = starts[begin], other_starts[other_begin]
        if marks and start - marks[-1][1] < _APART:
            start, other_start = marks.pop()[0], other_marks.pop()[0]
        marks.append((start, starts[end]))
        other_marks.append((other_start, other_starts[other_end]))
    return marks, other_marks


def _find_starts(tokens: Sequence[str]) -> list[int]:
    """Return where each token begins in its line, and the length of the line."""
    return [0, *accumulate(map(len, tokens))]


def split_line(text: str, marks: Sequence[Mark]) -> list[Part]:
    """Return a line in parts, with an ellipsis for what is far from a difference. Invisible characters are escaped."""
    parts = []
    before = 0
    for start, end in (*marks, (len(text), len(text))):
        same = text[before:start]
        first = 0 if before == 0 else _CONTEXT
        last = 0 if start == len(text) and before else _CONTEXT
        if marks and len(same) > first + last + _GAP:
            same = f"{same[:first]}{ELLIPSIS}{same[len(same) - last :]}"
        parts += [Part(escape_text(same), False), Part(escape_text(text[start:end]), True)]
        before = end
    return parts[:-1]


def describe_missing(pair: LinePair) -> str:
    """Return what a table has instead of a line that it does not have."""
    return "(no such file)" if pair.file_lines else "(no such line)"


def describe_more(example: LogExample) -> str:
    """Return how many more lines differ; empty if none does."""
    if not example.more:
        return ""
    return f"{count(example.more, 'more line')} of the log {'differs' if example.more == 1 else 'differ'}."


def render_log_example(example: LogExample, width: int) -> list[str]:
    """Return an example as lines of text; `^` marks differences in the line above."""
    lines = []
    for pair in example.pairs:
        lines.append(pair.file)
        marks, other_marks = find_marks(pair.conforms, pair.violates)
        for label, text, differs in (("conforms", pair.conforms, marks), ("violates", pair.violates, other_marks)):
            head = f"  {label}  "
            if text is None:
                lines.append(head + describe_missing(pair))
                continue
            lines += _mark_line(split_line(text, differs), head, width)
            if pair.file_lines > 1:
                lines.append(f"{' ' * len(head)}({count(pair.file_lines - 1, 'more line')})")
    return lines + ([describe_more(example)] if example.more else [])


def _mark_line(parts: Sequence[Part], head: str, width: int) -> list[str]:
    """Return a line, wrapped at `width` characters, with the marks below each part of it."""
    shown, marks = "", ""
    for part in parts:
        marks = marks.ljust(len(shown)) + ("^" * max(len(part.text), 1) if part.differs else "")
        shown += part.text
    room = max(width, 40) - len(head)
    lines = []
    for start in range(0, max(len(shown), len(marks)), room):
        lines.append((head if start == 0 else " " * len(head)) + shown[start : start + room])
        if carets := marks[start : start + room].rstrip():
            lines.append(" " * len(head) + carets)
    return lines

"""What the first page of a site shows: tables by verdict, what is new, rules by number of tables, and the trend."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import field

from deltaspec.lake.state import LETTERS, NO_REPORT, Change, LakeState, LastResult, TableState
from deltaspec.rules import RULES
from deltaspec.scales import HARMS, SEVERITIES

TREND_NIGHTS = 30
_VERDICTS = {letter: verdict for verdict, letter in LETTERS.items()}
_UNDECIDED = ("incomplete", "refused")
_NO_RESULT = ("unreadable", "unavailable", "failed", "not run")
TREND_PARTS: dict[str, tuple[str, ...]] = {
    "violations": ("violations",),
    "incomplete": _UNDECIDED,
    "no report": _NO_RESULT,
}
"""What the trend counts, from the bottom of each column."""


class TableEntry(msgspec.Struct, frozen=True):
    """A table with its history."""

    table: str
    """Path or URI."""
    name: str
    """Name of its page, without the extension."""
    owner: str
    """Empty if the configuration names none."""
    state: TableState
    new: list[Change]
    gone: list[Change]
    is_late: bool
    """Whether other tables have a report of a later night."""

    @property
    def last(self) -> LastResult:
        """The last result."""
        return self.state.last

    @property
    def found(self) -> int:
        """Number of findings."""
        return sum(self.last.counts.values())

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """Key that sorts tables, worst first."""
        harms = [list(HARMS).index(RULES[rule].harm) for rule in self.last.rules if rule in RULES]
        found = self.last.counts.get(SEVERITIES[0], 0) or self.found
        return list(LETTERS).index(self.last.verdict), min(harms, default=len(HARMS)), -found, self.table


def build_entry(table: str, state: LakeState, name: str, owner: str) -> TableEntry:
    """Build the entry of a table from what the history knows."""
    known = state.tables[table]
    return TableEntry(table, name, owner, known, known.new, known.gone, known.night < state.nights[-1])


class TableChange(msgspec.Struct, frozen=True):
    """What is new or gone in a table."""

    entry: TableEntry
    change: Change


class RuleTables(msgspec.Struct, frozen=True):
    """The tables with findings of a rule."""

    code: str
    tables: list[TableEntry]

    @property
    def findings(self) -> int:
        """Number of findings in all these tables."""
        return sum(each.last.rules[self.code] for each in self.tables)


class Reason(msgspec.Struct, frozen=True):
    """Why something was not checked, and in which tables."""

    text: str
    rules: list[str]
    tables: list[TableEntry]


class Night(msgspec.Struct, frozen=True):
    """Tables by verdict, as far as they were known at the end of a night."""

    day: str
    counts: dict[str, int]
    """By name of `TREND_PARTS`."""
    conforms: int

    @property
    def bad(self) -> int:
        """Number of tables that do not conform."""
        return sum(self.counts.values())


class Overview(msgspec.Struct, frozen=True):
    """Everything that the first page shows."""

    tables: list[TableEntry]
    """Worst first."""
    nights: list[Night]
    """The last nights, at most `TREND_NIGHTS`."""
    days: list[str]
    """All nights of the history."""
    new: list[TableChange]
    """Most harmful first."""
    gone: list[TableChange]
    rules: list[RuleTables]
    """By severity, then by number of tables."""
    unchecked: list[Reason]
    """By number of tables."""
    notes: list[str] = field(default_factory=list)
    """Sentences about the reports."""

    @property
    def verdicts(self) -> list[tuple[str, int]]:
        """Number of tables by verdict, worst first; verdicts without a table are left out, except of `conforms`."""
        found = Counter(each.last.verdict for each in self.tables)
        return [(verdict, found[verdict]) for verdict in LETTERS if found[verdict] or verdict == "conforms"]

    @property
    def late(self) -> list[TableEntry]:
        """Tables without a report of the last night."""
        return [each for each in self.tables if each.is_late]

    @property
    def measured(self) -> list[TableEntry]:
        """Tables whose size is known, largest first."""
        known = [each for each in self.tables if each.last.bytes is not None]
        return sorted(known, key=lambda each: (-(each.last.bytes or 0), each.table))

    @property
    def owners(self) -> list[str]:
        """All owners."""
        return sorted({each.owner for each in self.tables} - {""})

    @property
    def oldest(self) -> list[TableEntry]:
        """Tables by age of the last complete check: those without one first."""
        return sorted(self.tables, key=lambda each: (each.state.complete_ms or 0, each.table))


def build_overview(entries: Iterable[TableEntry], state: LakeState, notes: Sequence[str]) -> Overview:
    """Build the overview of a site.

    Args:
        entries: last result of each table.
        state: history of all tables.
        notes: sentences about the reports.
    """
    tables = sorted(entries, key=lambda each: each.rank)
    by_rule: dict[str, list[TableEntry]] = defaultdict(list)
    by_reason: dict[str, tuple[dict[str, None], list[TableEntry]]] = defaultdict(lambda: ({}, []))
    for each in tables:
        for rule in each.last.rules:
            by_rule[rule].append(each)
        for reason, undecided in _group_reasons(each.last.unchecked).items():
            codes, concerned = by_reason[reason]
            codes.update(dict.fromkeys(undecided))
            concerned.append(each)
        if each.last.reason:
            by_reason[f"{each.last.verdict}: {each.last.reason}"][1].append(each)
    rules = [RuleTables(code, found) for code, found in by_rule.items()]
    reasons = [Reason(text, list(codes), found) for text, (codes, found) in by_reason.items()]
    new = [TableChange(each, change) for each in tables for change in each.new]
    gone = [TableChange(each, change) for each in tables for change in each.gone]
    return Overview(
        tables=tables,
        nights=list(_count_nights(state, [each.state.verdicts for each in tables]))[-TREND_NIGHTS:],
        days=state.nights,
        new=sorted(new, key=lambda each: (*rank_rule(each.change.rule), each.entry.table)),
        gone=sorted(gone, key=lambda each: (*rank_rule(each.change.rule), each.entry.table)),
        rules=sorted(rules, key=lambda each: (rank_rule(each.code)[0], -len(each.tables), rank_rule(each.code))),
        unchecked=sorted(reasons, key=lambda each: (-len(each.tables), each.text)),
        notes=list(notes),
    )


def rank_rule(code: str) -> tuple[int, int, str]:
    """Return a key that sorts rules by severity, harm and code. Rules of other releases come last."""
    rule = RULES.get(code)
    if rule is None:
        return len(SEVERITIES), len(HARMS), code
    return SEVERITIES.index(rule.severity), list(HARMS).index(rule.harm), code


def _group_reasons(unchecked: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for rule, reason in unchecked.items():
        found[_generalize(reason)].append(rule)
    return found


def _generalize(reason: str) -> str:
    """Return a reason without the path at its start, so that tables with the same reason are counted together."""
    path, colon, rest = reason.partition(": ")
    return rest if colon and "/" in path and " " not in path else reason


def _count_nights(state: LakeState, histories: Sequence[str]) -> Iterator[Night]:
    """Yield the nights. A table without a report of a night counts with its last verdict before."""
    current = [NO_REPORT] * len(histories)
    for number, day in enumerate(state.nights):
        for at, history in enumerate(histories):
            if history[number] != NO_REPORT:
                current[at] = history[number]
        found = Counter[str](_VERDICTS[letter] for letter in current if letter != NO_REPORT)
        counts = {part: sum(found[verdict] for verdict in verdicts) for part, verdicts in TREND_PARTS.items()}
        yield Night(day, counts, found["conforms"])

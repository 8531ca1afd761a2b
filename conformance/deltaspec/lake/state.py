"""What is known of each table from night to night: verdicts, findings, and the time of the last complete check.

A night is a day in UTC. If a table has several reports of a night, the last one counts, so that reading a report twice
changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec
from msgspec import field

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.report.report_types import Checked, is_incomplete
from deltaspec.report.tables_summary import TableResult, TableVerdict

STATE_VERSION = 1
NIGHTS = 100
"""Maximum number of nights that are kept."""
LETTERS: dict[TableVerdict, str] = {
    "violations": "v",
    "incomplete": "i",
    "refused": "r",
    "unreadable": "u",
    "unavailable": "a",
    "failed": "f",
    "not run": "n",
    "conforms": "c",
}
"""Letter of each verdict in the history of a table, worst first."""
NO_REPORT = "."
"""Letter of a night without a report of the table."""
_MOST_FINGERPRINTS = 200
_MOST_BYTES = 1 << 30


class StoredFinding(msgspec.Struct, frozen=True):
    """The part of a finding that identifies it."""

    rule: str
    fingerprint: str = ""


class StoredInventory(msgspec.Struct, frozen=True):
    """The size of a table."""

    live_files: int
    live_bytes: int


class StoredReport(msgspec.Struct, frozen=True):
    """The part of a report that the history needs."""

    report_version: int
    table: str
    verdict: TableVerdict
    totals: dict[str, int]
    findings: list[StoredFinding]
    checked: Checked
    version: int | None = None
    level: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    accepted_totals: dict[str, int] = field(default_factory=dict)
    inventory: StoredInventory | None = None
    stopped: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether everything that was requested was checked."""
        return self.verdict != "refused" and not is_incomplete(self.checked.not_checked, self.stopped)

    @property
    def unchecked(self) -> dict[str, str]:
        """First reason of each rule and feature that could not be decided, unless the user accepts it."""
        found: dict[str, str] = {}
        for each in self.checked.not_checked:
            if not each.accepted:
                found.setdefault(each.rule, each.reason)
        return found


class LastResult(msgspec.Struct, frozen=True):
    """The last result of a table."""

    verdict: TableVerdict = "not run"
    version: int | None = None
    level: str | None = None
    reason: str = ""
    """Why there is no report; empty if there is one."""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of findings, by severity."""
    rules: dict[str, int] = field(default_factory=dict)
    """Number of findings, by rule."""
    unchecked: dict[str, str] = field(default_factory=dict)
    """First reason of each rule that could not be decided."""
    files: int | None = None
    """Number of live files; None if the directories were not listed."""
    bytes: int | None = None


class KnownRule(msgspec.Struct, frozen=True, array_like=True):
    """The known findings of a rule in a table."""

    total: int
    fingerprints: list[str] | None = None
    """None if the report does not have all findings, or too many to keep."""


class Change(msgspec.Struct, frozen=True, array_like=True):
    """A change of the number of findings of a rule in a table."""

    rule: str
    number: int
    """How many findings are new or gone."""
    is_rule: bool
    """Whether the rule had no finding before, or has none any more."""


class TableState(msgspec.Struct):
    """What is known of a table."""

    verdicts: str = ""
    """A letter for each night of the state."""
    findings: list[int] = field(default_factory=list)
    """Number of findings of each night; 0 without a report."""
    night: str = ""
    """Last night with a report."""
    checked_ms: int = 0
    """Time of the last report, in milliseconds since the epoch."""
    complete_ms: int | None = None
    """Time of the last report of a complete check; None if there is none."""
    before: dict[str, KnownRule] = field(default_factory=dict)
    """Findings that were known before the last night, by rule."""
    known: dict[str, KnownRule] = field(default_factory=dict)
    """Findings that are known now, by rule."""
    verdict_before: str = ""
    """Letter of the verdict before the last night; empty if there was none."""
    last: LastResult = LastResult()

    @property
    def new(self) -> list[Change]:
        """Findings that the last night has and the one before had not."""
        return list_new(self.before, self.known) if self.verdict_before else []

    @property
    def gone(self) -> list[Change]:
        """Findings that the night before had and the last one has not."""
        return list_new(self.known, self.before)


class LakeState(msgspec.Struct):
    """All tables of a site."""

    state_version: int = STATE_VERSION
    nights: list[str] = field(default_factory=list)
    """Days in UTC, as YYYY-MM-DD, in order."""
    tables: dict[str, TableState] = field(default_factory=dict)
    """By location."""

    def record(self, table: str, time_ms: int, result: TableResult, report: StoredReport | None) -> TableState:
        """Record the result of a table.

        Args:
            table: its location, the same in every run.
            time_ms: when the report was written, in milliseconds since the epoch.
            result: of the table.
            report: of the table; None if there is none.
        """
        night = datetime.fromtimestamp(time_ms / 1000, UTC).date().isoformat()
        position = self._find_night(night)
        known = self.tables.setdefault(table, TableState())
        self._pad(known)
        is_older = time_ms < known.checked_ms
        if is_older and night == known.night:
            return known
        letter = LETTERS[result.verdict]
        known.verdicts = known.verdicts[:position] + letter + known.verdicts[position + 1 :]
        known.findings[position] = sum(result.counts.values())
        if is_older:
            return known
        if night != known.night:
            earlier = known.verdicts[:position].rstrip(NO_REPORT)
            known.before, known.verdict_before = known.known, earlier[-1:]
        known.night, known.checked_ms = night, time_ms
        known.last = _build_last(result, report)
        if report is not None:
            known.known = list_known(known.before, report)
            if report.is_complete:
                known.complete_ms = time_ms
        return known

    def finish(self) -> None:
        """Keep the last nights only, give every table a letter for each, and drop tables without any report in them."""
        surplus = max(0, len(self.nights) - NIGHTS)
        self.nights = self.nights[surplus:]
        for table in self.tables.values():
            self._pad(table, surplus)
            table.verdicts, table.findings = table.verdicts[surplus:], table.findings[surplus:]
        self.tables = {name: each for name, each in self.tables.items() if each.verdicts.strip(NO_REPORT)}

    def _find_night(self, night: str) -> int:
        if night in self.nights[-1:]:
            return len(self.nights) - 1
        if night in self.nights:
            return self.nights.index(night)
        position = sum(each < night for each in self.nights)
        self.nights.insert(position, night)
        if position < len(self.nights) - 1:  # a report that is older than others
            for table in self.tables.values():
                table.verdicts = table.verdicts[:position] + NO_REPORT + table.verdicts[position:]
                table.findings.insert(position, 0)
        return position

    def _pad(self, table: TableState, more: int = 0) -> None:
        missing = len(self.nights) + more - len(table.verdicts)
        if missing > 0:
            table.verdicts += NO_REPORT * missing
            table.findings += [0] * missing


def _build_last(result: TableResult, report: StoredReport | None) -> LastResult:
    if report is None:
        return LastResult(result.verdict, reason=result.reason or "there is no report")
    size = report.inventory
    return LastResult(
        verdict=result.verdict,
        version=report.version,
        level=report.level,
        counts=report.counts,
        rules=report.totals,
        unchecked=report.unchecked,
        files=None if size is None else size.live_files,
        bytes=None if size is None else size.live_bytes,
    )


def list_known(before: Mapping[str, KnownRule], report: StoredReport) -> dict[str, KnownRule]:
    """Return the known findings after a report, by rule. A rule that it did not decide keeps what was known."""
    listed: dict[str, list[str]] = defaultdict(list)
    for each in report.findings:
        listed[each.rule].append(each.fingerprint)
    known = {}
    for rule, total in report.totals.items():
        found = listed[rule]
        is_listed = len(found) == total <= _MOST_FINGERPRINTS and all(found)
        known[rule] = KnownRule(total, found if is_listed else None)
    decided = report.checked.decided_rules | report.totals.keys() | report.accepted_totals.keys()
    return known | {rule: each for rule, each in before.items() if rule not in decided}


def list_new(before: Mapping[str, KnownRule], after: Mapping[str, KnownRule]) -> list[Change]:
    """Return what `after` has and `before` has not. Findings that are not all listed are compared by their number."""
    changes = []
    for rule, found in after.items():
        earlier = before.get(rule)
        if earlier is None:
            changes.append(Change(rule, found.total, True))
            continue
        if found.fingerprints is None or earlier.fingerprints is None:
            number = found.total - earlier.total
        else:
            number = _count_surplus(found.fingerprints, earlier.fingerprints)
        if number > 0:
            changes.append(Change(rule, number, False))
    return changes


def _count_surplus(found: Iterable[str], earlier: Iterable[str]) -> int:
    left = list(earlier)
    number = 0
    for each in found:
        if each in left:
            left.remove(each)
        else:
            number += 1
    return number


def read_state(path: str) -> LakeState:
    """Read the state that an earlier build of the site wrote.

    Raises:
        InvalidUsage: the file cannot be read, or another release wrote it.
    """
    try:
        state = msgspec.json.decode(read_input_file(path, _MOST_BYTES), type=LakeState)
    except msgspec.DecodeError as fault:
        raise InvalidUsage(f"{path}: is no history of an overview ({fault}); write to a new directory") from fault
    if state.state_version != STATE_VERSION:
        raise InvalidUsage(
            f"{path}: has version {state.state_version}, expected {STATE_VERSION}; write to a new directory"
        )
    return state

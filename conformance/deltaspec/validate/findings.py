"""Runs rules over frames of their views and keeps what they find, bounded."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any

import polars as pl

from deltaspec.model.revisions import Revision
from deltaspec.report.values import Finding, NotChecked
from deltaspec.rules.registry import Rule
from deltaspec.views.base import LEVELS, LOCATION, View

_PLACES_NAMED = 20
"""Places that the ledger names of one rule; further ones are counted."""
_TEXT_SHOWN = 300
_ITEMS_SHOWN = 10


class Findings:
    """The rules of a run, and what they found so far.

    All rules of a view are evaluated in one pass over a frame; only rows where one is true are looked at again. Of
    each rule at most `samples` findings are kept, all are counted.
    """

    def __init__(self, rules: Iterable[Rule], samples: int, revision: str = Revision.CURRENT) -> None:
        self._rules: dict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            self._rules[rule.view.name].append(rule)
        self._samples = samples
        self._revision = str(revision)
        self._found: list[Finding] = []
        self._kept: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()
        self.views_seen: set[str] = set()
        self._not_checked: dict[str, dict[tuple[str, str | None], None]] = defaultdict(dict)
        self._places_left_out: Counter[str] = Counter()

    @property
    def sorted(self) -> list[Finding]:
        """What was found, gravest first, in stable order."""
        return sorted(self._found, key=lambda finding: finding.sort_key)

    @property
    def not_checked(self) -> list[NotChecked]:
        """The ledger: what could not be decided, of each rule the first places and how many more there are."""
        entries = []
        for code, places in self._not_checked.items():
            entries += [NotChecked(rule=code, reason=reason, file=file) for reason, file in places]
            if more := self._places_left_out[code]:
                entries.append(NotChecked(rule=code, reason=f"and at {more:,} more places"))
        return entries

    def wants(self, *views: View) -> bool:
        """Whether any rule of the run is over one of these views."""
        return any(view.name in self._rules for view in views)

    def look(self, view: View, frame: pl.DataFrame) -> None:
        """Evaluate every rule of a view over some of its rows."""
        rules = self._rules.get(view.name)
        if not rules or frame.is_empty():
            return
        self.views_seen.add(view.name)
        answers = frame.select(rule.expression().alias(rule.code) for rule in rules)
        for rule in rules:
            hits = answers[rule.code]
            if rule.null == "not checked" and hits.null_count():
                reason = f"{hits.null_count()} rows of {view.name} lack what the rule looks at"
                self._enter(rule, reason, None)
            number = int(hits.sum())
            if number:
                self.totals[rule.code] += number
                room = self._samples - self._kept[rule.code]
                if room > 0:
                    self._keep(rule, frame.filter(hits).head(room))

    def look_at_rows(self, view: View, rows: list[dict[str, Any]]) -> None:
        """The same for rows that are plain values."""
        if rows and self.wants(view):
            self.look(view, view.frame(rows))

    def doubt(
        self, views: Iterable[View], reason: str, file: str | None = None, *, reading: frozenset[str] | None = None
    ) -> None:
        """Enter into the ledger that rules over these views could not be decided wholly.

        `reading`: only rules that look at one of these columns; all where None.
        """
        for view in views:
            for rule in self._rules.get(view.name, ()):
                if reading is None or not reading.isdisjoint(rule.reads):
                    self._enter(rule, reason, file)

    def doubt_rule(self, code: str, reason: str, file: str | None = None) -> None:
        """The same for a single rule, if it is one of the run's."""
        for rules in self._rules.values():
            for rule in rules:
                if rule.code == code:
                    self._enter(rule, reason, file)

    def doubt_data(self, reason: str, file: str | None = None, *, levels: Collection[str] = LEVELS[1:]) -> None:
        """The same for all rules of some levels, by default those that look at files beside the log."""
        for rules in self._rules.values():
            for rule in rules:
                if rule.level in levels:
                    self._enter(rule, reason, file)

    def withdraw(self, reason: str, *, but: Iterable[View]) -> None:
        """Take back all that was found but by rules over some views; the others could not be decided."""
        views = {view.name for view in but}
        self.views_seen &= views
        kept = {rule.code for name in views for rule in self._rules.get(name, ())}
        others = [rule for rules in self._rules.values() for rule in rules if rule.code not in kept]
        self._found = [finding for finding in self._found if finding.rule in kept]
        for rule in others:
            self.totals.pop(rule.code, None)
            self._places_left_out.pop(rule.code, None)
            self._not_checked[rule.code] = {(reason, None): None}

    def _enter(self, rule: Rule, reason: str, file: str | None) -> None:
        places = self._not_checked[rule.code]
        if len(places) < _PLACES_NAMED or (reason, file) in places:
            places[reason, file] = None
        else:
            self._places_left_out[rule.code] += 1

    def _keep(self, rule: Rule, rows: pl.DataFrame) -> None:
        self._kept[rule.code] += len(rows)
        for row in rows.iter_rows(named=True):
            where = {name: row[name] for name in LOCATION if name in row}
            self._found.append(
                Finding(
                    rule=rule.code,
                    name=rule.name,
                    severity=rule.severity_in(self._revision),
                    requirement=rule.requirement_in(self._revision).id,
                    level=rule.level,
                    message=rule.message,
                    evidence={name: _shown(row[name]) for name in rule.view.columns if _is_evidence(rule, name, row)},
                    **where,
                )
            )


def _is_evidence(rule: Rule, name: str, row: dict[str, Any]) -> bool:
    """Places stand in the finding itself, and order keys say nothing to a reader: the text beside them does."""
    column = rule.view.columns[name]
    if name in LOCATION or column.dtype == pl.Binary:
        return False
    return name in rule.reads or (column.shown and row[name] is not None)


def _shown(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _TEXT_SHOWN:
        return f"{value[:_TEXT_SHOWN]}… ({len(value)} characters)"
    if isinstance(value, list):
        shown = [_shown(each) for each in value[:_ITEMS_SHOWN]]
        return [*shown, f"… {len(value) - _ITEMS_SHOWN} more"] if len(value) > _ITEMS_SHOWN else shown
    return value

"""Evaluate rules over frames of their views, and keep a bounded number of findings. Several recorders can be merged.

The result does not depend on the order of the frames, nor on how the rows of a view are distributed over them. Both
engines, with any number of buckets, give the same report.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

import polars as pl

from deltaspec.model.revisions import Revision
from deltaspec.report.report_types import FEATURE_PREFIX, Finding, NotChecked
from deltaspec.report.text import bound_text
from deltaspec.rules.registry import Rule
from deltaspec.validation.findings_table import InMemorySink, Sink, build_finding_rows
from deltaspec.validation.ledger import Ledger
from deltaspec.views.base import CHANGED_COLUMNS, LEVELS, LOCATION, View

_MAX_ITEMS = 10
_MAX_TIES = 10_000
"""Rows of one location that are ordered by their evidence."""


class Findings:
    """The rules of a run, and what they found so far.

    All rules of a view are evaluated in one pass over a frame. Of each rule, the first `samples` findings in report
    order are kept, and all are counted.
    """

    def __init__(self, rules: Iterable[Rule], samples: int, revision: str = Revision.CURRENT) -> None:
        self._rules: dict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            self._rules[rule.view.name].append(rule)
        self._codes = frozenset(rule.code for rule in self.rules)
        self._samples = samples
        self._revision = str(revision)
        self._kept: dict[str, list[Finding]] = defaultdict(list)
        self.totals: Counter[str] = Counter()
        self.evaluated_views: set[str] = set()
        self._ledger = Ledger()
        self.sink: Sink | None = None
        """Receives every finding, not only the first of each rule; None if they are not needed."""

    @property
    def rules(self) -> list[Rule]:
        """The rules of the run."""
        return [rule for rules in self._rules.values() for rule in rules]

    @property
    def sorted_findings(self) -> list[Finding]:
        """The findings in report order: most severe first."""
        first = [sorted(kept, key=_sort_key)[: self._samples] for kept in self._kept.values()]
        return sorted(chain.from_iterable(first), key=_sort_key)

    @property
    def not_checked(self) -> list[NotChecked]:
        """The ledger: what could not be decided."""
        return self._ledger.entries

    def copy_without_findings(self) -> Findings:
        """Return a recorder with the same rules and without findings."""
        other = Findings(self.rules, self._samples, self._revision)
        other.sink = None if self.sink is None else InMemorySink()
        return other

    def merge(self, other: Findings) -> None:
        """Add what another recorder with the same rules found."""
        self.totals.update(other.totals)
        self.evaluated_views |= other.evaluated_views
        self._ledger.merge(other._ledger)
        for code, found in other._kept.items():
            self._keep(code, found)
        if self.sink is not None and isinstance(other.sink, InMemorySink):
            self.sink.take(other.sink.all())

    def has_rules_for(self, *views: View) -> bool:
        """Return whether the run has a rule over one of the views."""
        return any(view.name in self._rules for view in views)

    def has_rule(self, code: str) -> bool:
        """Return whether the run has a rule."""
        return code in self._codes

    def evaluate(self, view: View, frame: pl.DataFrame) -> None:
        """Evaluate every rule of a view over a part of its rows."""
        rules = self._rules.get(view.name)
        if not rules or frame.is_empty():
            return
        self.evaluated_views.add(view.name)
        answers = frame.select(rule.expression().alias(rule.code) for rule in rules)
        for rule in rules:
            hits = answers[rule.code]
            if rule.null == "not checked" and hits.null_count():
                self._ledger.add_undecided_rows(rule.code, view.name, hits.null_count())
            if CHANGED_COLUMNS in frame.columns:
                hits &= _has_new_evidence(rule, frame[CHANGED_COLUMNS])
            number = int(hits.sum())
            if number:
                self.totals[rule.code] += number
                found = frame.filter(hits)
                self._keep(rule.code, self._findings(rule, found))
                if self.sink is not None:
                    self.sink.take(build_finding_rows(rule, self._revision, found))

    def evaluate_rows(self, view: View, rows: list[dict[str, Any]]) -> None:
        """Evaluate every rule of a view over rows given as dictionaries."""
        if rows and self.has_rules_for(view):
            self.evaluate(view, view.frame(rows))

    def mark_undecided(
        self, views: Iterable[View], reason: str, file: str | None = None, *, read_columns: frozenset[str] | None = None
    ) -> None:
        """Record in the ledger that rules over these views could not be decided for all rows.

        Args:
            views: views of the rules.
            reason: why, for the report.
            file: the file concerned; None if the reason applies to the complete table.
            read_columns: only rules that read one of these columns; None for all rules.
        """
        for view in views:
            for rule in self._rules.get(view.name, ()):
                if read_columns is None or not read_columns.isdisjoint(rule.reads):
                    self._ledger.add_reason(rule.code, reason, file)

    def mark_files_undecided(
        self,
        reasons: Mapping[str, str],
        *,
        views: Collection[View] = (),
        levels: Collection[str] = (),
        codes: Collection[str] = (),
    ) -> None:
        """Record in the ledger that some rules of the run could not be decided for files.

        Args:
            reasons: file to the reason, for the report.
            views: views of the rules.
            levels: levels of the rules.
            codes: codes of the rules.
        """
        chosen = [rule.code for rule in self.rules if rule.view in views or rule.level in levels or rule.code in codes]
        self._ledger.add_files(chosen, reasons)

    def mark_rule_undecided(self, code: str, reason: str, file: str | None = None) -> None:
        """Record that one rule could not be decided, if the run has it."""
        if code in self._codes:
            self._ledger.add_reason(code, reason, file)

    def mark_feature_unchecked(self, name: str, reason: str) -> None:
        """Record that what a table feature requires is not checked."""
        self._ledger.add_reason(f"{FEATURE_PREFIX}{name}", reason, None)

    def mark_levels_undecided(
        self, reason: str, file: str | None = None, *, levels: Collection[str] = LEVELS[1:]
    ) -> None:
        """Record that all rules of some levels could not be decided; by default all levels above `log`."""
        for rule in self.rules:
            if rule.level in levels:
                self._ledger.add_reason(rule.code, reason, file)

    def discard_findings(self, reason: str, *, except_views: Iterable[View]) -> None:
        """Discard all findings except those over some views, and record that all other rules could not be decided."""
        views = {view.name for view in except_views}
        self.evaluated_views &= views
        for rule in self.rules:
            if rule.view.name not in views:
                self.totals.pop(rule.code, None)
                self._kept.pop(rule.code, None)
                self._ledger.replace_reasons(rule.code, reason)
        if self.sink is not None:
            self.sink.retain_rules([rule.code for rule in self.rules if rule.view.name in views])

    def _keep(self, code: str, found: list[Finding]) -> None:
        """Keep the first findings. They are sorted only when twice as many as needed have been collected."""
        kept = self._kept[code]
        kept += found
        if len(kept) > 2 * self._samples:
            kept.sort(key=_sort_key)
            del kept[self._samples :]

    def _findings(self, rule: Rule, rows: pl.DataFrame) -> list[Finding]:
        if len(rows) > self._samples:
            rows = self._first(rows, rule)
        found = []
        for row in rows.iter_rows(named=True):
            where = {name: row[name] for name in LOCATION if name in row}
            finding = Finding(
                rule=rule.code,
                name=rule.name,
                severity=rule.severity_in(self._revision),
                requirement=rule.requirement_in(self._revision).id,
                level=rule.level,
                message=rule.message,
                evidence={
                    name: _format_evidence(row[name]) for name in rule.view.columns if _is_evidence(rule, name, row)
                },
                **where,
            )
            found.append(finding)
        if len(found) > self._samples:
            found = sorted(found, key=_sort_key)[: self._samples]
        return found

    def _first(self, rows: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        """Return the rows whose findings may be among the first `samples`, including ties with the last location."""
        order = [name for name in LOCATION if name in rows.columns]
        if not order:
            return rows
        locations = rows.select(_nulls_first(name, rows.schema[name]) for name in order).with_row_index("_row")
        locations = locations.sort(order)
        last = locations.row(self._samples - 1, named=True)
        same = pl.all_horizontal(pl.col(name) == last[name] for name in order)
        tied = locations.filter(same)
        if len(tied) > _MAX_TIES:  # too many to compare by evidence: any of them will do
            tied = tied.sort("_row").head(_MAX_TIES)
        chosen = pl.concat([locations.head(self._samples)["_row"], tied["_row"]]).unique().sort()
        return rows[chosen]


def _has_new_evidence(rule: Rule, changed_columns: pl.Series) -> pl.Series:
    """Return for each row whether a rule over the state may give another result than in the preceding version."""
    other = changed_columns.list.set_intersection(pl.Series([list(rule.reads)])).list.len() > 0
    return other.fill_null(True)


def _sort_key(finding: Finding) -> tuple[Any, ...]:
    return finding.sort_key


def _nulls_first(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a location column in report order, in which null comes first."""
    return pl.col(name).fill_null("" if dtype == pl.String else -1)


def _is_evidence(rule: Rule, name: str, row: dict[str, Any]) -> bool:
    """Return whether a column is evidence: not the location, which the finding has, and no binary sort key."""
    column = rule.view.columns[name]
    if name in LOCATION or column.dtype == pl.Binary:
        return False
    return name in rule.reads or (column.shown and row[name] is not None)


def _format_evidence(value: Any) -> Any:
    if isinstance(value, str):
        return bound_text(value)
    if isinstance(value, list):
        items = [_format_evidence(each) for each in value[:_MAX_ITEMS]]
        return [*items, f"… {len(value) - _MAX_ITEMS} more"] if len(value) > _MAX_ITEMS else items
    return value

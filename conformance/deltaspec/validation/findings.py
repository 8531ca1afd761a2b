"""Record the results of a run: a bounded number of findings, and the ledger. Several recorders can be merged.

The result does not depend on the order of the frames, nor on how the rows of a view are distributed over them. Both
backends, with any number of buckets, give the same report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from itertools import chain
from typing import Any

import polars as pl

from deltaspec.protocol.revisions import Revision
from deltaspec.report.report_types import CATALOG, FEATURE_PREFIX, Finding, NotChecked
from deltaspec.rules.harms import HARMS_OF_RULES
from deltaspec.rules.registry import Rule
from deltaspec.scales import HARMS, LEVELS, SEVERITIES
from deltaspec.validation.acceptance import Acceptance, AcceptedFindings
from deltaspec.validation.findings_table import InMemorySink, Sink, build_finding_rows
from deltaspec.validation.kept_findings import KeptFindings, build_findings
from deltaspec.validation.ledger import Ledger
from deltaspec.validation.rule_set import RuleSet, select_new_hits
from deltaspec.views.base import View
from deltaspec.views.files.file_actions import deletion_vectors

_HARMS = list(HARMS)


def order_by_harm(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in report order: by severity, what the defect does to users, rule, and location."""
    return sorted(
        findings,
        key=lambda each: (
            SEVERITIES.index(each.severity),
            _HARMS.index(HARMS_OF_RULES.get(each.rule, "format")),
            each.sort_key,
        ),
    )


class Findings:
    """Findings of a run so far, and the ledger of what could not be decided.

    Of each rule, the first `samples` findings in report order are kept, and all are counted.
    """

    def __init__(self, rules: RuleSet | Iterable[Rule], samples: int, revision: str = Revision.CURRENT) -> None:
        self.rules = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        """The rules of the run."""
        self._samples = samples
        self._revision = str(revision)
        self._kept: KeptFindings[str] = KeptFindings(samples)
        self._totals: Counter[str] = Counter()
        self.accepted = AcceptedFindings(samples, self._revision)
        """Findings that the user accepts, and findings that exceed the baseline."""
        self.evaluated_views: set[str] = set()
        self._ledger = Ledger()
        self.sound_again: dict[str, str] = {}
        """Files that looked damaged but were sound when they were checked again, with the first result."""
        self.copied_from: dict[str, str] = {}
        """Locations outside of the table whose files are in the table, with the relative path of one."""
        self.rows_not_compared: set[str] = set()
        """Commits whose rows were not compared, because files of them no longer exist."""
        self.partly_compared: dict[str, str] = {}
        """Derived files with actions that no file of the log can decide, with the reason."""
        self.sink: Sink | None = None
        """Receives every finding, not only the first of each rule; None if they are not needed."""
        self.acceptance: Acceptance | None = None
        """What the user accepts; None for nothing."""

    @property
    def totals(self) -> Counter[str]:
        """Number of findings by rule that the user does not accept."""
        return self._totals if self.acceptance is None else self._totals + self.accepted.count_new(self.acceptance)

    @property
    def found_rules(self) -> set[str]:
        """Codes of rules with findings, accepted or not."""
        return {*self._totals, *self.accepted.rules}

    @property
    def sorted_findings(self) -> list[Finding]:
        """The findings that the user does not accept, the first of each rule, in report order: severity, then harm."""
        kept = KeptFindings[str](self._samples)
        kept.merge(self._kept)
        for finding in [] if self.acceptance is None else self.accepted.list_new(self.acceptance):
            kept.add(finding.rule, [finding])
        return order_by_harm(chain.from_iterable(found for _, found in kept.items()))

    @property
    def not_checked(self) -> list[NotChecked]:
        """The ledger: what could not be decided."""
        return self._ledger.entries

    def copy_without_findings(self) -> Findings:
        """Return a recorder with the same rules and without findings."""
        other = Findings(self.rules, self._samples, self._revision)
        other.sink = None if self.sink is None else InMemorySink()
        other.acceptance = self.acceptance
        return other

    def merge(self, other: Findings) -> None:
        """Add the findings and the ledger of another recorder with the same rules."""
        self._totals.update(other._totals)
        self.evaluated_views |= other.evaluated_views
        self._ledger.merge(other._ledger)
        self.sound_again |= other.sound_again
        self.note_copies(other.copied_from)
        self.rows_not_compared |= other.rows_not_compared
        self.partly_compared |= other.partly_compared
        self._kept.merge(other._kept)
        self.accepted.merge(other.accepted)
        if self.sink is not None and isinstance(other.sink, InMemorySink):
            self.sink.take(other.sink.all())

    def has_rules_for(self, *views: View) -> bool:
        """Return whether the run has a rule over one of the views."""
        return self.rules.has_rules_over(*views)

    def has_rule(self, code: str) -> bool:
        """Return whether the run has a rule."""
        return code in self.rules.codes

    def evaluate(
        self,
        view: View,
        frame: pl.DataFrame,
        confirm: Callable[[pl.DataFrame, pl.Series], pl.DataFrame] | None = None,
    ) -> None:
        """Evaluate every rule of a view over a part of its rows.

        Args:
            view: the view.
            frame: rows of the view.
            confirm: called with the rows and which of them a rule reports, if any; returns the rows to evaluate
                instead. None trusts the rows.
        """
        if not self.rules.has_rules_over(view) or frame.is_empty():
            return
        self.evaluated_views.add(view.name)
        answers = self.rules.evaluate(view, frame)
        if confirm is not None:
            hits = answers.select(pl.any_horizontal(pl.all().fill_null(False))).to_series()
            confirmed = confirm(frame, hits) if hits.any() else frame
            if confirmed is not frame:
                self.evaluate(view, confirmed)
                return
        for rule, answer in zip(self.rules.iter_rules_over(view), answers.iter_columns(), strict=True):
            if rule.undecided and answer.null_count():
                self._ledger.add_reason(rule.code, rule.undecided, None)
            hits = select_new_hits(rule, frame, answer)
            if hits.any():
                self._record(rule, frame.filter(hits))

    def find_violated_rules(self, view: View, frame: pl.DataFrame) -> list[str]:
        """Return the codes of the rules of a view that report one of the rows. Nothing is recorded."""
        answers = self.rules.evaluate(view, frame)
        return [name for name in answers.columns if answers[name].any()]

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
            for rule in self.rules.iter_rules_over(view):
                if read_columns is None or not read_columns.isdisjoint(rule.reads):
                    self._ledger.add_reason(rule.code, reason, file)

    def mark_lost_actions(self, kinds: Set[str | None], reason: str, file: str | None = None) -> None:
        """Record that rules could not be decided because actions of these kinds are not known (None: of any kind)."""
        for rule in self.rules.iter_rules_decided_by(kinds):
            self._ledger.add_reason(rule.code, reason, file)

    def mark_files_undecided(
        self,
        reasons: Mapping[str, str],
        more: int = 0,
        *,
        views: Collection[View] = (),
        levels: Collection[str] = (),
        codes: Collection[str] = (),
    ) -> None:
        """Record in the ledger that some rules of the run could not be decided for files.

        Args:
            reasons: file to the reason, for the report.
            more: number of further files, as in `Ledger.add_files`.
            views: views of the rules.
            levels: levels of the rules.
            codes: codes of the rules.
        """
        if not reasons and not more:
            return
        chosen = [rule.code for rule in self.rules if rule.view in views or rule.level in levels or rule.code in codes]
        self._ledger.add_files(chosen, reasons, more)

    def mark_rule_undecided(self, code: str, reason: str, file: str | None = None) -> None:
        """Record that one rule could not be decided, if the run has it."""
        if code in self.rules.codes:
            self._ledger.add_reason(code, reason, file)

    def mark_feature_unchecked(self, name: str, reason: str) -> None:
        """Record that the requirements of a table feature are not checked."""
        self._ledger.add_reason(f"{FEATURE_PREFIX}{name}", reason, None)

    def mark_catalog_unknown(self, reason: str) -> None:
        """Record what only the catalog of the table knows."""
        self._ledger.add_reason(CATALOG, reason, None)

    def mark_levels_undecided(
        self, reason: str, file: str | None = None, *, levels: Collection[str] = LEVELS[1:]
    ) -> None:
        """Record that all rules of some levels could not be decided; by default all levels above `log`."""
        for rule in self.rules:
            if rule.level in levels:
                self._ledger.add_reason(rule.code, reason, file)

    def note_sound_again(self, path: str, first: str) -> None:
        """Record a file that looked damaged but was sound in two more looks.

        Args:
            path: path of the file.
            first: result of the first look.
        """
        self.sound_again[path] = first

    def note_copies(self, files: Mapping[str, str]) -> None:
        """Record locations outside of the table whose files are in the table, with the relative path of one."""
        for location, file in files.items():
            self.copied_from[location] = min(file, self.copied_from.get(location, file))

    def mark_stopped(self, reason: str, levels: Collection[str]) -> None:
        """Record that a run stopped before the rules of these levels were decided."""
        self.mark_levels_undecided(reason, levels=levels)
        if "files" in levels:
            self.mark_undecided((deletion_vectors,), reason)  # evaluated when stored vectors are read

    def mark_unevaluated(self, reason: str, *, except_views: Collection[View]) -> None:
        """Record that rules over views without rows could not be decided, except rules over some views.

        The reason replaces others, because it explains them.
        """
        decided = self.evaluated_views | {view.name for view in except_views}
        for rule in self.rules:
            if rule.view.name not in decided:
                self._ledger.replace_reasons(rule.code, reason)

    def discard_findings(self, reason: str, *, except_views: Collection[View]) -> None:
        """Discard all findings except those over some views, and record that all other rules could not be decided."""
        remaining = [rule.code for rule in self.rules if rule.view in except_views]
        self.evaluated_views &= {view.name for view in except_views}
        for code in self.rules.codes.difference(remaining):
            self._totals.pop(code, None)
            self._ledger.replace_reasons(code, reason)
        self._kept.drop(self.rules.codes.difference(remaining))
        self.accepted.drop_rules(self.rules.codes.difference(remaining))
        if self.sink is not None:
            self.sink.retain_rules(remaining)

    def _record(self, rule: Rule, rows: pl.DataFrame) -> None:
        """Record the findings of a rule, one for each row."""
        if self.sink is not None:
            self.sink.take(build_finding_rows(rule, self._revision, rows))
        if self.acceptance is not None:
            rows = self.accepted.select_others(self.acceptance, rule, rows)
        if len(rows):
            self._totals[rule.code] += len(rows)
            self._kept.add(rule.code, build_findings(rule, self._revision, rows, self._samples))

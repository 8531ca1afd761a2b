"""The rules of a run, evaluated view by view. A `RuleSet` keeps no results: `Findings` records them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set

import polars as pl

from deltaspec.rules.registry import Rule
from deltaspec.views.base import CHANGED_COLUMNS, View


class RuleSet:
    """Rules by view. All rules of a view are evaluated in one pass over a frame."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_view: dict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            self._by_view[rule.view.name].append(rule)
        self.codes = frozenset(rule.code for rule in self)

    def __iter__(self) -> Iterator[Rule]:
        """Iterate over the rules, view by view."""
        for rules in self._by_view.values():
            yield from rules

    def has_rules_over(self, *views: View) -> bool:
        """Return whether there is a rule over one of the views."""
        return any(view.name in self._by_view for view in views)

    def iter_rules_over(self, view: View) -> Iterator[Rule]:
        """Yield the rules over a view."""
        yield from self._by_view.get(view.name, ())

    def iter_rules_decided_by(self, kinds: Set[str | None]) -> Iterator[Rule]:
        """Yield the rules whose results depend on actions of some kinds; None means any kind."""
        for rule in self:
            if rule.decided_by and (None in kinds or not rule.decided_by.isdisjoint(kinds)):
                yield rule

    def evaluate(self, view: View, frame: pl.DataFrame) -> pl.DataFrame:
        """Evaluate every rule over rows of its view.

        Returns:
            A Boolean column for each rule, named by its code: whether it reports the row; null if that is undecided.
        """
        return frame.select([rule.answer for rule in self.iter_rules_over(view)])


def select_new_hits(rule: Rule, frame: pl.DataFrame, hits: pl.Series) -> pl.Series:
    """Return which rows a rule reports, without rows over the state in which nothing changed that the rule reads.

    Args:
        rule: the rule.
        frame: rows of its view.
        hits: the answer of the rule for each row.
    """
    if not hits.any() or CHANGED_COLUMNS not in frame.columns:
        return hits
    changed = frame[CHANGED_COLUMNS].list.set_intersection(pl.Series([list(rule.reads)])).list.len() > 0
    return hits & changed.fill_null(True)

"""Build findings from rows of a view, and keep a bounded number of them. The result does not depend on their order."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, Generic, TypeVar

import polars as pl

from deltaspec.report.report_types import Finding
from deltaspec.report.text import bound_text
from deltaspec.rules.registry import Rule
from deltaspec.views.base import LOCATION, Column

_MAX_ITEMS = 10
_MAX_TIES = 10_000
"""Rows of one location that are ordered by their evidence."""
Key = TypeVar("Key", bound=Hashable)


class KeptFindings(Generic[Key]):
    """Findings by key: the first or the last of each key in report order."""

    def __init__(self, most: int, *, last: bool = False) -> None:
        """Begin without findings.

        Args:
            most: number of findings kept per key.
            last: whether the last are kept.
        """
        self._most = most
        self._last = last
        self._found: dict[Key, list[Finding]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, key: Key, found: list[Finding]) -> None:
        """Add findings. They are sorted only when twice as many as needed have been collected."""
        kept = self._found.setdefault(key, [])
        kept += found
        if len(kept) > 2 * self._most:
            kept[:] = self._select(kept)

    def merge(self, other: KeptFindings[Key]) -> None:
        """Add the findings that another instance keeps."""
        for key, found in other._found.items():
            self.add(key, found)

    def drop(self, keys: Collection[Key]) -> None:
        """Drop the findings of some keys."""
        for key in keys:
            self._found.pop(key, None)

    def items(self) -> list[tuple[Key, list[Finding]]]:
        """Return the findings of each key in report order."""
        return [(key, self._select(found)) for key, found in self._found.items()]

    def _select(self, found: list[Finding]) -> list[Finding]:
        return select_findings(found, self._most, last=self._last)


def select_findings(found: list[Finding], most: int, *, last: bool = False) -> list[Finding]:
    """Return the first or last findings in report order."""
    ordered = sorted(found, key=lambda finding: finding.sort_key)
    return ordered[-most:] if last else ordered[:most]


def build_findings(rule: Rule, revision: str, rows: pl.DataFrame, most: int, *, last: bool = False) -> list[Finding]:
    """Build findings of a rule: the first or last in report order if there are more than `most` rows.

    Args:
        rule: the rule.
        revision: protocol revision of the run.
        rows: rows of its view for which the rule is true.
        most: number of findings.
        last: whether to return the last.
    """
    if len(rows) > most:
        rows = _select_rows(rows, most, last=last)
    location = [name for name in LOCATION if name in rows.columns]
    evidence = [name for name, column in rule.view.columns.items() if _may_be_evidence(rule, name, column)]
    fixed = describe_rule(rule, revision)
    found = [
        Finding(
            **fixed,
            **{name: row[name] for name in location},
            evidence={
                name: format_evidence(row[name]) for name in evidence if row[name] is not None or name in rule.reads
            },
        )
        for row in rows.select(*location, *evidence).iter_rows(named=True)
    ]
    return select_findings(found, most, last=last) if len(found) > most else found


def describe_rule(rule: Rule, revision: str) -> dict[str, Any]:
    """Return the fields that all findings of a rule have in a revision."""
    return {
        "rule": rule.code,
        "name": rule.name,
        "severity": rule.severity_in(revision),
        "requirement": rule.requirement_in(revision).id,
        "level": rule.level,
        "message": rule.message,
    }


def format_evidence(value: Any) -> Any:
    """Return a value of a column as evidence: long texts and lists are shortened."""
    if isinstance(value, str):
        return bound_text(value)
    if isinstance(value, list):
        items = [format_evidence(each) for each in value[:_MAX_ITEMS]]
        return [*items, f"… {len(value) - _MAX_ITEMS} more"] if len(value) > _MAX_ITEMS else items
    return value


def _select_rows(rows: pl.DataFrame, most: int, *, last: bool) -> pl.DataFrame:
    """Return the rows whose findings may be among the first or last, including ties with the outermost location."""
    order = [name for name in LOCATION if name in rows.columns]
    if not order:
        return rows
    locations = rows.select(_nulls_first(name, rows.schema[name]) for name in order).with_row_index("_row")
    locations = locations.sort(order, descending=last)
    outermost = locations.row(most - 1, named=True)
    tied = locations.filter(pl.all_horizontal(pl.col(name) == outermost[name] for name in order))
    if len(tied) > _MAX_TIES:  # too many to compare by evidence: any of them will do
        tied = tied.sort("_row").head(_MAX_TIES)
    chosen = pl.concat([locations.head(most)["_row"], tied["_row"]]).unique().sort()
    return rows[chosen]


def _nulls_first(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a location column in report order, in which null comes first."""
    return pl.col(name).fill_null("" if dtype == pl.String else -1)


def _may_be_evidence(rule: Rule, name: str, column: Column) -> bool:
    """Return whether a column may be evidence: not the location, which the finding has, and no binary sort key."""
    if name in LOCATION or column.dtype == pl.Binary:
        return False
    return name in rule.reads or column.shown

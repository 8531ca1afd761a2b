"""Where tables of real engines part from the protocol text, and how a report is compared with that list.

A table of the corpora conforms, or deviates exactly as `known_deviations.toml` says: neither a finding more nor one
less. Divergences (the text is silent, engines differ) are no deviations; they are collected to be printed.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltaspec.report.values import Finding, Report

KNOWN = Path(__file__).with_name("known_deviations.toml")

divergences: dict[str, Counter[str]] = {}
"""Divergences seen by this process: table -> rule -> how many."""


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """One rule that one table is known to break."""

    table: str
    """Corpus and name: `spark/partitioned`."""
    rule: str
    count: int
    """Findings when the whole history is judged."""
    requirement: str
    bytes: str
    """What stands in the table."""
    reason: str
    """Who writes it so, and why the text does not allow it."""


def known_deviations() -> list[Deviation]:
    """The committed list."""
    return [Deviation(**entry) for entry in tomllib.loads(KNOWN.read_text("utf-8")).get("deviation", [])]


def mistakes(report: Report, known: Iterable[Deviation], *, whole_history: bool) -> list[str]:
    """How a report differs from what is known of its table; nothing where it does not.

    Args:
        report: of the table that the entries are about.
        known: entries of this table alone.
        whole_history: counts are equal; otherwise a part of the history was judged, and they are upper limits.
    """
    severities = {each.rule: each.severity for each in report.findings}
    graver = {rule: count for rule, count in report.totals.items() if severities.get(rule) != "divergence"}
    expected = {each.rule: each for each in known}
    lines = []
    for rule in sorted(graver.keys() | expected.keys()):
        found, wanted = graver.get(rule, 0), expected[rule].count if rule in expected else 0
        if found > wanted or (whole_history and found < wanted):
            lines.append(f"{rule}: {found} findings, known are {wanted}")
            lines += [f"    {each.file}:{each.line} {each.message} {each.evidence}" for each in _some(report, rule)]
        lines += [
            f"{rule}: of requirement {each.requirement}, known is {expected[rule].requirement}"
            for each in _some(report, rule)
            if rule in expected and each.requirement != expected[rule].requirement
        ]
    if report.verdict == "incomplete":
        lines += [f"not checked: {each.rule} {each.reason} {each.file}" for each in report.checked.not_checked]
    return lines


def compare(table: str, path: str) -> None:
    """Judge a table and compare both reports, of the latest version and of the whole history, with what is known.

    Raises:
        AssertionError: the table is judged otherwise than known.
    """
    from deltaspec.validate import validate_table

    known = [each for each in known_deviations() if each.table == table]
    for history in ("all", "latest"):
        report = validate_table(path, level="log", history=history)
        lines = mistakes(report, known, whole_history=history == "all")
        assert not lines, "\n".join([f"{table} (history {history}): {report.verdict}", *lines])
        if history == "all":
            seen = [each.rule for each in report.findings if each.severity == "divergence"]
            divergences[table] = Counter(seen)


def summary(corpus: str) -> list[str]:
    """A line for every divergence seen in a corpus."""
    return [
        f"{table}: {rule} {count} times"
        for table, rules in sorted(divergences.items())
        if table.startswith(f"{corpus}/")
        for rule, count in sorted(rules.items())
    ]


def _some(report: Report, rule: str) -> list[Finding]:
    return [each for each in report.findings if each.rule == rule][:3]

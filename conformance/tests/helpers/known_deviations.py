"""Where tables of real engines part from the protocol text, and how a report is compared with that list.

A table of the corpora conforms at level rows, or deviates exactly as `known_deviations.toml` says: neither a finding
more nor one less, and nothing unchecked but what is named there with its reason. Divergences (the text is silent,
engines differ) are no deviations; they are collected to be printed.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltaspec.requirements import REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltaspec.report.report_types import Finding, Report

KNOWN = Path(__file__).with_name("known_deviations.toml")

LEVEL = "rows"

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
    revisions: tuple[str, ...] = REVISIONS
    """Texts that do not allow it."""
    fewest: int | None = None
    """Findings when its writer does it least, where it does not always do the same."""


@dataclass(frozen=True, kw_only=True)
class Unchecked:
    """Something in a table that level rows cannot decide, and need not."""

    table: str
    rules: tuple[str, ...]
    """Codes, or beginnings of codes."""
    reason: str
    """Part of the ledger's reason."""
    why: str


@dataclass(frozen=True, kw_only=True)
class ExternalFiles:
    """A table some of whose files are those of another: judged with leave to follow paths that lead out of it."""

    table: str
    why: str


@dataclass(frozen=True, kw_only=True)
class VacuumedVersion:
    """A version some of whose files were vacuumed since."""

    table: str
    version: int
    why: str


_REFUSED = Unchecked(table="", rules=("",), reason="refuses the table", why="an older text does not know its features")
OUTSIDE_TABLE = "leads out of the table"
FILE_GONE_REASONS = ("was removed since, and is gone", "is not there")


def load_known_deviations() -> list[Deviation]:
    """The committed list."""
    return [
        Deviation(**{**entry, "revisions": tuple(entry.get("revisions", REVISIONS))}) for entry in _listed("deviation")
    ]


def load_known_unchecked() -> list[Unchecked]:
    """What is known not to be checked."""
    return [Unchecked(**{**entry, "rules": tuple(entry["rules"])}) for entry in _listed("unchecked")]


def load_known_external_files() -> list[ExternalFiles]:
    """Tables whose files stand elsewhere."""
    return [ExternalFiles(**entry) for entry in _listed("outside")]


def load_known_vacuumed_versions() -> list[VacuumedVersion]:
    """Old versions that cannot be read wholly."""
    return [VacuumedVersion(**entry) for entry in _listed("gone")]


def _listed(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(KNOWN.read_text("utf-8")).get(kind, [])
    return found


def find_unexpected_differences(
    report: Report, known: Iterable[Deviation], unchecked: Iterable[Unchecked] = (), *, whole_history: bool
) -> list[str]:
    """How a report differs from what is known of its table; nothing where it does not.

    Args:
        report: of the table that the entries are about.
        known: entries of this table alone.
        unchecked: the same.
        whole_history: counts are equal; otherwise a part of the history was judged, and they are upper limits.
    """
    severities = {each.rule: each.severity for each in report.findings}
    graver = {rule: count for rule, count in report.totals.items() if severities.get(rule) != "divergence"}
    expected = {each.rule: each for each in known}
    lines = []
    for rule in sorted(graver.keys() | expected.keys()):
        found, wanted = graver.get(rule, 0), expected[rule].count if rule in expected else 0
        fewest = expected[rule].fewest if rule in expected else None
        if found > wanted or (whole_history and found < (wanted if fewest is None else fewest)):
            lines.append(f"{rule}: {found} findings, known are {wanted}")
            lines += [
                f"    {each.file}:{each.line} {each.path} {each.column} {each.message} {each.evidence}"
                for each in _some(report, rule)
            ]
        lines += [
            f"{rule}: of requirement {each.requirement}, known is {expected[rule].requirement}"
            for each in _some(report, rule)
            if rule in expected and each.requirement != expected[rule].requirement
        ]
    return lines + _not_checked(report, list(unchecked), whole_history=whole_history)


def _not_checked(report: Report, unchecked: list[Unchecked], *, whole_history: bool) -> list[str]:
    """What the ledger holds beyond the entries, and the entries that it does not hold."""
    met: set[Unchecked] = set()
    lines = []
    for each in report.checked.not_checked:
        fitting = {entry for entry in unchecked if each.rule.startswith(entry.rules) and entry.reason in each.reason}
        met |= fitting
        if not fitting and not each.reason.startswith("and at "):  # the sum of further places of reasons given before
            lines.append(f"not checked: {each.rule} {each.reason} {each.file}")
    if whole_history:
        lines += [f"checked after all: {entry.rules} {entry.reason}" for entry in unchecked if entry not in met]
    return lines


def check_against_known_deviations(table: str, path: str) -> None:
    """Judge a table and compare the reports with what is known: of the latest version, of the whole history, by older
    texts, without leave to follow paths out of it where some lead there, and of versions whose files are gone.

    Raises:
        AssertionError: the table is judged otherwise than known.
    """
    from deltaspec.validation import validate_table

    every = [each for each in load_known_deviations() if each.table == table]
    known = [each for each in every if "current" in each.revisions]
    unchecked = [each for each in load_known_unchecked() if each.table == table]
    outside = any(each.table == table for each in load_known_external_files())
    for history in ("all", "latest"):
        report = validate_table(path, level=LEVEL, history=history, allow_outside=outside)
        lines = find_unexpected_differences(report, known, unchecked, whole_history=history == "all")
        assert not lines, "\n".join([f"{table} (history {history}): {report.verdict}", *lines])
        if history == "all":
            seen = [each.rule for each in report.findings if each.severity == "divergence"]
            divergences[table] = Counter(seen)
    for revision in REVISIONS[:-1]:
        report = validate_table(path, level=LEVEL, history="all", revision=revision, allow_outside=outside)
        _compare_by_older_text(table, report, [each for each in every if revision in each.revisions], unchecked)
    if outside:
        _compare_incomplete(table, validate_table(path, level=LEVEL), known, unchecked, (OUTSIDE_TABLE,))
    for gone in load_known_vacuumed_versions():
        if gone.table == table:
            report = validate_table(path, level=LEVEL, at=gone.version, allow_outside=outside)
            _compare_incomplete(table, report, known, unchecked, FILE_GONE_REASONS)


def _compare_by_older_text(table: str, report: Report, known: list[Deviation], unchecked: list[Unchecked]) -> None:
    """The text refuses the table, or finds no more than is known; it may know less of it."""
    known, unchecked = (known, unchecked) if report.verdict != "refused" else ([], [_REFUSED])
    lines = find_unexpected_differences(report, known, unchecked, whole_history=False)
    assert not lines, "\n".join([f"{table} by {report.revision}: {report.verdict}", *lines])


def _compare_incomplete(
    table: str, report: Report, known: list[Deviation], unchecked: list[Unchecked], reasons: tuple[str, ...]
) -> None:
    """The report finds nothing new, and is incomplete for these reasons and no other."""
    allowed = [Unchecked(table=table, rules=("",), reason=reason, why="asked for") for reason in reasons]
    lines = find_unexpected_differences(report, known, [*unchecked, *allowed], whole_history=False)
    assert not lines, "\n".join([f"{table} at {report.version}: {report.verdict}", *lines])
    found = [each.reason for each in report.checked.not_checked]
    assert any(reasons[0] in reason for reason in found), f"{table} at {report.version}: {report.verdict} {found}"


def list_divergences(corpus: str) -> list[str]:
    """A line for every divergence seen in a corpus."""
    return [
        f"{table}: {rule} {count} times"
        for table, rules in sorted(divergences.items())
        if table.startswith(f"{corpus}/")
        for rule, count in sorted(rules.items())
    ]


def _some(report: Report, rule: str) -> list[Finding]:
    return [each for each in report.findings if each.rule == rule][:3]

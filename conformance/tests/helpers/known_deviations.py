"""Compare reports on engine-written tables with the list of known deviations from the protocol.

A table of the corpora must conform at level rows, or deviate exactly as `known_deviations.toml` says: no finding more,
no finding less, and nothing unchecked except what is listed with a reason. Divergences (the protocol is silent and
engines differ) are not deviations; they are only collected and printed.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltaspec.requirements import REVISIONS
from deltaspec.validation.ledger import is_count_of_missing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltaspec.report.report_types import Finding, Report

KNOWN = Path(__file__).with_name("known_deviations.toml")

LEVEL = "rows"

divergences: dict[str, Counter[str]] = {}
"""Divergences found by this process: table -> rule -> count."""


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """One rule that one table is known to break."""

    table: str
    """Corpus and name: `spark/partitioned`."""
    rule: str
    count: int
    """Findings when the complete history is validated."""
    requirement: str
    bytes: str
    """What the table contains."""
    reason: str
    """Which engine writes it, and why the protocol does not allow it."""
    revisions: tuple[str, ...] = REVISIONS
    """Revisions of the protocol that do not allow it."""
    fewest: int | None = None
    """Minimum number of findings, if the writer is not deterministic."""


@dataclass(frozen=True, kw_only=True)
class Unchecked:
    """Something in a table that validation at level rows cannot decide, and does not need to."""

    table: str
    rules: tuple[str, ...]
    """Codes or prefixes of codes."""
    reason: str
    """Substring of the ledger's reason."""
    why: str


@dataclass(frozen=True, kw_only=True)
class ExternalFiles:
    """A table that refers to files of another table; validated with `allow_outside`."""

    table: str
    why: str


@dataclass(frozen=True, kw_only=True)
class VacuumedVersion:
    """A version of a table whose files were partly vacuumed later."""

    table: str
    version: int
    why: str


_REFUSED = Unchecked(
    table="", rules=("",), reason="refuses the table", why="an older revision does not know its features"
)
OUTSIDE_TABLE = "leads out of the table"
FILE_GONE_REASONS = ("is missing; a later commit removed it", "does not exist")


def load_known_deviations() -> list[Deviation]:
    """Load the committed deviations."""
    return [
        Deviation(**{**entry, "revisions": tuple(entry.get("revisions", REVISIONS))})
        for entry in _load_entries("deviation")
    ]


def load_known_unchecked() -> list[Unchecked]:
    """Load what is known to remain unchecked."""
    return [Unchecked(**{**entry, "rules": tuple(entry["rules"])}) for entry in _load_entries("unchecked")]


def load_known_external_files() -> list[ExternalFiles]:
    """Load the tables that refer to files outside their directory."""
    return [ExternalFiles(**entry) for entry in _load_entries("outside")]


def load_known_vacuumed_versions() -> list[VacuumedVersion]:
    """Load the old versions that can no longer be read completely."""
    return [VacuumedVersion(**entry) for entry in _load_entries("gone")]


def _load_entries(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(KNOWN.read_text("utf-8")).get(kind, [])
    return found


def find_unexpected_differences(
    report: Report, known: Iterable[Deviation], unchecked: Iterable[Unchecked] = (), *, whole_history: bool
) -> list[str]:
    """Return one line per difference between a report and the known deviations of its table.

    Args:
        report: report on the table that the entries are about.
        known: deviations of this table only.
        unchecked: unchecked entries of this table only.
        whole_history: the complete history was validated, so counts must be equal. Otherwise they are upper limits.
    """
    severities = {each.rule: each.severity for each in report.findings}
    totals = {rule: count for rule, count in report.totals.items() if severities.get(rule) != "divergence"}
    known_by_rule = {each.rule: each for each in known}
    lines = []
    for rule in sorted(totals.keys() | known_by_rule.keys()):
        found, expected = totals.get(rule, 0), known_by_rule[rule].count if rule in known_by_rule else 0
        fewest = known_by_rule[rule].fewest if rule in known_by_rule else None
        if found > expected or (whole_history and found < (expected if fewest is None else fewest)):
            lines.append(f"{rule}: expected {expected} findings, found {found}")
            lines += [
                f"    {each.file}:{each.line} {each.path} {each.column} {each.message} {each.evidence}"
                for each in _sample_findings(report, rule)
            ]
        lines += [
            f"{rule}: expected requirement {known_by_rule[rule].requirement}, found {each.requirement}"
            for each in _sample_findings(report, rule)
            if rule in known_by_rule and each.requirement != known_by_rule[rule].requirement
        ]
    return lines + _compare_unchecked(report, list(unchecked), whole_history=whole_history)


def _compare_unchecked(report: Report, unchecked: list[Unchecked], *, whole_history: bool) -> list[str]:
    """Return ledger entries that no known entry matches and, with the complete history, known entries without match."""
    matched: set[Unchecked] = set()
    lines = []
    for each in report.checked.not_checked:
        matches = {entry for entry in unchecked if each.rule.startswith(entry.rules) and entry.reason in each.reason}
        matched |= matches
        is_summary = each.reason.endswith(" more locations") or is_count_of_missing(each.reason)
        if not matches and not is_summary:
            lines.append(f"not checked: {each.rule} {each.reason} {each.file}")
    if whole_history:
        lines += [
            f"expected to be unchecked: {entry.rules} {entry.reason}" for entry in unchecked if entry not in matched
        ]
    return lines


def check_against_known_deviations(table: str, path: str) -> None:
    """Validate a table in several ways and compare the reports with the known deviations.

    - the latest version and the complete history
    - the older revisions of the protocol
    - without `allow_outside`, if it refers to files outside its directory
    - versions whose files were vacuumed

    Raises:
        AssertionError: a report differs from what is known.
    """
    import deltaspec

    deviations = [each for each in load_known_deviations() if each.table == table]
    known = [each for each in deviations if "current" in each.revisions]
    unchecked = [each for each in load_known_unchecked() if each.table == table]
    outside = any(each.table == table for each in load_known_external_files())
    for history in ("all", "latest"):
        report = deltaspec.validate(path, level=LEVEL, history=history, allow_outside=outside)
        lines = find_unexpected_differences(report, known, unchecked, whole_history=history == "all")
        assert not lines, "\n".join([f"{table} (history {history}): {report.verdict}", *lines])
        if history == "all":
            divergences[table] = Counter(each.rule for each in report.findings if each.severity == "divergence")
    for revision in REVISIONS[:-1]:
        report = deltaspec.validate(path, level=LEVEL, history="all", revision=revision, allow_outside=outside)
        of_revision = [each for each in deviations if revision in each.revisions]
        _compare_older_revision(table, report, of_revision, unchecked)
    if outside:
        _compare_incomplete(table, deltaspec.validate(path, level=LEVEL), known, unchecked, (OUTSIDE_TABLE,))
    for gone in load_known_vacuumed_versions():
        if gone.table == table:
            report = deltaspec.validate(path, level=LEVEL, at=gone.version, allow_outside=outside)
            _compare_incomplete(table, report, known, unchecked, FILE_GONE_REASONS)


def _compare_older_revision(table: str, report: Report, known: list[Deviation], unchecked: list[Unchecked]) -> None:
    """Assert that the table is refused or has no unknown findings; an older revision may find less."""
    known, unchecked = (known, unchecked) if report.verdict != "refused" else ([], [_REFUSED])
    lines = find_unexpected_differences(report, known, unchecked, whole_history=False)
    assert not lines, "\n".join([f"{table} by {report.revision}: {report.verdict}", *lines])


def _compare_incomplete(
    table: str, report: Report, known: list[Deviation], unchecked: list[Unchecked], reasons: tuple[str, ...]
) -> None:
    """Assert that the report has no unknown findings and is incomplete for these reasons only."""
    allowed = [Unchecked(table=table, rules=("",), reason=reason, why="expected") for reason in reasons]
    lines = find_unexpected_differences(report, known, [*unchecked, *allowed], whole_history=False)
    assert not lines, "\n".join([f"{table} at {report.version}: {report.verdict}", *lines])
    found = [each.reason for each in report.checked.not_checked]
    assert any(reasons[0] in reason for reason in found), f"{table} at {report.version}: {report.verdict} {found}"


def list_divergences(corpus: str) -> list[str]:
    """Return one line per divergence found in a corpus."""
    return [
        f"{table}: {rule} {count} times"
        for table, rules in sorted(divergences.items())
        if table.startswith(f"{corpus}/")
        for rule, count in sorted(rules.items())
    ]


def _sample_findings(report: Report, rule: str) -> list[Finding]:
    return [each for each in report.findings if each.rule == rule][:3]

"""Render a validation report as a self-contained HTML page."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from deltaspec.pages.renderer import render_page
from deltaspec.report.causes import describe_fix, group_by_cause
from deltaspec.report.description import FilesDescription
from deltaspec.report.files_chart import describe_partition, format_bound, list_facts
from deltaspec.report.ledger_text import describe_rules_run, list_ledger
from deltaspec.report.report_types import Finding, Inventory, Report, RuleDoc
from deltaspec.report.text import bound_text, escape_text
from deltaspec.scales import HARMS, SEVERITIES

MOST_FINDINGS = 50
"""Maximum number of findings of each rule on the page."""
_PARTITION_CHARACTERS = 80

_MEANINGS = {
    "conforms": "No violation was found, and every selected rule was decided.",
    "accepted": "No violation was found that is not accepted, and every selected rule was decided.",
    "violations": "The table violates the protocol.",
    "incomplete": "No violation was found, but some selected rules could not be decided.",
    "refused": "Clients of this revision must refuse the table.",
}


class Charts(msgspec.Struct, frozen=True):
    """The data files of the table, or the reason why the page does not show them."""

    files: FilesDescription | None
    reason: str = ""


class RuleFindings(msgspec.Struct, frozen=True):
    """Findings of a rule."""

    first: Finding
    doc: RuleDoc
    fix: str
    """Fix of the rule, or the rule that has it."""
    total: int
    shown: list[Finding]


class SiteLinks(msgspec.Struct, frozen=True):
    """What the page of a table shows of the site that it belongs to."""

    index: str
    """Path of the first page."""
    rules: Collection[str]
    """Codes of rules that have a page."""
    owner: str = ""
    nights: Sequence[tuple[str, str, int]] = ()
    """Day, letter of the verdict, and number of findings of the last nights."""
    new: Mapping[str, int] = {}
    """Number of findings that are new since the report before, by rule."""
    gone: Mapping[str, int] = {}
    """Number of findings of the report before that are gone, by rule."""


def render_validation(report: Report, charts: Charts, site: SiteLinks | None = None) -> str:
    """Return the page: verdict, findings by rule, what was not checked, data files.

    Args:
        report: the report.
        charts: the data files.
        site: the site of the page, which has its scripts; None for a page of its own.
    """
    rules = []
    for findings in group_by_cause(report):
        code = findings[0].rule
        doc = report.rules[code]
        fix = describe_fix(findings, doc.fix)
        rules.append(RuleFindings(findings[0], doc, fix, report.totals[code], findings[:MOST_FINDINGS]))
    clock = (
        None if report.clock is None else f"{datetime.fromtimestamp(report.clock / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    )
    return render_page(
        "validation",
        assets=None if site is None else "../assets/",
        site=site,
        harms=HARMS,
        report=report,
        meaning=_MEANINGS["accepted" if report.verdict == "conforms" and report.accepted_totals else report.verdict],
        clock=clock,
        severities=[(name, report.counts.get(name, 0)) for name in SEVERITIES],
        rules=rules,
        rules_run=describe_rules_run(report),
        ledger=[part for part in list_ledger(report) if part.entries],
        reasons=_group_reasons(report),
        evidence=list_evidence,
        charts=charts,
        facts=list(list_facts(charts.files)) if charts.files else [],
        inventory=[each for each in _list_inventory(report.inventory) if each[1]] if report.inventory else [],
        bound=format_bound,
        partition=lambda each: describe_partition(each, _PARTITION_CHARACTERS),
    )


def list_evidence(finding: Finding) -> list[tuple[str, str]]:
    """Return the values that a rule found, by name; values that are null or empty lists are left out."""
    return [
        (name, bound_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))
        for name, value in finding.evidence.items()
        if value is not None and value != []
    ]


def _group_reasons(report: Report) -> list[tuple[str, list[str]]]:
    """Return the rules that did not run, by reason."""
    found: dict[str, list[str]] = {}
    for code in (*report.checked.not_applicable, *report.checked.skipped):
        found.setdefault(escape_text(report.checked.reasons.get(code, "the table has nothing to check")), []).append(
            code
        )
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _list_inventory(found: Inventory) -> list[tuple[str, int, int]]:
    """Return kind, number and bytes of the files in the table's directories."""
    kinds = [
        ("live", found.live_files, found.live_bytes),
        ("of other versions or change data", found.referenced_files, found.referenced_bytes),
        ("not referenced by the validated history", found.unreferenced_files, found.unreferenced_bytes),
        ("hidden", found.hidden_files, found.hidden_bytes),
    ]
    if found.staged_files:
        kinds.insert(2, ("of staged commits", found.staged_files, found.staged_bytes))
    return kinds

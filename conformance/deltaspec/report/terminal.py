"""A report as text: what is wrong, where, why it matters, what to do; then what was and was not checked."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.text import Text

from deltaspec.report.text import count, safe
from deltaspec.report.values import SEVERITIES, Finding, Report

_STYLES = {"violation": "bold red", "warning": "yellow", "divergence": "cyan"}
_EXIT_CODES = {"conforms": 0, "violations": 1, "incomplete": 3}
_INDENT = "    "


@dataclass(frozen=True)
class RuleWords:
    """What a report says of a rule beside its findings."""

    statement: str
    """The requirement in our words."""
    section: str
    level: str
    """Normative level of the requirement: must, should, may or is."""
    why: str
    fix: str


def exit_code(report: Report) -> int:
    """0 conforms, 1 violations, 3 incomplete."""
    return _EXIT_CODES[report.verdict]


def write(report: Report, words: Mapping[str, RuleWords], console: Console, samples: int = 5) -> None:
    """Print a report.

    Args:
        report: the run.
        words: of every rule that found something.
        console: where to.
        samples: findings shown of each rule.
    """
    _header(report, console)
    for rule, group in groupby(report.findings, key=lambda finding: finding.rule):
        _rule(list(group), report.totals[rule], words[rule], console, samples)
    _ledger(report, console)
    _last_line(report, console)


def _header(report: Report, console: Console) -> None:
    version = "no version" if report.version is None else f"version {report.version}"
    console.print(
        f"deltaspec {report.deltaspec} · validate · level {report.level} · revision {report.revision}", style="dim"
    )
    console.print(Text.assemble(("table  ", "dim"), safe(report.table, 90), (f" · {version}", "dim")))
    console.print()


def _rule(findings: list[Finding], total: int, words: RuleWords, console: Console, samples: int) -> None:
    first = findings[0]
    title = Text.assemble(
        (first.severity.upper(), _STYLES[first.severity]), " ", (first.rule, "bold"), f" {first.name}"
    )
    if total > 1:
        title.append(f"   {count(total, 'finding')}", style="dim")
    console.print(title)
    console.print(_INDENT + first.message)
    for finding in findings[:samples]:
        console.print(Text(f"{_INDENT}at {place_text(finding)}", style="bold"))
        if finding.evidence:
            console.print(Text(f"{_INDENT}   {evidence_text(finding, console.width - 8)}", style="dim"))
    if total > samples:
        console.print(Text(f"{_INDENT}… and {total - min(samples, len(findings)):,} more", style="dim"))
    for label, text in (
        (words.level.upper(), f"{words.section}: {words.statement}"),
        ("Why", words.why),
        ("Fix", words.fix),
    ):
        _paragraph(label, text, console)
    console.print(Text(f"{_INDENT}Next  deltaspec explain {first.rule}", style="dim"))
    console.print()


def _paragraph(label: str, text: str, console: Console) -> None:
    room = max(console.width - len(_INDENT) - 8, 30)
    lines = Text(text).wrap(console, room)
    for number, line in enumerate(lines):
        head = f"{label:<6}" if number == 0 else " " * 6
        console.print(Text.assemble(_INDENT, (head, "dim"), line))


def place_text(finding: Finding) -> str:
    parts = []
    if finding.file:
        parts.append(safe(finding.file, 70) + (f" line {finding.line}" if finding.line is not None else ""))
    elif finding.version is not None:
        parts.append(f"version {finding.version}")
    if finding.path:
        parts.append(safe(finding.path, 70))
    if finding.column:
        parts.append(f"column {safe(finding.column, 40)}")
    return " · ".join(parts) or "the table"


def evidence_text(finding: Finding, width: int) -> str:
    shown = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in finding.evidence.items())
    return safe(shown, max(width, 40))


def _ledger(report: Report, console: Console) -> None:
    checked = report.checked
    console.print(
        f"{count(len(checked.run), 'rule')} run, {len(checked.not_applicable)} not applicable, "
        f"{len(checked.not_asked)} not asked",
        style="dim",
    )
    reasons: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for entry in checked.not_checked:
        reasons[(entry.reason, entry.file or "", entry.accepted)].append(entry.rule)
    for (reason, file, accepted), rules in reasons.items():
        shown = ", ".join(rules[:6]) + (f" and {len(rules) - 6} more" if len(rules) > 6 else "")
        word = "accepted unchecked" if accepted else "not checked"
        where = f" ({safe(file, 60)})" if file else ""
        console.print(Text(f"{word}: {shown}: {safe(reason, 100)}{where}", style="yellow"))
    for route in checked.routes_not_compared[:5]:
        console.print(Text(f"not compared: {safe(route.file, 70)}: {route.reason}", style="dim"))
    if len(checked.routes_not_compared) > 5:
        console.print(Text(f"not compared: {len(checked.routes_not_compared) - 5} more", style="dim"))


def _last_line(report: Report, console: Console) -> None:
    found = ", ".join(count(report.counts[each], each) for each in SEVERITIES if report.counts[each])
    style = {"conforms": "bold green", "violations": "bold red", "incomplete": "bold yellow"}[report.verdict]
    line = Text(report.verdict.upper(), style=style)
    line.append(f"  {found or 'nothing found'} · exit {exit_code(report)}")
    console.print(line)

"""Render a report as text: findings with location, reason and fix, then what was and was not checked."""

from datetime import UTC, datetime
from itertools import groupby

from rich.console import Console
from rich.text import Text

from deltaspec.report.causes import describe_fix, group_by_cause
from deltaspec.report.evidence import list_evidence
from deltaspec.report.ledger_text import describe_rules_run, list_ledger
from deltaspec.report.report_types import Finding, Report, RuleDoc
from deltaspec.report.text import bound_text, count, escape_text, format_instant, size, split_text, wrap_text

_STYLES = {"violation": "bold red", "warning": "yellow", "divergence": "cyan"}
_INDENT = "    "
_LEDGER_LINES = 10


def write(
    report: Report,
    console: Console,
    samples: int = 5,
    exit_code: int | None = None,
    *,
    verbose: bool = False,
) -> None:
    """Print a report.

    Args:
        report: the report.
        console: the console to print to.
        samples: findings printed for each rule.
        exit_code: exit code of the command; None for the exit code of the report.
        verbose: print also accepted findings, and more about the requirement of each rule.
    """
    _header(report, console)
    for findings in group_by_cause(report):
        rule = findings[0].rule
        _rule(findings, report.totals[rule], console, samples)
        _documentation(findings, report.rules[rule], console, verbose=verbose)
    _steps(report, console)
    if verbose:
        _accepted(report, console, samples)
    _inventory(report, console)
    _refusal(report, console)
    _ledger(report, console)
    write_verdict(report, console, report.exit_code if exit_code is None else exit_code)


def _inventory(report: Report, console: Console) -> None:
    """Print the summary of the table's directories, if they were listed."""
    found = report.inventory
    if found is None:
        return
    parts = [f"{count(found.files, 'file')} outside the log ({size(found.bytes)})"]
    for number, space, kind in (
        (found.live_files, found.live_bytes, "live"),
        (found.referenced_files, found.referenced_bytes, "of other versions or change data"),
        (found.staged_files, found.staged_bytes, "of staged commits"),
        (found.unreferenced_files, found.unreferenced_bytes, "not referenced by the validated history"),
        (found.hidden_files, found.hidden_bytes, "hidden"),
    ):
        if number:
            parts.append(f"{number:,} {kind} ({size(space)})")
    if not found.is_complete:
        parts.append("some directories could not be listed")
    for line in wrap_text(", ".join(parts), console.width):
        console.print(Text(line, style="dim"))


def _refusal(report: Report, console: Console) -> None:
    """Print why clients of the revision refuse the table."""
    if report.refusal is not None:
        reason = f"{escape_text(report.refusal.why)} ({report.refusal.requirement})"
        text = f"revision {report.revision} does not support what the table requires: {reason}"
        for line in wrap_text(text, console.width, indent=_INDENT):
            console.print(Text(line, style="yellow"))


def _header(report: Report, console: Console) -> None:
    version = "no version" if report.version is None else f"version {report.version}"
    options = f"level {report.level} · revision {report.revision}"
    if report.clock is not None:
        options += f" · clock {datetime.fromtimestamp(report.clock / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
    console.print(f"deltaspec {report.deltaspec} · validate · {options}", style="dim")
    console.print(Text.assemble(("table  ", "dim"), _printable(report.table), (f" · {version}", "dim")))
    if report.at is not None:
        at = report.at
        text = (
            f"{format_instant(at.moment)} · latest version until then, of {format_instant(at.committed)} ({at.source})"
        )
        if at.otherwise is not None:
            text += f"; other engines may read version {at.otherwise}, because file times run backwards (S69)"
        console.print(Text.assemble(("at     ", "dim"), text))
    if report.access is not None:
        for number, line in enumerate(wrap_text(report.access.description, console.width - len(_INDENT))):
            console.print(Text.assemble(("spark  " if number == 0 else " " * 7, "dim"), line))
    console.print()


def _rule(findings: list[Finding], total: int, console: Console, samples: int) -> None:
    first = findings[0]
    title = Text.assemble(
        (first.severity.upper(), _STYLES[first.severity]), " ", (first.rule, "bold"), f" {first.name}"
    )
    if total > 1:
        title.append(f"   {count(total, 'finding')}", style="dim")
    console.print(title)
    for line in wrap_text(first.message, console.width - len(_INDENT)):
        console.print(_INDENT + line)
    for finding in findings[:samples]:
        _finding(finding, console)
    if total > samples:
        console.print(Text(f"{_INDENT}… and {total - min(samples, len(findings)):,} more", style="dim"))


def _finding(finding: Finding, console: Console) -> None:
    for line in _location_lines(finding, console):
        console.print(Text(_INDENT + line, style="bold"))
    for line in _evidence_lines(finding, console):
        console.print(Text(_INDENT + line, style="dim"))


def _documentation(findings: list[Finding], doc: RuleDoc, console: Console, *, verbose: bool) -> None:
    """Print what the findings of a rule mean and how to repair them."""
    finding = findings[0]
    requirement = [("Id", finding.requirement), ("Reading", doc.reading), ("See", doc.url)] if verbose else []
    for label, text in (
        (doc.strength.upper(), f"{doc.section}: {doc.statement}"),
        *requirement,
        ("Why", doc.why),
        ("Fix", describe_fix(findings, doc.fix)),
        ("Next", f"deltaspec explain {finding.rule}"),
    ):
        if text:
            _paragraph(label, text, console)
    console.print()


def _steps(report: Report, console: Console) -> None:
    """Print the steps of every repair."""
    if not report.steps:
        return
    text = " ".join(f"({number}) {each.text}" for number, each in enumerate(report.steps, 1))
    for line in wrap_text(f"Every repair: {text}", console.width, indent=_INDENT):
        console.print(Text(line, style="dim"))
    console.print()


def _accepted(report: Report, console: Console, samples: int) -> None:
    """Print accepted findings, each with the reason."""
    for rule, group in groupby(report.accepted, key=lambda each: each.finding.rule):
        found = list(group)
        total = report.accepted_totals.get(rule, len(found))
        title = Text.assemble(("ACCEPTED", "green"), " ", (rule, "bold"), f" {found[0].finding.name}")
        console.print(title.append(f"   {count(total, 'finding')}", style="dim"))
        for each in found[:samples]:
            _finding(each.finding, console)
            reason = " ".join(filter(None, (each.reason, each.link))) or f"in the {each.source}"
            _paragraph("Reason", escape_text(reason), console)
        if (more := total - len(found[:samples])) > 0:
            console.print(Text(f"{_INDENT}… and {more:,} more", style="dim"))
        console.print()


def _paragraph(label: str, text: str, console: Console) -> None:
    label = f"{label:<6}" if len(label) < 6 else f"{label} "
    for number, line in enumerate(wrap_text(text, console.width - len(_INDENT) - len(label))):
        head = label if number == 0 else " " * len(label)
        console.print(Text.assemble(_INDENT, (head, "dim"), line))


def _location_lines(finding: Finding, console: Console) -> list[str]:
    """Return the location in as few lines as possible, split between its parts."""
    first, *parts = finding.location_parts
    lines = [f"at {first}"]
    for part in parts:
        if len(lines[-1]) + len(part) + 3 <= console.width - len(_INDENT):
            lines[-1] += f" · {part}"
        else:
            lines.append(f"   {part}")
    return [piece for line in lines for piece in _fit(line, console)]


def _evidence_lines(finding: Finding, console: Console) -> list[str]:
    """Return the evidence in one line if it fits, otherwise one line for each value."""
    items = list_evidence(finding)
    line = "   " + ", ".join(items)
    if len(line) <= console.width - len(_INDENT):
        return [line] if items else []
    return [piece for item in items for piece in _fit(f"   {item}", console)]


def _fit(line: str, console: Console) -> list[str]:
    """Wrap a line on a terminal; keep it in one piece for files and pipes, so that paths can be searched and copied."""
    width = console.width - len(_INDENT)
    if len(line) <= width or not console.is_terminal:
        return [line]
    first, *others = split_text(line, width - 6)
    return [first, *(f"      {piece}" for piece in others)]


def _printable(text: str) -> str:
    return escape_text(bound_text(text))


def _ledger(report: Report, console: Console) -> None:
    for line in wrap_text(describe_rules_run(report), console.width):
        console.print(Text(line, style="dim"))
    for part in list_ledger(report):
        _entries(part.entries, part.kind, "yellow" if part.is_undecided else "dim", console)


def _entries(entries: list[str], kind: str, style: str, console: Console) -> None:
    """Print the first entries of a list, each wrapped, and the number of the others."""
    for entry in entries[:_LEDGER_LINES]:
        for line in wrap_text(entry, console.width, indent=_INDENT, break_words=console.is_terminal):
            console.print(Text(line, style=style))
    if len(entries) > _LEDGER_LINES:
        more = len(entries) - _LEDGER_LINES
        console.print(Text(f"{kind}: {more:,} more; --format json has all", style=style))


def write_verdict(report: Report, console: Console, exit_code: int) -> None:
    """Print the verdict, the number of findings and the exit code."""
    style = {"conforms": "bold green", "violations": "bold red"}.get(report.verdict, "bold yellow")
    line = Text(report.describe_verdict(exit_code))
    line.stylize(style, 0, len(report.verdict))
    console.print(line)

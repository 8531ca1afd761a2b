"""Render a report as text: findings with location, reason and fix, then what was and was not checked."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from rich.console import Console
from rich.text import Text

from deltaspec.report.report_types import Finding, NotChecked, Report, RuleDoc
from deltaspec.report.text import bound_text, count, escape_text, size, split_text, wrap_text

_STYLES = {"violation": "bold red", "warning": "yellow", "divergence": "cyan"}
_INDENT = "    "
_LEDGER_LINES = 10
_FILES_SHOWN = 3


def write(report: Report, console: Console, samples: int = 5, exit_code: int | None = None) -> None:
    """Print a report.

    Args:
        report: the report.
        console: the console to print to.
        samples: findings printed for each rule.
        exit_code: exit code of the command; None for that of the report.
    """
    _header(report, console)
    for rule, group in groupby(report.findings, key=lambda finding: finding.rule):
        _rule(list(group), report.totals[rule], report.rules[rule], console, samples)
    _inventory(report, console)
    _refusal(report, console)
    _ledger(report, console)
    _last_line(report, report.exit_code if exit_code is None else exit_code, console)


def _inventory(report: Report, console: Console) -> None:
    """Print the summary of the table's directories, if they were listed."""
    found = report.inventory
    if found is None:
        return
    parts = [f"{count(found.files, 'file')} outside the log ({size(found.bytes)})"]
    for number, space, kind in (
        (found.live_files, found.live_bytes, "live"),
        (found.referenced_files, found.referenced_bytes, "of other versions or change data"),
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
    console.print()


def _rule(findings: list[Finding], total: int, doc: RuleDoc, console: Console, samples: int) -> None:
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
        for line in _location_lines(finding, console):
            console.print(Text(_INDENT + line, style="bold"))
        for line in _evidence_lines(finding, console):
            console.print(Text(_INDENT + line, style="dim"))
    if total > samples:
        console.print(Text(f"{_INDENT}… and {total - min(samples, len(findings)):,} more", style="dim"))
    for label, text in (
        (doc.level.upper(), f"{doc.section}: {doc.statement}"),
        ("Why", doc.why),
        ("Fix", doc.fix),
        ("Next", f"deltaspec explain {first.rule}"),
    ):
        _paragraph(label, text, console)
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
    items = _evidence_items(finding)
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


def format_evidence(finding: Finding) -> str:
    """Return the values that a rule found, complete, in one line; values that are null or empty lists are left out."""
    return ", ".join(_evidence_items(finding))


def _evidence_items(finding: Finding) -> list[str]:
    found = {name: value for name, value in finding.evidence.items() if value is not None and value != []}
    return [escape_text(f"{name} = {json.dumps(value, ensure_ascii=False)}") for name, value in found.items()]


def _printable(text: str) -> str:
    return escape_text(bound_text(text))


@dataclass(frozen=True)
class LedgerPart:
    """What a run did not check, of one kind."""

    kind: str
    entries: list[str]
    is_undecided: bool
    """Whether the verdict depends on it."""


def describe_rules_run(report: Report) -> str:
    """Return how many rules ran and how many did not, in one line."""
    checked = report.checked
    undecided = len(checked.undecided_rules)
    without_clock = [code for code in checked.not_applicable if checked.reasons.get(code) == "needs --clock"]
    return (
        f"{count(len(checked.run), 'rule')} run, {len(checked.not_applicable) - len(without_clock)} not applicable"
        + _describe_skipped(report, [*checked.skipped, *without_clock])
        + (f", {undecided} not completely checked" if undecided else "")
    )


def list_ledger(report: Report) -> list[LedgerPart]:
    """Return what the run did not check, compare, read or find; printable."""
    checked = report.checked
    files_by_reason: dict[str, list[str]] = defaultdict(list)
    for each in checked.derived_files_not_compared:
        files_by_reason[each.reason].append(each.file)
    not_compared = [_describe_files(files, len(files), why) for why, files in files_by_reason.items()]
    not_read = [_describe_files(each.files, each.count, each.reason) for each in checked.files_not_read]
    missing = [
        each.description.rpartition(" ")[0]
        + ("; log cleanup may have deleted them" if each.explained else " between other commits")
        for each in checked.missing_commits
    ]
    return [
        LedgerPart("not checked", _unchecked(checked.not_checked), True),
        LedgerPart("not compared", [f"not compared: {each}" for each in not_compared], False),
        LedgerPart("not read", [f"not read: {each}" for each in not_read], False),
        LedgerPart("not listed", [f"not listed: {each}" for each in missing], False),
    ]


def _ledger(report: Report, console: Console) -> None:
    for line in wrap_text(describe_rules_run(report), console.width):
        console.print(Text(line, style="dim"))
    for part in list_ledger(report):
        _entries(part.entries, part.kind, "yellow" if part.is_undecided else "dim", console)


def _describe_skipped(report: Report, codes: Sequence[str]) -> str:
    """Return how many rules were skipped, and the option that would run them."""
    if not codes:
        return ""
    reasons = Counter(report.checked.reasons[code] for code in codes if code in report.checked.reasons)
    parts = [f"{number} {reason.replace('needs ', 'need ', 1)}" for reason, number in sorted(reasons.items())]
    return f", {len(codes)} not selected{': ' if parts else ''}{', '.join(parts)}"


def _describe_files(files: Sequence[str], total: int, reason: str) -> str:
    """Name the first files and the number of the others, with their reason."""
    names = ", ".join(_printable(file) for file in files[:_FILES_SHOWN])
    more = total - min(len(files), _FILES_SHOWN)
    return f"{names}{f' and {more:,} more' if more else ''}: {_printable(reason)}"


def _unchecked(ledger: list[NotChecked]) -> list[str]:
    """Return one entry for each reason and set of rules, with the files it applies to."""
    rules: dict[tuple[bool, str, str], list[str]] = defaultdict(list)
    for entry in ledger:
        file = entry.file or ""
        rules[entry.accepted, entry.reason.removeprefix(f"{file}: "), file].append(entry.rule)
    files_by_entry: dict[tuple[bool, bool, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (accepted, reason, file), codes_of_file in rules.items():
        files_by_entry[accepted, not file, reason, tuple(codes_of_file)].append(file)
    entries = []
    for (accepted, without_file, reason, codes), files in sorted(files_by_entry.items(), key=lambda item: item[0][:2]):
        where = (
            "" if without_file or files[0] in reason else f" ({_first_names([_printable(file) for file in files], 3)})"
        )
        title = "accepted unchecked" if accepted else "not checked"
        entries.append(f"{title}: {_first_names(codes, 6)}: {_printable(reason)}{where}")
    return entries


def _first_names(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def _entries(entries: list[str], kind: str, style: str, console: Console) -> None:
    """Print the first entries of a list, each wrapped, and the number of the others."""
    for entry in entries[:_LEDGER_LINES]:
        for line in wrap_text(entry, console.width, indent=_INDENT, break_words=console.is_terminal):
            console.print(Text(line, style=style))
    if len(entries) > _LEDGER_LINES:
        more = len(entries) - _LEDGER_LINES
        console.print(Text(f"{kind}: {more:,} more; --format json has all", style=style))


def _last_line(report: Report, exit_code: int, console: Console) -> None:
    style = {"conforms": "bold green", "violations": "bold red"}.get(report.verdict, "bold yellow")
    line = Text(report.describe_verdict(exit_code))
    line.stylize(style, 0, len(report.verdict))
    console.print(line)

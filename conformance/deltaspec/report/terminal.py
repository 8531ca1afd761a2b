"""A report as text: what is wrong, where, why it matters, what to do; then what was and was not checked."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from rich.console import Console
from rich.text import Text

from deltaspec.report.report_types import SEVERITIES, Finding, NotChecked, Report
from deltaspec.report.text import count, escape_text, size, wrap_text

_STYLES = {"violation": "bold red", "warning": "yellow", "divergence": "cyan"}
_EXIT_CODES = {"conforms": 0, "violations": 1, "incomplete": 3, "refused": 3}
_INDENT = "    "
_LEDGER_LINES = 10


@dataclass(frozen=True)
class RuleDoc:
    """What a report says of a rule beside its findings."""

    statement: str
    """The requirement in our words."""
    section: str
    level: str
    """Normative level of the requirement: must, should, may or is."""
    why: str
    fix: str


def exit_code(report: Report) -> int:
    """0 conforms, 1 violations, 3 incomplete or refused."""
    return _EXIT_CODES[report.verdict]


def write(report: Report, words: Mapping[str, RuleDoc], console: Console, samples: int = 5) -> None:
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
    _inventory(report, console)
    _refusal(report, console)
    _ledger(report, console)
    _last_line(report, console)


def _inventory(report: Report, console: Console) -> None:
    """What lies in the table's directories, where they were listed."""
    found = report.inventory
    if found is None:
        return
    parts = [f"{count(found.files, 'file')} beside the log ({size(found.bytes)})"]
    for number, space, words in (
        (found.live_files, found.live_bytes, "live"),
        (found.referenced_files, found.referenced_bytes, "of other versions and change data"),
        (found.unreferenced_files, found.unreferenced_bytes, "that the judged history does not name"),
        (found.hidden_files, found.hidden_bytes, "hidden"),
    ):
        if number:
            parts.append(f"{number:,} {words} ({size(space)})")
    if not found.is_complete:
        parts.append("the listing is not whole")
    for line in wrap_text(", ".join(parts), console.width):
        console.print(Text(line, style="dim"))


def _refusal(report: Report, console: Console) -> None:
    """What the judged revision does not know, where its clients refuse the table."""
    if report.refusal is not None:
        asked = f"{escape_text(report.refusal.why)} ({report.refusal.requirement})"
        words = f"revision {report.revision} does not know what the table asks for: {asked}"
        for line in wrap_text(words, console.width, indent=_INDENT):
            console.print(Text(line, style="yellow"))


def _header(report: Report, console: Console) -> None:
    version = "no version" if report.version is None else f"version {report.version}"
    asked = f"level {report.level} · revision {report.revision}"
    if report.clock is not None:
        asked += f" · clock {datetime.fromtimestamp(report.clock / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
    console.print(f"deltaspec {report.deltaspec} · validate · {asked}", style="dim")
    console.print(Text.assemble(("table  ", "dim"), escape_text(report.table, 70), (f" · {version}", "dim")))
    console.print()


def _rule(findings: list[Finding], total: int, words: RuleDoc, console: Console, samples: int) -> None:
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
        for line in _place_lines(finding, console.width - len(_INDENT)):
            console.print(Text(_INDENT + line, style="bold"))
        if finding.evidence:
            console.print(Text(f"{_INDENT}   {format_evidence(finding, console.width - 8)}", style="dim"))
    if total > samples:
        console.print(Text(f"{_INDENT}… and {total - min(samples, len(findings)):,} more", style="dim"))
    for label, text in (
        (words.level.upper(), f"{words.section}: {words.statement}"),
        ("Why", words.why),
        ("Fix", words.fix),
        ("Next", f"deltaspec explain {first.rule}"),
    ):
        _paragraph(label, text, console)
    console.print()


def _paragraph(label: str, text: str, console: Console) -> None:
    label = f"{label:<6}" if len(label) < 6 else f"{label} "
    for number, line in enumerate(wrap_text(text, console.width - len(_INDENT) - len(label))):
        head = label if number == 0 else " " * len(label)
        console.print(Text.assemble(_INDENT, (head, "dim"), line))


def _place_lines(finding: Finding, width: int) -> list[str]:
    """The place in as few lines as fit, cut between its parts, since a path may hold spaces."""
    first, *parts = _place(finding)
    lines = [f"at {first}"]
    for part in parts:
        if len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(f"   {part}")
    return [
        piece for line in lines for piece in ([line] if len(line) <= width else wrap_text(line, width, indent="   "))
    ]


def format_location(finding: Finding) -> str:
    """Where a finding is, in one line."""
    return " · ".join(_place(finding))


def _place(finding: Finding) -> list[str]:
    parts = []
    if finding.file:
        parts.append(escape_text(finding.file, 70) + (f" line {finding.line}" if finding.line is not None else ""))
    elif finding.version is not None:
        parts.append(f"version {finding.version}")
    if finding.path:
        parts.append(escape_text(finding.path, 70))
    if finding.column:
        parts.append(f"column {escape_text(finding.column, 40)}")
    return parts or ["the table"]


def format_evidence(finding: Finding, width: int) -> str:
    shown = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in finding.evidence.items())
    return escape_text(shown, max(width, 40))


def _ledger(report: Report, console: Console) -> None:
    checked = report.checked
    partly = len({each.rule for each in checked.not_checked})
    ledger = (
        f"{count(len(checked.run), 'rule')} run, {len(checked.not_applicable)} not applicable, "
        f"{len(checked.skipped)} not asked" + (f", {partly} not wholly checked" if partly else "")
    )
    for line in wrap_text(ledger, console.width):
        console.print(Text(line, style="dim"))
    _some(_unchecked(checked.not_checked), "not checked", "yellow", console)
    routes = [
        f"not compared: {escape_text(each.file, 70)}: {each.reason}" for each in checked.derived_files_not_compared
    ]
    _some(routes, "not compared", "dim", console)


def _unchecked(ledger: list[NotChecked]) -> list[str]:
    """What was not checked: an entry for each reason and the rules that it holds for, with the files it is of."""
    rules: dict[tuple[bool, str, str], list[str]] = defaultdict(list)
    for entry in ledger:
        file = entry.file or ""
        rules[entry.accepted, entry.reason.removeprefix(f"{file}: "), file].append(entry.rule)
    places: dict[tuple[bool, bool, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (accepted, reason, file), theirs in rules.items():
        places[accepted, not file, reason, tuple(theirs)].append(file)
    entries = []
    for (accepted, without_file, reason, codes), files in sorted(places.items(), key=lambda item: item[0][:2]):
        where = "" if without_file or files[0] in reason else f" ({_few([escape_text(file, 60) for file in files], 3)})"
        title = "accepted unchecked" if accepted else "not checked"
        entries.append(f"{title}: {_few(codes, 6)}: {escape_text(reason, 160)}{where}")
    return entries


def _few(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def _some(entries: list[str], what: str, style: str, console: Console) -> None:
    """The first entries of a list that may be long, each wrapped, and how many more there are."""
    for entry in entries[:_LEDGER_LINES]:
        for line in wrap_text(entry, console.width, indent=_INDENT):
            console.print(Text(line, style=style))
    if len(entries) > _LEDGER_LINES:
        more = len(entries) - _LEDGER_LINES
        console.print(Text(f"{what}: {more:,} more; --format json has all", style=style))


def _last_line(report: Report, console: Console) -> None:
    style = {"conforms": "bold green", "violations": "bold red"}.get(report.verdict, "bold yellow")
    line = Text(format_verdict(report))
    line.stylize(style, 0, len(report.verdict))
    console.print(line)


def format_verdict(report: Report) -> str:
    """The verdict, how much was found, and the exit code."""
    found = ", ".join(count(report.counts[each], each) for each in SEVERITIES if report.counts[each])
    return f"{report.verdict.upper()}  {found or 'nothing found'} · exit {exit_code(report)}"

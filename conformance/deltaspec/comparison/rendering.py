"""Write a comparison for people. Text of engines and tables is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from deltaspec.comparison.results import Check, ComparisonFile, ComparisonReport, DifferingRow, EngineComparison
from deltaspec.report.text import count, escape_text, size, wrap_text

_WIDTH, _MESSAGE_LINES, _TEXT = 100, 6, 500
_VERDICTS = {"equal": "EQUAL", "differs": "DIFFERS", "incomplete": "INCOMPLETE"}
_INDENT = " " * 14


def render_text(found: ComparisonFile) -> str:
    """Return the comparison of all tables for a terminal."""
    lines = [line for each in found.tables for line in [*_render_table(each), ""]]
    if len(found.tables) > 1:
        equal = sum(each.verdict == "equal" for each in found.tables)
        lines.append(f"{equal:,} of {count(len(found.tables), 'table')} equal · exit {int(found.exit_code)}")
    return "\n".join(lines).rstrip() + "\n"


def _render_table(report: ComparisonReport) -> Iterator[str]:
    rows = "rows not known" if report.rows is None else count(report.rows, "row")
    facts = f"{rows}, {count(report.files, 'file')} ({size(report.bytes)})"
    if report.partitions:
        facts += f", {count(report.partitions, 'partition')}"
    yield f"table     {escape_text(report.table, _TEXT)} · version {report.version} · {facts}"
    if report.sample is not None:
        part = f"{count(report.sample.files, 'file')} ({size(report.sample.bytes)})"
        yield from _wrap(f"sample    {part} where {escape_text(report.sample.condition, _TEXT)}", " " * 10)
    for name, reason in report.columns_not_compared.items():
        yield from _wrap(
            f"column    {escape_text(name, _TEXT)} is not compared: {escape_text(reason, _TEXT)}", " " * 10
        )
    for path, reason in list(report.unread_files.items())[:3]:
        yield from _wrap(f"unread    {escape_text(path, _TEXT)}: {escape_text(reason, _TEXT)}", " " * 10)
    if len(report.unread_files) > 3:
        yield f"          and {len(report.unread_files) - 3:,} more files; deltaspec validate --level rows names them"
    for each in report.engines:
        yield from _render_engine(each)
    yield f"{_VERDICTS[report.verdict]}: {_describe(report)}"


def _describe(report: ComparisonReport) -> str:
    differing = [each.candidate for each in report.engines if each.verdict == "differs"]
    incomplete = [each.candidate for each in report.engines if each.verdict == "incomplete"]
    equal = [each.candidate for each in report.engines if each.verdict == "equal"]
    parts = [
        f"{', '.join(names)} {text}"
        for names, text in (
            (differing, "must not read this table"),
            (incomplete, "could not be compared completely"),
            (equal, "returned what the protocol says"),
        )
        if names
    ]
    return "; ".join(parts)


def _render_engine(engine: EngineComparison) -> Iterator[str]:
    name = escape_text(f"{engine.name or engine.candidate} {engine.version}".strip())
    yield ""
    yield f"{name}   {_VERDICTS[engine.verdict]}   {engine.seconds:.1f} s, of which {engine.scan_seconds:.1f} s to scan"
    for check in engine.checks:
        yield from _render_check(check)
    yield ""


def _render_check(check: Check) -> Iterator[str]:
    message = check.message.splitlines()
    first = f": {escape_text(message[0], _TEXT)}" if message else ""
    yield from _wrap(f"  {check.name:<11} {check.outcome}{first}", _INDENT)
    for line in message[1:_MESSAGE_LINES]:
        yield from _wrap(_INDENT + escape_text(line, _TEXT), _INDENT)
    difference = check.difference
    if difference is not None:
        names = ", ".join(difference.columns) or "none, values moved to other rows"
        yield from _wrap(f"{_INDENT}columns: {escape_text(names, _TEXT)}", _INDENT)
        if difference.kinds:
            yield from _wrap(f"{_INDENT}kinds: {', '.join(difference.kinds)}", _INDENT)
        if difference.partitions != ("all rows",):
            shown = "; ".join(escape_text(each, _TEXT) for each in difference.partitions)
            yield from _wrap(f"{_INDENT}{count(difference.partition_count, 'partition')}: {shown}", _INDENT)
        for file in difference.files:
            yield from _wrap(f"{_INDENT}{escape_text(file.file, _TEXT)}: {count(file.rows, 'row')}", _INDENT)
        for row in difference.rows:
            yield from _render_row(row)
    for finding in check.findings:
        yield from _wrap(f"{_INDENT}known: {finding.title} (reports/findings/{finding.id})", _INDENT)


def _render_row(row: DifferingRow) -> Iterator[str]:
    for sign, values in (("-", row.expected), ("+", row.found)):
        if values is not None:
            text = ", ".join(f"{name}={value}" for name, value in values.items())
            yield from _wrap(f"{_INDENT}{sign} {escape_text(text, _TEXT)}", _INDENT + "  ")


def _wrap(text: str, indent: str) -> list[str]:
    first = text[: len(text) - len(text.lstrip())]
    lines = wrap_text(text.lstrip(), _WIDTH - len(first), indent=indent[len(first) :] if first else indent)
    return [first + line if number == 0 or first else line for number, line in enumerate(lines)]

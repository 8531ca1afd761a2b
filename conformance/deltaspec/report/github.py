"""Render a report as workflow commands of GitHub Actions, which become annotations.

GitHub shows ten errors and ten warnings of a step, so there is one annotation for each rule.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from deltaspec.report.causes import describe_fix, group_by_cause
from deltaspec.report.evidence import format_evidence
from deltaspec.report.ledger_text import list_ledger
from deltaspec.report.report_types import Finding, Report
from deltaspec.report.text import count, escape_text
from deltaspec.scales import SEVERITIES

_COMMANDS = dict(zip(SEVERITIES, ("error", "warning", "notice"), strict=True))
_WIDTH = 1_000
_ENTRIES_SHOWN = 5


def render_github(report: Report, exit_code: int, directory: str | None = None) -> str:
    """Return one command a line, and the verdict.

    Args:
        report: the report.
        exit_code: exit code of the command.
        directory: root of the repository, for the paths of local tables; by default the current directory.
    """
    lines = [
        *_list_unchecked(report),
        *(_describe_rule(group, report, Path(directory or os.getcwd())) for group in group_by_cause(report)),
        report.describe_verdict(exit_code),
    ]
    return "\n".join(lines) + "\n"


def _list_unchecked(report: Report) -> Iterator[str]:
    """Yield a warning if something is undecided, and a notice for what else was not checked."""
    if report.refusal is not None:
        why = f"revision {report.revision} does not support what the table requires: {report.refusal.why}"
        yield _format_command("error", {"title": f"refused: {report.table}"}, why)
    for part in list_ledger(report):
        if not part.entries:
            continue
        shown = list(part.entries[:_ENTRIES_SHOWN])
        if (more := len(part.entries) - len(shown)) > 0:
            shown.append(f"and {more:,} more; the JSON report has all")
        undecided = part.is_undecided and any(not each.accepted for each in report.checked.not_checked)
        yield _format_command(
            "warning" if undecided else "notice", {"title": f"{part.kind}: {report.table}"}, "; ".join(shown)
        )


def _describe_rule(findings: list[Finding], report: Report, directory: Path) -> str:
    first, total = findings[0], report.totals[findings[0].rule]
    properties = {"title": f"{first.rule} {first.name}" + (f" ({count(total, 'finding')})" if total > 1 else "")}
    file = _find_file(first, report.table, directory)
    if file is not None:
        line = {} if first.line is None or file.endswith(".parquet") else {"line": str(first.line)}
        properties = {"file": file, **line, **properties}
    evidence = format_evidence(first)
    place = f"{report.table}: {first.location}" + (f": {evidence}" if evidence else "")
    fix = describe_fix(findings, report.rules[first.rule].fix)
    return _format_command(_COMMANDS[first.severity], properties, f"{first.message} At {place}", f"Fix: {fix}")


def _find_file(finding: Finding, table: str, directory: Path) -> str | None:
    """Return the log file relative to the repository, or None if it is not in it."""
    if finding.file is None or "://" in table:
        return None
    file = Path(os.path.normpath(directory / table / finding.file))
    return file.relative_to(directory).as_posix() if file.is_relative_to(directory) else None


def _format_command(name: str, properties: Mapping[str, str], *parts: str) -> str:
    """Return a workflow command. A line break between the parts is kept; all other control characters are visible."""
    shown = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    return f"::{name} {shown}::" + "%0A".join(_escape_data(part) for part in parts)


def _escape_data(text: str) -> str:
    return escape_text(text, _WIDTH).replace("%", "%25")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")

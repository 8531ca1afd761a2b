"""Render a report as Markdown, for step summaries and comments. All text of a table is in code spans."""

from collections.abc import Iterator

from deltaspec.report.causes import describe_fix, group_by_cause
from deltaspec.report.evidence import format_evidence
from deltaspec.report.ledger_text import describe_rules_run, list_ledger
from deltaspec.report.report_types import Finding, Report
from deltaspec.report.text import count, format_code

MOST_BYTES = 900_000
"""GitHub refuses a step summary over 1 MiB."""
_FINDINGS_SHOWN = 10
_LEDGER_SHOWN = 50
_LOCATION_WIDTH, _EVIDENCE_WIDTH = 500, 1_000


def render_markdown(report: Report, exit_code: int) -> str:
    """Return the document: verdict, what was not checked, and the first findings of each rule.

    Args:
        report: the report.
        exit_code: exit code of the command.
    """
    version = "no version" if report.version is None else f"version {report.version}"
    about = f"{version}, level {report.level}, revision {report.revision}, deltaspec {report.deltaspec}"
    lines = [
        f"# {report.describe_verdict(exit_code)}",
        "",
        f"{format_code(report.table, _LOCATION_WIDTH)}, {about}",
        *_list_unchecked(report),
    ]
    size = sum(len(line.encode()) + 1 for line in lines)
    sections = ["\n".join(_describe_rule(findings, report)) for findings in group_by_cause(report)]
    for number, section in enumerate(sections):
        size += len(section.encode()) + 1
        if size > MOST_BYTES:
            lines += ["", f"{count(len(sections) - number, 'more rule')} with findings; the JSON report has all."]
            break
        lines.append(section)
    return "\n".join(lines) + "\n"


def _list_unchecked(report: Report) -> Iterator[str]:
    """Yield the entries that the run did not check."""
    yield from ("", f"{describe_rules_run(report)}.")
    if report.refusal is not None:
        why = format_code(report.refusal.why, _EVIDENCE_WIDTH)
        yield from ("", f"**Refused**: revision {report.revision} does not support what the table requires: {why}")
    for part in list_ledger(report):
        if part.entries:
            yield from ("", f"## {part.kind.capitalize()}", "")
            yield from (f"- {format_code(entry, _EVIDENCE_WIDTH)}" for entry in part.entries[:_LEDGER_SHOWN])
            if (more := len(part.entries) - _LEDGER_SHOWN) > 0:
                yield f"- and {more:,} more; the JSON report has all"


def _describe_rule(findings: list[Finding], report: Report) -> Iterator[str]:
    first, doc = findings[0], report.rules[findings[0].rule]
    total = report.totals[first.rule]
    yield from ("", f"## {first.severity.upper()} {first.rule} {first.name}: {count(total, 'finding')}", "")
    yield from (format_code(first.message), "")
    for finding in findings[:_FINDINGS_SHOWN]:
        evidence = format_evidence(finding)
        yield f"- {format_code(finding.location, _LOCATION_WIDTH)}" + (
            f": {format_code(evidence, _EVIDENCE_WIDTH)}" if evidence else ""
        )
    if (more := total - len(findings[:_FINDINGS_SHOWN])) > 0:
        yield f"- and {more:,} more"
    yield from ("", f"**{doc.strength}** [{doc.section}]({doc.url}): {doc.statement}")
    yield from ("", f"**Why** {doc.why}", "", f"**Fix** {describe_fix(findings, doc.fix)}")

"""Render a report as SARIF 2.1.0, the format of code scanning services.

A finding is a result. What a run did not check is a notification, and a run that is not complete was not successful.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import msgspec

from deltaspec.report.evidence import format_evidence
from deltaspec.report.ledger_text import describe_rules_run, list_ledger
from deltaspec.report.report_types import AcceptedFinding, Finding, Report
from deltaspec.report.text import count, escape_text
from deltaspec.scales import SEVERITIES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 5_000
"""GitHub keeps the first 5,000 results of a run."""
_BASE = "TABLE"
_FINGERPRINT = "deltaspec/v1"
_LEVELS = dict(zip(SEVERITIES, ("error", "warning", "note"), strict=True))
_URI_CHARACTERS = "/-_.~:?#[]@!$&'()*+,;="


def render_sarif(report: Report, exit_code: int) -> str:
    """Return the document, with the most severe findings if there are more than `MOST_RESULTS`.

    Args:
        report: the report.
        exit_code: exit code of the command.
    """
    codes = list(dict.fromkeys([*(each.rule for each in report.findings), *(a.finding.rule for a in report.accepted)]))
    index = {code: number for number, code in enumerate(codes)}
    first = {each.rule: each for each in [*(a.finding for a in report.accepted), *report.findings]}
    state = {} if report.baseline is None else {"baselineState": "new"}
    listed = report.findings[:MOST_RESULTS]
    accepted = report.accepted[: MOST_RESULTS - len(listed)]
    results = [_build_result(each, index[each.rule]) | state for each in listed]
    results += [_build_accepted_result(each, index[each.finding.rule]) for each in accepted]
    left_out = len(report.findings) + len(report.accepted) - len(results)
    run = {
        "tool": {
            "driver": {
                "name": "deltaspec",
                "semanticVersion": report.deltaspec,
                "rules": [_build_rule(first[code], report) for code in codes],
            }
        },
        "invocations": [
            {
                "executionSuccessful": _is_complete(report),
                "exitCode": exit_code,
                "exitCodeDescription": report.verdict + (f" ({report.exit_reason})" if report.exit_reason else ""),
                "toolExecutionNotifications": list(_list_notifications(report, left_out)),
            }
        ],
        "originalUriBaseIds": {_BASE: {"uri": _build_base_uri(report.table)}},
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": {
            "table": report.table,
            "version": report.version,
            "revision": report.revision,
            "level": report.level,
            "verdict": report.verdict,
            "totals": report.totals,
            "rulesRun": report.checked.run,
            "rulesNotApplicable": report.checked.not_applicable,
            "rulesSkipped": report.checked.skipped,
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _build_rule(finding: Finding, report: Report) -> dict[str, Any]:
    doc = report.rules.get(finding.rule)
    about: dict[str, Any] = {
        "id": finding.rule,
        "name": finding.name,
        "shortDescription": {"text": finding.message},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": {"tags": ["delta", finding.level], "requirement": finding.requirement},
    }
    if doc is None:
        return about
    about["properties"]["fixClass"] = doc.fix_class
    about["properties"]["fixCases"] = msgspec.to_builtins(doc.fix_cases)
    text = f"{doc.section}: {doc.statement}\nWhy: {doc.why}\nFix: {doc.fix}"
    markdown = f"[{doc.section}]({doc.url}): {doc.statement}\n\n**Why** {doc.why}\n\n**Fix** {doc.fix}"
    about |= {"fullDescription": {"text": doc.why}, "help": {"text": text, "markdown": markdown}}
    return about | ({"helpUri": doc.url} if doc.url else {})


def _build_result(finding: Finding, rule_index: int) -> dict[str, Any]:
    evidence = format_evidence(finding)
    text = f"{escape_text(finding.message)} At {finding.location}" + (f": {evidence}" if evidence else "")
    known: dict[str, Any] = {"version": finding.version, "path": finding.path, "column": finding.column}
    known |= {
        "row": _get_row(finding),
        "fixCase": finding.fix_case,
        "cause": finding.cause,
        "related": finding.related or None,
    }
    result = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_build_location(finding)],
        "properties": {name: value for name, value in known.items() if value is not None}
        | {"evidence": finding.evidence},
    }
    return result | ({"partialFingerprints": {_FINGERPRINT: finding.fingerprint}} if finding.fingerprint else {})


def _build_accepted_result(accepted: AcceptedFinding, rule_index: int) -> dict[str, Any]:
    reason = " ".join(filter(None, (accepted.reason, accepted.link))) or f"accepted by the {accepted.source}"
    suppression = {"kind": "external", "status": "accepted", "justification": escape_text(reason)}
    state = {"baselineState": "unchanged"} if accepted.source == "baseline" else {}
    return _build_result(accepted.finding, rule_index) | state | {"suppressions": [suppression]}


def _build_location(finding: Finding) -> dict[str, Any]:
    """Return the line of the log file, or else the data file, or else the log."""
    if finding.file is not None:
        uri = quote(finding.file.encode(errors="backslashreplace"), safe="/-_.~=+,@$&!*'()")
    elif finding.path is not None:
        uri = quote(finding.path.encode(errors="backslashreplace"), safe=f"{_URI_CHARACTERS}%")
    else:
        uri = "_delta_log"
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": _BASE}}
    if finding.line is not None and finding.line > 0 and _get_row(finding) is None:
        physical["region"] = {"startLine": finding.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.column:
        location["logicalLocations"] = [{"name": escape_text(finding.column), "kind": "member"}]
    return location


def _get_row(finding: Finding) -> int | None:
    """Return the row of a Parquet file, which has no lines."""
    return finding.line if finding.file is not None and finding.file.endswith(".parquet") else None


def _build_base_uri(table: str) -> str:
    """Return the URI of the table's directory, with a slash at the end."""
    if "://" in table:
        uri = quote(table.encode(errors="backslashreplace"), safe=f"{_URI_CHARACTERS}%")
    else:
        path = PurePath(table).as_posix()
        uri = ("file://" if path.startswith("/") else "") + quote(path.encode(errors="backslashreplace"))
    return uri.rstrip("/") + "/"


def _is_complete(report: Report) -> bool:
    return report.refusal is None and all(each.accepted for each in report.checked.not_checked)


def _list_notifications(report: Report, left_out: int) -> Iterator[dict[str, Any]]:
    """Yield what was not checked, and which findings are not results."""
    undecided = not _is_complete(report)
    if report.refusal is not None:
        why = f"revision {report.revision} does not support what the table requires: {escape_text(report.refusal.why)}"
        yield _build_notification("error", f"refused: {why}")
    for part in list_ledger(report):
        for entry in part.entries:
            is_error = part.is_undecided and not entry.startswith("accepted")
            yield _build_notification("error" if is_error else "note", entry)
    if left_out:
        yield _build_notification("warning", f"{count(left_out, 'finding')} left out; the JSON report has them")
    shown = Counter(finding.rule for finding in report.findings)
    for code, total in report.totals.items():
        if total > shown[code]:
            text = f"{code}: {shown[code]:,} of {count(total, 'finding')} are in this report"
            yield _build_notification("warning", text)
    yield _build_notification("warning" if undecided else "note", describe_rules_run(report))


def _build_notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}

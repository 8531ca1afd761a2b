"""Render a report as JUnit XML, with one test case for each rule.

A violation is a failure: the table is wrong. A rule that could not be decided is an error: the result is unknown. So is
a table that clients of the revision must refuse. Files that were not compared or read are in `system-out` of the suite.
"""

from collections import defaultdict
from xml.etree import ElementTree

from deltaspec.report.evidence import format_evidence
from deltaspec.report.ledger_text import list_ledger
from deltaspec.report.report_types import Finding, NotChecked, Report
from deltaspec.report.text import count, escape_text

_LOCATIONS_SHOWN = 50


def render_junit(report: Report) -> str:
    """Return the XML document.

    Rules with only warnings, divergences or accepted ledger entries pass; `system-out` lists these. Rules that are not
    applicable are skipped, with their reason. Rules that were not selected have no test case.
    """
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.rule].append(finding)
    unchecked: dict[str, list[NotChecked]] = defaultdict(list)
    for entry in report.checked.not_checked:
        unchecked[entry.rule].append(entry)
    rules = sorted({*report.checked.run, *report.checked.not_applicable, *findings, *unchecked})
    suite = ElementTree.Element("testsuite", name=f"deltaspec {report.level}")
    for rule in rules:
        case = ElementTree.SubElement(suite, "testcase", classname=f"deltaspec.{report.level}", name=escape_text(rule))
        _fill(case, rule, findings[rule], unchecked[rule], report)
    if report.refusal is not None:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"deltaspec.{report.level}", name=escape_text(report.refusal.requirement)
        )
        message = f"clients of revision {report.revision} must refuse the table: {escape_text(report.refusal.why)}"
        ElementTree.SubElement(case, "error", message=message, type="refused")
    suite.attrib["tests"] = str(len(suite.findall("testcase")))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.attrib[name] = str(len(suite.findall(f"testcase/{tag}")))
    if files := [entry for part in list_ledger(report) if not part.is_undecided for entry in part.entries]:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(files)
    root = ElementTree.Element("testsuites", name=escape_text(report.table))
    root.append(suite)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document.decode() + "\n"


def _fill(
    case: ElementTree.Element, rule: str, findings: list[Finding], unchecked: list[NotChecked], report: Report
) -> None:
    undecided = [each for each in unchecked if not each.accepted]
    text = [_finding_line(each) for each in findings[:_LOCATIONS_SHOWN]]
    if (more := report.totals.get(rule, 0) - len(text)) > 0:
        text.append(f"and {count(more, 'finding')} more")
    text += [_unchecked_line(each) for each in unchecked[:_LOCATIONS_SHOWN]]
    if len(unchecked) > _LOCATIONS_SHOWN:
        text.append(f"and {count(len(unchecked) - _LOCATIONS_SHOWN, 'location')} more")
    if any(each.severity == "violation" for each in findings):
        first = findings[0]
        message = f"{count(report.totals[rule], 'finding')}: {escape_text(first.message)}"
        outcome = ElementTree.SubElement(case, "failure", message=message, type=first.name)
    elif undecided:
        message = f"not checked at {count(len(undecided), 'location')}"
        outcome = ElementTree.SubElement(case, "error", message=message, type="not-checked")
    elif text:
        outcome = ElementTree.SubElement(case, "system-out")
    elif rule not in report.checked.run:
        reason = report.checked.reasons.get(rule, "the table has nothing to check")
        ElementTree.SubElement(case, "skipped", message=f"not applicable: {escape_text(reason)}")
        return
    else:
        return
    outcome.text = "\n".join(text)


def _finding_line(finding: Finding) -> str:
    evidence = format_evidence(finding)
    return f"{finding.severity}: {finding.location}" + (f": {evidence}" if evidence else "")


def _unchecked_line(entry: NotChecked) -> str:
    status = "accepted unchecked" if entry.accepted else "not checked"
    return f"{status}: {escape_text(entry.file or 'the table')}: {escape_text(entry.reason)}"

"""A report as JUnit XML: one test case a rule. A violation is a failure, a rule that could not be decided an error.

The two stay apart: a failure says that the table is wrong, an error that nobody knows.
"""

from collections import defaultdict
from xml.etree import ElementTree

from deltaspec.report.report_types import Finding, NotChecked, Report
from deltaspec.report.terminal import format_evidence, format_location
from deltaspec.report.text import count, escape_text

_PLACES_SHOWN = 50


def render_junit(report: Report) -> str:
    """The XML document.

    Warnings, divergences and what was accepted unchecked pass and stand in `system-out`; a rule that is not
    applicable is skipped, with its reason; a rule that was not asked for has no test case.
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
        case = ElementTree.SubElement(suite, "testcase", classname=f"deltaspec.{report.level}", name=rule)
        _fill(case, rule, findings[rule], unchecked[rule], report)
    suite.attrib["tests"] = str(len(rules))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.attrib[name] = str(len(suite.findall(f"testcase/{tag}")))
    root = ElementTree.Element("testsuites", name=escape_text(report.table))
    root.append(suite)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document.decode() + "\n"


def _fill(
    case: ElementTree.Element, rule: str, findings: list[Finding], unchecked: list[NotChecked], report: Report
) -> None:
    open_places = [each for each in unchecked if not each.accepted]
    text = [_finding_line(each) for each in findings[:_PLACES_SHOWN]]
    if (more := report.totals.get(rule, 0) - len(text)) > 0:
        text.append(f"and {count(more, 'finding')} more")
    text += [_unchecked_line(each) for each in unchecked[:_PLACES_SHOWN]]
    if len(unchecked) > _PLACES_SHOWN:
        text.append(f"and {count(len(unchecked) - _PLACES_SHOWN, 'place')} more")
    if any(each.severity == "violation" for each in findings):
        first = findings[0]
        message = f"{count(report.totals[rule], 'finding')}: {escape_text(first.message)}"
        outcome = ElementTree.SubElement(case, "failure", message=message, type=first.name)
    elif open_places:
        message = f"not checked at {count(len(open_places), 'place')}"
        outcome = ElementTree.SubElement(case, "error", message=message, type="not-checked")
    elif text:
        outcome = ElementTree.SubElement(case, "system-out")
    elif rule not in report.checked.run:
        reason = report.checked.reasons.get(rule, "the table has nothing that it looks at")
        ElementTree.SubElement(case, "skipped", message=f"not applicable: {escape_text(reason)}")
        return
    else:
        return
    outcome.text = "\n".join(text)


def _finding_line(finding: Finding) -> str:
    return f"{finding.severity}: {format_location(finding)}: {format_evidence(finding, 400)}"


def _unchecked_line(entry: NotChecked) -> str:
    word = "accepted unchecked" if entry.accepted else "not checked"
    return f"{word}: {escape_text(entry.file or 'the table')}: {escape_text(entry.reason)}"

"""A report as JUnit XML: one test case a rule. A violation is a failure, a rule that could not run is an error."""

from collections import defaultdict
from xml.etree import ElementTree

from deltaspec.report.terminal import evidence_text, place_text
from deltaspec.report.text import safe
from deltaspec.report.values import Finding, NotChecked, Report


def render(report: Report) -> str:
    """The XML document.

    Warnings and divergences pass and stand in `system-out`; rules that are not applicable are skipped, with the
    reason.
    """
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.rule].append(finding)
    unchecked: dict[str, list[NotChecked]] = defaultdict(list)
    for entry in report.checked.not_checked:
        if not entry.accepted:
            unchecked[entry.rule].append(entry)
    suite = ElementTree.Element("testsuite", name=f"deltaspec {report.level}")
    failures = errors = 0
    rules = sorted({*report.checked.run, *report.checked.not_applicable, *findings, *unchecked})
    for rule in rules:
        case = ElementTree.SubElement(suite, "testcase", classname=f"deltaspec.{report.level}", name=rule)
        if any(each.severity == "violation" for each in findings[rule]):
            failures += 1
            _add(case, "failure", report.totals[rule], findings[rule])
        elif unchecked[rule]:
            errors += 1
            fault = ElementTree.SubElement(case, "error", message="not checked")
            fault.text = "\n".join(safe(f"{each.file or ''}: {each.reason}") for each in unchecked[rule])
        elif findings[rule]:
            _add(case, "system-out", report.totals[rule], findings[rule])
        elif rule not in report.checked.run:
            ElementTree.SubElement(case, "skipped", message="not applicable: the table has nothing that it looks at")
    suite.attrib |= {"tests": str(len(rules)), "failures": str(failures), "errors": str(errors)}
    root = ElementTree.Element("testsuites", name=safe(report.table))
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(case: ElementTree.Element, tag: str, total: int, findings: list[Finding]) -> None:
    first = findings[0]
    attributes = {} if tag == "system-out" else {"message": f"{total} times: {first.message}", "type": first.name}
    element = ElementTree.SubElement(case, tag, attributes)
    element.text = "\n".join(f"{first.severity}: {place_text(each)}: {evidence_text(each, 400)}" for each in findings)

"""Join the reports of several tables into one document of a format that has room for several runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from xml.etree import ElementTree

from deltaspec.report.sarif import SCHEMA
from deltaspec.report.tables_summary import TableResult
from deltaspec.report.text import escape_text

Part = tuple[TableResult, str | None]
"""Result of a run over one table, and its report in the format; None if there is no report."""


def join_sarif(parts: Sequence[Part]) -> str:
    """Return a SARIF document with a run for each table. A table without a report has a run that failed."""
    runs = []
    for result, document in parts:
        found = [_build_failed_run(result)] if document is None else json.loads(document)["runs"]
        for run in found:
            runs.append({"automationDetails": {"id": f"deltaspec/{result.table}/"}, **run})
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=2) + "\n"


def _build_failed_run(result: TableResult) -> dict[str, object]:
    text = f"{result.table}: {result.verdict}: {result.reason or 'there is no report'}"
    invocation = {
        "executionSuccessful": False,
        "exitCode": result.exit_code,
        "exitCodeDescription": result.verdict,
        "toolExecutionNotifications": [{"level": "error", "message": {"text": text}}],
    }
    return {"tool": {"driver": {"name": "deltaspec"}}, "invocations": [invocation], "results": []}


def join_junit(parts: Sequence[Part]) -> str:
    """Return a JUnit document with a test suite for each table. A table without a report has one test with an error."""
    root = ElementTree.Element("testsuites", name="deltaspec")
    for result, document in parts:
        table = escape_text(result.table)
        if document is None:
            suite = ElementTree.SubElement(
                root, "testsuite", name=table, tests="1", failures="0", errors="1", skipped="0"
            )
            case = ElementTree.SubElement(suite, "testcase", classname="deltaspec", name="report")
            message = escape_text(result.reason or "there is no report")
            ElementTree.SubElement(case, "error", message=message, type=result.verdict)
            continue
        for suite in ElementTree.fromstring(document.encode()):
            suite.set("name", f"{table} {suite.get('name')}")
            root.append(suite)
    ElementTree.indent(root)
    joined: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return joined.decode() + "\n"


JOINERS: dict[str, Callable[[Sequence[Part]], str]] = {"sarif": join_sarif, "junit": join_junit}
"""Functions that join reports, by name of the format."""

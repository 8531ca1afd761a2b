"""The published JSON Schema of reports."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.reports import make_baseline, make_divergence, make_finding, make_not_compared, not_checked, report
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from deltaspec.report.report_schema import build_report_schema, render_report_schema
from deltaspec.report.report_types import AcceptedFinding, AcceptEntry, FilesNotRead, MissingCommits, Report

PUBLISHED = Path(__file__).parents[3] / "reports" / "report.schema.json"
EXAMPLES = {
    "sound": report(),
    "broken": report(
        make_finding(), make_divergence(version=None, file=None, line=None, path=None), verdict="violations"
    ),
    "incomplete": report(
        verdict="incomplete",
        not_checked=[not_checked(), not_checked(file=None, accepted=True)],
        derived_files_not_compared=[make_not_compared("x")],
        files_not_read=[FilesNotRead(reason="later than version 7", count=2, files=["_delta_log/8.json"])],
        missing_commits=[MissingCommits(first=0, last=4, explained=True)],
        reasons={"CKP001": "no row"},
    ),
    "accepted": replace(
        report(),
        accepted=[AcceptedFinding(finding=make_finding(), source="configuration", reason="legacy")],
        accepted_totals={"FIL001": 2},
        accept=[AcceptEntry(rule="FIL001", reason="legacy", until="2027-01-31", status="used", count=1)],
        baseline=make_baseline(),
    ),
}


def to_json(shown: Report) -> Any:
    return json.loads(msgspec.json.encode(shown))


def test_published_file_is_up_to_date() -> None:
    assert PUBLISHED.read_text("utf-8") == render_report_schema()


def test_schema_is_valid() -> None:
    Draft202012Validator.check_schema(build_report_schema())


@pytest.mark.parametrize("shown", EXAMPLES.values(), ids=EXAMPLES)
def test_reports_match_the_schema_and_can_be_decoded(shown: Report) -> None:
    Draft202012Validator(build_report_schema()).validate(to_json(shown))
    assert msgspec.json.decode(msgspec.json.encode(shown), type=Report) == shown


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("verdict", "fine"), ("version", "7"), ("findings", {}), ("counts", [1]), ("checked", None)),
        *(("report_version", 1), ("rules", {"FIL001": {"why": "it matters"}})),
    ],
)
def test_schema_rejects_invalid_reports(field: str, value: object) -> None:
    assert not Draft202012Validator(build_report_schema()).is_valid({**to_json(report()), field: value})


def test_schema_requires_the_fields_that_readers_rely_on() -> None:
    required = {
        *("report_version", "deltaspec", "table", "version", "revision", "level", "engine", "verdict", "counts"),
        *("findings", "checked"),
    }
    assert required <= set(build_report_schema()["$defs"]["Report"]["required"])


def test_fields_of_a_finding_keep_their_order() -> None:
    assert list(to_json(report(make_finding()))["findings"][0]) == [
        *("rule", "name", "severity", "requirement", "level", "version", "file", "line", "path", "column"),
        *("message", "evidence", "fingerprint", "fix_case", "fix_commands", "cause", "related"),
    ]

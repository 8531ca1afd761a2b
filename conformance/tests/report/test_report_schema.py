"""The published schema of a report, and reports that keep it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.reports import make_divergence, make_finding, make_not_compared, not_checked, report
from jsonschema import Draft202012Validator

from deltaspec.report.report_schema import build_report_schema, render_report_schema
from deltaspec.report.report_types import Report

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
        reasons={"CKP001": "no row"},
    ),
}


def as_json(shown: Report) -> Any:
    return json.loads(msgspec.json.encode(shown))


def test_the_published_file_is_up_to_date() -> None:
    assert PUBLISHED.read_text("utf-8") == render_report_schema()


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(build_report_schema())


@pytest.mark.parametrize("shown", EXAMPLES.values(), ids=EXAMPLES)
def test_reports_keep_it_and_read_back(shown: Report) -> None:
    Draft202012Validator(build_report_schema()).validate(as_json(shown))
    assert msgspec.json.decode(msgspec.json.encode(shown), type=Report) == shown


@pytest.mark.parametrize(
    ("field", "value"), [("verdict", "fine"), ("version", "7"), ("findings", {}), ("counts", [1]), ("checked", None)]
)
def test_it_refuses_what_no_report_says(field: str, value: object) -> None:
    assert not Draft202012Validator(build_report_schema()).is_valid({**as_json(report()), field: value})


def test_it_asks_for_every_field_that_readers_rely_on() -> None:
    promised = {
        *("report_version", "deltaspec", "table", "version", "revision", "level", "engine", "verdict", "counts"),
        *("findings", "checked"),
    }
    assert promised <= set(build_report_schema()["$defs"]["Report"]["required"])


def test_fields_of_a_finding_keep_their_order() -> None:
    assert list(as_json(report(make_finding()))["findings"][0]) == [
        *("rule", "name", "severity", "requirement", "level", "version", "file", "line", "path", "column"),
        *("message", "evidence"),
    ]

"""SARIF reports: valid by the official schema, complete, and not successful if the run was incomplete."""

import json
from typing import Any

import pytest
from helpers.reports import (
    COMMIT,
    make_baseline,
    make_divergence,
    make_finding,
    make_not_compared,
    not_checked,
    report,
)
from helpers.sarif import build_sarif_validator
from msgspec.structs import replace

from deltaspec.report import sarif
from deltaspec.report.report_types import AcceptedFinding, Refusal, Report
from deltaspec.report.sarif import render_sarif
from deltaspec.validation.rule_docs import build_rule_doc


def render(shown: Report, exit_code: int = 1) -> Any:
    """Return the only run of the document."""
    document = json.loads(render_sarif(shown, exit_code))
    build_sarif_validator().validate(document)
    (run,) = document["runs"]
    return run


def list_notifications(run: Any) -> list[tuple[str, str]]:
    (invocation,) = run["invocations"]
    return [(each["level"], each["message"]["text"]) for each in invocation["toolExecutionNotifications"]]


def test_schema_is_the_official_one_and_rejects_faults() -> None:
    schema = build_sarif_validator().schema
    assert schema["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
    assert (
        schema["$id"]
        == "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
    )
    document = json.loads(render_sarif(report(make_finding()), 1))
    document["runs"][0]["results"][0]["level"] = "fatal"
    assert not build_sarif_validator().is_valid(document)


def test_result_has_line_level_fingerprint_and_rule() -> None:
    run = render(report(make_finding(fingerprint="1f"), make_divergence(version=None, line=None), verdict="violations"))
    violation, divergence = run["results"]
    assert (violation["level"], divergence["level"]) == ("error", "note")
    assert violation["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": COMMIT, "uriBaseId": "TABLE"}, "region": {"startLine": 3}}}
    ]
    assert violation["partialFingerprints"] == {"deltaspec/v1": "1f"}
    assert violation["message"]["text"] == (
        f'The path of a file is not a URI reference. At {COMMIT} line 3 · a b.parquet: path_fault = "holds a space"'
    )
    rule = run["tool"]["driver"]["rules"][violation["ruleIndex"]]
    assert (rule["id"], rule["fullDescription"]["text"]) == ("FIL001", "Readers decode it to different names, or fail.")
    assert "**Fix** rewrite the file's entry" in rule["help"]["markdown"]
    assert run["originalUriBaseIds"]["TABLE"]["uri"] == "file:///lake/sales/"


def test_rule_has_the_class_and_cases_of_its_fix_and_result_its_cause() -> None:
    finding = make_finding(rule="CON030", fix_case=1, cause="FIL037")
    run = render(replace(report(finding), rules={"CON030": build_rule_doc("CON030")}))
    properties = run["tool"]["driver"]["rules"][0]["properties"]
    assert properties["fixClass"] == "command"
    assert [each["class"] for each in properties["fixCases"]] == ["command", "restore"]
    assert properties["fixCases"][0]["commands"]
    known = run["results"][0]["properties"]
    assert (known["fixCase"], known["cause"], "related" in known) == (1, "FIL037", False)


def test_row_of_a_checkpoint_is_not_a_line() -> None:
    file = "_delta_log/00000000000000000010.checkpoint.parquet"
    (result,) = render(report(make_finding(file=file)))["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]
    assert result["properties"]["row"] == 3


@pytest.mark.parametrize(
    ("finding", "uri"),
    [
        (make_finding(file=None), "a%20b.parquet"),
        (make_finding(file=None, path="p=1%252/x.parquet"), "p=1%252/x.parquet"),
        (make_finding(file=None, path=None), "_delta_log"),
        (make_finding(file="_delta_log/a#b?.json"), "_delta_log/a%23b%3F.json"),
    ],
)
def test_location_is_a_uri(finding: Any, uri: str) -> None:
    (result,) = render(report(finding))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_complete_run_is_successful() -> None:
    run = render(report(make_finding(), verdict="violations"))
    assert run["invocations"][0]["executionSuccessful"] is True
    assert run["invocations"][0]["exitCode"] == 1
    assert list_notifications(run) == [("note", "3 rules run, 1 not applicable, 1 not selected")]


def test_undecided_rules_are_errors_of_an_unsuccessful_run() -> None:
    run = render(report(verdict="incomplete", not_checked=[not_checked()]), 3)
    assert run["invocations"][0]["executionSuccessful"] is False
    assert ("error", "not checked: CRC001: no permission to read (_delta_log/7.crc)") in list_notifications(run)


def test_accepted_rules_and_files_that_were_not_compared_are_notes() -> None:
    shown = report(
        not_checked=[not_checked(accepted=True)], derived_files_not_compared=[make_not_compared("_delta_log/8.crc")]
    )
    run = render(shown, 0)
    assert run["invocations"][0]["executionSuccessful"] is True
    assert list_notifications(run)[:2] == [
        ("note", "accepted unchecked: CRC001: no permission to read (_delta_log/7.crc)"),
        ("note", "not compared: _delta_log/8.crc: history is latest"),
    ]


def test_refused_table_is_an_error() -> None:
    run = render(replace(report(verdict="refused"), refusal=Refusal(requirement="protocol.x", why="feature y")), 3)
    assert run["invocations"][0]["executionSuccessful"] is False
    assert list_notifications(run)[0][0] == "error"


def test_findings_that_are_not_results_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 1)
    run = render(report(make_finding(), make_divergence(), totals={"FIL001": 1204, "STA002": 1}))
    assert [each["ruleId"] for each in run["results"]] == ["FIL001"]
    texts = [text for level, text in list_notifications(run) if level == "warning"]
    assert texts == ["1 finding left out; the JSON report has them", "FIL001: 1 of 1,204 findings are in this report"]


def test_accepted_findings_are_suppressed() -> None:
    known = AcceptedFinding(finding=make_finding(), source="baseline")
    ignored = AcceptedFinding(finding=make_divergence(), source="configuration", reason="legacy", link="https://x/1")
    shown = replace(report(make_finding(line=9)), accepted=[known, ignored], baseline=make_baseline())
    new, first, second = render(shown)["results"]
    assert (new["baselineState"], "suppressions" in new) == ("new", False)
    assert (first["baselineState"], first["suppressions"][0]["justification"]) == (
        *("unchanged", "accepted by the baseline"),
    )
    assert second["suppressions"][0]["justification"] == "legacy https://x/1"

"""JUnit reports: failures, errors, skipped and passed test cases."""

from xml.etree import ElementTree

from helpers.reports import make_divergence, make_finding, make_not_compared, not_checked, report
from msgspec.structs import replace

from deltaspec.report.junit import render_junit
from deltaspec.report.report_types import Refusal, Report


def case(shown: Report, rule: str) -> ElementTree.Element:
    (found,) = ElementTree.fromstring(render_junit(shown)).findall(f".//testcase[@name='{rule}']")
    return found


def test_complete_document() -> None:
    shown = report(make_finding(), verdict="violations", run=["FIL001", "LOG001"], not_checked=[not_checked()])
    assert (
        render_junit(shown)
        == """\
<?xml version='1.0' encoding='utf-8'?>
<testsuites name="/lake/sales">
  <testsuite name="deltaspec log" tests="4" failures="1" errors="1" skipped="1">
    <testcase classname="deltaspec.log" name="CKP001">
      <skipped message="not applicable: the table has nothing to check" />
    </testcase>
    <testcase classname="deltaspec.log" name="CRC001">
      <error message="not checked at 1 location" type="not-checked">\
not checked: _delta_log/7.crc: no permission to read</error>
    </testcase>
    <testcase classname="deltaspec.log" name="FIL001">
      <failure message="1 finding: The path of a file is not a URI reference." type="malformed-path">\
violation: _delta_log/00000000000000000007.json line 3 · a b.parquet: path_fault = "holds a space"</failure>
    </testcase>
    <testcase classname="deltaspec.log" name="LOG001" />
  </testsuite>
</testsuites>
"""
    )


def test_divergence_passes_and_is_in_system_out() -> None:
    (only,) = case(report(make_divergence()), "STA002")
    assert only.tag == "system-out"
    assert str(only.text).startswith("divergence: _delta_log/")


def test_accepted_rule_passes_and_is_in_system_out() -> None:
    (only,) = case(report(not_checked=[not_checked(accepted=True)]), "CRC001")
    assert (only.tag, only.text) == ("system-out", "accepted unchecked: _delta_log/7.crc: no permission to read")


def test_failure_lists_violations_and_unchecked_locations() -> None:
    shown = report(make_finding(), verdict="violations", not_checked=[not_checked(rule="FIL001")])
    (only,) = case(shown, "FIL001")
    assert only.tag == "failure"
    assert "not checked: _delta_log/7.crc" in str(only.text)


def test_findings_without_a_sample_are_counted() -> None:
    (only,) = case(report(make_finding(), verdict="violations", totals={"FIL001": 1204}), "FIL001")
    assert only.get("message", "").startswith("1,204 findings: ")
    assert str(only.text).endswith("and 1,203 findings more")


def test_skipped_case_has_the_reason_of_the_ledger() -> None:
    (only,) = case(report(reasons={"CKP001": "there is no checkpoint"}), "CKP001")
    assert only.get("message") == "not applicable: there is no checkpoint"


def test_characters_that_xml_forbids_are_escaped() -> None:
    shown = report(make_finding(path="\x00\x1b]]>\ud800<&", evidence={"a": "\ufffe"}), verdict="violations")
    (only,) = case(shown, "FIL001")
    assert "\\x00\\x1b]]>\\ud800<&" in str(only.text)


def test_rules_that_were_not_selected_have_no_case() -> None:
    assert not ElementTree.fromstring(render_junit(report())).findall(".//testcase[@name='DOM001']")


def test_paths_and_evidence_are_complete() -> None:
    path = "region=north%20west/" * 40 + "part-00000.parquet"
    finding = make_finding(path=path, evidence={"expected": path, "found": "x" * 900, "role": None})
    (only,) = case(report(finding, verdict="violations"), "FIL001")
    assert str(only.text).endswith(f' · {path}: expected = "{path}", found = "{"x" * 900}"')


def test_finding_without_evidence_ends_with_its_location() -> None:
    (only,) = case(report(make_finding(evidence={"role": None}), verdict="violations"), "FIL001")
    assert str(only.text).endswith(" · a b.parquet")


def test_refused_table_is_an_error() -> None:
    refused = replace(report(verdict="refused"), refusal=Refusal(requirement="a.b", why="feature y"))
    (only,) = case(refused, "a.b")
    assert (only.tag, only.get("type")) == ("error", "refused")
    (suite,) = ElementTree.fromstring(render_junit(refused))
    assert (suite.get("tests"), suite.get("errors")) == ("5", "1")


def test_suite_lists_files_that_were_not_compared() -> None:
    shown = report(derived_files_not_compared=[make_not_compared("_delta_log/8.crc")])
    (suite,) = ElementTree.fromstring(render_junit(shown))
    assert suite.findtext("system-out") == "not compared: _delta_log/8.crc: history is latest"

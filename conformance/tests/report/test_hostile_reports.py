"""Reports about hostile tables: no text of a table ends an element, starts a command or becomes markup."""

import json
import re
from io import BytesIO
from xml.etree import ElementTree

import pyarrow.parquet as pq
from helpers.hypothesis_settings import example_settings
from helpers.reports import make_baseline, make_divergence, make_finding, make_not_compared, not_checked, report
from helpers.sarif import build_sarif_validator
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from deltaspec.report.github import render_github
from deltaspec.report.junit import render_junit
from deltaspec.report.markdown import render_markdown
from deltaspec.report.parquet import render_parquet
from deltaspec.report.report_types import AcceptedFinding, AcceptEntry, Refusal, Report
from deltaspec.report.sarif import render_sarif

PIECES = ["]]>", "<![CDATA[", "&amp;", "</failure>", "\n::error::x", "\r", "%0A", "`", "```", "\n# x", "|", "<b>", "@a"]
TEXTS = st.lists(st.sampled_from([*PIECES, "\x00", "\x1b[2J", "\u202e", "\ufffe", "\u2028", "x", " "]), min_size=1).map(
    "".join
)
CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
EVERYTHING = "".join(PIECES)


def build_report(table: str, text: str) -> Report:
    """Return a report with a text in every field that a table determines."""
    finding = make_finding(path=text, column=text, file=text, message=text, evidence={text: [text, 1], "b": text})
    shown = report(
        finding,
        make_divergence(path=text, file=None, line=None),
        verdict="refused",
        not_checked=[not_checked(reason=text, file=text), not_checked(rule=f"feature:{text}", reason=text, file=None)],
        derived_files_not_compared=[make_not_compared(text, text)],
    )
    accepted = AcceptedFinding(finding=finding, source="configuration", reason=text, link=text)
    entries = [
        AcceptEntry(rule="FIL", path=text, reason=text, link=text, status="used", count=1),
        AcceptEntry(rule="FIL", path=text, reason=text, until="2026-01-31", status="expired"),
    ]
    return replace(
        shown,
        table=table,
        refusal=Refusal(requirement="a.b", why=text),
        accepted=[accepted],
        accept=entries,
        baseline=make_baseline(file=text, gone=1),
    )


@example_settings(25)
@given(TEXTS, TEXTS)
@example(EVERYTHING, EVERYTHING)
def test_junit_is_xml_with_the_elements_of_a_harmless_report(table: str, text: str) -> None:
    root = ElementTree.fromstring(render_junit(build_report(table, text)))
    harmless = ElementTree.fromstring(render_junit(build_report("table", "x")))
    assert sorted(each.tag for each in root.iter()) == sorted(each.tag for each in harmless.iter())


@example_settings(25)
@given(TEXTS, TEXTS)
@example(EVERYTHING, EVERYTHING)
def test_sarif_is_valid(table: str, text: str) -> None:
    document = json.loads(render_sarif(build_report(table, text), 3))
    build_sarif_validator().validate(document)
    assert [each["ruleId"] for each in document["runs"][0]["results"]] == ["FIL001", "STA002", "FIL001"]


@example_settings(25)
@given(TEXTS, TEXTS)
@example(EVERYTHING, EVERYTHING)
def test_github_output_has_the_commands_of_a_harmless_report(table: str, text: str) -> None:
    lines = render_github(build_report(f"/lake/{table}", text), 3, "/lake").split("\n")
    commands = [line.partition(" ")[0] for line in lines]
    assert commands == ["::error", "::warning", *["::notice"] * 3, "::error", "::notice", "REFUSED", ""]
    assert [line for line in lines if not line.isprintable()] == []


@example_settings(25)
@given(TEXTS, TEXTS)
@example(EVERYTHING, EVERYTHING)
def test_markdown_outside_of_code_is_ours(table: str, text: str) -> None:
    shown = render_markdown(build_report(table, text), 3)
    assert shown.count("\n") == render_markdown(build_report("table", "x"), 3).count("\n")
    outside = CODE.sub("", shown)
    assert not {piece.strip() for piece in PIECES if piece.strip(" \r")} & set(outside.split())
    assert not set("`<@") & set(outside)


@example_settings(25)
@given(TEXTS, TEXTS)
@example(EVERYTHING, EVERYTHING)
def test_parquet_keeps_every_text(table: str, text: str) -> None:
    first, *_ = pq.read_table(BytesIO(render_parquet(build_report(table, text)))).to_pylist()
    assert (first["table"], first["path"], first["message"]) == (table, text, text)
    assert json.loads(first["evidence"])["b"] == text

"""The matrix as Markdown, JSON and HTML: what it says, and that no text of an engine becomes markup."""

import json
import re
from pathlib import Path

import pytest
from helpers.cli import run, single_error_line
from helpers.matrix_reports import (
    WRONG_ROWS,
    build,
    build_hostile_matrix,
    build_result,
    build_suite_report,
    write_reports,
)
from helpers.pages import assert_markup_is_ours, parse_page

from deltaspec.matrix import page
from deltaspec.matrix.explanation import explain_message
from deltaspec.matrix.markdown import render_markdown
from deltaspec.matrix.matrix_file import compute_digest
from deltaspec.matrix.page import render_html
from deltaspec.suites.outcomes import CaseResult, Outcome


def test_no_text_of_an_engine_becomes_markup(tmp_path: Path) -> None:
    assert_markup_is_ours(render_html(build_hostile_matrix(tmp_path)), data_scripts=2)


def test_policy_lets_only_the_page_itself_run(tmp_path: Path) -> None:
    html = render_html(build_hostile_matrix(tmp_path))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert re.fullmatch(
        r"default-src &#39;none&#39;; style-src &#39;sha256-\S+&#39;; script-src &#39;sha256-\S+&#39;; "
        r"img-src data:; base-uri &#39;none&#39;; form-action &#39;none&#39;",
        policy,
    )


def test_markdown_of_hostile_texts_has_no_markup(tmp_path: Path) -> None:
    text = render_markdown(build_hostile_matrix(tmp_path))
    outside_code = re.sub(r"`[^`\n]*`", "", text)
    assert not re.findall(r"(?<!\\)[<\[]", outside_code)
    assert "\u202e" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4}


def test_page_has_the_details_of_a_failure(tmp_path: Path) -> None:
    result = build_result(
        "read.all-rows/drawn.1.0", Outcome.FAILED, message=WRONG_ROWS, history=("0: create",),
        requirements=("log.replay-in-order", "no.such"),
    )  # fmt: skip
    found = parse_page(render_html(build(tmp_path, build_suite_report([result]))))
    details, statements = (json.loads(script) for script in found.scripts[:2])
    (case,) = details["cases"]
    assert (
        case["case"].join(details["commands"][case["replay"]])
        == "deltaspec replay read.all-rows/drawn.1.0 --candidate mill"
    )
    assert (case["condition"], case["columns"]) == ('("id" > 0)', "id, p")
    assert (case["missing"], case["surplus"]) == (["(id=1, p='a')"], ["(id=1, p=null)"])
    assert details["histories"][case["history"]] == ["0: create"]
    assert details["requirements"][case["requirements"]] == ["log.replay-in-order", "no.such"]
    assert statements["log.replay-in-order"].startswith("MUST: ")
    assert statements["no.such"] == "not a requirement of this release"


def test_large_page_describes_some_cases_of_each_cause_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [
        build_result(f"read.all-rows/drawn.1.{number}", Outcome.FAILED, message="wrong " * 100) for number in range(20)
    ]
    matrix = build(tmp_path, build_suite_report(results))
    assert "The page describes at most" not in render_html(matrix)
    monkeypatch.setattr(page, "MOST_DETAIL_BYTES", 10_000)
    html = render_html(matrix)
    assert "The page describes at most 10 cases of each cause" in html
    details = json.loads(parse_page(html).scripts[0])
    assert [index for index, case in enumerate(details["cases"]) if "text" in case] == list(range(10))
    assert len(details["cases"]) == 20


@pytest.mark.parametrize("message", ["", "\n\n", "  - ", "crash: x\nstderr: - y\n  + "])
def test_message_of_any_form_is_explained(message: str) -> None:
    found = explain_message(message)
    lines = [*found.text, *(f"  - {row}" for row in found.missing), *(f"  + {row}" for row in found.surplus)]
    assert lines == [line for line in message.split("\n") if line]


def write_report(directory: Path, *results: CaseResult) -> Path:
    (path,) = write_reports(directory, [build_suite_report(results)])
    return path


def test_command_writes_all_formats(tmp_path: Path) -> None:
    path = write_report(tmp_path, build_result("read.all-rows/drawn.1.0", Outcome.FAILED, message="wrong"))
    assert run("matrix", path, "--output", tmp_path / "out").exit_code == 0
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["matrix.html", "matrix.json", "matrix.md"]
    assert "| all tables | 0/1 |" in (tmp_path / "out/matrix.md").read_text("utf-8")


def test_page_names_the_matrix_that_it_shows(tmp_path: Path) -> None:
    matrix = build(tmp_path, build_suite_report([]))
    assert compute_digest(matrix) in render_html(matrix)


def test_command_compares_with_an_earlier_matrix(tmp_path: Path) -> None:
    path = write_report(tmp_path, build_result("read.all-rows/drawn.1.0", Outcome.FAILED, message="wrong"))
    run("matrix", path, "--output", tmp_path / "out")
    path.write_bytes(write_report(tmp_path, build_result("read.all-rows/drawn.1.0")).read_bytes())
    for form, expected in (
        ("markdown", "fails no longer: mill"),
        ("html", "Fails no longer: <b>1 case<"),
        ("json", '"gone"'),
    ):
        result = run("matrix", path, "--compare", tmp_path / "out/matrix.json", "--format", form)
        assert result.exit_code == 0, f"{form=}"
        assert expected in result.stdout


def test_command_names_a_file_that_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = run("matrix", tmp_path / "x.json")
    assert result.exit_code == 2
    assert "x.json: not a JSON report" in single_error_line(result)

"""The page of a validation report: it says what the printed report says, and no text of a table becomes markup."""

from pathlib import Path

import pytest
from helpers.cli import run, single_error_line
from helpers.pages import assert_markup_is_ours
from helpers.reports import make_finding, report
from helpers.validation_pages import build_files, render_hostile_report
from msgspec.structs import replace

from deltaspec.installation import build_install_command
from deltaspec.pages import renderer
from deltaspec.pages.validation import MOST_FINDINGS, Charts, render_validation
from deltaspec.report.report_types import AcceptEntry, Verdict
from deltaspec_generators.table_files import write_table
from planted_tables.bases import log_only


def test_no_text_of_a_table_becomes_markup() -> None:
    assert_markup_is_ours(render_hostile_report(), data_scripts=0)


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        ("conforms", "every selected rule was decided"),
        ("incomplete", "could not be decided"),
        ("refused", "must refuse the table"),
    ],
)
def test_page_says_what_the_verdict_means(verdict: Verdict, text: str) -> None:
    html = render_validation(report(verdict=verdict), Charts(None, "no version"))
    assert verdict.upper() in html
    assert text in html
    assert "Not shown: no version" in html


def test_page_counts_accepted_findings_with_their_reason() -> None:
    entry = AcceptEntry(rule="FIL001", reason="legacy loader", status="used", count=2)
    html = render_validation(replace(report(), accept=[entry], accepted_totals={"FIL001": 2}), Charts(None, "none"))
    assert "No violation was found that is not accepted" in html
    assert "2 findings accepted (legacy loader): FIL001" in html


def test_findings_beyond_the_limit_are_counted() -> None:
    findings = [make_finding(line=number) for number in range(MOST_FINDINGS + 3)]
    found = report(*findings, verdict="violations", totals={"FIL001": 1_000})
    html = render_validation(found, Charts(build_files()))
    assert html.count('class="place"') == MOST_FINDINGS
    assert f"and {1_000 - MOST_FINDINGS} more" in html


def test_charts_have_more_than_one_bar() -> None:
    html = render_validation(report(), Charts(build_files()))
    assert "Sizes of files" in html
    assert "Partitions with the most bytes" in html


def test_command_draws_no_single_bar(tmp_path: Path) -> None:
    write_table(log_only.build_checkpointed_table(), tmp_path / "t")
    result = run("validate", tmp_path / "t", "--level", "log", "--format", "html", "--output", tmp_path / "x.html")
    assert result.exit_code == 0
    html = (tmp_path / "x.html").read_text("utf-8")
    assert "CONFORMS" in html
    assert "<dt>files</dt><dd>" in html
    assert "Sizes of files" not in html


def test_table_without_a_version_has_no_charts(tmp_path: Path) -> None:
    files = log_only.build_checkpointed_table()
    files.commits = {5: [{}]}
    files.checkpoints = []
    write_table(files, tmp_path / "t")
    result = run("validate", tmp_path / "t", "--level", "log", "--format", "html")
    assert result.exit_code == 1
    assert "Not shown: " in result.stdout


def test_missing_jinja_is_named_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer, "find_spec", lambda _: None)
    result = run("validate", tmp_path, "--format", "html")
    assert result.exit_code == 2
    assert build_install_command("html") in single_error_line(result)

"""Annotations of GitHub Actions: commands that a table cannot forge."""

from pathlib import Path

import pytest
from helpers.reports import COMMIT, make_divergence, make_finding, make_not_compared, not_checked, report
from msgspec.structs import replace

from deltaspec.report.github import render_github
from deltaspec.report.report_types import Refusal


def test_complete_output() -> None:
    shown = report(make_finding(), make_divergence(), verdict="violations", totals={"FIL001": 2, "STA002": 1})
    at = f"sales/{COMMIT},line=3"
    place = f'At /lake/sales: {COMMIT} line 3 · a b.parquet: path_fault = "holds a space"%0AFix: '
    first, second, last = render_github(shown, 1, "/lake").splitlines()
    assert first.startswith(f"::error file={at},title=FIL001 malformed-path (2 findings)::The path of a file is not a ")
    assert first.endswith(f"URI reference. {place}rewrite the file's entry with its name percent-encoded.")
    assert second == f"::notice file={at},title=STA002 odd-statistics::Odd statistics. {place}None."
    assert last == "VIOLATIONS  2 violations, 1 divergence · exit 1"


@pytest.mark.parametrize(("table", "directory"), [("s3://lake/sales", "/lake"), ("/lake/sales", "/home/me")])
def test_file_outside_the_repository_is_not_annotated(table: str, directory: str) -> None:
    line, _ = render_github(replace(report(make_finding()), table=table), 1, directory).splitlines()
    assert line.startswith("::error title=FIL001")
    assert f"At {table}: {COMMIT} line 3" in line


def test_row_of_a_checkpoint_is_not_a_line() -> None:
    finding = make_finding(file="_delta_log/00000000000000000010.checkpoint.parquet")
    assert ",line=" not in render_github(report(finding), 1, "/lake")


def test_undecided_rules_are_a_warning() -> None:
    shown = report(verdict="incomplete", not_checked=[not_checked(file=f"{n}.crc", rule=f"R{n}") for n in range(9)])
    first, last = render_github(shown, 3).splitlines()
    assert first.startswith(
        "::warning title=not checked%3A /lake/sales::not checked: R0: no permission to read (0.crc); "
    )
    assert first.endswith("; and 4 more; the JSON report has all")
    assert last == "INCOMPLETE  nothing found · exit 3"


def test_accepted_and_uncompared_items_are_notices() -> None:
    shown = report(not_checked=[not_checked(accepted=True)], derived_files_not_compared=[make_not_compared("8.crc")])
    accepted, not_compared, last = render_github(shown, 0).splitlines()
    assert accepted.startswith("::notice title=not checked%3A /lake/sales::accepted unchecked: CRC001")
    assert not_compared.startswith("::notice title=not compared%3A /lake/sales::not compared: 8.crc")
    assert last == "CONFORMS  nothing found · exit 0"


def test_refused_table_is_an_error() -> None:
    shown = replace(report(verdict="refused"), refusal=Refusal(requirement="a.b", why="feature y"))
    assert render_github(shown, 3).startswith("::error title=refused%3A /lake/sales::revision current does not support")


def test_text_of_a_table_forges_no_command(tmp_path: Path) -> None:
    hostile = "x\n::error::forged\r\n::set-output name=a::b,line=9 100%0A::stop-commands::t"
    finding = make_finding(path=hostile, column=hostile, file=hostile, message=hostile, evidence={hostile: hostile})
    shown = report(finding, not_checked=[not_checked(reason=hostile, file=hostile)])
    lines = render_github(replace(shown, table=str(tmp_path / hostile)), 1, str(tmp_path)).splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::warning", "::error", "CONFORMS"]
    for line in lines[:2]:
        properties = line.removeprefix("::").partition(" ")[2].partition("::")[0]
        assert [each.partition("=")[0] for each in properties.split(",")] in (["title"], ["file", "line", "title"]), (
            f"{line=}"
        )
        assert "\\x0a%3A%3Aerror" in properties, f"{line=}"
        assert "100%250A" in line

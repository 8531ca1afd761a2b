"""`--report FORMAT:PATH`: several reports of one run, none of them in a table."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from helpers.cli import run, single_error_line

from deltaspec.commands.report_formats import FORMATS
from deltaspec.commands.report_output import plan_reports
from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.settings import ENVIRONMENT
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A table without metadata."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2)]
    write_table(files, tmp_path / "sales")
    return tmp_path / "sales"


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    write_table(files, tmp_path / "sound")
    return tmp_path / "sound"


def test_one_run_writes_several_reports(broken: Path, tmp_path: Path) -> None:
    shown = run("validate", broken)
    result = run("validate", broken, "--report", f"json:{tmp_path}/a:b.json", "--report", f"junit:{tmp_path}/j.xml")
    assert (result.exit_code, result.stdout) == (1, shown.stdout)
    assert result.stderr == f"{shown.stdout.splitlines()[-1]} · report in {tmp_path}/a:b.json, {tmp_path}/j.xml\n"
    assert json.loads((tmp_path / "a:b.json").read_bytes())["verdict"] == "violations"
    assert ElementTree.parse(tmp_path / "j.xml").getroot().tag == "testsuites"


@pytest.mark.parametrize("target", ["json", "json:", "json:-"])
def test_report_to_stdout_replaces_the_text(target: str, sound: Path) -> None:
    result = run("validate", sound, "--report", target)
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["verdict"] == "conforms"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "jsn:x"], "unknown report format 'jsn' (did you mean json?)"),
        (["--report", "/tmp/x"], "unknown report format '/tmp/x' (choose from text, json, junit, html"),
        (["--report", "json", "--report", "junit"], "two reports go to stdout; name another file for one"),
        (["--format", "text", "--report", "json"], "two reports go to stdout"),
        (["--report", "json:x", "--report", "junit:./x"], "two reports go to ./x"),
        (["--output", "x", "--report", "json:x"], "two reports go to x"),
        (["--report", "json:/nonexistent/x"], "/nonexistent/x: cannot be written: directory /nonexistent does"),
        (["--report", "json:/"], "/: cannot be written: is a directory"),
        (["--report", "json:x", "--estimate"], "--estimate cannot be combined with --report"),
    ],
)
def test_invalid_report_is_refused_before_the_run(options: list[str], message: str, tmp_path: Path) -> None:
    result = run("validate", tmp_path / "no table", *options)
    assert result.exit_code == 2
    assert single_error_line(result).startswith(f"deltaspec: {message}")


@pytest.mark.parametrize("place", ["report.json", "_delta_log/report.json", "../sales/report.json"])
def test_report_in_the_table_is_refused(place: str, broken: Path) -> None:
    before = sorted(broken.rglob("*"))
    result = run("validate", broken, "--report", f"json:{broken / place}")
    assert result.exit_code == 2
    assert "is in a table, where deltaspec does not write" in single_error_line(result)
    assert sorted(broken.rglob("*")) == before


def test_report_that_cannot_be_written_does_not_stop_the_others(broken: Path, tmp_path: Path) -> None:
    result = run("validate", broken, "--report", "json:/dev/full", "--report", f"junit:{tmp_path}/j.xml")
    assert result.exit_code == 2
    assert "VIOLATIONS" in result.stdout
    assert result.stderr == "deltaspec: /dev/full: cannot be written: No space left on device\n"
    assert (tmp_path / "j.xml").stat().st_size > 0


def render_every_format(table: Path, directory: Path, *options: str) -> tuple[int, dict[str, bytes]]:
    """Validate a table once; return the exit code and the reports by format."""
    targets = [word for name in FORMATS for word in ("--report", f"{name}:{directory / name}")]
    code = run("validate", table, *options, *targets).exit_code
    reports = {name: (directory / name).read_bytes() for name in FORMATS}
    rows = pq.read_table(directory / "parquet").to_pylist()
    return code, reports | {"parquet": repr(rows).encode()}


def test_every_format_has_the_message_of_a_finding(broken: Path, tmp_path: Path) -> None:
    code, reports = render_every_format(broken, tmp_path)
    assert code == 1
    assert [name for name, data in reports.items() if b"Version 0 has no metaData action." not in data] == []


def test_every_format_shows_that_a_run_is_incomplete(sound: Path, tmp_path: Path) -> None:
    (sound / "_delta_log" / "00000000000000000000.crc").mkdir()
    code, reports = render_every_format(sound, tmp_path)
    assert code == 3
    assert [name for name, data in reports.items() if b"is not a regular file" not in data] == []


def test_step_summary_is_extended_and_other_files_are_replaced(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary, other = tmp_path / "summary.md", tmp_path / "other.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for _ in range(2):
        run("validate", sound, "--report", f"markdown:{summary}", "--report", f"markdown:{other}")
    assert summary.read_text() == 2 * other.read_text()


def test_parquet_is_not_printed_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [
        each.path for each in plan_reports("text", None, ["parquet"], ENVIRONMENT, None, format_is_given=False)
    ] == [None]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(InvalidUsage, match="parquet is not for terminals"):
        plan_reports("text", None, ["parquet"], ENVIRONMENT, None, format_is_given=False)

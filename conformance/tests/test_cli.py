"""The command line: output, destination and exit codes."""

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from click.testing import Result
from helpers.cli import run, single_error_line
from helpers.reports import make_finding, not_checked, report
from jsonschema import Draft202012Validator
from msgspec.structs import asdict

import deltaspec.validation.run
from deltaspec import __version__
from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.exit_handling import Terminated
from deltaspec.report.report_schema import build_report_schema
from deltaspec.rules import RULES
from deltaspec.suites.checks import SUITES, WRITE_SUITES
from deltaspec.validation.options import Options, RunSettings
from deltaspec.wire.storage.settings import StorageSettings
from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table


class PanicException(BaseException):
    """Stand-in for a panic of native code, which is not an Exception."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A sound table of two commits."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    files.commits[1] = [add_data_file(files, "a.parquet", pa.table({"id": pa.array([1, 2, 3], pa.int64())}))]
    write_table(files, tmp_path / "sales")
    return tmp_path / "sales"


@pytest.fixture
def broken(table: Path) -> Path:
    """The same table with a path that is not percent-encoded."""
    commit = table / "_delta_log" / "00000000000000000001.json"
    commit.write_text(commit.read_text().replace("a.parquet", "a b\\u001b[2J.parquet"))
    (table / "a.parquet").rename(table / "a b\x1b[2J.parquet")
    return table


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make `run_embedded` return or raise a value; returns the arguments of its calls."""

    def set_to(value: Any) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def run_embedded(uri: str, options: Options, settings: RunSettings, storage: StorageSettings) -> Any:
            calls.append({"uri": uri, **asdict(options), **asdict(settings)})
            if isinstance(value, BaseException):
                raise value
            return value

        monkeypatch.setattr(deltaspec.validation.run, "run_embedded", run_embedded)
        return calls

    return set_to


class TestValidate:
    def test_sound_table_exits_with_0(self, table: Path) -> None:
        result = run("validate", table)
        assert result.exit_code == 0
        assert result.stdout.startswith(f"deltaspec {__version__} · validate · level files · revision current\n")
        assert result.stdout.endswith("CONFORMS  nothing found · exit 0\n")
        assert result.stderr == ""

    def test_broken_table_exits_with_1_and_names_the_rule(self, broken: Path) -> None:
        result = run("validate", broken)
        assert result.exit_code == 1
        assert "VIOLATION FIL001 malformed-path\n" in result.stdout
        assert "at _delta_log/00000000000000000001.json line 1 · a b\\x1b[2J.parquet\n" in result.stdout
        assert "\x1b" not in result.stdout

    @pytest.mark.parametrize(("verdict", "code"), [("conforms", 0), ("violations", 1), ("incomplete", 3)])
    def test_verdict_determines_the_exit_code(self, verdict: Any, code: int, answer: Any) -> None:
        answer(
            report(
                *([make_finding()] if code == 1 else []), verdict=verdict, not_checked=[not_checked()] if code else []
            )
        )
        for form in ("text", "json", "junit"):
            assert run("validate", "t", "--format", form).exit_code == code

    def test_options_reach_the_run(self, answer: Any, tmp_path: Path) -> None:
        calls, baseline = answer(report()), tmp_path / "b.json"
        baseline.write_text('{"baseline_version": 1, "findings": []}')
        run(
            *("validate", "s3://lake/sales", "--at", 7, "--history", "all", "--revision", "r2", "--level", "files"),
            *("--clock", "2026-11-21T14:00:00.5+02:00"),
            *("--select", "log, fil001", "--select", "DOM", "--ignore", "log002", "--samples", 9),
            *("--accept-unchecked", "crc001", "--allow-outside", "--state", "kept", "--resume"),
            *("--baseline", baseline, "--budget", "30m"),
        )
        (call,) = calls
        assert call.pop("budget").text == "30m"
        assert call.pop("interrupts") == {KeyboardInterrupt: "interrupted", Terminated: "terminated"}
        del call["progress"]
        assert call == {
            "uri": "s3://lake/sales",
            "level": "files",
            "at": 7,
            "history": "all",
            "revision": "r2",
            "clock_ms": 1_795_262_400_500,
            "select": ("LOG", "FIL001", "DOM"),
            "ignore": ("LOG002",),
            "samples": 9,
            "accept_unchecked": ("CRC001",),
            "allow_outside": True,
            "confirm": True,
            "writer_time_zone": None,
            "findings_out": None,
            "state": "kept",
            "resume": True,
            "accept": (),
            "baseline": str(baseline),
            "catalog": None,
            "hints": False,
            "ratified": None,
            "source": None,
            "since": None,
            "recorded": None,
        }

    @pytest.mark.parametrize(("form", "samples"), [("text", 5), ("json", 1000), ("junit", 1000)])
    def test_text_shows_few_samples_and_other_formats_many(self, form: str, samples: int, answer: Any) -> None:
        calls = answer(report())
        run("validate", "t", "--format", form)
        assert calls[0]["samples"] == samples
        assert calls[0]["select"] is None

    def test_saved_run_has_the_same_samples_in_every_format(self, answer: Any) -> None:
        calls = answer(report())
        run("validate", "t", "--state", "kept")
        assert calls[0]["samples"] == 1000

    def test_json_matches_the_published_schema(self, broken: Path) -> None:
        result = run("validate", broken, "--format", "json")
        shown = json.loads(result.stdout)
        Draft202012Validator(build_report_schema()).validate(shown)
        assert (result.exit_code, shown["verdict"], shown["version"], shown["counts"]["violation"]) == (
            *(1, "violations"),
            *(1, 1),
        )
        assert shown["findings"][0]["path"] == "a b\x1b[2J.parquet"
        checked = shown["checked"]
        other = [code for code, rule in RULES.items() if "current" not in rule.revisions]
        deeper = {code for code, rule in RULES.items() if rule.level in ("footers", "rows")}.union(other)
        assert set(checked["skipped"]) == deeper
        assert set(checked["run"]) | set(checked["not_applicable"]) == set(RULES) - deeper
        assert set(checked["reasons"]) == {*checked["not_applicable"], *deeper}

    def test_json_of_two_runs_is_identical(self, broken: Path) -> None:
        first, second = (run("validate", broken, "--format", "json").stdout for _ in range(2))
        assert first == second

    def test_junit_is_xml(self, broken: Path) -> None:
        result = run("validate", broken, "--format", "junit")
        (suite,) = ElementTree.fromstring(result.stdout_bytes)
        assert (result.exit_code, suite.get("failures"), suite.get("errors")) == (1, "1", "0")

    @pytest.mark.parametrize("form", ["text", "json", "junit"])
    def test_output_file_has_the_report_and_stderr_the_verdict(self, form: str, broken: Path, tmp_path: Path) -> None:
        output = tmp_path / "out"
        shown = run("validate", broken, "--format", form)
        result = run("validate", broken, "--format", form, "--output", output)
        assert output.read_bytes() == shown.stdout_bytes
        assert result.stdout == ""
        assert result.stderr == f"VIOLATIONS  1 violation · exit 1 · report in {output}\n"
        assert result.exit_code == 1

    def test_validation_does_not_change_the_table(self, broken: Path) -> None:
        before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in broken.rglob("*") if file.is_file()}
        run("validate", broken)
        run("show", broken)
        assert before == {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in before}
        assert set(before) == {file for file in broken.rglob("*") if file.is_file()}

    def test_color_is_used_only_on_request(self, broken: Path) -> None:
        assert "\x1b[1;31mVIOLATION" in run("validate", broken, "--color", "always").stdout
        for color in ("auto", "never"):
            assert "\x1b" not in run("validate", broken, "--color", color).stdout

    def test_piped_text_is_at_most_100_columns(self, broken: Path) -> None:
        assert max(map(len, run("validate", broken).stdout.splitlines())) <= 100


class TestInvalidUsage:
    """One line with the problem and the fix on stderr, nothing on stdout, exit code 2."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--level", "log", "--select", "DAT"], "no selected rule runs at level log; run at --level files"),
            (["--history", "none"], "invalid history 'none'; choose latest, all, or a number of versions from 1"),
            (["--select", "FXL001"], "unknown rule 'FXL001' (did you mean FIL001?)"),
            (["--ignore", "ZZZ"], "unknown rule 'ZZZ'; see `deltaspec rules`"),
            (["--accept-unchecked", "FXL001"], "unknown rule 'FXL001' (did you mean FIL001?)"),
            (["--select", "FIL", "--ignore", "FIL"], "--select and --ignore leave no rule; see `deltaspec rules`"),
            (["--output", "/nonexistent/report"], "/nonexistent/report: cannot be written: directory /non"),
        ],
    )
    def test_invalid_option_value(self, options: list[str], message: str, table: Path) -> None:
        result = run("validate", table, *options)
        assert result.exit_code == 2
        assert single_error_line(result).startswith(f"deltaspec: {message}")

    @pytest.mark.parametrize("time", ["yesterday", "2026-11-21", "2026-11-21T12:00:00", "2026-02-30T00:00:00Z", ""])
    def test_invalid_time_or_missing_time_zone(self, time: str, table: Path) -> None:
        result = run("validate", table, "--clock", time)
        assert result.exit_code == 2
        assert "Invalid value for '--clock'" in result.stderr

    @pytest.mark.parametrize("options", [["--at", "-1"], ["--at", "x"], ["--samples", "0"], ["--format", "pdf"], []])
    def test_unparsable_command(self, options: list[str]) -> None:
        result = run("validate", *(["t", *options] if options else []))
        assert result.exit_code == 2
        assert "Usage: " in result.stderr

    @pytest.mark.parametrize("version", [2, 2**63, 10**30])
    @pytest.mark.parametrize("command", ["validate", "show"])
    def test_missing_version(self, command: str, version: int, table: Path) -> None:
        result = run(command, table, "--at", version)
        assert result.exit_code == 2
        assert single_error_line(result).endswith(f"version {version} is not readable; versions 0 to 1 are")

    @pytest.mark.parametrize("command", ["validate", "show"])
    def test_missing_table(self, command: str, table: Path, tmp_path: Path) -> None:
        (tmp_path / "empty" / "_delta_log").mkdir(parents=True)
        if command == "show":
            emptied = single_error_line(run(command, tmp_path / "empty"))
            assert emptied.endswith("_delta_log has neither a commit nor a complete checkpoint")
        for location, message in {
            tmp_path / "gone": "no such file or directory",
            tmp_path: f"has no _delta_log directory; {tmp_path / 'empty'} is a table",
            table / "_delta_log": f"is the log itself; name the table, {table}",
            table / "_delta_log" / "00000000000000000000.json": "is a file; name the directory that holds _delta_log",
        }.items():
            result = run(command, location)
            assert result.exit_code == 2, f"{location=}, {message=}"
            assert single_error_line(result) == f"deltaspec: {location}: {message}"
        assert "no storage for scheme 'ftp'" in single_error_line(run(command, "ftp://x/y"))

    def test_control_characters_in_names_are_escaped(self) -> None:
        assert (
            single_error_line(run("validate", "/no\x1b[2J\nsuch"))
            == "deltaspec: /no\\x1b[2J\\x0asuch: no such file or directory"
        )

    @pytest.mark.parametrize("name", ["_delta_log/00000000000000000002.json", "report.txt"])
    def test_report_is_never_written_into_a_table(self, table: Path, name: str) -> None:
        output = table / name
        result = run("validate", table, "--output", output)
        assert result.exit_code == 2
        assert (
            single_error_line(result)
            == f"deltaspec: {output}: is in a table, where deltaspec does not write; name another location"
        )
        assert not output.exists()

    def test_output_is_a_directory(self, table: Path, tmp_path: Path) -> None:
        assert run("validate", table, "--output", tmp_path).exit_code == 2

    def test_output_device_is_full(self, table: Path) -> None:
        result = run("validate", table, "--output", "/dev/full")
        assert result.exit_code == 2
        assert single_error_line(result) == "deltaspec: /dev/full: cannot be written: No space left on device"


class TestExceptions:
    @pytest.mark.parametrize(("fault", "code"), [(InvalidUsage("a"), 2), (TableUnreadable("b"), 2)])
    def test_kit_error_prints_its_message(self, fault: Exception, code: int, answer: Any) -> None:
        answer(fault)
        result = run("validate", "t")
        assert (result.exit_code, single_error_line(result)) == (code, f"deltaspec: {fault}")

    @pytest.mark.parametrize(
        "kind", [ValueError, RecursionError, MemoryError, type("PanicException", (BaseException,), {})]
    )
    def test_bug_prints_one_line_and_writes_a_crash_file(self, kind: type[BaseException], answer: Any) -> None:
        answer(kind("oh\nno"))
        result = run("validate", "t")
        line = single_error_line(result)
        assert result.exit_code == 4
        assert line.startswith(f"deltaspec: bug in deltaspec: {kind.__name__}: oh\\x0ano; details in /")
        details = Path(line.rpartition("details in ")[2])
        try:
            text = details.read_text("utf-8")
            assert text.startswith(f"deltaspec {__version__}, Python ")
            assert "Traceback" in text
            assert stat.S_IMODE(details.stat().st_mode) == 0o600
        finally:
            details.unlink()

    def test_interrupted_run_exits_with_130(self, answer: Any) -> None:
        answer(KeyboardInterrupt())
        result = run("validate", "t")
        assert (result.exit_code, single_error_line(result)) == (130, "deltaspec: interrupted")


class TestShow:
    def test_text_has_the_state_and_the_chart(self, table: Path) -> None:
        result = run("show", table)
        assert result.exit_code == 0
        for line in ("readable   versions 0 to 1", "protocol   reader 1, writer 2", "commits      ██"):
            assert f"\n{line}\n" in result.stdout
        assert "1 file, " in result.stdout
        assert "3 rows" in result.stdout

    def test_json_has_the_same_facts(self, table: Path) -> None:
        shown = json.loads(run("show", table, "--at", 0, "--format", "json").stdout)
        assert (shown["version"], shown["latest_version"], shown["files"], shown["records"]) == (0, 1, 0, 0)
        assert shown["log"]["commits"] == [0, 1]

    def test_missing_commit_is_reported_with_advice(self, table: Path) -> None:
        (table / "_delta_log" / "00000000000000000000.json").unlink()
        result = run("show", table)
        assert result.exit_code == 2
        assert "commit 0 is missing; run `deltaspec validate`" in single_error_line(result)


def test_help_lists_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for command in ("doctor", "explain", "requirements", "rules", "show", "validate"):
        assert f"\n  {command} " in result.stdout
        assert run(command, "--help").exit_code == 0


def test_version() -> None:
    assert run("--version").stdout == f"deltaspec, version {__version__}\n"


def test_fifo_in_the_log_does_not_block(table: Path) -> None:
    os.mkfifo(table / "_delta_log" / "00000000000000000002.json")
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(run("validate", table)), daemon=True)
    thread.start()
    thread.join(60)
    (result,) = results
    assert result.exit_code == 3
    assert "is not a regular file" in result.stdout


def test_help_names_every_suite() -> None:
    words = run("test", "--help", columns=200).stdout.replace(",", " ").replace(".", " ").split()
    assert [name for name in (*SUITES, *WRITE_SUITES) if name not in words] == []

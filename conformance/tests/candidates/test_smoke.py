"""`deltaspec smoke` tells which check a harness fails."""

import shlex
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.cli import run, single_error_line

import deltaspec
from deltaspec.candidates.process import Launch
from deltaspec.candidates.smoke import check_harness
from deltaspec.candidates.smoke_table import write_tiny_table

HARNESSES = Path(__file__).with_name("smoke_harnesses.py")
CHECKS = ["hello", "unknown operation", "unknown fields", "missing table", "snapshot", "rows", "two requests"]
CHECKS += ["columns", "no columns", "stray prints", "bye", "end of input"]


@pytest.fixture(scope="session")
def rows_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("rows")
    table = pa.table({"id": pa.array([3, 1, 2], pa.int64()), "name": ["c", "a", None]})
    for name, columns in {"all": ["id", "name"], "name": ["name"], "none": []}.items():
        selected = table.select(columns)
        with pa.ipc.new_file(directory / f"{name}.arrow", selected.schema) as writer:
            writer.write_table(selected)
    return directory


def build_command(name: str, rows_directory: Path) -> tuple[str, ...]:
    return (sys.executable, "-S", str(HARNESSES), name, str(rows_directory))


def check(name: str, rows_directory: Path, timeout_scale: float = 1.0) -> dict[str, tuple[str, str]]:
    """Return the results that are not ok: name -> status and message; assert the order of the checks."""
    launch = Launch(build_command(name, rows_directory), hello_seconds=20 / timeout_scale)
    found = list(check_harness(launch, timeout_scale=timeout_scale))
    assert [each.name for each in found] == CHECKS
    return {each.name: (each.status, each.message) for each in found if each.status != "ok"}


def test_correct_harness_has_no_problem(rows_directory: Path) -> None:
    assert check("Correct", rows_directory) == {}


@pytest.mark.parametrize(
    ("harness", "name", "status", "message"),
    [
        ("AcceptsUnknownOperations", "unknown operation", "problem", "was answered with ok"),
        ("RefusesUnknownOperationsAsInternal", "unknown operation", "problem", "category 'internal' and code ''"),
        ("RefusesUnknownFields", "unknown fields", "problem", "refused as invalid-request: unknown field"),
        ("RefusesMissingTableAsIo", "missing table", "problem", "as 'io'; expected 'not-found': no such directory"),
        ("ReadsMissingTable", "missing table", "problem", "a directory that does not exist was answered with ok"),
        ("ReportsWrongVersion", "snapshot", "problem", "expected version 0, found 1"),
        ("ReportsWrongCount", "no columns", "problem", "expected num_rows 3, found 4"),
        ("IgnoresColumns", "columns", "problem", "expected the columns name; found id, name"),
        ("DoesNotScanTwice", "two requests", "problem", "refused as internal: already closed"),
        ("KeepsStdout", "stray prints", "note", "stdout still leads to the host"),
        ("ExitsWithOneAfterBye", "bye", "problem", "exited with code 1 after bye; expected exit code 0"),
        ("DoesNotSupportSnapshot", "snapshot", "note", "not checked: snapshot is not among the declared ops"),
    ],
)
def test_harness_fails_one_check(harness: str, name: str, status: str, message: str, rows_directory: Path) -> None:
    found = check(harness, rows_directory)
    assert list(found) == [name]
    assert found[name][0] == status
    assert message in found[name][1]


def test_rows_of_another_type_are_a_problem(rows_directory: Path, tmp_path: Path) -> None:
    shutil.copytree(rows_directory, tmp_path / "rows")
    buffers = pa.array([1, 2, 3], pa.int64()).buffers()
    times = pa.Array.from_buffers(pa.timestamp("us", "Nowhere/City"), 3, buffers)
    table = pa.table({"id": times, "name": pa.StructArray.from_arrays([times], ["x"])})
    with pa.ipc.new_file(tmp_path / "rows" / "all.arrow", table.schema) as writer:
        writer.write_table(table)
    found = check("Correct", tmp_path / "rows")
    assert list(found) == ["rows", "two requests"]
    assert (
        "expected a long column id and a string column name, found timestamp[us, tz=Nowhere/City]" in found["rows"][1]
    )


def test_harness_that_stays_after_the_end_of_input_is_a_problem(rows_directory: Path) -> None:
    found = check("StaysAfterEndOfInput", rows_directory, timeout_scale=0.1)
    assert found == {"end of input": ("problem", "killed by SIGTERM after the end of stdin; expected an exit")}


def test_tiny_table_is_valid(tmp_path: Path) -> None:
    write_tiny_table(tmp_path / "table")
    assert deltaspec.validate(str(tmp_path / "table"), level="rows").verdict == "conforms"


def test_smoke_prints_a_line_for_each_check(rows_directory: Path) -> None:
    result = run("smoke", f"cmd:{shlex.join(build_command('Correct', rows_directory))}", columns=100)
    assert result.exit_code == 0
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == [f"ok       {name}" for name in CHECKS]
    assert "ok       hello: harness 1; snapshot, scan; declares 0 reader features\n" in result.stdout


@pytest.mark.parametrize(
    ("harness", "exit_code", "line"),
    [
        ("AcceptsUnknownOperations", 1, "problem  unknown operation: was answered with ok"),
        ("SupportsNothing", 3, "note     missing table: not checked: neither snapshot nor scan is among"),
    ],
)
def test_smoke_exits_with_the_worst_result(harness: str, exit_code: int, line: str, rows_directory: Path) -> None:
    result = run("smoke", f"cmd:{shlex.join(build_command(harness, rows_directory))}", columns=100)
    assert result.exit_code == exit_code
    assert line in result.stdout


def test_smoke_of_a_candidate_without_hello_reports_one_problem() -> None:
    result = run("smoke", f"cmd:{shlex.quote(sys.executable)} -c 'raise SystemExit(\"no licence\")'", columns=100)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "problem  hello: crash: exited with code 1 during hello; stderr: no licence",
        "note     other checks: not checked: the candidate does not answer hello",
    ]


def test_smoke_of_an_unknown_candidate_is_wrong_usage() -> None:
    result = run("smoke", "delalake")
    assert result.exit_code == 2
    assert "unknown candidate 'delalake' (did you mean deltalake?" in single_error_line(result)

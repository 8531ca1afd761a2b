"""Answers that no engine should give end in a verdict, never in a traceback or a pass."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from deltaspec.candidates.host import Died
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.serve import EngineError
from deltaspec.cli import main
from deltaspec.suites.cases import Case, describe_death, run_case
from deltaspec.suites.changes import list_change_ranges
from deltaspec.suites.checks import CHECKS, TableUnderTest
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.rendering import render_failure
from deltaspec.suites.subjects import Corpus, build_subject, describe_subject

DRAWN, BROKEN = "drawn", "broken.unknown-reader-feature"
HELLO, BYE = '{"seq":1,"ok":{"name":"x","version":"1"}}', '{"seq":2,"ok":{}}'
SHELL_CANDIDATE = f"""cmd:sh -c 'read line; echo "$0"; read line; echo "$1"' '{HELLO}' '{BYE}'"""
"""A program that answers only `hello` and `bye`."""


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TableUnderTest]:
    directory = tmp_path_factory.mktemp("tables")
    return {DRAWN: build_subject(find_table(), directory / DRAWN), BROKEN: build_subject(BROKEN, directory / BROKEN)}


def find_table() -> str:
    """Return the first drawn table with a column id, rows, and changes of rows."""
    for identity in Corpus(1, 100, written=False).list_ids():
        table = describe_subject(identity).table
        changed = any(each.plain_changes for versions in list_change_ranges(table) for each in versions)
        if changed and table.versions[-1].plain_rows and table.versions[-1].rows.column_names.count("id"):
            return identity
    raise AssertionError("no drawn table has changes")


class SnapshotsOnly:
    """An engine without the operation scan."""

    def hello(self) -> dict[str, Any]:
        return {"name": "x", "version": "1"}

    def snapshot(self, table: str, **_: Any) -> dict[str, Any]:
        raise EngineError("unsupported", "no")


class RefusesOperations(SnapshotsOnly):
    """An engine that declares operations and refuses them, whatever the table."""

    def snapshot(self, table: str, **_: Any) -> dict[str, Any]:
        raise EngineError("unsupported", "not implemented", code="operation")

    def scan(self, table: str, **arguments: Any) -> Any:
        return Engine().scan(table, **arguments)


def build_engine(change: Callable[[Any], Any], *operations: str) -> Engine:
    """Build a reference reader whose answers to these operations are changed."""

    class Changed(Engine):
        def snapshot(self, table: str, **arguments: Any) -> dict[str, Any]:
            answer = super().snapshot(table, **arguments)
            return change(answer) if "snapshot" in operations else answer  # type: ignore[no-any-return]

        def scan(self, table: str, **arguments: Any) -> dict[str, Any]:
            answer = super().scan(table, **arguments)
            return {**answer, "rows": change(answer["rows"])} if "scan" in operations else answer

        def changes(self, table: str, **arguments: Any) -> pa.Table:
            answer = super().changes(table, **arguments)
            return change(answer) if "changes" in operations else answer

    return Changed()


def ask(engine: Any, check: str, subject: TableUnderTest) -> CaseResult:
    return run_case(InProcess(engine), Case(CHECKS[check], subject))


@pytest.mark.parametrize("check", ["refuse.broken-table", "read.all-rows"])
def test_operation_that_is_missing_is_not_asked(subjects: Mapping[str, TableUnderTest], check: str) -> None:
    result = ask(SnapshotsOnly(), check, subjects[BROKEN])
    assert result.outcome is Outcome.NOT_ASKED
    assert result.message == "the candidate does not offer the operation scan"


def test_refused_operation_is_no_refusal_of_the_table(subjects: Mapping[str, TableUnderTest]) -> None:
    result = ask(RefusesOperations(), "refuse.broken-table", subjects[BROKEN])
    assert (result.outcome, result.message) == (
        Outcome.WEAK, "the operation was refused, not the table: not implemented"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("check", "part", "name", "value"),
    [
        ("snapshot.protocol", "protocol", "readerFeatures", 5),
        ("snapshot.protocol", "protocol", "readerFeatures", ["a", 1]),
        ("snapshot.metadata", "metadata", "schemaString", "{"),
        ("snapshot.metadata", "metadata", "schemaString", None),
        ("snapshot.metadata", "metadata", "schemaString", "[" * 100_000),
        ("snapshot.metadata", "metadata", "configuration", [1]),
    ],
)
def test_malformed_snapshot_fails(
    subjects: Mapping[str, TableUnderTest], check: str, part: str, name: str, value: Any
) -> None:
    engine = build_engine(lambda answer: {**answer, part: {**answer[part], name: value}}, "snapshot")
    assert ask(engine, check, subjects[DRAWN]).outcome is Outcome.FAILED


def double_column(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.append_column(name, rows.column(name))


def overflow_versions(rows: pa.Table) -> pa.Table:
    position = rows.schema.get_field_index("_commit_version")
    return rows.set_column(position, "_commit_version", pa.array([2**64 - 1] * rows.num_rows, pa.uint64()))


@pytest.mark.parametrize(
    "change", [double_column("_commit_version"), double_column("_change_type"), double_column("id"), overflow_versions]
)
def test_malformed_changes_fail(subjects: Mapping[str, TableUnderTest], change: Callable[[Any], Any]) -> None:
    assert ask(build_engine(change, "changes"), "changes.commit-columns", subjects[DRAWN]).outcome is Outcome.FAILED


def test_huge_names_are_cut_and_escaped(subjects: Mapping[str, TableUnderTest]) -> None:
    name = "x\n\x1b[31m" + "y" * 100_000
    engine = build_engine(lambda rows: rows.append_column(name, pa.nulls(rows.num_rows)), "scan")
    result = ask(engine, "read.all-rows", subjects[DRAWN])
    assert result.outcome is Outcome.FAILED
    assert len(result.message) < 10_000
    lines = render_failure(result, "x")
    assert [line for line in lines if "\x1b" in line or len(line) > 100] == []


def test_death_shows_the_end_of_stderr() -> None:
    death = Died("crash", "exited with code 1 during scan", stderr="\n".join(map(str, range(1000))), line="{")
    lines = describe_death(death).splitlines()
    assert lines[:2] == ["crash: exited with code 1 during scan", "line: {"]
    assert lines[-1] == "stderr: 999"
    assert len(lines) < 20


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["test", "cmd:true"], 3, "candidate cmd:true does not start: crash: exited with code 0 during hello"),
        (
            ["test", "cmd:sh -c 'echo Exception in thread main: no jar >&2; echo Java ended >&2'"],
            3,
            'during hello; it wrote "Exception in thread main: no jar"',
        ),
        (["test", "py:suites.nothing:Engine"], 3, "No module named 'suites.nothing'"),
        (["replay", "read.all-rows", "--candidate", "reference"], 2, "expected CHECK/TABLE"),
        (["replay", "read.all-rows/drawn.1", "--candidate", "reference"], 2, "expected drawn.SEED.NUMBER"),
        (["replay", "read.no/drawn.1.1", "--candidate", "reference"], 2, "unknown check read.no in"),
        (
            ["replay", f"read.row-count/{BROKEN}", "--candidate", SHELL_CANDIDATE],
            2,
            "of this table: refuse.broken-table/",
        ),
    ],
)
def test_command_says_what_is_wrong(arguments: list[str], code: int, text: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code
    assert text in result.output


def test_known_failures_that_cannot_be_written_are_reported(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    asked = ["test", SHELL_CANDIDATE, "--tables", "0", "--select", "no such case", "--format", "json"]
    assert CliRunner().invoke(main, [*asked, "--output", str(report)]).exit_code == 2
    result = CliRunner().invoke(main, ["known", "update", str(tmp_path / "none" / "known.toml"), str(report)])
    assert result.exit_code == 2
    assert "cannot be written" in result.output

"""An interrupted run of suites continues from the file of its results."""

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run, single_error_line

from deltaspec.errors import InvalidUsage
from deltaspec.suites.events import Events, open_events, undo_judgement
from deltaspec.suites.known_failures import KnownFailures, load_known_failures
from deltaspec.suites.outcomes import CaseResult, Outcome

NAME = "reference"
ARGUMENTS = ("test", "reference", "--suite", "snapshot", "--format", "json", "--tables", "3")


def build_result(table: str, check: str = "a", outcome: Outcome = Outcome.PASSED, message: str = "") -> CaseResult:
    return CaseResult(
        case=f"{check}/{table}", suite="read", check=check, table=table, outcome=outcome, seconds=1, message=message
    )


@contextmanager
def open_case_events(
    path: Path, candidate: str = NAME, *, resume: bool = False
) -> Iterator[tuple[Events[CaseResult], list[CaseResult]]]:
    """Open events as `deltaspec test` does."""
    run_arguments = {"candidate": candidate}
    with open_events(str(path), CaseResult, run_arguments, resume=resume, group=lambda each: each.table) as (
        file,
        kept,
    ):
        assert file is not None
        yield file, kept


def read_report(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_bytes())
    del report["run"]["seconds"]
    return report


def test_resumed_run_gives_the_same_report_and_events(tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"
    assert run(*ARGUMENTS, "--output", tmp_path / "complete.json", "--events", events).exit_code == 0
    complete = events.read_bytes()
    lines = complete.splitlines(keepends=True)
    events.write_bytes(b"".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:30])
    assert run(*ARGUMENTS, "--output", tmp_path / "resumed.json", "--events", events, "--resume").exit_code == 0
    assert read_report(tmp_path / "resumed.json") == read_report(tmp_path / "complete.json")
    assert [json.loads(each)["case"] for each in events.read_bytes().splitlines()] == [
        json.loads(each)["case"] for each in lines
    ]


@pytest.mark.parametrize(
    ("candidate", "table", "named"), [(NAME, "drawn.7.1", "drawn.7.1"), ("duckdb", "drawn.1.1", "duckdb")]
)
def test_events_of_other_arguments_are_refused(tmp_path: Path, candidate: str, table: str, named: str) -> None:
    events = tmp_path / "events.ndjson"
    with open_case_events(events, candidate=candidate) as (file, _):
        file.append([build_result(table), build_result("drawn.7.2")])
    message = single_error_line(run(*ARGUMENTS, "--events", events, "--resume"))
    assert message == f"deltaspec: --resume: the events are of a run with other arguments: {named}"


def test_resuming_needs_events() -> None:
    assert single_error_line(run(*ARGUMENTS, "--resume")) == "deltaspec: --resume needs --events"


def test_results_of_the_last_table_are_removed(tmp_path: Path) -> None:
    events, results = tmp_path / "events.ndjson", [build_result("t.1"), build_result("t.2"), build_result("t.2", "b")]
    with open_case_events(events, resume=True) as (file, kept):
        file.append(results)
    assert kept == []
    with open_case_events(events, resume=True) as (file, kept):
        file.append(results[1:2])
    assert kept == results[:1]
    assert len(events.read_text().splitlines()) == 2
    with open_case_events(events) as (_, kept):
        pass
    assert (kept, events.read_bytes()) == ([], b"")


@pytest.mark.parametrize("content", ["{}\n{}\n", "{}", '{"case":1}\n', "\xff\n", "notes"])
def test_file_of_something_else_is_refused_and_kept(tmp_path: Path, content: str) -> None:
    events = tmp_path / "events.ndjson"
    events.write_bytes(content.encode("latin-1"))
    message = r"events\.ndjson, line 1: not the result of a case"
    with pytest.raises(InvalidUsage, match=message), open_case_events(events, resume=True):
        pass
    assert events.read_bytes() == content.encode("latin-1")


@pytest.mark.parametrize("length", [1, 5, 20])
def test_beginning_of_a_result_is_removed(tmp_path: Path, length: int) -> None:
    events, results = tmp_path / "events.ndjson", [build_result("t.1"), build_result("t.2")]
    with open_case_events(events) as (file, _):
        file.append(results)
        file.append([build_result("t.2", "b")])
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(lines[0] + lines[1] + lines[2][:length])
    with open_case_events(events, resume=True) as (_, kept):
        assert kept == results[:1]
    assert events.read_bytes() == lines[0]


@pytest.mark.parametrize(
    ("outcome", "message"),
    [(Outcome.FAILED, "wrong rows"), (Outcome.FAILED, "first\nsecond"), (Outcome.CRASHED, "x"), (Outcome.PASSED, "")],
)
def test_undone_judgement_is_the_result_before_it(tmp_path: Path, outcome: Outcome, message: str) -> None:
    known = tmp_path / "known.toml"
    known.write_text(
        "[[failure]]\ncases=['a/t.1']\noutcome='failed'\nmatch='wrong rows'\nreason='r'\nlink='https://l'\n"
    )
    result = build_result("t.1", outcome=outcome, message=message)
    judged = KnownFailures(load_known_failures(known), "1", datetime.date(2026, 1, 1)).judge(result)
    assert judged != result
    assert undo_judgement(judged) == result
    assert undo_judgement(result) == result

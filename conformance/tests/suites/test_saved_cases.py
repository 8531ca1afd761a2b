"""Failures are shrunk, saved and replayed; a saved case never judges another table."""

import json
from pathlib import Path

import pytest
from helpers.cli import run
from helpers.matrix_reports import build_result
from msgspec.structs import replace
from suites.faulty_readers import IgnoresVectors

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.errors import InvalidUsage
from deltaspec.suites.cases import list_cases, run_case
from deltaspec.suites.checks import WRITE_SUITES
from deltaspec.suites.outcomes import Cause, Outcome
from deltaspec.suites.runner import SuitePlan, run_suite_plan
from deltaspec.suites.saved_cases import (
    FAILURE,
    ROWS,
    ask_about,
    is_same_failure,
    load_failure,
    restore_failure,
    save_failure,
    select_simplest,
    shrink_failure,
)
from deltaspec.suites.saved_histories import HISTORY_FILE, load_history
from deltaspec.suites.subjects import Corpus, describe_subject, is_drawn

FINDINGS = sorted(path.parent for path in (Path(__file__).parents[3] / "reports/findings").glob(f"*/{FAILURE}"))
HISTORIES = [each for each in FINDINGS if (each / HISTORY_FILE).exists()]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case of a reader that ignores deletion vectors."""
    plan = SuitePlan(Corpus(1, 20, written=False), ("read",), select=lambda case: case.startswith("read.row-count"))
    results = [each for done in run_suite_plan(lambda: InProcess(IgnoresVectors()), plan) for each in done.results]
    smallest = select_simplest(results, is_drawn)[0]
    table = describe_subject(smallest.table).table
    candidate = InProcess(IgnoresVectors())
    simpler, result = shrink_failure(candidate, smallest, table, attempts=40)
    assert 0 < len(simpler.choices) < len(table.choices)
    return save_failure(candidate, result, simpler, tmp_path_factory.mktemp("saved"))


def test_saved_case_fails_again_and_the_reference_passes(saved: Path) -> None:
    failure, subject = load_failure(saved)
    again = ask_about(InProcess(IgnoresVectors()), failure.result, subject.table)
    assert again is not None
    assert (again.outcome, again.signature) == (Outcome.FAILED, failure.result.signature)
    sound = ask_about(InProcess(Engine()), failure.result, subject.table)
    assert sound is not None
    assert sound.outcome is Outcome.PASSED


NULL, EMPTY = Cause("wrong values: null for a value", ("a.b",)), Cause("wrong values: value for null", ("a.b",))
DATES, LONGS = (Cause("wrong partition values", ("a.b",), (kind,)) for kind in ("date", "long"))


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ((NULL, EMPTY), (NULL,), True),
        ((NULL,), (EMPTY,), False),
        ((NULL,), (NULL, EMPTY), False),
        ((DATES,), (LONGS,), False),
        ((NULL,), (), False),
    ],
)
def test_simpler_case_has_no_other_cause(before: tuple[Cause, ...], after: tuple[Cause, ...], is_same: bool) -> None:
    first, second = (
        build_result("read.all-rows/drawn.1.0", Outcome.FAILED, message="wrong rows", causes=causes)
        for causes in (before, after)
    )
    assert is_same_failure(first, second) is is_same
    assert not is_same_failure(first, replace(first, outcome=Outcome.CRASHED))


def test_case_of_another_table_is_refused(saved: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    (changed / ROWS).parent.mkdir(parents=True)
    (changed / ROWS).write_bytes((saved / ROWS).read_bytes())
    content = json.loads((saved / FAILURE).read_text())
    content["choices"] = []
    (changed / FAILURE).write_text(json.dumps(content))
    with pytest.raises(InvalidUsage, match="draws another table"):
        load_failure(changed)


def test_saved_case_is_replayed_by_its_directory(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(saved.parent)
    result = run("replay", saved.name, "--candidate", "py:suites.faulty_readers:IgnoresVectors")
    assert result.exit_code == 1
    assert f"again: deltaspec replay {saved.name} --candidate" in result.output
    assert "breaks: deletion-vectors.honoured" in result.output


def test_restored_table_has_the_paths_of_its_place(tmp_path: Path) -> None:
    finding = next(each for each in FINDINGS if each.name == "sail-absolute-path")
    _, subject = restore_failure(finding, tmp_path / "table")
    log = b"".join(path.read_bytes() for path in sorted((tmp_path / "table/_delta_log").glob("*.json")))
    assert (tmp_path / "table").as_uri().encode() in log
    assert subject.location == tmp_path / "table"


@pytest.mark.parametrize("missing", [FAILURE, ROWS])
def test_incomplete_case_is_refused(saved: Path, tmp_path: Path, missing: str) -> None:
    for name in {FAILURE, ROWS} - {missing}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((saved / name).read_bytes())
    with pytest.raises(InvalidUsage, match="not a saved case"):
        load_failure(tmp_path)


@pytest.mark.parametrize("directory", HISTORIES, ids=lambda each: each.name)
def test_reference_passes_every_history(directory: Path, tmp_path: Path) -> None:
    failure, subject = load_history(directory, tmp_path)
    candidate = InProcess(Engine())
    cases = {each.check.name: each for each in list_cases(candidate.capabilities, [subject], WRITE_SUITES)}
    assert run_case(candidate, cases[failure.result.check]).outcome is Outcome.PASSED


@pytest.mark.parametrize("directory", [each for each in FINDINGS if each not in HISTORIES], ids=lambda each: each.name)
def test_reference_passes_every_finding(directory: Path) -> None:
    failure, subject = load_failure(directory)
    result = ask_about(InProcess(Engine()), failure.result, subject.table)
    assert result is not None
    assert result.outcome is Outcome.PASSED, result.message

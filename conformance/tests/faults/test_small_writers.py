"""A correct writer passes all trials, and every faulty one fails in the trials that provoke its fault."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from faults import s3_writers, small_writers

from deltaspec.candidates.host import Host
from deltaspec.candidates.registry import find_launch
from deltaspec.faults.bench import build_bench
from deltaspec.faults.runner import FaultPlan, run_trials
from deltaspec.faults.trials import Fault, TrialResult
from deltaspec.suites.outcomes import Outcome

SOURCE = "conformance/tests/faults/small_writers.py"
S3_SOURCE = "conformance/tests/faults/s3_writers.py"
MOST_TRIALS = 20
"""A faulty writer fails in one of so many trials; most fail in the first three."""


def iter_results(writer: type, trials: Mapping[Fault, int], directory: Path) -> Iterator[TrialResult]:
    candidate = f"py:{writer.__module__}:{writer.__name__}"
    plan = FaultPlan(candidate, {fault: range(number) for fault, number in trials.items()}, keep=directory / "kept")
    with Host(find_launch(candidate)) as host:
        yield from run_trials(build_bench(host, directory / "bench", seed=1), plan)


@pytest.mark.slow("conformance/deltaspec/faults")
def test_correct_writer_passes(tmp_path: Path) -> None:
    storage = {Fault.FULL_DISK: 2, Fault.FILE_SIZE: 2, Fault.READ_ONLY: 2}
    results = list(iter_results(small_writers.SmallWriter, {Fault.KILL: 2, Fault.RACE: 1, **storage}, tmp_path))
    not_asked = [each.message for each in results if each.outcome is Outcome.NOT_ASKED]
    assert [each.message for each in results if each.outcome.is_bad] == []
    assert len(not_asked) == 2 or "does not allow to mount" in " ".join(not_asked)
    assert not (tmp_path / "kept").exists()
    assert sum(each.counts["rows compared"] for each in results if each.outcome is Outcome.PASSED) > 1_000


@pytest.mark.slow(SOURCE, S3_SOURCE, "conformance/deltaspec/faults/races.py")
def test_correct_writer_passes_races_in_an_object_store(tmp_path: Path) -> None:
    results = list(iter_results(s3_writers.S3Writer, {Fault.S3_RACE: 1}, tmp_path))
    raced = [each for each in results if each.fault is Fault.S3_RACE]
    assert [(each.outcome, each.message) for each in raced] == [(Outcome.PASSED, "")]


@pytest.mark.slow(SOURCE, "conformance/deltaspec/faults/races.py")
def test_writer_without_the_object_store_is_not_asked(tmp_path: Path) -> None:
    *_, result = iter_results(small_writers.SmallWriter, {Fault.S3_RACE: 1}, tmp_path)
    assert (result.outcome, result.message) == (Outcome.NOT_ASKED, "a candidate does not declare the store s3")


def test_violations_without_a_fault_fail_the_trials_without_one(tmp_path: Path) -> None:
    results = list(iter_results(small_writers.StatesWrongSizes, {Fault.KILL: 1}, tmp_path))
    failed = [each for each in results if each.outcome.is_bad]
    assert failed
    assert {each.fault for each in failed} == {Fault.NONE}
    assert [each for each in failed if "violates DAT002" not in each.message] == []


def list_sources(fault: Fault) -> list[str]:
    modules = (
        "bench",
        "judging",
        "runner",
        "workload",
        {Fault.KILL: "kills", Fault.RACE: "races", Fault.S3_RACE: "races"}.get(fault, "storage_faults"),
    )
    return [f"conformance/deltaspec/faults/{module}.py" for module in modules]


FAULTY_WRITERS = [
    (small_writers.WritesCommitsInParts, Fault.KILL, "the table"),
    (small_writers.CommitsInTwoVersions, Fault.KILL, "rows lost"),
    (small_writers.LeavesLocks, Fault.KILL, "cannot be written afterwards"),
    (small_writers.AnswersBeforeCommitting, Fault.KILL, "rows lost"),
    (small_writers.ReplacesCommits, Fault.RACE, "new versions"),
    (s3_writers.OverwritesObjects, Fault.S3_RACE, "new versions"),
    (small_writers.KeepsTornCommits, Fault.FILE_SIZE, "the table"),
    (small_writers.HidesTheCategory, Fault.READ_ONLY, "expected the category io"),
]


@pytest.mark.parametrize(
    ("writer", "fault", "message"),
    [
        pytest.param(*each, id=each[0].__name__, marks=pytest.mark.slow(SOURCE, *list_sources(each[1])))
        for each in FAULTY_WRITERS
    ],
)
def test_faulty_writer_fails(writer: type, fault: Fault, message: str, tmp_path: Path) -> None:
    found: list[TrialResult] = []
    for result in iter_results(writer, {fault: MOST_TRIALS}, tmp_path):
        found.append(result)
        if result.outcome.is_bad and message in result.message:
            break
    assert found[-1].outcome.is_bad, [(each.trial, each.outcome, each.message, each.history) for each in found]
    kept = tmp_path / "kept" / found[-1].trial
    assert (kept / "delta/_delta_log").is_dir()
    assert json.loads((kept / "trial.json").read_bytes())["trial"] == found[-1].trial

"""Over a hundred fuzz mutations in every test run, and tests of the harness with misbehaving workers."""

import sys
from pathlib import Path

import pytest
from fuzz.__main__ import main, save, summary
from fuzz.harness import Outcome, run, worker_command
from fuzz.mutate import build_mutation, unpack
from fuzz.subjects import SUBJECTS, choose_subject
from fuzz.worker import write_files

import deltaspec

SEED, MUTATIONS = 20261121, 60

MISBEHAVING = """
import json, os, sys, time
for line in sys.stdin:
    job = line.strip()
    if job == "dies":
        os.write(2, b"a last word")
        os.abort()
    if job == "sleeps":
        time.sleep(60)
    print(json.dumps({"outcome": "over memory" if job == "eats" else "conforms", "mutation": job}), flush=True)
"""


@pytest.mark.parametrize("name", SUBJECTS)
def test_table_is_sound_before_mutation(name: str, tmp_path: Path) -> None:
    write_files(tmp_path, SUBJECTS[name].build())
    report = deltaspec.validate(str(tmp_path), level=SUBJECTS[name].level, history="all")
    assert (report.verdict, report.totals) == ("conforms", {})


def test_seed_and_number_determine_the_mutation() -> None:
    files = SUBJECTS["vectors"].build()
    drawn = [build_mutation(files, 7, number) for number in range(200)]
    assert drawn == [build_mutation(files, 7, number) for number in range(200)]
    assert drawn != [build_mutation(files, 8, number) for number in range(200)]
    assert len({mutation.name for mutation in drawn}) == 10
    assert {mutation.path for mutation in drawn} == {path for path in files if path[0] in "bcd"}


@pytest.mark.slow("conformance/deltaspec/wire")
def test_mutated_tables_cause_no_failure() -> None:
    counts = run(map(str, range(MUTATIONS)), worker_command(SEED), workers=1)
    assert counts.failures == [], summary(counts)
    assert sum(counts.by_outcome.values()) == MUTATIONS
    assert counts.by_outcome["findings"] > MUTATIONS // 3


def test_failing_worker_is_counted_and_replaced() -> None:
    jobs = ["good", "dies", "good", "sleeps", "eats", "good"]
    counts = run(jobs, [sys.executable, "-c", MISBEHAVING], workers=1, seconds_each=1.0, seconds_to_start=9.0)
    assert counts.by_outcome == {"conforms": 3, "crash": 1, "hang": 1, "over memory": 1}
    assert [each.job for each in counts.failures] == ["dies", "sleeps", "eats"]
    assert "exit code -6: a last word" in counts.failures[0].details


def test_failure_is_saved_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = save(Outcome("8", "hang"), SEED, tmp_path)
    sound = SUBJECTS[choose_subject(8)].build()
    assert unpack(saved) == {**sound, **build_mutation(sound, SEED, 8).files} != sound
    assert main(["--replay", str(saved)]) == 0
    assert f"{saved.name}, " in capsys.readouterr().out

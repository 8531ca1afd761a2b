"""Executors are lost between two jobs, and a file cannot be read again: nothing that was read is lost in silence."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from helpers.backends import InProcessJobs, embedded_backend, list_backend
from helpers.bad_nights import (
    FAULTS,
    INPUTS,
    JOBS,
    break_input,
    build_night_table,
    find_silent_losses,
    run_on,
)

from deltaspec.validation.options import Options
from deltaspec.validation.spark.spark_buckets import SparkBuckets
from deltaspec.validation.stopping import RunStopped
from deltaspec_generators.table_files import write_table

OPTIONS = Options.create(level="rows", samples=1000)
TABLES = ((False, False), (False, True), (True, True))
"""Whether the table is sound, and whether its checkpoint has a sidecar."""
BROKEN = [(*table, name) for table in TABLES for name in INPUTS if table[1] or name == "checkpoint"]
"""Tables and inputs. Without a sidecar, only the checkpoint is read in another way."""
SHARES = (0.5, 1.0)
"""Share of the partitions that are lost, for even and odd jobs."""


@pytest.mark.slow("conformance/deltaspec/validation/spark", "conformance/deltaspec/validation/bucketing.py")
@pytest.mark.parametrize(("is_sound", "with_sidecar"), TABLES)
def test_lost_rows_are_computed_again(tmp_path: Path, is_sound: bool, with_sidecar: bool) -> None:
    """The files can be read again, so the report is that of the embedded backend."""
    write_table(build_night_table(is_sound=is_sound, with_sidecar=with_sidecar), tmp_path / "table")
    expected = run_on(lambda: embedded_backend()(str(tmp_path / "table"), OPTIONS))
    assert expected.verdict == ("conforms" if is_sound else "violations")
    jobs_of_run = []
    for job, share in itertools.product(range(JOBS), SHARES):

        def lose(jobs: InProcessJobs, number: int, job: int = job, share: float = share) -> None:
            jobs_of_run.append(number)
            if number == job:
                jobs.lose_partitions(share)

        run = list_backend(3, seed=job, before_job=lose)
        assert run_on(lambda run=run: run(str(tmp_path / "table"), OPTIONS)) == expected, (job, share)
    assert set(jobs_of_run) == set(range(JOBS))


@pytest.mark.slow("conformance/deltaspec/validation/spark", "conformance/deltaspec/validation/bucketing.py")
@pytest.mark.parametrize("stage", range(JOBS - 1))
def test_run_that_stops_never_conforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: int) -> None:
    write_table(build_night_table(is_sound=True, with_sidecar=True), tmp_path / "table")
    run_stage, stages = SparkBuckets.run_stage, itertools.count()

    def stop(*arguments: Any, **options: Any) -> Any:
        if next(stages) == stage:
            raise RunStopped("expected 2 rows, received 1")
        return run_stage(*arguments, **options)

    monkeypatch.setattr(SparkBuckets, "run_stage", stop)
    assert run_on(lambda: list_backend(3, seed=1)(str(tmp_path / "table"), OPTIONS)).verdict == "incomplete"
    assert next(stages) > stage


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("is_sound", "with_sidecar", "name"), BROKEN)
def test_rows_that_cannot_be_computed_again_are_never_lost_in_silence(
    tmp_path: Path, is_sound: bool, with_sidecar: bool, name: str, fault: str
) -> None:
    files = build_night_table(is_sound=is_sound, with_sidecar=with_sidecar)

    def write(place: str) -> str:
        write_table(files, tmp_path / place)
        return str(tmp_path / place)

    before = run_on(lambda: embedded_backend()(write("sound"), OPTIONS))
    break_input(Path(write("broken")), name, fault)
    after = run_on(lambda: embedded_backend()(str(tmp_path / "broken"), OPTIONS))
    for job, share in zip(range(JOBS), itertools.cycle(SHARES), strict=False):
        table = write(f"table {job} {share}")

        def break_and_lose(
            jobs: InProcessJobs, number: int, job: int = job, share: float = share, table: str = table
        ) -> None:
            if number == job:
                jobs.lose_partitions(share)
                break_input(Path(table), name, fault)

        run = list_backend(3, seed=job, before_job=break_and_lose)
        found = run_on(lambda run=run, table=table: run(table, OPTIONS))
        was_read = job > INPUTS[name][1]
        assert find_silent_losses(found, before, after, was_read=was_read) == set(), (job, share)
        assert found.verdict != "conforms" or before.verdict == "conforms", (job, share)

"""Rows of executors are lost in the middle of a run on Spark, as if their executors had ended.

`test_lost_executors` tries every combination of jobs and files without Spark, `nox -s cluster` kills executors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.bad_nights import break_input, build_night_table, run_on

import deltaspec
from deltaspec.spark import validate
from deltaspec_generators.table_files import write_table

pytestmark = pytest.mark.spark
LEVEL = "rows"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_table(build_night_table(is_sound=False, with_sidecar=False), tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture
def checkpoint_directory(spark: Any, tmp_path: Path) -> Iterator[Path]:
    """The checkpoint directory of the Spark context, which has none afterwards."""
    context = spark.sparkContext
    context.setCheckpointDir(str(tmp_path / "checkpoints"))
    (directory,) = (tmp_path / "checkpoints").iterdir()
    yield directory
    none = context._jvm.scala.Option.empty()
    getattr(context._jsc.sc(), "checkpointDir_$eq")(none)
    assert context.getCheckpointDir() is None


def lose_rows(spark: Any) -> int:
    """Remove the rows of all persisted frames, and return the number of frames."""
    context = spark.sparkContext
    master = context._jvm.org.apache.spark.SparkEnv.get().blockManager().master()
    numbers = list(context._jsc.getPersistentRDDs().keySet())
    for number in numbers:
        master.removeRdd(number, True)
    return len(numbers)


def test_lost_rows_are_computed_again(spark: Any, table: Path) -> None:
    lost: list[int] = []

    def lose(phase: str, done: int, total: int | None) -> None:
        if done == 0:  # a phase begins
            lost.append(lose_rows(spark))

    expected = run_on(lambda: deltaspec.validate(str(table), level=LEVEL))
    assert run_on(lambda: validate(spark, str(table), level=LEVEL, progress=lose).report) == expected
    assert max(lost) > 1


@pytest.mark.parametrize("fault", ["truncated", "unreadable", "changed"])
def test_rows_that_cannot_be_computed_again_end_the_run(spark: Any, table: Path, fault: str) -> None:
    def lose(phase: str, done: int, total: int | None) -> None:
        if phase == "listing":
            assert lose_rows(spark)
            break_input(table, "checkpoint", fault)

    report = validate(spark, str(table), level=LEVEL, progress=lose).report
    assert (report.verdict, report.inventory) == ("incomplete", None)
    assert report.stopped is not None
    assert report.stopped.startswith("expected ")
    assert {"DAT001", "STA001"} <= {each.rule for each in report.checked.not_checked}


def test_rows_are_kept_in_the_checkpoint_directory(spark: Any, table: Path, checkpoint_directory: Path) -> None:
    kept: list[int] = []

    def lose(phase: str, done: int, total: int | None) -> None:
        if phase == "data files" and done == 0:
            lose_rows(spark)
            kept.append(len(list(checkpoint_directory.glob("rdd-*"))))
            break_input(table, "checkpoint", "unreadable")

    expected = run_on(lambda: deltaspec.validate(str(table), level=LEVEL))
    assert run_on(lambda: validate(spark, str(table), level=LEVEL, progress=lose).report) == expected
    assert kept[0] > 0
    assert list(checkpoint_directory.glob("rdd-*")) == []

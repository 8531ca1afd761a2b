"""A table that Delta Spark writes to all the while it is judged, over and over, by both engines.

`DELTASPEC_MOVING_SECONDS` says for how long; `nox -s moving` gives it half a minute.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.session import age_log_files, checkpoint, create, run, with_settings

from deltaspec.report.report_types import Report
from deltaspec.validation import validate_table

pytestmark = pytest.mark.spark

SECONDS = float(os.environ.get("DELTASPEC_MOVING_SECONDS", "5"))
POLICIES = ("v2", "classic") if SECONDS > 20 else ("v2",)
PATIENCE = 120
"""Seconds after which a table that is written to slowly is judged no more."""
TURNS = (("log", "all", False), ("files", "latest", True), ("rows", "all", False), ("footers", "latest", False))
"""Level, history, and whether it is Spark that judges."""
LEAST_DONE = 6
"""Operations of the writer."""
VACUUMED = {"DAT004"}
"""That the change data of earlier versions is gone, which is true after a vacuum."""


class _Writer(threading.Thread):
    """Writes until it is told to stop; what it could not do is kept and raised by the test."""

    def __init__(self, spark: Any, path: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._spark, self._path = spark, path
        self._random = random.Random(seed)
        self._end = threading.Event()
        self.done: Counter[str] = Counter()
        self.fault: Exception | None = None

    def __enter__(self) -> _Writer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self.join(60)
        assert not self.is_alive()

    def run(self) -> None:
        operations: list[Callable[[], None]] = [self.insert, self.delete, self.update, self.optimize]
        rare = [self.vacuum, self.checkpoint, self.clean_up]
        try:
            while not self._end.is_set():
                for each in (*self._random.choices(operations, k=3), self._random.choice(rare)):
                    each()
                    self.done[each.__name__] += 1
        except Exception as fault:  # noqa: BLE001 - it is raised where the test ends
            self.fault = fault

    def _run(self, statement: str) -> None:
        run(self._spark, self._path, statement)

    def insert(self) -> None:
        first = self._random.randrange(1_000_000)
        self._run(f"INSERT INTO {{t}} SELECT id, concat('name ', id) FROM range({first}, {first + 50}, 1, 2)")

    def delete(self) -> None:
        self._run(f"DELETE FROM {{t}} WHERE id % 7 = {self._random.randrange(7)} AND id % 3 = 0")

    def update(self) -> None:
        self._run(f"UPDATE {{t}} SET name = 'again' WHERE id % 11 = {self._random.randrange(11)}")

    def optimize(self) -> None:
        self._run("OPTIMIZE {t}")

    def vacuum(self) -> None:
        self._run("VACUUM {t} RETAIN 0 HOURS")

    def checkpoint(self) -> None:
        checkpoint(self._spark, self._path)

    def clean_up(self) -> None:
        """Commits of ten days ago go with the next checkpoint."""
        age_log_files(self._spark, self._path)
        self._run("INSERT INTO {t} VALUES (-1, 'after the clean-up')")
        checkpoint(self._spark, self._path)


def _judge(spark: Any, path: str, writer: _Writer) -> list[Report]:
    """Reports of the table, one after the other, as long as is asked for and until the writer has done enough."""
    from deltaspec.validation.spark.run import validate

    began, reports = time.monotonic(), []
    while (spent := time.monotonic() - began) < PATIENCE and writer.is_alive():
        level, history, on_spark = TURNS[len(reports) % len(TURNS)]
        if on_spark:
            reports.append(validate(spark, path, level=level, history=history, buckets=2))
        else:
            reports.append(validate_table(path, level=level, history=history))
        if spent > SECONDS and len(reports) >= len(TURNS) and writer.done.total() >= LEAST_DONE:
            break
    return reports


@pytest.mark.parametrize("policy", POLICIES)
def test_table_that_spark_writes_to_gives_no_false_finding(policy: str, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / policy)
    properties = {"enableDeletionVectors": True, "enableChangeDataFeed": True, "checkpointInterval": 4}
    properties |= {"checkpointPolicy": policy, "logRetentionDuration": "interval 8 days"}
    create(spark, path, "id BIGINT, name STRING", **properties)
    unchecked = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
    with with_settings(spark, unchecked), _Writer(spark, path, len(policy)) as writer:
        reports = _judge(spark, path, writer)
    if writer.fault is not None:
        raise writer.fault
    for report in reports:
        found = [each for each in report.findings if each.rule not in VACUUMED]
        assert found == [], (report.engine, report.level, report.version)
        assert report.verdict in ("conforms", "incomplete")
    assert {report.engine for report in reports} == {"embedded", "spark"}
    assert len({report.version for report in reports}) > 1, "the table did not move"

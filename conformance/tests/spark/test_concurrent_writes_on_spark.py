"""Delta Spark writes to a table while both engines validate it repeatedly.

`DELTASPEC_WRITE_SECONDS` sets for how long; `nox -s concurrent_writes` sets half a minute.
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

import deltaspec
from deltaspec.report.report_types import Report

pytestmark = pytest.mark.spark

SECONDS = float(os.environ.get("DELTASPEC_WRITE_SECONDS", "5"))
POLICIES = ("v2", "classic") if SECONDS > 20 else ("v2",)
TIMEOUT_SECONDS = 120
"""Stop after this time even if the writer is slow."""
TURNS = (("log", "all", False), ("files", "latest", True), ("rows", "all", False), ("footers", "latest", False))
"""Level, history, and whether to use the Spark backend."""
MIN_OPERATIONS = 6
"""Minimum number of writer operations."""
EXPECTED_RULES = {"DAT004", "CKP083"}
"""Change data of earlier versions is missing, which is correct after a vacuum; checkpoints contain stats_parsed."""


class _Writer(threading.Thread):
    """Writes until it is stopped; the test raises its exception."""

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
        except Exception as fault:  # noqa: BLE001 - raised at the end of the test
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
        """Age the log by ten days, so that the next checkpoint deletes commits."""
        age_log_files(self._spark, self._path)
        self._run("INSERT INTO {t} VALUES (-1, 'after the clean-up')")
        checkpoint(self._spark, self._path)


def _validate_repeatedly(spark: Any, path: str, writer: _Writer) -> list[Report]:
    """Validate the table repeatedly, at least for `SECONDS` and until the writer has done `MIN_OPERATIONS`."""
    from helpers.backends import validate_on_spark

    start, reports = time.monotonic(), []
    while (elapsed := time.monotonic() - start) < TIMEOUT_SECONDS and writer.is_alive():
        level, history, on_spark = TURNS[len(reports) % len(TURNS)]
        if on_spark:
            reports.append(validate_on_spark(spark, path, level=level, history=history, bucket_count=2))
        else:
            reports.append(deltaspec.validate(path, level=level, history=history))
        if elapsed > SECONDS and len(reports) >= len(TURNS) and writer.done.total() >= MIN_OPERATIONS:
            break
    return reports


@pytest.mark.slow("conformance/deltaspec/validation/spark", "conformance/deltaspec/validation/log")
@pytest.mark.parametrize("policy", POLICIES)
def test_concurrent_writes_of_spark_cause_no_false_finding(policy: str, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / policy)
    properties = {"enableDeletionVectors": True, "enableChangeDataFeed": True, "checkpointInterval": 4}
    properties |= {"checkpointPolicy": policy, "logRetentionDuration": "interval 8 days"}
    create(spark, path, "id BIGINT, name STRING", **properties)
    unchecked = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
    with with_settings(spark, unchecked), _Writer(spark, path, len(policy)) as writer:
        reports = _validate_repeatedly(spark, path, writer)
    if writer.fault is not None:
        raise writer.fault
    for report in reports:
        found = [each for each in report.findings if each.rule not in EXPECTED_RULES]
        assert found == [], (report.engine, report.level, report.version)
        assert report.verdict in ("conforms", "incomplete")
    assert {report.engine for report in reports} == {"embedded", "spark"}
    assert len({report.version for report in reports}) > 1, "the writer committed nothing"

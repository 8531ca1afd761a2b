"""Kill executors at random moments: the report is that of the embedded backend, or the run says what happened.

Run by `nox -s cluster`. `DELTASPEC_KILLS` sets the number of runs at each level, and `DELTASPEC_SEED` their moments.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import tables
from cluster.processes import HOST, Cluster, cluster
from helpers.backends import find_differences, report_to_builtins

import deltaspec
from deltaspec.spark import validate
from deltaspec.validation.spark.jobs import SparkFailed
from deltaspec.validation.spark.session import open_session

KILLS = int(os.environ.get("DELTASPEC_KILLS", "3"))
SEED = int(os.environ.get("DELTASPEC_SEED", "7"))
SETTINGS = {"spark.executor.memory": "512m", "spark.cores.max": "2", "spark.executor.cores": "1"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that start another executor however often one was killed."""
    retries = {"SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1"}
    with cluster(tmp_path_factory.mktemp("cluster"), environment=retries) as found:
        yield found


@pytest.fixture(scope="module")
def session(running: Cluster) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", HOST)
        options = [part for name, value in SETTINGS.items() for part in ("--conf", f"{name}={value}")]
        patch.setenv("PYSPARK_SUBMIT_ARGS", " ".join([*options, "pyspark-shell"]))
        with open_session(running.url) as found:
            yield found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    return tables.write_faulty_copy(tables.write_valid_table(folder / "valid"), folder / "faulty")


class _Killer(threading.Thread):
    """Kills one executor or all after some seconds."""

    def __init__(self, drawn: random.Random, seconds: float) -> None:
        super().__init__(daemon=True)
        self._drawn, self._seconds = drawn, drawn.uniform(0, seconds)
        self.killed = 0

    def run(self) -> None:
        time.sleep(self._seconds)
        found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True).stdout
        executors = [int(each) for each in found.split()]
        for each in executors if self._drawn.random() < 0.7 else executors[:1]:
            os.kill(each, signal.SIGKILL)
            self.killed += 1


@pytest.mark.parametrize("level", ["log", "files", "footers", "rows"])
def test_killed_executors(session: Any, table: Path, tmp_path: Path, level: str) -> None:
    def run(**more: Any) -> dict[str, Any]:
        return report_to_builtins(validate(session, str(table), level=level, **more).report)

    run()  # starts the Python workers
    started = time.monotonic()
    expected = run()
    embedded = report_to_builtins(deltaspec.validate(str(table), level=level))
    assert find_differences(expected["findings"], embedded["findings"]) == []
    seconds, drawn, outcomes, killed = time.monotonic() - started, random.Random(SEED), Counter[str](), 0
    for number in range(KILLS):
        state = str(tmp_path / f"state-{number}") if number % 2 else None
        killer = _Killer(drawn, seconds)
        killer.start()
        found: dict[str, Any] | str
        try:
            found = run(state=state)
        except SparkFailed as fault:
            found = str(fault)
        killer.join()
        killed += killer.killed
        if isinstance(found, str):
            assert "--resume" in found, f"{number=}"
            outcomes["failed"] += 1
        else:
            outcomes["equal" if found["stopped"] is None else "incomplete"] += 1
        if isinstance(found, str) or found["stopped"] is not None:
            found = run(state=state, resume=state is not None)
        assert find_differences(found, expected) == [], number
        if state is not None:
            shutil.rmtree(state)
    print(f"{level}: {dict(outcomes)}, {killed} executors killed in runs of {seconds:.1f} s")
    assert killed

"""A table judged on a standalone cluster whose executors have nothing but what is shipped to them.

`nox -s cluster` runs this: `DELTASPEC_SHIPPED` names the packed environment of README.
"""

from __future__ import annotations

import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import tables
from cluster.commands import CompletedRun, start_validate, validate, wait_for
from cluster.processes import HOST, Cluster, cluster, fetch_json, free_port, wait_until

SHIPPED = Path(os.environ["DELTASPEC_SHIPPED"])
IN_IT = "./env/bin/python"
EXECUTORS = {"spark.executor.memory": "600m"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for the tables and the cluster."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def valid(place: Path) -> Path:
    return tables.valid(place / "valid")


@pytest.fixture(scope="module")
def faulty(place: Path, valid: Path) -> Path:
    return tables.faulty(valid, place / "faulty")


@pytest.fixture(scope="module")
def expected(valid: Path, faulty: Path) -> dict[Path, CompletedRun]:
    """What the embedded engine says of both at level `rows`."""
    found = {table: validate(table, "--level", "rows") for table in (valid, faulty)}
    assert [each.code for each in found.values()] == [0, 1]
    return found


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found


def shipped(archive: Path | None = SHIPPED, python: str = IN_IT, **settings: object) -> dict[str, str]:
    """The environment of a command whose executors get an archive."""
    told = {**EXECUTORS, **{name.replace("__", "."): value for name, value in settings.items()}}
    options = [f"--conf {name}={value}" for name, value in told.items()]
    if archive is not None:
        options.append(f"--archives {archive}#env")
    return {"PYSPARK_PYTHON": python, "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"])}


def test_a_table_that_conforms(two_workers: Cluster, valid: Path, expected: dict[Path, CompletedRun]) -> None:
    found = validate(valid, "--level", "rows", "--engine", f"spark={two_workers.url}", **shipped())
    assert (found.code, found.report) == (0, expected[valid].report), found.said


def test_a_worker_is_lost_amid_the_run(two_workers: Cluster, faulty: Path, expected: dict[Path, CompletedRun]) -> None:
    port, log = free_port(), two_workers.folder / "events"
    log.mkdir()
    watched = {"spark__ui__enabled": "true", "spark__ui__port": port, "spark__eventLog__enabled": "true"}
    kept = {"spark__eventLog__dir": log.as_uri(), "spark__eventLog__compress": "false"}
    environment = shipped(**watched, **kept)
    running = start_validate(faulty, "--level", "rows", "--engine", f"spark={two_workers.url}", **environment)
    try:
        wait_until(lambda: _both_keep_rows(port), "both executors keep rows of tasks", 300)
        two_workers.kill_worker()
        assert running.poll() is None, "killed amid the run"
    finally:
        found = wait_for(running)
    assert (found.code, found.report) == (1, expected[faulty].report), found.said
    assert "SparkListenerExecutorRemoved" in _before_the_last_job(log)


def test_every_worker_is_lost(two_workers: Cluster, valid: Path) -> None:
    environment = shipped() | {"DELTASPEC_SPARK_EXECUTOR_SECONDS": "10"}
    running = start_validate(valid, "--level", "rows", "--engine", f"spark={two_workers.url}", **environment)
    try:
        wait_until(lambda: _has_executors(two_workers), "the executors are there")
        time.sleep(5)
        two_workers.kill_worker()
        two_workers.kill_worker()
    finally:
        found = wait_for(running)
    assert (found.code, found.output) == (3, "")
    assert found.said == "deltaspec: Spark had no executor for 10 seconds; are the workers of the cluster running?\n"


def test_executors_without_deltaspec(two_workers: Cluster, valid: Path) -> None:
    found = validate(valid, "--engine", f"spark={two_workers.url}", **shipped(None, _bare(two_workers.folder)))
    assert (found.code, found.output) == (2, "")
    assert found.said.startswith("deltaspec: the executors have no "), found.said
    assert found.said.count("\n") == 1


def test_executors_with_another_release(two_workers: Cluster, valid: Path) -> None:
    folder = two_workers.folder / "older"
    with tarfile.open(SHIPPED) as archive:
        archive.extractall(folder, filter="tar")
    (module,) = folder.glob("lib/python*/site-packages/deltaspec/__init__.py")
    module.write_text('__version__ = "0.0.1"\n')
    python = str(folder / "bin" / "python")
    found = validate(valid, "--engine", f"spark={two_workers.url}", **shipped(None, python))
    assert (found.code, found.output) == (2, "")
    assert found.said.startswith("deltaspec: executors have deltaspec 0.0.1, the driver "), found.said
    assert found.said.count("\n") == 1


def _bare(folder: Path) -> str:
    """A Python with what pyspark needs for batches of Arrow, but without the kit."""
    place = folder / "bare"
    with tarfile.open(SHIPPED) as archive:
        kept = [each for each in archive.getmembers() if "site-packages/deltaspec" not in each.name]
        archive.extractall(place, kept, filter="tar")
    return str(place / "bin" / "python")


def _both_keep_rows(port: int) -> bool:
    """Whether each of two executors has done tasks and keeps partitions on its disk."""
    page = f"http://{HOST}:{port}/api/v1/applications"
    found = fetch_json(f"{page}/{fetch_json(page)[0]['id']}/executors")
    keeping = [each for each in found if each["id"] != "driver" and each["rddBlocks"] and each["completedTasks"] > 3]
    return len(keeping) == 2


def _has_executors(there: Cluster) -> bool:
    return any(there.folder.glob("worker-0/app-*/*/env/bin/python"))


def _before_the_last_job(log: Path) -> str:
    """The events of a run up to the start of its last job."""
    (file,) = log.glob("eventlog_v2_*/events_1_*")
    return file.read_text().rpartition('"Event":"SparkListenerJobStart"')[0]

"""Validate tables on a standalone cluster whose executors have only the packed environment shipped to them.

Run by `nox -s cluster`, which sets `DELTASPEC_SHIPPED` to the packed environment of the README.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import tables
from cluster.commands import CompletedRun, start, start_validate, validate, wait_for
from cluster.page import list_page_commands
from cluster.processes import HOST, Cluster, cluster, fetch_json, free_port, wait_until

SHIPPED = Path(os.environ["DELTASPEC_SHIPPED"])
SHIPPED_PYTHON = "./env/bin/python"
EXECUTORS = {"spark.executor.memory": "600m"}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory for the tables and the cluster."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def valid(directory: Path) -> Path:
    return tables.write_valid_table(directory / "valid")


@pytest.fixture(scope="module")
def faulty(directory: Path, valid: Path) -> Path:
    return tables.write_faulty_copy(valid, directory / "faulty")


@pytest.fixture(scope="module")
def expected(valid: Path, faulty: Path) -> dict[Path, CompletedRun]:
    """Runs on both tables at level `rows` without a cluster; the embedded backend leaves the constraint to Spark."""
    local = ("--backend", "spark=local[2]")
    found = {table: validate(table, "--level", "rows", *local) for table in (valid, faulty)}
    assert [each.code for each in found.values()] == [0, 1]
    return found


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found


def shipped(archive: Path | None = SHIPPED, python: str = SHIPPED_PYTHON, **settings: object) -> dict[str, str]:
    """Build the environment of a command that ships an archive to its executors."""
    all_settings = {**EXECUTORS, **{name.replace("__", "."): value for name, value in settings.items()}}
    options = [f"--conf {name}={value}" for name, value in all_settings.items()]
    if archive is not None:
        options.append(f"--archives {archive}#env")
    return {"PYSPARK_PYTHON": python, "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"])}


def test_valid_table_conforms(two_workers: Cluster, valid: Path, expected: dict[Path, CompletedRun]) -> None:
    found = validate(valid, "--level", "rows", "--backend", f"spark={two_workers.url}", **shipped())
    assert (found.code, found.report) == (0, expected[valid].report), found.errors


def test_commands_of_the_page_run(two_workers: Cluster, valid: Path, tmp_path: Path) -> None:
    replacements = {
        "spark://host:7077": two_workers.url,
        "s3a://bucket/table": valid,
        "s3a://bucket/state": tmp_path / "state",
    }
    for words in list_page_commands("cluster", replacements):
        found = wait_for(start(words, **shipped()))
        assert found.code == 0, (words, found)


def test_many_tables(two_workers: Cluster, valid: Path, faulty: Path, expected: dict[Path, CompletedRun]) -> None:
    reports = two_workers.folder / "reports"
    options = (
        "--level",
        "rows",
        "--backend",
        f"spark={two_workers.url}",
        "--jobs",
        "2",
        "--report",
        f"json:{reports}/",
    )
    found = wait_for(start(["validate", str(valid), str(faulty), *options], **shipped()))
    assert found.code == 1, found.errors
    by_table = {Path(each["table"]): each for each in (json.loads(file.read_bytes()) for file in reports.iterdir())}
    for table, report in by_table.items():
        del report["engine"], report["access"]
        assert report == expected[table].report, table
    assert by_table.keys() == {valid, faulty}


def test_local_cluster_reads_a_relative_path_on_executors(valid: Path) -> None:
    for words in list_page_commands("local-cluster", {"/data/sales": valid.name}):
        found = wait_for(start([*words, "--format", "json"], valid.parent, PYSPARK_PYTHON=sys.executable))
        assert found.code == 0, (words, found)
        report = json.loads(found.output)
        assert (report["table"], report["access"]["files"]) == (valid.name, "executors"), words


def test_run_survives_a_lost_worker(two_workers: Cluster, faulty: Path, expected: dict[Path, CompletedRun]) -> None:
    port, log = free_port(), two_workers.folder / "events"
    log.mkdir()
    ui = {"spark__ui__enabled": "true", "spark__ui__port": port}
    event_log = {
        "spark__eventLog__enabled": "true",
        "spark__eventLog__dir": log.as_uri(),
        "spark__eventLog__compress": "false",
    }
    environment = shipped(**ui, **event_log)
    running = start_validate(faulty, "--level", "rows", "--backend", f"spark={two_workers.url}", **environment)
    try:
        wait_until(lambda: _both_store_rows(port), "both executors store rows of tasks", 300)
        two_workers.kill_worker()
        assert running.poll() is None, "the run ended before the worker was killed"
    finally:
        found = wait_for(running)
    assert (found.code, found.report) == (1, expected[faulty].report), found.errors
    assert "SparkListenerExecutorRemoved" in _read_events_before_last_job(log)


def test_run_ends_if_all_workers_are_lost(two_workers: Cluster, valid: Path) -> None:
    environment = shipped() | {"DELTASPEC_SPARK_EXECUTOR_SECONDS": "10"}
    running = start_validate(valid, "--level", "rows", "--backend", f"spark={two_workers.url}", **environment)
    try:
        wait_until(lambda: _has_executors(two_workers), "the executors are running")
        time.sleep(5)
        two_workers.kill_worker()
        two_workers.kill_worker()
    finally:
        found = wait_for(running)
    assert (found.code, found.output) == (3, "")
    reason = "Spark had no executor for 10 seconds; are the workers of the cluster running?"
    continued = "with --state DIR, a run can continue with --resume after its last completed job"
    assert found.errors == f"deltaspec: {reason}; {continued}\n"


def test_executors_without_deltaspec(two_workers: Cluster, valid: Path) -> None:
    found = validate(
        valid, "--backend", f"spark={two_workers.url}", **shipped(None, _extract_python_without_kit(two_workers.folder))
    )
    assert (found.code, found.output) == (2, "")
    assert found.errors.startswith("deltaspec: executors do not have "), found.errors
    assert found.errors.count("\n") == 1


def test_executors_with_another_release(two_workers: Cluster, valid: Path) -> None:
    folder = two_workers.folder / "older"
    with tarfile.open(SHIPPED) as archive:
        archive.extractall(folder, filter="tar")
    (package,) = folder.glob("lib/python*/site-packages/deltaspec")
    (package / "version.py").write_text('__version__ = "0.0.1"\n')
    (package / "build.py").unlink()  # older releases did not state their build
    python = str(folder / "bin" / "python")
    found = validate(valid, "--backend", f"spark={two_workers.url}", **shipped(None, python))
    assert (found.code, found.output) == (2, "")
    assert found.errors.startswith("deltaspec: executors have deltaspec 0.0.1, the driver "), found.errors
    assert found.errors.count("\n") == 1


def _extract_python_without_kit(folder: Path) -> str:
    """Extract the shipped Python without deltaspec; pyspark's own requirements are included."""
    directory = folder / "bare"
    with tarfile.open(SHIPPED) as archive:
        members = [each for each in archive.getmembers() if "site-packages/deltaspec" not in each.name]
        archive.extractall(directory, members, filter="tar")
    return str(directory / "bin" / "python")


def _both_store_rows(port: int) -> bool:
    """Return whether each of two executors has completed tasks and stores partitions."""
    page = f"http://{HOST}:{port}/api/v1/applications"
    executors = fetch_json(f"{page}/{fetch_json(page)[0]['id']}/executors")
    workers = [each for each in executors if each["id"] != "driver"]
    storing = [each for each in workers if each["rddBlocks"] and each["completedTasks"] > 3]
    return len(storing) == 2


def _has_executors(running: Cluster) -> bool:
    return any(running.folder.glob("worker-0/app-*/*/env/bin/python"))


def _read_events_before_last_job(log: Path) -> str:
    """Read the events of a run up to the start of its last job."""
    (file,) = log.glob("eventlog_v2_*/events_1_*")
    return file.read_text().rpartition('"Event":"SparkListenerJobStart"')[0]

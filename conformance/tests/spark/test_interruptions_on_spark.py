"""Ctrl-C, `--at` with a time and an emptied log with `--backend spark`, and the notebook for Databricks."""

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.cli import run
from helpers.selection import ROOT

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.spark import validate
from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.payloads import Payload

pytestmark = pytest.mark.spark

validate_command = import_module("deltaspec.commands.validate")  # the package has the command under this name
SOUND = ROOT / "golden-tables/log/log.append-remove/delta"
FAULTY = ROOT / "golden-tables/partition-values/partition-values.key-missing/delta"
HOUR = timedelta(hours=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose commits were written an hour apart."""
    copied = Path(shutil.copytree(SOUND, tmp_path / "table"))
    for version, commit in enumerate(sorted((copied / "_delta_log").glob("*.json"))):
        seconds = (START + version * HOUR).timestamp()
        os.utime(commit, (seconds, seconds))
    return copied


def test_time_chooses_the_version_that_was_committed_by_then(spark: Any, table: Path) -> None:
    at = (START + HOUR * 1.5).isoformat()
    on_spark, embedded = validate(spark, str(table), at=at).report, deltaspec.validate(str(table), at=at)
    assert (on_spark.version, on_spark.verdict) == (1, "conforms")
    assert on_spark.at == embedded.at
    with pytest.raises(InvalidUsage, match="no version was committed by"):
        validate(spark, str(table), at=(START - HOUR).isoformat())


def test_emptied_log_is_a_finding(spark: Any, table: Path) -> None:
    for path in (table / "_delta_log").iterdir():
        path.unlink()
    on_spark, embedded = validate(spark, str(table)).report, deltaspec.validate(str(table))
    assert [each.rule for each in on_spark.findings] == ["LOG001"]
    assert on_spark.findings == embedded.findings
    assert on_spark.exit_code == embedded.exit_code == 1


@pytest.mark.parametrize(("table", "error"), [(SOUND, None), (FAULTY, "do not conform: ")])
def test_cells_of_the_databricks_notebook_run(spark: Any, table: Path, error: str | None) -> None:
    """Small objects stand in for `dbutils` and `display`, which only Databricks has."""
    source = (ROOT / "conformance/examples/databricks_notebook.py").read_text("utf-8")
    assert source.startswith("# Databricks notebook source\n")
    shown: list[Any] = []
    widgets = SimpleNamespace(
        text=lambda *_: None, dropdown=lambda *_: None, get={"tables": str(table), "level": "files"}.__getitem__
    )
    values = {"spark": spark, "dbutils": SimpleNamespace(widgets=widgets), "display": shown.append}
    cells = [each for each in source.split("\n# COMMAND ----------\n") if "# MAGIC" not in each]
    for cell in cells[:-1]:
        exec(compile(cell, "cell", "exec"), values)
    verdicts = [tuple(row) for row in shown[0].collect()]
    assert verdicts == [(str(table), "conforms" if error is None else "violations")]
    if error is None:
        exec(cells[-1], values)
        return
    assert [row["rule"] for row in shown[1].collect()] == ["FIL007"]
    with pytest.raises(RuntimeError, match=error):
        exec(cells[-1], values)


def test_interrupt_writes_a_partial_report(
    spark: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command uses the session of this process. The signal comes while a job runs."""
    output = tmp_path / "report.json"
    sent: list[str] = []

    def interrupt(phase: str, done: int, total: int | None) -> None:
        if total and not sent:
            sent.append(phase)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(validate_command, "show_progress", lambda: nullcontext(interrupt))
    result = run("validate", table, "--backend", "spark", "--level", "rows", "--format", "json", "--output", output)
    assert sent
    assert result.exit_code == 130
    assert "deltaspec: interrupted" in result.stderr
    report = json.loads(output.read_bytes())
    assert (report["stopped"], report["verdict"]) == ("interrupted", "incomplete")
    assert report["checked"]["not_checked"]
    assert validate(spark, str(table)).verdict == "conforms"  # the session can be used


def _sleep(_: Iterable[Payload]) -> Iterator[Payload]:
    time.sleep(60)
    yield Payload("slept", 0, b"")


def test_interrupt_cancels_the_jobs_of_the_run_and_no_others(spark: Any) -> None:
    context, handler, slept = spark.sparkContext, signal.getsignal(signal.SIGINT), threading.Event()

    def run_job_of_user() -> None:
        assert spark.range(0, 1, 1, 1).rdd.map(lambda row: time.sleep(6)).count() == 1
        slept.set()

    def interrupt() -> None:
        while len(context.statusTracker().getActiveJobsIds()) < 2:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threads = [threading.Thread(target=target, daemon=True) for target in (run_job_of_user, interrupt)]
    with closing(Jobs(spark)) as jobs:
        for thread in threads:
            thread.start()
        frame = jobs.run(jobs.frame([Payload("row", 0, b"")]), _sleep)
        with pytest.raises(KeyboardInterrupt):
            list(jobs.rows(frame, 1))
    assert len(context.statusTracker().getActiveJobsIds()) == 1
    for thread in threads:
        thread.join(30)
    assert slept.is_set()
    assert signal.getsignal(signal.SIGINT) is handler

"""Many tables in one run on Spark: small ones inside of executors, others as jobs; what the session keeps."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.backends import find_differences, report_to_builtins
from helpers.cli import run
from helpers.selection import ROOT
from spark.session import create, insert

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.spark import validate, validate_many
from deltaspec.validation.spark import catalog

pytestmark = pytest.mark.spark

GOLDEN = ROOT / "golden-tables"
TABLES = ("log/log.append-remove", "log/log.commit-gap", "partition-values/partition-values.key-missing")


@pytest.fixture(scope="module")
def lake(spark: Any) -> Iterator[str]:
    """Two schemas: one has a sound table, one whose constraint only Spark evaluates, a view and a Parquet table."""
    for schema in ("lake_one", "lake_two"):
        spark.sql(f"CREATE SCHEMA {schema}")
    spark.sql("CREATE TABLE lake_one.orders (id INT) USING delta")
    spark.sql("CREATE TABLE lake_two.`items` (id INT, name STRING) USING delta")
    spark.sql("ALTER TABLE lake_two.`items` ADD CONSTRAINT long CHECK (length(name) > 1)")
    spark.sql("INSERT INTO lake_two.`items` VALUES (1, 'one')")
    spark.sql("CREATE TABLE lake_two.logs (id INT) USING parquet")
    spark.sql("CREATE VIEW lake_two.few AS SELECT 1 AS id")
    yield "spark_catalog"
    for schema in ("lake_one", "lake_two"):
        spark.sql(f"DROP SCHEMA {schema} CASCADE")


def test_small_tables_have_the_reports_of_the_embedded_backend(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDEN)
    names = [f"{each}/delta" for each in TABLES]
    found = validate_many(spark, [*names, "gone"], level="rows", results=str(tmp_path / "results"), jobs=2)
    assert [each.verdict for each in found.tables] == ["conforms", "violations", "violations", "unreadable"]
    assert found.tables[3].reason == "no such file or directory"
    for name, report in zip(names, found.reports, strict=False):
        assert report is not None
        assert report.engine == "spark"
        expected = report_to_builtins(deltaspec.validate(name, level="rows"))
        assert find_differences(report_to_builtins(report), expected) == [], name
    results = deltaspec.validate(str(tmp_path / "results"), level="rows")
    assert (results.verdict, results.findings) == ("conforms", [])


def test_command_validates_every_table_of_a_catalog(spark: Any, lake: str, tmp_path: Path) -> None:
    """A table whose constraint only Spark evaluates is a run on Spark, and everything is checked."""
    options = ("--level", "rows", "--backend", "spark", "--jobs", "2", "--format", "json")
    result = run("validate", f"{lake}.*", *options, "--report", f"json:{tmp_path}/")
    assert result.exit_code == 0, result.stdout + result.stderr
    tables = json.loads(result.stdout)["tables"]
    assert [(Path(each["table"]).name, each["verdict"], each["not_checked"]) for each in tables] == [
        ("orders", "conforms", 0),
        ("items", "conforms", 0),
    ]
    reports = [msgspec.json.decode(file.read_bytes(), type=Report) for file in tmp_path.iterdir()]
    assert sorted(Path(each.table).name for each in reports) == ["items", "orders"]
    assert {"ROW040"} <= set().union(*(each.checked.run for each in reports))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("spark_catalog.*", ["spark_catalog.`lake_one`.`orders`", "spark_catalog.`lake_two`.`items`"]),
        ("spark_catalog.*.*", ["spark_catalog.`lake_one`.`orders`", "spark_catalog.`lake_two`.`items`"]),
        ("lake_two.*", ["lake_two.`items`"]),
        ("spark_catalog.lake_one.ord*", ["spark_catalog.lake_one.`orders`"]),
    ],
)
def test_patterns_of_a_catalog(spark: Any, lake: str, pattern: str, names: list[str]) -> None:
    assert catalog.is_schema_pattern(pattern)
    assert [each for each in catalog.expand_schema(spark, pattern) if "lake_" in str(each)] == names


def test_jobs_have_descriptions_and_the_user_keeps_his(spark: Any, tmp_path: Path) -> None:
    context = spark.sparkContext
    context.setJobDescription("mine")
    table = shutil.copytree(GOLDEN / TABLES[0] / "delta", tmp_path / "table")
    try:
        report = validate(spark, str(table))
        assert context.getLocalProperty("spark.job.description") == "mine"
    finally:
        context.setLocalProperty("spark.job.description", None)
    described = {f"deltaspec: {phase} of {table}" for phase in ("log", "replay", "data files")}
    assert described - set(_list_descriptions(spark)) == set()
    assert "spark  executors read the table" in _show(report)
    assert "<b>CONFORMS</b>" in report._repr_html_()
    report.raise_for_violations()


def _list_descriptions(spark: Any) -> list[str]:
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = [each.description() for each in spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(jobs)]
    return [each.get() if each.isDefined() else "" for each in found]


def _show(report: Any) -> str:
    with redirect_stdout(StringIO()) as printed:
        report.show()
    return printed.getvalue()


def test_interrupt_cancels_the_jobs_of_the_run_and_no_others(spark: Any, tmp_path: Path) -> None:
    context, slept = spark.sparkContext, threading.Event()
    create(spark, str(tmp_path / "table"), "id INT, name STRING", constraints__long="length(name) > 1")
    insert(spark, str(tmp_path / "table"), "(1, 'one')")

    def run_job_of_user() -> None:
        context.setJobGroup("user", "user")
        assert spark.range(0, 1, 1, 1).rdd.map(lambda row: time.sleep(6)).count() == 1
        slept.set()

    def interrupt() -> None:
        while len(context.statusTracker().getActiveJobsIds()) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threads = [threading.Thread(target=target, daemon=True) for target in (run_job_of_user, interrupt)]
    tables = [str(tmp_path / "table"), *(str(GOLDEN / each / "delta") for each in TABLES)] * 10
    threads[0].start()
    while not context.statusTracker().getActiveJobsIds():
        time.sleep(0.05)
    threads[1].start()
    with pytest.raises(KeyboardInterrupt):
        validate_many(spark, tables, level="rows", jobs=3)
    assert len(context.statusTracker().getActiveJobsIds()) == 1
    for thread in threads:
        thread.join(30)
    assert slept.is_set()
    assert validate(spark, tables[1], level="log").verdict == "conforms"  # the session can be used

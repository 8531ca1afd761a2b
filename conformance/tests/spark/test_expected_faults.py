"""Expected faults end with one message, without Java stack traces on stderr. Other builds on executors are found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from spark.session import create, insert

import deltaspec
from deltaspec.cli import main
from deltaspec.errors import TableUnreadable
from deltaspec.spark import validate
from deltaspec.validation.spark import jobs, session

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
from pyspark.sql import SparkSession

from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.spark import validate
from deltaspec.validation.spark import jobs, table_access

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
for name, value in (("spark.ui.showConsoleProgress", "false"), ("spark.sql.shuffle.partitions", "2")):
    builder = builder.config(name, value)
spark = builder.getOrCreate()


def attempt(uri, level="files"):
    try:
        print(validate(spark, uri, level=level).verdict)
    except DeltaspecError as fault:
        print(fault)


table = sys.argv[1]
for uri in (table, table + "-absent", "no.such.table", "hdfs://no-such-host:1/t", "foo://bucket/t"):
    attempt(uri)


def refuse(*_):
    raise InvalidUsage("disabled by the test")


probe, opener, driver_store = table_access.probe_executors, table_access.open_store, table_access.driver_store
table_access.probe_executors = lambda *_: "disabled by the test"
attempt(table)
table_access.open_store = table_access.driver_store = refuse
attempt(table)
table_access.probe_executors, table_access.open_store, table_access.driver_store = probe, opener, driver_store
jobs.describe_build = lambda: "0.0.9 (build 00000000)"
attempt(table)
"""


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a missing file, a directory among the commits, and one commit without permission."""
    path = tmp_path_factory.mktemp("faults") / "table"
    create(spark, str(path), "id INT")
    insert(spark, str(path), "(1), (2)", "(3)")
    next(path.glob("*.parquet")).unlink()
    for crc in path.rglob(".*.crc"):
        crc.unlink()
    (path / "_delta_log" / f"{9:020}.json").mkdir()
    (path / "_delta_log" / f"{1:020}.json").chmod(0)
    return path


@pytest.mark.slow("conformance/deltaspec/validation/spark")
def test_stderr_has_no_java_stack_trace(table: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", SCRIPT, str(table)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] in ("violations", "incomplete")  # the superuser may read the commit
    assert "-absent: no such file or directory" in lines[1]
    assert lines[2].startswith("no.such.table: ")
    assert "Spark cannot read it either: UnknownHostException" in lines[3]
    assert "no storage for scheme 'foo'" in lines[4]
    assert lines[5] == lines[0]
    assert lines[6] in ("violations", "incomplete")
    assert lines[7].startswith(f"executors have deltaspec {deltaspec.__version__} (build ")
    assert lines[7].endswith("), the driver 0.0.9 (build 00000000): install the same build")
    traces = [line for line in done.stderr.splitlines() if line.startswith(("\tat ", "Caused by: ", "Traceback"))]
    assert traces == []


def test_one_part_name_is_looked_up_in_the_catalog_first(
    spark: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales").mkdir()
    create(spark, str(tmp_path / "other"), "id INT")
    spark.sql(f"CREATE TABLE sales USING delta LOCATION '{tmp_path / 'other'}'")
    try:
        assert validate(spark, "sales", level="log").verdict == "conforms"
    finally:
        spark.sql("DROP TABLE sales")
    with pytest.raises(TableUnreadable, match="sales: has no _delta_log directory"):
        validate(spark, "sales", level="log")
    spark.range(1).createOrReplaceTempView("sales")
    try:
        with pytest.raises(TableUnreadable, match="sales: the catalog gives no location, as for a view"):
            validate(spark, "sales", level="log")
    finally:
        spark.catalog.dropTempView("sales")


def test_missing_table_is_reported_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> Any:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "open_session", start)
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    result = CliRunner().invoke(main, ["validate", str(tmp_path / "absent"), "--backend", "spark"])
    assert isinstance(result.exception, TableUnreadable) or "no such file or directory" in result.stderr


def test_build_is_the_same_in_every_process() -> None:
    script = "from deltaspec.build import describe_build; print(describe_build())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == jobs.describe_build()
    assert done.stdout.startswith(f"{deltaspec.__version__} (build ")

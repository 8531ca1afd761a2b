"""Start the Spark session of a process; helpers that the table writers share."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Writer = Callable[["SparkSession", str], None]
"""Writes one table at a path that does not exist yet. A writer may also create siblings whose names start with the
table's name, such as the source of a clone."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # tasks of a VACUUM
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # for a few rows, code generation costs more than it saves
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.memory": "2g",
}


def find_skip_reason() -> str | None:
    """Return why no Spark session can start on this machine, or None if one can."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "no Java runtime found: `java` is not on the PATH and JAVA_HOME is not set"
    for module in ("pyspark", "delta"):
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is not installed"
    return None


def start(warehouse: str) -> SparkSession:
    """Start Spark in this process. The first start on a machine downloads the jars from Maven.

    Args:
        warehouse: value of `spark.sql.warehouse.dir`.
    """
    from delta import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession

    from deltaspec.candidates.adapters.delta_spark import JAVA_OPTIONS

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors then import the same deltaspec
    builder = SparkSession.builder.master("local[2]").appName("deltaspec-tests")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
    builder = builder.config("spark.sql.warehouse.dir", warehouse)
    session: SparkSession = configure_spark_with_delta_pip(builder).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return session


@contextmanager
def settings(spark: SparkSession, **values: object) -> Iterator[None]:
    """Set options below `spark.databricks.delta` for a block; write a dot of the name as two underscores."""
    names = {f"spark.databricks.delta.{name.replace('__', '.')}": str(value) for name, value in values.items()}
    lower = {name: value.lower() if value in ("True", "False") else value for name, value in names.items()}
    with with_settings(spark, lower):
        yield


@contextmanager
def with_settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """Set Spark options for a block, by their full names."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None or name not in SETTINGS:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def run(spark: SparkSession, path: str, *statements: str) -> None:
    """Run SQL statements; `{t}` stands for the table at the path."""
    for statement in statements:
        spark.sql(statement.replace("{t}", f"delta.`{path}`")).collect()


def create(spark: SparkSession, path: str, columns: str, *clauses: str, **properties: object) -> None:
    """Create an empty table.

    Args:
        columns: column list of CREATE TABLE, without parentheses.
        clauses: further clauses, such as `PARTITIONED BY (p)`.
        properties: table properties below `delta.`; write a dot of the name as two underscores.
    """
    assignments = ", ".join(
        f"'delta.{name.replace('__', '.')}' = '{str(value).lower() if isinstance(value, bool) else value}'"
        for name, value in properties.items()
    )
    body = f"CREATE TABLE {{t}} ({columns}) USING delta {' '.join(clauses)}"
    run(spark, path, body + (f" TBLPROPERTIES ({assignments})" if assignments else ""))


def insert(spark: SparkSession, path: str, *values: str) -> None:
    """Insert rows; each argument is the part of one statement after VALUES, and makes one commit."""
    for row_list in values:
        run(spark, path, f"INSERT INTO {{t}} VALUES {row_list}")


def append(spark: SparkSession, path: str, query: str, mode: str = "append", **options: Any) -> None:
    """Write the rows of a query as one file, with the DataFrame writer."""
    spark.sql(query).coalesce(1).write.format("delta").mode(mode).options(**options).save(path)


def checkpoint(spark: SparkSession, path: str) -> None:
    """Write a checkpoint of the newest version."""
    gateway: Any = spark
    log = gateway._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(gateway._jsparkSession, path)
    log.checkpoint()


def age_log_files(spark: SparkSession, path: str) -> None:
    """Set modification times in the log ten days back, in name order, so that Spark may clean the files up."""
    oldest = time.time() - 10 * 86_400
    for index, file in enumerate(sorted((Path(path) / "_delta_log").rglob("*"))):
        if file.is_file() and file.name != "_last_checkpoint":
            os.utime(file, (oldest + index, oldest + index))
    gateway: Any = spark
    gateway._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

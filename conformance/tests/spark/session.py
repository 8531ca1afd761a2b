"""The one Spark session of a process, and what every writer needs of it."""

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
"""Writes one table at a path that does not exist yet. Neighbours of the path that begin with its name are the
writer's too (sources of clones)."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # vacuum makes so many tasks, 10,000 by default
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # tables of a few rows: compiling costs more than it saves
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.timezone=UTC",
    "spark.driver.memory": "2g",
}


def find_skip_reason() -> str | None:
    """Why no session can be started here, or None."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java runtime"
    for module in ("pyspark", "delta"):
        if importlib.util.find_spec(module) is None:
            return f"the Python package of module {module} is not installed"
    return None


def start(warehouse: str) -> SparkSession:
    """Start Spark in this process; its jars come from Maven at the first start on a machine.

    Args:
        warehouse: directory for what Spark writes besides the tables.
    """
    from delta import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors have the kit of this process
    builder = SparkSession.builder.master("local[2]").appName("deltaspec-tests")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.warehouse.dir", warehouse)
    session: SparkSession = configure_spark_with_delta_pip(builder).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return session


@contextmanager
def settings(spark: SparkSession, **values: object) -> Iterator[None]:
    """Spark settings for a while; a dot of the name is written as two underscores, below `spark.databricks.delta`."""
    names = {f"spark.databricks.delta.{name.replace('__', '.')}": str(value) for name, value in values.items()}
    lower = {name: value.lower() if value in ("True", "False") else value for name, value in names.items()}
    with with_settings(spark, lower):
        yield


@contextmanager
def with_settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """Spark settings for a while, by their whole names."""
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
    """Run SQL statements in which `{t}` is the table at the path."""
    for statement in statements:
        spark.sql(statement.replace("{t}", f"delta.`{path}`")).collect()


def create(spark: SparkSession, path: str, columns: str, *clauses: str, **properties: object) -> None:
    """Create an empty table.

    Args:
        columns: what stands in the parentheses of CREATE TABLE.
        clauses: what follows, such as `PARTITIONED BY (p)`.
        properties: table properties below `delta.`; a dot of the name is written as two underscores.
    """
    texts = ", ".join(
        f"'delta.{name.replace('__', '.')}' = '{str(value).lower() if isinstance(value, bool) else value}'"
        for name, value in properties.items()
    )
    body = f"CREATE TABLE {{t}} ({columns}) USING delta {' '.join(clauses)}"
    run(spark, path, body + (f" TBLPROPERTIES ({texts})" if texts else ""))


def insert(spark: SparkSession, path: str, *values: str) -> None:
    """One commit of rows for every text that can follow VALUES."""
    for each in values:
        run(spark, path, f"INSERT INTO {{t}} VALUES {each}")


def append(spark: SparkSession, path: str, query: str, mode: str = "append", **options: Any) -> None:
    """Write the rows of a query through the DataFrame writer, as one file."""
    spark.sql(query).coalesce(1).write.format("delta").mode(mode).options(**options).save(path)


def checkpoint(spark: SparkSession, path: str) -> None:
    """Checkpoint the newest version."""
    gateway: Any = spark
    log = gateway._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(gateway._jsparkSession, path)
    log.checkpoint()


def age_log_files(spark: SparkSession, path: str) -> None:
    """Date the log's files ten days back, in their order: Spark tells by modification times what may be cleaned up."""
    began = time.time() - 10 * 86_400
    for index, file in enumerate(sorted((Path(path) / "_delta_log").rglob("*"))):
        if file.is_file() and file.name != "_last_checkpoint":
            os.utime(file, (began + index, began + index))
    gateway: Any = spark
    gateway._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

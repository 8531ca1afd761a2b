"""`python scale_spark.py '<JSON>'`: run a list of tasks in one warm Spark session and print their measurements.

The session has Delta's extensions and Spark's defaults, except for the settings in the JSON. All tasks first run on a
small table, so that classes are loaded and hot code is compiled. Caches are cleared before every task. Prints one line
of JSON per task: its definition, begin and end on the monotonic clock, counts, and heap sizes of the JVM.

    {"master": "local[2]", "heap": "6g", "settings": {}, "small": TABLE,
     "tasks": [{"do": "delta", "table": TABLE, "partitions": 50}, {"do": "deltaspec", "table": TABLE, "level": "log"},
               {"do": "bounds", "table": TABLE, "separate_strings": false}]}
"""

import json
import os
import sys
import time
from typing import Any

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

BASE_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}
_PARTITIONS = "spark.databricks.delta.snapshotPartitions"


def start_session(options: dict[str, Any]) -> Any:
    """Start the session; `local` executors share the heap of the driver."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(options["master"]).appName("deltaspec-bench")
    settings = {**BASE_SETTINGS, "spark.driver.memory": options["heap"], **options.get("settings", {})}
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run_delta(spark: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Load the newest snapshot with Delta Spark and count its files."""
    if task.get("partitions"):
        spark.conf.set(_PARTITIONS, str(task["partitions"]))
    else:
        spark.conf.unset(_PARTITIONS)
    logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    logs.clearCache()
    log = logs.forTable(spark._jsparkSession, task["table"])
    stale, clock = spark._jvm.scala.Option.empty(), spark._jvm.scala.Option.empty()
    snapshot = log.update(False, stale, clock)
    return {"files": snapshot.allFiles().count()}


def run_deltaspec(spark: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Validate a table on the same session.

    Raises:
        SystemExit: the table does not conform.
    """
    from deltaspec.spark import validate

    report = json.loads(validate(spark, task["table"], level=task["level"]).to_json())
    if report["verdict"] != "conforms":
        sys.exit(f"{task['table']}: verdict {report['verdict']}, expected conforms")
    return {"rules": len(report["checked"]["run"])}


def compute_bounds(spark: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Compute minimum, maximum and null count of every column over all Parquet files with Spark.

    With `separate_strings`, strings are aggregated separately, because one string column makes Spark use its slower
    aggregation for all columns. Every column is read once in both cases.
    """
    rows = spark.read.parquet(task["table"])
    string_columns = [name for name, kind in rows.dtypes if kind == "string"]
    other_columns = [name for name in rows.columns if name not in string_columns]
    values = 0
    for names in (string_columns, other_columns) if task["separate_strings"] else (rows.columns,):
        aggregates = [each for name in names for each in (f.min(name), f.max(name), f.count_if(f.col(name).isNull()))]
        values += len(rows.agg(*aggregates).collect()[0])
    return {"values": values}


TASKS = {"delta": run_delta, "deltaspec": run_deltaspec, "bounds": compute_bounds}


class Heap:
    """Heap statistics of the JVM."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        factory = spark._jvm.java.lang.management.ManagementFactory
        self.memory = factory.getMemoryMXBean()
        self.pools = [pool for pool in factory.getMemoryPoolMXBeans() if str(pool.getType().name()) == "HEAP"]

    def reset(self) -> None:
        """Clear all caches and reset the peaks."""
        self.spark.catalog.clearCache()
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        for each in self.spark.sparkContext._jsc.getPersistentRDDs().values():
            each.unpersist(True)
        self.spark._jvm.java.lang.System.gc()
        for pool in self.pools:
            pool.resetPeakUsage()

    def measure(self) -> dict[str, int]:
        """Return peak bytes, including garbage, and bytes in use after a garbage collection."""
        peak = sum(pool.getPeakUsage().getUsed() for pool in self.pools)
        self.spark._jvm.java.lang.System.gc()
        return {"heap_peak": peak, "heap_used": self.memory.getHeapMemoryUsage().getUsed()}


def measure_results(spark: Any, first_stage: int) -> tuple[int, int]:
    """Return the bytes of task results in stages from `first_stage` on, and the number of the next stage."""
    store = spark.sparkContext._jsc.sc().statusStore()
    size, stage = 0, first_stage
    quantiles = spark.sparkContext._gateway.new_array(spark._jvm.double, 0)
    stages = store.stageList(None, False, False, quantiles, None)
    for each in spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(stages):
        if each.stageId() >= first_stage:
            size += each.resultSize()
            stage = max(stage, each.stageId() + 1)
    return size, stage


def main(options: dict[str, Any]) -> None:
    """Warm up, then run the tasks in order."""
    spark = start_session(options)
    heap = Heap(spark)
    for task in options["tasks"]:
        for _ in range(3):
            TASKS[task["do"]](spark, {**task, "table": options["small"], "partitions": 2})
    _, stage = measure_results(spark, 0)
    for task in options["tasks"]:
        heap.reset()
        begin = time.perf_counter()
        found = TASKS[task["do"]](spark, task)
        end = time.perf_counter()
        results, stage = measure_results(spark, stage)
        measurements = {**found, **heap.measure(), "results": results}
        print(json.dumps({**task, "begin": begin, "end": end, **measurements}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

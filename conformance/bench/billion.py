"""Measure runs on Spark over invented tables, and extrapolate them to a billion files.

    python -m bench.billion [--sizes files=1,3,10 footers=0.1 rows=0.03] [--output FILE]

Sizes are millions of files. Each run is a process with a session on `local[2]`. Its phases are measured one by one:
wall time, time and bytes of Spark's stages, requests to the store, and memory of the driver.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.invented_table import InventedStore
from bench.scale_spark import Heap
from deltaspec.output_files import write_file

HERE = Path(__file__).parent
SIZES = {"files": (1.0, 3.0, 10.0), "footers": (0.03, 0.1), "rows": (0.03, 0.1)}
CORES = 2


class Phases:
    """Measures each phase of a run: the callback for its progress."""

    def __init__(self, spark: Any, heap: Heap, store: InventedStore) -> None:
        self.found: list[dict[str, Any]] = []
        self._spark, self._heap, self._store = spark, heap, store
        self._next_stage = 0
        self._begin("start")

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        del done, total
        if phase not in (self._name, "buckets"):
            self.end()
            self._begin(phase)

    def _begin(self, phase: str) -> None:
        self._name, self._started = phase, time.perf_counter()
        Path("/proc/self/clear_refs").write_text("5")
        for pool in self._heap.pools:
            pool.resetPeakUsage()

    def end(self) -> None:
        """Record the current phase."""
        seconds = time.perf_counter() - self._started
        peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        self.found.append(
            {
                "phase": self._name,
                "seconds": round(seconds, 2),
                "driver_python_peak": int(peak.split()[1]) * 1024,
                "heap_peak": sum(pool.getPeakUsage().getUsed() for pool in self._heap.pools),
                "requests": self._store.count_requests(),
                **self._sum_stages(),
            }
        )

    def _sum_stages(self) -> dict[str, int]:
        """Return the totals of Spark's stages since the last call."""
        store = self._spark.sparkContext._jsc.sc().statusStore()
        quantiles = self._spark.sparkContext._gateway.new_array(self._spark._jvm.double, 0)
        stages = store.stageList(None, False, False, quantiles, None)
        found = {"tasks": 0, "executor_ms": 0, "shuffle_bytes": 0, "result_bytes": 0}
        following = self._next_stage
        for each in self._spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(stages):
            if each.stageId() >= self._next_stage and str(each.status()) == "COMPLETE":
                found["tasks"] += each.numTasks()
                found["executor_ms"] += each.executorRunTime()
                found["shuffle_bytes"] += each.shuffleWriteBytes()
                found["result_bytes"] += each.resultSize()
                following = max(following, each.stageId() + 1)
        self._next_stage = following
        return found


def measure(level: str, files: int, buckets: int) -> dict[str, Any]:
    """Validate an invented table in this process.

    Raises:
        SystemExit: the table does not conform, or not all of its files were listed.
    """
    from pyspark.sql import SparkSession

    from deltaspec.validation.options import Options, RunSettings
    from deltaspec.validation.spark import table_access
    from deltaspec.validation.spark.run import run_on_spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.retainedStages", "100000").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as counts:
        store = InventedStore(files, counts, constraint="id > 0")
        phases = Phases(spark, Heap(spark), store)
        with patch.object(table_access, "open_store", lambda *_: store):
            started, options = time.perf_counter(), Options.create(level=level)
            report = run_on_spark(spark, store.uri, options, RunSettings(progress=phases), bucket_count=buckets)
            phases.end()
        seconds = time.perf_counter() - started
    if report.verdict != "conforms" or report.inventory is None or report.inventory.files != store.listed_files:
        sys.exit(f"verdict {report.verdict}: {report.totals} {report.checked.not_checked} {report.inventory}")
    spark.stop()
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {
        "level": level,
        "files": files,
        "buckets": buckets,
        "seconds": round(seconds, 1),
        "largest_child": workers,
        "phases": phases.found,
    }


def main() -> None:
    """Measure each size in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", nargs="*", default=[f"{name}={','.join(map(str, of))}" for name, of in SIZES.items()]
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    if given.one:
        level, millions = given.one.split("=")
        files = round(float(millions) * 1_000_000)
        # a bucket of a billion files in 4,096 buckets has 250,000 files
        print(json.dumps(measure(level, files, max(CORES, files // 250_000))))
        return
    found = []
    for size in given.sizes:
        level, _, numbers = size.partition("=")
        for millions in numbers.split(","):
            command = [sys.executable, "-m", "bench.billion", "--one", f"{level}={millions}"]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=HERE.parent)
            found.append(json.loads(done.stdout.splitlines()[-1]))
            print(json.dumps(found[-1]), flush=True)
    if given.output is not None:
        write_file(given.output, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

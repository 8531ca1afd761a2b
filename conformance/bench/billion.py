"""Measure runs on Spark over invented tables, and extrapolate them to a billion files.

    python -m bench.billion [--sizes files=1,3,10 footers=0.1 rows=0.03] [--output FILE] [--page FILE]

Sizes are millions of files. Each run is a process with a session on `local[2]`. Its phases are measured one by one:
time of Spark's tasks, CPU time and memory of all processes, bytes that Spark shuffles and returns to the driver, and
requests to the store. `--sizes` without values only writes the page again. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.billion_page import render_billion_page
from bench.invented_table import InventedStore
from bench.process_tree import run_and_sample
from deltaspec.output_files import write_file
from deltaspec.version import __version__

HERE = Path(__file__).parent
SIZES = ("files=1,3,10", "footers=0.03,0.1", "rows=0.03,0.1")
CORES = 2
FILES_OF_A_BUCKET = 250_000
"""A billion files in 4,096 buckets are as many in each."""


class Phases:
    """Records each phase of a run: the callback for its progress."""

    def __init__(self, spark: Any, store: InventedStore) -> None:
        self.found: list[dict[str, Any]] = []
        self._spark, self._store = spark, store
        self._next_stage = 0
        self._name, self._began = "start", time.perf_counter()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        del done, total
        if phase not in (self._name, "buckets", "row ids", "change data", "rearranged rows"):
            self.end()
            self._name, self._began = phase, time.perf_counter()

    def end(self) -> None:
        """Record the current phase."""
        times = {"begin": self._began, "end": time.perf_counter()}
        requests = self._store.count_requests()
        self.found.append({"phase": self._name, **times, "requests": requests, **self._sum_stages()})

    def _sum_stages(self) -> dict[str, int]:
        """Return the totals of Spark's stages since the last call."""
        store = self._spark.sparkContext._jsc.sc().statusStore()
        quantiles = self._spark.sparkContext._gateway.new_array(self._spark._jvm.double, 0)
        stages = store.stageList(None, False, False, quantiles, None)
        found = {"tasks": 0, "task_ms": 0, "shuffle_bytes": 0, "result_bytes": 0}
        following = self._next_stage
        for each in self._spark._jvm.scala.jdk.javaapi.CollectionConverters.asJava(stages):
            if each.stageId() >= self._next_stage and str(each.status()) == "COMPLETE":
                found["tasks"] += each.numTasks()
                found["task_ms"] += each.executorRunTime()
                found["shuffle_bytes"] += each.shuffleWriteBytes()
                found["result_bytes"] += each.resultSize()
                following = max(following, each.stageId() + 1)
        self._next_stage = following
        return found


def validate_invented_table(level: str, files: int) -> list[dict[str, Any]]:
    """Validate an invented table in this process, and return its phases.

    Raises:
        SystemExit: the table does not conform, or not all of its files were listed.
    """
    from pyspark.sql import SparkSession

    from deltaspec.validation.options import Options, RunSettings
    from deltaspec.validation.spark import table_access
    from deltaspec.validation.spark.bucket_counts import BucketCounts
    from deltaspec.validation.spark.run import run_on_spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.retainedStages", "100000").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    counts = BucketCounts(max(CORES, files // FILES_OF_A_BUCKET))
    with tempfile.TemporaryDirectory() as folder:
        store = InventedStore(files, folder, constraint="id > 0")
        phases = Phases(spark, store)
        with patch.object(table_access, "open_store", lambda *_: store):
            options, settings = Options.create(level=level), RunSettings(progress=phases)
            report = run_on_spark(spark, store.uri, options, settings, bucket_counts=counts)
            phases.end()
    if report.verdict != "conforms" or report.inventory is None or report.inventory.files != store.listed_files:
        sys.exit(f"verdict {report.verdict}: {report.totals} {report.checked.not_checked} {report.inventory}")
    spark.stop()
    return phases.found


def measure(level: str, files: int) -> dict[str, Any]:
    """Validate an invented table in another process, and measure its phases.

    Raises:
        SystemExit: the process failed.
    """
    usage = run_and_sample([sys.executable, "-m", "bench.billion", "--one", level, str(files)])
    if usage.failure is not None:
        sys.exit(usage.failure)
    phases = json.loads(usage.output.splitlines()[-1])
    for phase in phases:
        begin, end = phase.pop("begin"), phase.pop("end")
        cpu, peaks = usage.measure_interval(begin, end)
        phase |= {"seconds": round(end - begin, 2), "cpu_seconds": round(cpu, 2), "peaks": peaks}
    revision = subprocess.run(["git", "describe", "--always", "--dirty"], check=False, capture_output=True, text=True)
    return {
        "level": level,
        "files": files,
        "buckets": max(CORES, files // FILES_OF_A_BUCKET),
        "seconds": round(usage.seconds, 1),
        "commit": revision.stdout.strip() or None,
        "phases": phases,
    }


def describe_machine() -> dict[str, str]:
    """Return what the measurements depend on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return {
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "system": platform.platform(terse=True),
        "deltaspec": __version__,
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def main() -> None:
    """Measure each size in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help="JSON file of measurements, which replace those of the same size")
    parser.add_argument("--page", type=Path, help="Markdown page that is rendered from the file")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(validate_invented_table(given.one[0], int(given.one[1]))))
        return
    found: dict[str, Any] = {"machine": describe_machine(), "runs": []}
    if given.output is not None and given.output.exists():
        found = json.loads(given.output.read_text())
    for size in given.sizes:
        level, _, numbers = size.partition("=")
        for files in (round(float(millions) * 1_000_000) for millions in numbers.split(",")):
            run = measure(level, files)
            print(json.dumps(run), flush=True)
            others = [each for each in found["runs"] if (each["level"], each["files"]) != (level, files)]
            found = {"machine": describe_machine(), "runs": [*others, run]}
            if given.output is not None:
                write_file(given.output, (json.dumps(found, indent=1) + "\n").encode())
    if given.page is not None:
        write_file(given.page, render_billion_page(found).encode())


if __name__ == "__main__":
    main()

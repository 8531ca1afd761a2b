"""Compare Delta Spark with the reference writer on random histories, and write `reports/differential`.

    python conformance/engines/run_differential.py --histories 1000 --seed 1
    python conformance/engines/run_differential.py --hours 2 --resume

Every history becomes a line of `reports/differential.jsonl`; `--resume` leaves out the histories that are there. The
exit code is 1 if a difference is not listed in `conformance/engines/known_differences.toml`.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version as get_version
from pathlib import Path
from typing import Any

import delta
import msgspec
import pyspark
from pyspark.sql import SparkSession

import deltaspec
from deltaspec.candidates.adapters import delta_spark
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.differential.performing import Comparison, compare_history
from deltaspec.differential.report import (
    HistoryResult,
    build_report,
    describe_result,
    load_known_differences,
    render_page,
)
from deltaspec.suites.history_shrinking import shrink_steps
from deltaspec.suites.outcomes import build_signature
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.histories.drawing import Offer, Step, draw_history
from deltaspec_generators.histories.purposes import RARE_OPERATIONS, Purpose

ROOT = Path(__file__).parents[2]
KNOWN = Path(__file__).with_name("known_differences.toml")
SETTINGS = {
    **delta_spark.SETTINGS,
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # for a few rows, code generation costs more than it saves
    "spark.sql.codegen.wholeStage": "false",
    "spark.cleaner.referenceTracking.blocking": "false",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.driver.memory": "4g",
}


class CachingEngine(delta_spark.Engine):
    """Delta Spark that keeps the snapshots of tables, as in production: no other program changes these tables."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__(session)
        self._delta_log = self._log
        self._log = _KeepCache(self._log)
        self._writer._log = self._log

    def measure_cpu(self) -> float:
        """Return the CPU time of this process and the JVM in seconds."""
        stat = Path(f"/proc/{self._session.sparkContext._gateway.proc.pid}/stat").read_text("utf-8")
        ticks = stat.rpartition(")")[2].split()[11:13]  # user and system time
        return time.process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def forget(self, table: Path) -> None:
        """Drop the snapshots of a table. Their query plans would fill the memory after a few hundred histories."""
        path = self._session.sparkContext._jvm.org.apache.hadoop.fs.Path(table.as_uri())
        self._delta_log.invalidateCache(self._session._jsparkSession, path)


class _KeepCache:
    """The object `DeltaLog` of the JVM without `clearCache`."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def clearCache(self) -> None:  # noqa: N802
        """Keep the cache."""


def main() -> None:
    """Parse the command line, perform histories and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--histories", type=int, default=1_000)
    parser.add_argument("--hours", type=float, default=2.0, help="stop to begin histories after this time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rare", action="store_true", help="draw clones, conversions and other rare operations")
    parser.add_argument("--resume", action="store_true", help="continue the last run with the same seed")
    parser.add_argument("--jobs", type=int, default=4, help="sessions of Spark in one JVM")
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument(
        "--shrink", type=int, metavar="NUMBER", help="show the shortest history for its first difference"
    )
    parser.add_argument("--events", type=Path, default=ROOT / "reports/differential.jsonl")
    arguments = parser.parse_args()
    purposes = (RARE_OPERATIONS,) if arguments.rare else ()
    if arguments.shrink is not None:
        return shrink(arguments.seed, arguments.shrink, purposes)
    if arguments.report:
        return sys.exit(write_report(arguments.events))
    if not arguments.resume:
        arguments.events.unlink(missing_ok=True)
    done = {(each.seed, each.number, each.purposes) for each in read_events(arguments.events)}
    left = iter([each for each in range(arguments.histories) if (arguments.seed, each, purposes) not in done])
    session = start_session(arguments.jobs)
    lock, end = threading.Lock(), time.monotonic() + arguments.hours * 3_600
    print(f"{len(done)} histories done before", file=sys.stderr)

    def work() -> None:
        engine = CachingEngine(session.newSession())
        while time.monotonic() < end:
            with lock:
                number = next(left, None)
            if number is None:
                return
            result = perform(engine, arguments.seed, number, purposes)
            with lock, arguments.events.open("ab") as sink:
                sink.write(msgspec.json.encode(result) + b"\n")
                print(describe_result(result), file=sys.stderr, flush=True)

    workers = [threading.Thread(target=work) for _ in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    session.stop()
    sys.exit(write_report(arguments.events))


def write_report(events: Path) -> int:
    """Write the report and return 1 if a difference has no decision."""
    names = (
        f"Delta Spark {get_version('delta-spark')} on Spark {pyspark.__version__}",
        f"deltaspec {deltaspec.__version__}",
    )
    results = sorted(read_events(events), key=lambda each: (each.seed, each.number))
    report = build_report(names, results, load_known_differences(KNOWN))
    events.with_suffix(".json").write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    events.with_suffix(".md").write_text(render_page(report), "utf-8")
    for each in report.undecided:
        print(f"not decided: {each.aspect} in {each.histories} histories: {each.signature}", file=sys.stderr)
    return 1 if report.undecided else 0


def shrink(seed: int, number: int, purposes: Sequence[Purpose]) -> None:
    """Print the shortest history with the first difference of a history."""
    session = start_session(1)
    engine = CachingEngine(session)
    spark, reference = InProcess(engine), InProcess(Engine())

    def run(steps: Sequence[Step]) -> Comparison:
        with temporary_tables(engine) as directory:
            return compare_history(spark, reference, steps, directory)

    def list_aspects(steps: Sequence[Step]) -> dict[str, str]:
        return {each.aspect: build_signature(each.message) for each in run(steps).differences}

    steps = draw_steps(spark, seed, number, purposes)
    wanted = list(list_aspects(steps).items())[:1]
    if wanted:
        steps = shrink_steps(steps, lambda shorter: wanted[0] in list_aspects(shorter).items())
    for step in steps:
        print(step.title)
    print(msgspec.json.encode(steps).decode())
    for each in run(steps).differences:
        print(f"{each.aspect}: {each.message}")
    session.stop()


def start_session(jobs: int) -> SparkSession:
    """Start Spark with settings for tiny tables."""
    builder = SparkSession.builder.master(f"local[{jobs}]").appName("deltaspec differential")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = delta.configure_spark_with_delta_pip(builder).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def read_events(path: Path) -> Iterator[HistoryResult]:
    """Yield the results of a run; a last line that is not complete is left out."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            yield msgspec.json.decode(line, type=HistoryResult)
        except msgspec.DecodeError:
            continue


@contextmanager
def temporary_tables(engine: CachingEngine) -> Iterator[Path]:
    """Provide a directory for the tables of one history. Spark forgets them at the end."""
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
        try:
            yield Path(directory)
        finally:
            for table in Path(directory).glob("*/table*"):
                engine.forget(table)


def draw_steps(spark: InProcess, seed: int, number: int, purposes: Sequence[Purpose]) -> tuple[Step, ...]:
    """Draw a history of operations that both writers offer."""
    offers = [each.capabilities for each in (spark, InProcess(Engine()))]
    kinds = set.intersection(*(set(each.drawn_kinds) for each in offers))
    features = set.intersection(*(set(each.writer_features) for each in offers))
    return draw_history(SeededChoices(seed, number), Offer.of(kinds, features), purposes)


def perform(engine: CachingEngine, seed: int, number: int, purposes: tuple[Purpose, ...]) -> HistoryResult:
    """Perform one history with Spark and the reference writer."""
    spark, started, used = InProcess(engine), time.monotonic(), engine.measure_cpu()
    steps = draw_steps(spark, seed, number, purposes)
    with temporary_tables(engine) as directory:
        done = compare_history(spark, InProcess(Engine()), steps, directory, validates=number % 10 == 0)
    seconds = round(time.monotonic() - started, 3)
    return HistoryResult.of(seed, number, purposes, done, seconds, round(engine.measure_cpu() - used, 3))


if __name__ == "__main__":
    main()

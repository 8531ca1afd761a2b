"""Measure wall time, CPU time and memory on logs of millions of files and on gigabytes of rows.

    python -m bench.scale [--millions 1] [--gigabytes 5] [--engine embedded] [--runs 3] [--heap 6g] [--output FILE]

`embedded` runs in a separate process. `spark` and `delta` (on logs) or `bounds` (on rows) run in turn in one warm
Spark session. Local executors share the JVM of the driver. The memory of the driver alone is therefore estimated by its
Python process, by the bytes of task results, and by the heap after a garbage collection. Memory is sampled over
complete process trees (see `process_tree`). The page cache is warm.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.page import format_spread, render_page
from bench.process_tree import ProcessUsage, run_and_sample
from bench.results import ScaleRow, Session, describe_session, load_results, save_results
from deltaspec.output_files import write_file

HERE = Path(__file__).parent
MILLIONS = (1, 5, 20)
GIGABYTES = 5
ENGINES = ("embedded", "spark", "delta", "bounds")
SMALL = "0.01"
"""Size of the warm-up table, in millions of files or gigabytes of rows."""
FILES_PER_PARTITION = 100_000
"""Files per snapshot partition that suits Delta Spark; its default is 50 partitions for every size."""
_METRIC_HEADERS = (
    "wall s",
    "CPU s",
    "tree peak MB",
    "driver Python MB",
    "Python workers MB",
    "heap peak MB",
    "heap used MB",
)
_HEADERS = ("table", "engine", *_METRIC_HEADERS, "results to the driver kB")


@dataclass
class Measurement:
    """Measurements of one run of one engine, in bytes and seconds; None if the engine has no such value."""

    seconds: float
    cpu_seconds: float
    peak: int
    python: int | None = None
    workers: int | None = None
    heap_peak: int | None = None
    heap_used: int | None = None
    results: int | None = None


def write_table(module: str, *arguments: str) -> str:
    """Write a table and return its path; a separate process keeps this one small."""
    command = [sys.executable, "-m", f"bench.{module}", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent).stdout.strip()


def load_into_page_cache(path: str) -> None:
    """Read every file of a folder into the page cache."""
    for file in (each for each in Path(path).rglob("*") if each.is_file()):
        with file.open("rb") as content:
            while content.read(1 << 20):
                pass


def run_embedded(path: str, level: str) -> Measurement:
    """Validate a table in one process.

    Raises:
        SystemExit: the process failed, or the table does not conform.
    """
    command = [sys.executable, "-m", "deltaspec", "validate", path, "--level", level, "--format", "json"]
    watched = run_and_sample(command)
    if watched.failure:
        sys.exit(watched.failure)
    report: dict[str, Any] = json.loads(watched.output)
    if report["verdict"] != "conforms":
        sys.exit(f"{path}: verdict {report['verdict']}, expected conforms")
    return Measurement(watched.seconds, watched.cpu_seconds, watched.peak)


def run_in_session(small: str, tasks: list[dict[str, Any]], heap: str) -> list[Measurement]:
    """Run tasks of `scale_spark` in one session; return the measurements of those that finished."""
    request = {"master": "local[2]", "heap": heap, "small": small, "tasks": tasks}
    watched = run_and_sample([sys.executable, str(HERE / "scale_spark.py"), json.dumps(request)])
    if watched.failure:
        print(watched.failure, file=sys.stderr)
    return [_build_measurement(watched, json.loads(line)) for line in watched.output.splitlines()]


def _build_measurement(watched: ProcessUsage, record: dict[str, Any]) -> Measurement:
    cpu_seconds, peaks = watched.measure_interval(record["begin"], record["end"])
    python, workers, peak = peaks["python"], peaks["workers"], peaks["all"]
    heap = record["heap_peak"], record["heap_used"], record["results"]
    return Measurement(record["end"] - record["begin"], cpu_seconds, peak, python, workers, *heap)


def format_row(table: str, engine: str, runs: list[Measurement]) -> str:
    """Format one row of the printed table."""
    if not runs:
        return f"| {table} | {engine} | did not finish |"

    def size(values: Iterable[int | None], unit: float = 1e6) -> str:
        known = [each for each in values if each is not None]
        return f"{median(known) / unit:.0f}" if known else "-"

    cells = [
        format_spread([each.seconds for each in runs], ".1f"),
        format_spread([each.cpu_seconds for each in runs], ".1f"),
        size(each.peak for each in runs),
        size(each.python for each in runs),
        size(each.workers for each in runs),
        size(each.heap_peak for each in runs),
        size(each.heap_used for each in runs),
        size((each.results for each in runs), 1e3),
    ]
    return f"| {table} | {engine} | {' | '.join(cells)} |"


def build_scale_row(table: str, engine: str, runs: list[Measurement], heap: str, session: Session) -> ScaleRow:
    """Build one row of the page; `heap` is the setting of the Spark driver."""
    if not runs:
        return ScaleRow(table, engine, [], [], "", session, "did not finish")
    names = {"driver Python": "python", "Python workers": "workers", "heap": "heap_peak", "heap in use": "heap_used"}
    memory = [f"{max(each.peak for each in runs) / 1e6:.0f}"]
    for name, attribute in names.items():
        known = [value for each in runs if (value := getattr(each, attribute)) is not None]
        memory += [f"{name} {max(known) / 1e6:.0f}"] if known else []
    seconds = [round(each.seconds, 1) for each in runs]
    note = "" if engine == "embedded" else f"`local[2]`, `-Xmx{heap}`"
    return ScaleRow(
        table, engine, seconds, [round(each.cpu_seconds, 1) for each in runs], "; ".join(memory), session, note
    )


def save(output: Path, rows: list[ScaleRow]) -> None:
    """Replace rows of the results, and render the page next to the results again."""
    results = load_results(output)
    results.replace_scale_rows(rows)
    save_results(output, results)
    write_file(output.with_suffix(".md"), render_page(results).encode())


def measure(title: str, path: str, small: str, tasks: dict[str, dict[str, Any]], options: Any, runs: int) -> None:
    """Run every engine on one table, print its rows, and save them if the options name a file.

    Args:
        title: title of the table.
        path: path of the table.
        small: path of a small table of the same kind for warm-up.
        tasks: tasks of a Spark session by name.
        options: command line arguments.
        runs: runs per engine.
    """
    load_into_page_cache(path)
    engines = options.engine or ENGINES
    measured: dict[str, list[Measurement]] = {}
    if "embedded" in engines:
        level = next(iter(tasks.values()))["level"]
        measured["embedded"] = [run_embedded(path, level) for _ in range(runs)]
        print(format_row(title, "embedded", measured["embedded"]), flush=True)
    chosen = {name: task for name, task in tasks.items() if name.split()[0] in engines}
    sessions = [{name: task} for name, task in chosen.items()] if options.alone else [chosen] if chosen else []
    for session in sessions:
        found = run_in_session(small, [*session.values()] * runs, options.heap)
        for index, name in enumerate(session):
            measured[name] = found[index :: len(session)]
            print(format_row(title, name, measured[name]), flush=True)
    if options.output:
        here = describe_session(HERE)
        rows = [build_scale_row(title, name, found, options.heap, here) for name, found in measured.items()]
        save(options.output, rows)


def main() -> None:
    """Measure every table and engine and print one row for each."""
    parser = argparse.ArgumentParser(description="Measure deltaspec on large tables; all of them by default.")
    parser.add_argument(
        "--millions",
        type=float,
        action="append",
        help="millions of files in a log; may be repeated (default: 1, 5 and 20)",
    )
    parser.add_argument(
        "--gigabytes", type=float, action="append", help="gigabytes of rows; may be repeated (default: 5)"
    )
    parser.add_argument(
        "--engine", action="append", choices=ENGINES, help="engine to measure; may be repeated (default: all)"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs per engine; always one from 20 million files on")
    parser.add_argument("--heap", default="6g", help="heap of the Spark driver (-Xmx), shared by local executors")
    parser.add_argument(
        "--alone", action="store_true", help="use one Spark session per task, so that memory is measured separately"
    )
    parser.add_argument("--output", type=Path, help="results to update; the page has the same name and suffix .md")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped by SIGTERM"))
    sizes_given = options.millions or options.gigabytes
    print(
        f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}, heap {options.heap};"
    )
    print(
        f"median [least-most] of {options.runs}, one from 20 million on; load average before: {os.getloadavg()[0]:.1f}"
    )
    print(f"\n| {' | '.join(_HEADERS)} |\n{'|-' * len(_HEADERS)}|", flush=True)
    for millions in options.millions or ([] if sizes_given else MILLIONS):
        path, small = write_table("scale_log_tables", str(millions)), write_table("scale_log_tables", SMALL)
        suitable = max(2, round(millions * 1_000_000 / FILES_PER_PARTITION))
        tasks: dict[str, dict[str, Any]] = {"spark": {"do": "deltaspec", "table": path, "level": "log"}}
        for partitions in sorted({50, suitable}):
            task = {"do": "delta", "table": path, "partitions": partitions}
            tasks[f"delta ({partitions} partitions)"] = task
        measure(f"{millions:g} M files", path, small, tasks, options, options.runs if millions < 20 else 1)
    for gigabytes in options.gigabytes or ([] if sizes_given else [GIGABYTES]):
        path, small = write_table("scale_row_tables", str(gigabytes)), write_table("scale_row_tables", SMALL)
        tasks = {
            "spark": {"do": "deltaspec", "table": path, "level": "rows"},
            "bounds": {"do": "bounds", "table": path, "separate_strings": False},
            "bounds (strings separate)": {"do": "bounds", "table": path, "separate_strings": True},
        }
        measure(f"{gigabytes:g} GB rows", path, small, tasks, options, options.runs)


if __name__ == "__main__":
    main()

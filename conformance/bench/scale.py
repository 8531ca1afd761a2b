"""Wall time, processor time and peak memory on logs of millions of files.

    python conformance/bench/scale.py [--millions 1] [--engine embedded] [--runs 3]

Whole processes, the page cache warm, one after another; the tree of each is sampled (see `process_tree`).
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from process_tree import Watched, watch

HERE = Path(__file__).parent
MILLIONS = (1, 5, 20)
ENGINES = ("embedded",)


def written(script: str, *arguments: str) -> str:
    """The path of a table, written by a process of its own: what writes a table is large."""
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def warm(path: str) -> None:
    """Have every file of a folder in the page cache."""
    for file in (each for each in Path(path).rglob("*") if each.is_file()):
        with file.open("rb") as content:
            while content.read(1 << 20):
                pass


def embedded(path: str, level: str) -> Watched:
    """The kit in one process.

    Raises:
        SystemExit: it found something in a table that is meant to conform.
    """
    watched = watch([sys.executable, "-m", "deltaspec", "validate", path, "--level", level, "--format", "json"])
    report: dict[str, Any] = json.loads(watched.output)
    if report["verdict"] != "conforms":
        sys.exit(f"{path}: {report['verdict']}, of a table that is meant to conform")
    return watched


def spread(values: list[float], form: str) -> str:
    """Median [least-most], or the one value."""
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{median(values):{form}} [{min(values):{form}}-{max(values):{form}}]"


def main() -> None:
    """Measure and print a row for every size and engine."""
    parser = argparse.ArgumentParser(description="deltaspec on logs of millions of files")
    parser.add_argument("--millions", type=int, action="append", help=f"may be repeated; {MILLIONS} by default")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="may be repeated; all by default")
    parser.add_argument("--runs", type=int, default=3, help="of each engine and size; from 20 million on always one")
    asked = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    print(
        f"load average before: {os.getloadavg()[0]:.1f}; median [least-most] of {asked.runs} runs, one at 20 million\n"
    )
    print("| million files | engine | wall s | CPU s | peak MB | MB a million |\n|-|-|-|-|-|-|", flush=True)
    for millions in asked.millions or MILLIONS:
        path = written("scale_tables.py", str(millions))
        warm(path)
        found = [embedded(path, "log") for _ in range(asked.runs if millions < 20 else 1)]
        wall, busy = spread([each.seconds for each in found], ".1f"), spread([each.busy for each in found], ".1f")
        peak = median(each.peak / 1e6 for each in found)
        print(f"| {millions} | embedded | {wall} | {busy} | {peak:.0f} | {peak / millions:.0f} |", flush=True)


if __name__ == "__main__":
    main()

"""Measure wall time and peak memory of `deltaspec validate`, compared with programs that only read the same data.

    python conformance/bench/run.py [--case a] [--runs 5] [--engine deltaspec] [--output reports/bench.md]

Complete processes are measured, including interpreter start. Engines run in turn, so that a slow minute of the machine
affects all of them. This process stays small, because the peak memory of a child, as the kernel reports it, starts from
that of its parent.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from tables import CASES, Case

HERE = Path(__file__).parent
SUITES = "suites"
"""The case of `suites.py`, which has no table of its own."""
ENGINES = {
    "deltaspec": [sys.executable, "-m", "deltaspec", "validate", "{table}", "--level", "{level}", "--format", "json"],
    "delta-rs": [sys.executable, str(HERE / "list_files.py"), "{table}"],
    "floor": [sys.executable, str(HERE / "parse_lines.py"), "{table}"],
    "pyarrow-footers": [sys.executable, str(HERE / "read_footers.py"), "{table}"],
    "imports": [sys.executable, "-c", "import polars, pyarrow; print(1)"],
    "pyarrow-bounds": [sys.executable, str(HERE / "compute_min_max.py"), "{table}"],
}
_DESCRIPTIONS = {
    "delta-rs": f"deltalake {version('deltalake')}: load the table, list its files",
    "imports": "import polars and pyarrow, nothing else",
    "floor": "parse every line and decode every row, nothing else",
    "pyarrow-footers": f"pyarrow {version('pyarrow')}: read the footers of all files, in threads",
    "pyarrow-bounds": f"pyarrow {version('pyarrow')}: minimum, maximum and null count of every column, in threads",
}


@dataclass
class Measurement:
    """Measurements of one engine on one case."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    work: str = ""


def run_once(command: list[str], measured: Measurement, exit_code: int = 0) -> bytes:
    """Run one process, note its seconds and peak resident megabytes (10^6 bytes), and return its standard output.

    Raises:
        SystemExit: the process failed, or ended with another exit code than this one.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        found = output.read()
    if process.returncode != exit_code:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}: {found[-2000:].decode(errors='replace')}")
    measured.seconds.append(seconds)
    measured.cpu_seconds.append(usage.ru_utime + usage.ru_stime)
    measured.megabytes.append(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6)
    return found


def describe_work(engine: str, output: bytes, case: Case) -> str:
    """Describe the work of a run from its output.

    Raises:
        SystemExit: the run did not find all files, or has another verdict than expected.
    """
    if engine == "deltaspec":
        report: dict[str, Any] = json.loads(output)
        checked = report["checked"]
        if report["verdict"] != case.verdict:
            sys.exit(f"{report['table']}: verdict {report['verdict']}, expected {case.verdict}")
        return f"{len(checked['run'])} rules run, {len(checked['not_applicable'])} not applicable"
    if int(output) != case.files:
        sys.exit(f"{engine}: expected {case.files} files, found {int(output)}")
    return _DESCRIPTIONS[engine]


def measure(case: str, engines: list[str], runs: int) -> dict[str, Measurement]:
    """Measure the engines on one case in turn, with a warm page cache."""
    # a separate process, because writing a table needs much memory
    path = subprocess.run(
        [sys.executable, str(HERE / "tables.py"), case], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    for file in (each for each in Path(path).rglob("*") if each.is_file()):
        with file.open("rb") as bytes_of_file:
            while bytes_of_file.read(1 << 20):
                pass  # load it into the page cache
    found = {engine: Measurement() for engine in engines}
    for number in range(runs):
        for engine, measured in found.items():
            command = [part.format(table=path, level=CASES[case].level) for part in ENGINES[engine]]
            exit_code = 1 if engine == "deltaspec" and CASES[case].verdict == "violations" else 0
            measured.work = describe_work(engine, run_once(command, measured, exit_code), CASES[case])
            print(f"{case} {number + 1}/{runs} {engine}: {measured.seconds[-1]:.2f} s", file=sys.stderr)
    return found


def format_spread(values: list[float], number_format: str) -> str:
    """Format median [minimum-maximum]."""
    return f"{median(values):{number_format}} [{min(values):{number_format}}-{max(values):{number_format}}]"


def describe_run(runs: int) -> str:
    """Describe what was measured, and where: commit, machine, versions and load."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"""# Time and memory

`nox -s bench` measures complete processes, including the start of the interpreter. Engines run in turn, with a warm
page cache. Values are the median [least-most] of {runs} runs; memory is the peak resident set.

Commit {commit.stdout.strip() or "unknown"}; {platform.platform()}, {os.cpu_count()} processors, {memory:.0f} GiB; \
Python {platform.python_version()}, pyarrow {version("pyarrow")}, polars {version("polars")}; \
load average before: {os.getloadavg()[0]:.1f}.

| table | engine | wall s | CPU s | peak MB | what it did |
|-|-|-|-|-|-|
""".replace("\\\n", "")


def write_report(path: Path, text: str) -> None:
    """Write the measurements, and keep the sections that follow them in the file."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    _, heading, sections = before.partition("\n## ")
    path.write_text(text + heading + sections, encoding="utf-8")


def main() -> None:
    """Measure every case and print one table with all of them."""
    parser = argparse.ArgumentParser(description="Compare deltaspec with other programs on tables of a known size.")
    parser.add_argument(
        "--case",
        action="append",
        choices=[*sorted(CASES), SUITES],
        help="case to measure; may be repeated (default: all)",
    )
    parser.add_argument(
        "--engine", action="append", choices=sorted(ENGINES), help="engine to measure; may be repeated (default: all)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="file whose text before the first section is replaced, if every case and engine is measured",
    )
    parser.add_argument("--runs", type=int, default=5, help="runs per engine and case (default: 5)")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    cases = options.case or [SUITES, *sorted(CASES)]
    if SUITES in cases:
        subprocess.run([sys.executable, str(HERE / "suites.py")], check=True)
        cases.remove(SUITES)
    is_complete = not options.case and not options.engine
    text = describe_run(options.runs)
    print(text, end="")
    for case in cases:
        engines = [each for each in ("deltaspec", *CASES[case].baselines) if each in (options.engine or ENGINES)]
        title = f"({case}) {CASES[case].title}"
        for engine, measured in measure(case, engines, options.runs).items():
            wall, cpu_seconds = format_spread(measured.seconds, ".2f"), format_spread(measured.cpu_seconds, ".2f")
            memory = format_spread(measured.megabytes, ".0f")
            row = f"| {title} | {engine} | {wall} | {cpu_seconds} | {memory} | {measured.work} |\n"
            print(row, end="", flush=True)
            text, title = text + row, ""
        if options.output and is_complete:
            write_report(options.output, text)


if __name__ == "__main__":
    main()

"""Measure wall time, CPU time and peak memory of `deltaspec validate`, compared with programs that read the same data.

    python -m bench.run [--case a] [--runs 5] [--program deltaspec] [--optional] [--output ../reports/bench.json]

Complete processes are measured, including interpreter start. Programs run in turn, so that a slow minute of the machine
affects all of them. This process stays small, because the kernel starts the peak memory of a child at the peak of its
parent.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from bench.cases import CASES, DELTASPEC, Case
from bench.page import render_page
from bench.results import (
    CaseResult,
    Measurement,
    Results,
    Session,
    compute_ratio,
    describe_session,
    load_results,
    save_results,
)
from deltaspec.output_files import write_file

HERE = Path(__file__).parent
SUITES = "suites"
"""The case of `suites.py`, which has no table and prints its results."""
LEVEL_FILES, LEVEL_LOG = "level-files", "level-log"
_VALIDATE = [sys.executable, "-m", "deltaspec", "validate", "{table}", "--format", "json", "--level"]
KERNEL_PROGRAM = HERE.parent / "harnesses/build/cargo/measured/examples/list_files"
"""`list_files.rs`, built by `nox -s bench`."""
PROGRAMS = {
    DELTASPEC: [*_VALIDATE, "{level}"],
    LEVEL_FILES: [*_VALIDATE, "files"],
    LEVEL_LOG: [*_VALIDATE, "log"],
    "delta-rs": [sys.executable, str(HERE / "list_files.py"), "{table}"],
    "kernel-rs": [str(KERNEL_PROGRAM), "{table}"],
    "floor": [sys.executable, str(HERE / "parse_lines.py"), "{table}"],
    "floor-files": [sys.executable, str(HERE / "parse_lines.py"), "{table}", "--files"],
    "imports": [sys.executable, "-c", "import polars, pyarrow; print(1)"],
    "pyarrow-footers": [sys.executable, str(HERE / "read_footers.py"), "{table}"],
    "pyarrow-bounds": [sys.executable, str(HERE / "compute_min_max.py"), "{table}"],
}
"""Commands by name; `{table}` and `{level}` are replaced."""
_REPORTS = (DELTASPEC, LEVEL_FILES, LEVEL_LOG)
"""Programs that write a report; the others print the number of files."""
_DESCRIPTIONS = {
    "delta-rs": "deltalake {deltalake}: load the table, list its files",
    "kernel-rs": "delta_kernel {delta_kernel}, optimized: load the table, list its files",
    "floor": "parse every line and decode every row",
    "floor-files": "parse every line, list every file, decode every vector",
    "imports": "import polars {polars} and pyarrow {pyarrow}",
    "pyarrow-footers": "pyarrow {pyarrow}: read the footers of all files, in threads",
    "pyarrow-bounds": "pyarrow {pyarrow}: minimum, maximum and null count of every column, in threads",
}


def run_once(command: list[str], measured: Measurement, exit_code: int = 0) -> bytes:
    """Run one process, add its measurements, and return its standard output.

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
    measured.wall_seconds.append(round(seconds, 3))
    measured.cpu_seconds.append(round(usage.ru_utime + usage.ru_stime, 3))
    measured.megabytes.append(round(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6))
    return found


def describe_work(program: str, output: bytes, case: Case) -> str:
    """Describe the work of a run from its output.

    Raises:
        SystemExit: the run did not find all files, or has another verdict than expected.
    """
    if program in _REPORTS:
        report: dict[str, Any] = json.loads(output)
        checked = report["checked"]
        if report["verdict"] != case.verdict:
            sys.exit(f"{report['table']}: verdict {report['verdict']}, expected {case.verdict}")
        return f"{len(checked['run'])} rules run, {len(checked['not_applicable'])} not applicable"
    if int(output) != case.files:
        sys.exit(f"{program}: expected {case.files} files, found {int(output)}")
    versions = {name: version(name) for name in ("deltalake", "polars", "pyarrow")}
    if program == "kernel-rs":
        versions["delta_kernel"] = read_kernel_version()
    return _DESCRIPTIONS[program].format(**versions)


def read_kernel_version() -> str:
    """Return the release of delta_kernel that `list_files.rs` is built with."""
    manifest = tomllib.loads((HERE.parent / "harnesses/kernel_rust/Cargo.toml").read_text("utf-8"))
    return str(manifest["dependencies"]["delta_kernel"]["version"]).removeprefix("=")


def measure(name: str, programs: list[str], runs: int) -> dict[str, Measurement]:
    """Measure programs on one case in turn, with a warm page cache."""
    case = CASES[name]
    # a separate process, because writing a table needs much memory
    command = [sys.executable, "-m", "bench.cases", name]
    path = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent).stdout.strip()
    load_into_page_cache(Path(path), reads_data=case.reads_data)
    found = {program: Measurement() for program in programs}
    for number in range(runs):
        for program, measured in found.items():
            options = case.options if program == DELTASPEC else ()
            command = [part.format(table=path, level=case.level) for part in (*PROGRAMS[program], *options)]
            exit_code = 1 if program in _REPORTS and case.verdict == "violations" else 0
            measured.work = describe_work(program, run_once(command, measured, exit_code), case)
            print(f"{name} {number + 1}/{runs} {program}: {measured.wall_seconds[-1]:.2f} s", file=sys.stderr)
    return found


def load_into_page_cache(table: Path, *, reads_data: bool) -> None:
    """Read the log, and if `reads_data` the data files; stat the others."""
    for folder, _, names in os.walk(table):
        is_read = reads_data or "_delta_log" in Path(folder).relative_to(table).parts
        for name in names:
            path = os.path.join(folder, name)
            if not is_read:
                os.stat(path)
                continue
            with open(path, "rb") as content:
                while content.read(1 << 20):
                    pass


def save(output: Path, name: str, result: CaseResult) -> None:
    """Replace the results of a case, and render the page next to the results again."""
    results: Results = load_results(output)
    results.cases[name] = result
    results.cases = {each: results.cases[each] for each in CASES if each in results.cases}
    save_results(output, results)
    write_file(output.with_suffix(".md"), render_page(results).encode())


def print_result(name: str, result: CaseResult) -> None:
    """Print a line for each program."""
    for program, measured in result.programs.items():
        ratio = compute_ratio(result, DELTASPEC, program)
        compared = "" if program == DELTASPEC or ratio is None else f", deltaspec takes {ratio:.2f} of it"
        print(
            f"{name} {program}: {median(measured.wall_seconds):.2f} s, CPU {median(measured.cpu_seconds):.2f} s,"
            f" {median(measured.megabytes):.0f} MB, {measured.work}{compared}",
            flush=True,
        )


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Compare deltaspec with other programs on tables of a known size.")
    parser.add_argument(
        "--case",
        action="append",
        choices=[*CASES, SUITES],
        help="case to measure; may be repeated (default: all but optional ones and suites)",
    )
    parser.add_argument("--optional", action="store_true", help="also measure cases that take minutes and much disk")
    parser.add_argument(
        "--program",
        action="append",
        choices=sorted(PROGRAMS),
        help="program to measure; may be repeated (default: all). Results of some programs are not saved, because "
        "ratios need all programs of a case in the same session",
    )
    parser.add_argument("--output", type=Path, help="results to update; the page has the same name and suffix .md")
    parser.add_argument(
        "--runs", type=int, default=5, help="maximum number of runs of each program and case (default: 5)"
    )
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    return options


def main() -> None:
    """Measure cases, print the results, and save them case by case."""
    options = parse_options()
    chosen = options.case or [name for name, case in CASES.items() if options.optional or not case.is_optional]
    if SUITES in chosen:
        subprocess.run([sys.executable, "-m", "bench.suites"], check=True, cwd=HERE.parent)
    session: Session = describe_session(HERE)
    for name in dict.fromkeys(each for each in chosen if each != SUITES):
        case = CASES[name]
        programs = [each for each in (DELTASPEC, *case.peers) if each in (options.program or PROGRAMS)]
        if not programs:
            continue
        if "kernel-rs" in programs and not KERNEL_PROGRAM.exists():
            sys.exit(f"{KERNEL_PROGRAM} is missing: `nox -s bench` builds it with Cargo")
        result = CaseResult(session, measure(name, programs, min(options.runs, case.runs)))
        print_result(name, result)
        if options.output and not options.program:
            save(options.output, name, result)


if __name__ == "__main__":
    main()

"""Build large golden tables and ask engines about them: `reports/golden/scale.md`, with time and memory.

python -m golden_clients.scale [TABLE|ENGINE]...      (in conformance; `nox -s scale` does it)
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from golden_clients.scale_engines import BUILD, ENGINES

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports/golden"
CASES = {
    "many small files": "rows=100000,files=100000,commits=100,columns=3",
    "few large files": "rows=10000000,files=10,columns=6",
    "many commits": "rows=10000,files=10000,commits=10000,columns=3",
    "many columns": "rows=1000,files=2,columns=5000",
    "deep nesting": "rows=100000,files=4,columns=3,depth=20",
    "deletion vectors": "rows=10000000,files=20,columns=3,deleted=5000000",
    "sidecars": "rows=100000,files=100000,commits=10,columns=3,sidecars=1000",
}
"""Sizes by name."""
INTRODUCTION = """\
# Large golden tables

Time and largest resident memory of the process that builds each table (`deltaspec golden draw --scale`), and of one
that asks an engine for all aggregates of all columns and for five single rows. Both include the start of Python. Every
answer is compared with the expected one. `nox -s scale` writes this page.

kernel-rs returns rows and does not aggregate: DuckDB aggregates the Arrow file that its harness writes. The time
includes both, the memory is that of the harness alone.
"""
_LIMIT_S = 600
"""Seconds after which a process is stopped."""
_ERROR = re.compile(r"^[\w.]*(Error|Exception)\b")


class Measured(msgspec.Struct, frozen=True):
    """A process that built or read a table."""

    seconds: float
    megabytes: int
    """Largest resident memory."""
    problem: str = ""
    """First wrong answer, or why the process failed."""


class ScaleReport(msgspec.Struct, frozen=True):
    """Content of `reports/golden/scale.json`."""

    machine: str
    versions: dict[str, str]
    cases: dict[str, dict[str, Measured]]
    """By name of the case, then `build` and the engines."""


def measure(engine: str, argument: str) -> Measured:
    """Run `scale_engines` in a process of its own."""
    command = [sys.executable, "-m", "golden_clients.scale_engines", engine, argument]
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(["timeout", str(_LIMIT_S), *command], stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, errors = out.read().decode(), err.read().decode().strip()
    seconds = round(time.monotonic() - started, 1)
    if process.returncode:
        lines = [line for line in errors.splitlines() if _ERROR.search(line)] or errors.splitlines() or ["no message"]
        reason = f"stopped after {_LIMIT_S} s" if process.returncode == 124 else lines[-1][:200]
        return Measured(seconds, usage.ru_maxrss // 1024, reason)
    answer = json.loads(text)
    problems = answer["problems"]
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return Measured(seconds, answer["megabytes"], f"{problems[0]}{more}" if problems else "")


def run(names: Sequence[str], engines: Sequence[str]) -> dict[str, dict[str, Measured]]:
    """Build each case and ask engines about it."""
    found: dict[str, dict[str, Measured]] = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="deltaspec-") as place:
            case = f"{place}/case"
            found[name] = {BUILD: measure(BUILD, f"{CASES[name]}@{case}")}
            for engine in engines:
                found[name][engine] = measure(engine, case)
        print(name, msgspec.json.encode(found[name]).decode(), flush=True)
    return found


def render(report: ScaleReport) -> str:
    """Return the page."""
    versions = ", ".join(f"{name} {text}" for name, text in report.versions.items())
    lines = [
        INTRODUCTION,
        f"{report.machine}. {versions}.",
        "",
        f"| table | sizes | {' | '.join((BUILD, *ENGINES))} |",
        f"|-|-|{'-|' * (len(ENGINES) + 1)}",
    ]
    notes = []
    for name, measured in report.cases.items():
        cells = []
        for engine in (BUILD, *ENGINES):
            if (each := measured.get(engine)) is None:
                cells.append("not measured")
                continue
            cells.append(f"{each.seconds:,.1f} s, {each.megabytes:,} MB{' (wrong)' if each.problem else ''}")
            if each.problem:
                notes.append(f"- {name}, {engine}: {each.problem}")
        lines.append(f"| {name} | `{CASES[name]}` | {' | '.join(cells)} |")
    return "\n".join([*lines, *(["", *notes] if notes else []), ""])


def main(arguments: Sequence[str]) -> None:
    """Write the report and the page; what the arguments do not name keeps its earlier measurements.

    If the arguments name only tables, all engines are asked, and if they name only engines, about all tables.
    """
    from importlib.metadata import version

    if unknown := [each for each in arguments if each not in CASES and each not in ENGINES]:
        sys.exit(f"unknown {unknown[0]!r}; choose from {', '.join((*CASES, *ENGINES))}")
    names = [each for each in arguments if each in CASES] or list(CASES)
    engines = [each for each in arguments if each in ENGINES]

    path = REPORTS / "scale.json"
    found = msgspec.json.decode(path.read_bytes(), type=ScaleReport).cases if path.exists() else {}
    for name, measured in run(names, engines or list(ENGINES)).items():
        before = found.get(name, {})
        found[name] = {**measured, **before, **{each: measured[each] for each in engines}} if engines else measured
    versions = {name: version(name) for name in ("deltalake", "duckdb", "duckdb-extension-delta")}
    versions["delta-kernel-rs"] = read_kernel_version()
    machine = f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}"
    report = ScaleReport(machine, versions, {name: found[name] for name in CASES if name in found})
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    (REPORTS / "scale.md").write_text(render(report), "utf-8")


def read_kernel_version() -> str:
    """Return the version of the kernel that the harness is built with."""
    lock = tomllib.loads((ROOT / "conformance/harnesses/kernel_rust/Cargo.lock").read_text("utf-8"))
    return next(each["version"] for each in lock["package"] if each["name"] == "delta_kernel")


if __name__ == "__main__":
    main(sys.argv[1:])

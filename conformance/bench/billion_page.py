"""Render `reports/billion-files.md` from measurements of `bench.billion`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS

FILES = 1_000_000_000
CORES = 800
MAX_BUCKETS = 4096
_HEAD = """# A billion files on 200 executors

`nox -s billion` writes this page from `billion-files.json`; do not edit it. Nobody has run deltaspec on a billion
files. The page computes what such a run needs from runs over *invented tables*: a store answers every request without
storing anything (`conformance/bench/invented_table.py`). Its files have row ids, statistics and a CHECK constraint.
50,000 adds are in a sidecar of 5 MB. 1 of 1,000 listed files is not in the log, in a directory that the log does not
name. All data files have the same bytes, with 100 rows. Thus the runs measure deltaspec and Spark, and no storage.
Times include inventing the answers.
"""
_PHASES = {
    "start": "start, list the log",
    "commits": "read the log",
    "replay": "replay and check the log",
    "derived files": "compare derived files",
    "listing": "list the table",
    "data files": "check files",
    "deletion vectors": "check vectors",
    "rows of commits": "compare values of files, take the inventory",
    "constraints": "constraints",
}
_BOUNDED = (
    (
        "table actions, facts about commits, names of log files",
        "memory of the driver, as before",
    ),
    ("results of tasks", "the driver adds them up one after another; the bytes are in the tables above"),
    (
        "borders of ranges",
        "up to 64 paths and 64 row ids of each bucket of the log come to the driver, 40 MB at 4,096 buckets",
    ),
    (
        "directories, where names are not listed in order (Azure, HDFS, shared directories)",
        "one task lists a directory with all below it; the driver lists levels until there are four for each task",
    ),
    ("a store that executors cannot read", "the driver lists the table and reads the files, bucket by bucket"),
    (
        "files with an expression that only Spark SQL can evaluate",
        "they come to the driver, in batches of 600 files for each parallel task",
    ),
    (
        "one commit",
        "one task compares all rows that it adds and removes (change data, rearranged rows, preserved row ids)",
    ),
    ("one file of deletion vectors", "one task reads its vectors"),
    (
        "overlapping row ids in the log",
        "at most 200 files are compared with at most 200 others each, as in the embedded backend",
    ),
)
"""What is bounded by one machine, and how."""


_MEASURED = """Measured on {date} with `local[2]`:

- {cpu}, {system}
- Python {python}, deltaspec {deltaspec}

Other programs kept both cores busy at the same time. The time of tasks includes waiting for a core, so that it is an
upper bound. Where the CPU time of all processes was measured, it is used instead.

## Runs

{runs}
*Task s* is the time of Spark's tasks. The JVM of `local[2]` is driver and executors in one, with a heap of at most
4 GB. All worker processes are added up.
"""
_MEMORY = ("driver Python MB", "JVM MB", "Python workers MB")
_NOT_MEASURED = "–"
_SIZES = """*Slope* is the growth per file from the smallest run to the largest. It leaves out what every run costs,
such as starting workers and compiling code; with a single size, it includes that.
"""
_GROWTH = """From {first:g} to {last:g} million files, the time of all phases per file changes by a factor of
{factor:.2f}. Linear growth has 1, or less because of what every run costs.
"""
_STORE = """The store needs its own time, which is not measured here. If a request takes 0.1 s, {requests:.2f} million
requests of {cores} tasks, one at a time, take {seconds:.0f} s. A task has up to {concurrent} requests for
footers at a time, and 8 for most rows; row ids and identity values are read file by file.
"""
_DRIVER = """The Python process of the driver took {python} MB. Tasks of {buckets:,} buckets return at most
{gigabytes:.1f} GB to the driver in the course of the run, which it adds up as they arrive.
"""


def render_billion_page(found: dict[str, Any]) -> str:
    """Return the page for the measurements of `bench.billion`."""
    runs = sorted(found["runs"], key=lambda run: (("files", "footers", "rows").index(run["level"]), run["files"]))
    header = ("level", "files", "buckets", "tasks", "wall s", "task s", "CPU s", *_MEMORY, "commit")
    parts = [_HEAD, _MEASURED.format(**found["machine"], runs=_table(header, map(_describe_run, runs)))]
    for level in dict.fromkeys(run["level"] for run in runs):
        parts += _render_level(level, [run for run in runs if run["level"] == level])
    parts += ["## What remains on one machine\n", _table(("what", "bound"), _BOUNDED)]
    return "\n".join(parts)


def _describe_run(run: dict[str, Any]) -> tuple[str, ...]:
    phases = run["phases"]
    peaks = ([phase["peaks"].get(role) for phase in phases] for role in ("python", "jvm", "workers"))
    return (
        run["level"],
        f"{run['files']:,}",
        str(run["buckets"]),
        str(sum(phase["tasks"] for phase in phases)),
        f"{run['seconds']:.0f}",
        _sum_seconds([each["task_ms"] / 1000 if "task_ms" in each else None for each in phases]),
        _sum_seconds([each.get("cpu_seconds") for each in phases]),
        *(_NOT_MEASURED if None in each else str(max(each) >> 20) for each in peaks),
        run["commit"] or _NOT_MEASURED,
    )


def _sum_seconds(seconds: list[float | None]) -> str:
    known = [each for each in seconds if each is not None]
    return f"{sum(known):.0f}" if len(known) == len(seconds) else _NOT_MEASURED


def _render_level(level: str, runs: list[dict[str, Any]]) -> Iterable[str]:
    """Yield the costs of each phase of a level, and what they make for a billion files."""
    costs: list[tuple[str, ...]] = []
    needs: list[tuple[str, ...]] = []
    totals: tuple[float, ...] = (0.0, 0.0, 0.0)
    has_cpu = all("cpu_seconds" in phase for run in runs for phase in run["phases"])
    kind = "CPU" if has_cpu else "task"
    for phase in dict.fromkeys(phase["phase"] for run in runs for phase in run["phases"]):
        measured = [_get_phase(run, phase, kind) for run in runs]
        pairs = list(zip(runs, measured, strict=True))
        slopes = tuple(
            _compute_slope(runs, measured, name) for name in ("milliseconds", "shuffle_bytes", "request_count")
        )
        if phase == "start" or not any(slopes):
            continue
        name = _PHASES.get(phase, phase)
        at_sizes = (f"{each['milliseconds'] / run['files'] * 1e3:.1f}" for run, each in pairs)
        per_bucket = max(each["result_bytes"] / run["buckets"] for run, each in pairs)
        costs.append((name, *at_sizes, f"{slopes[0] * 1e3:.1f}", f"{slopes[1]:.1f}", f"{per_bucket / 1e3:.0f}"))
        needs.append(_describe_needs(name, *slopes))
        totals = tuple(one + two for one, two in zip(totals, slopes, strict=True))
    needs.append(_describe_needs("all", *totals))
    names = {phase["phase"] for run in runs for phase in run["phases"]} - {"start"}
    work = [sum(_get_phase(run, name, kind)["milliseconds"] for name in names) for run in runs]
    at_sizes = (f"{ms / run['files'] * 1e3:.1f}" for run, ms in zip(runs, work, strict=True))
    costs.append(("all", *at_sizes, f"{totals[0] * 1e3:.1f}", f"{totals[1]:.1f}", ""))
    sizes = [f"{kind} µs at {run['files'] / 1e6:g} M" for run in runs]
    yield f"## Level `{level}`\n"
    yield _SIZES
    yield _table(("phase", *sizes, "slope µs", "shuffled bytes", "kB to the driver for each bucket"), costs)
    if len(runs) > 1:
        first, last = runs[0]["files"], runs[-1]["files"]
        yield _GROWTH.format(first=first / 1e6, last=last / 1e6, factor=(work[-1] / last) / (work[0] / first))
    yield f"A billion files on {CORES} cores at the slope, if all cores are as fast and always busy:\n"
    yield _table(("phase", "core hours", f"seconds on {CORES} cores", "GB shuffled", "million requests"), needs)
    requests = totals[2] * FILES
    yield _STORE.format(
        requests=requests / 1e6, cores=CORES, seconds=requests * 0.1 / CORES, concurrent=MAX_CONCURRENT_READS
    )
    python = (str(max(phase["peaks"]["python"] for phase in run["phases"]) >> 20) for run in runs)
    results = max(sum(phase["result_bytes"] for phase in run["phases"]) / run["buckets"] for run in runs)
    yield _DRIVER.format(python=" / ".join(python), buckets=MAX_BUCKETS, gigabytes=results * MAX_BUCKETS / 1e9)


def _describe_needs(name: str, milliseconds: float, shuffled: float, requests: float) -> tuple[str, ...]:
    """Return a row about a billion files for costs of one."""
    seconds = milliseconds * FILES / 1000
    return (
        name,
        f"{seconds / 3600:.1f}",
        f"{seconds / CORES:.0f}",
        f"{shuffled * FILES / 1e9:.0f}",
        f"{requests * FILES / 1e6:.2f}",
    )


def _get_phase(run: dict[str, Any], name: str, kind: str) -> dict[str, Any]:
    """Return the measurements of a phase, with the time of Spark's tasks or the CPU time of all processes.

    All are zero if the run does not have the phase.
    """
    empty: dict[str, Any] = {"task_ms": 0, "cpu_seconds": 0.0, "shuffle_bytes": 0, "result_bytes": 0, "requests": {}}
    found = next((phase for phase in run["phases"] if phase["phase"] == name), empty)
    milliseconds = found["cpu_seconds"] * 1000 if kind == "CPU" else found["task_ms"]
    return {**found, "milliseconds": milliseconds, "request_count": sum(found["requests"].values())}


def _compute_slope(runs: list[dict[str, Any]], measured: list[dict[str, Any]], name: str) -> float:
    """Return the growth of a measurement per file: from the smallest run to the largest, or of the only run."""
    if len(runs) == 1:
        return float(measured[0][name] / runs[0]["files"])
    growth = measured[-1][name] - measured[0][name]
    return max(0.0, float(growth) / float(runs[-1]["files"] - runs[0]["files"]))


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("-",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

"""The cases of the benchmark: tables, levels, peers and targets.

`python -m bench.cases CASE` writes the table of a case into a cache, unless it is there, and prints its path. Modules
that need pyarrow are imported by the functions that write, so that `run.py` stays small.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path

from bench import growth_tables as growth
from bench import log_tables as logs

GENERATION = 2
"""Generation of the cached bytes; increase it when they change."""
DELTASPEC = "deltaspec"
"""The program that is compared with its peers."""
_BIG = 3
"""Runs of cases that take more than five seconds and have no target."""


@dataclass(frozen=True)
class Target:
    """Limits for the median of a case on an idle machine; None where there is none."""

    ratio: float | None = None
    """Wall time of deltaspec divided by the wall time of the first peer."""
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    megabytes: float | None = None
    """Peak memory in 10^6 bytes."""
    item_microseconds: float | None = None
    """CPU time for each item of the case."""


@dataclass(frozen=True)
class Case:
    """A table to measure programs on."""

    title: str
    write: Callable[[Path], None]
    """Write the table into this log directory."""
    items: int
    """Number of items that the case scales: files, versions, columns or actions."""
    files: int
    """Number of live files of the table."""
    level: str = "log"
    """Level of deltaspec."""
    options: tuple[str, ...] = ()
    """Further options of deltaspec; `{table}` is replaced."""
    peers: tuple[str, ...] = ()
    target: Target = field(default_factory=Target)
    verdict: str = "conforms"
    runs: int = 5
    """Maximum number of runs of each program."""
    reads_data: bool = False
    """Whether files outside the log are read."""
    is_optional: bool = False
    """Whether the case takes minutes and is measured only on request."""
    cache: Callable[[], Path] | None = None
    """Returns the table, if another cache has it."""


def _call(module: str, function: str) -> Callable[[Path], None]:
    """Return a writer that imports its module when it is called."""

    def write(log: Path) -> None:
        getattr(import_module(f"bench.{module}"), function)(log)

    return write


def _get_log_of_20_millions() -> Path:
    path: Path = import_module("bench.scale_log_tables").get_log_table(20)
    return path


def _write_nothing(_: Path) -> None:
    """Write nothing, because another cache has the table."""


CASES: dict[str, Case] = {
    "tiny": Case(
        "1 commit x 1 add",
        partial(logs.write_commits_of_1, count=1),
        items=1,
        files=1,
        peers=("imports",),
        target=Target(wall_seconds=0.26),
    ),
    "a": Case(
        "1,000 commits x 100 adds",
        logs.write_commits_of_100,
        items=1_000,
        files=100_000,
        peers=("kernel-rs", "delta-rs", "floor"),
        target=Target(ratio=1.0),
    ),
    "a-spaced": Case(
        "1,000 commits x 100 adds, spaces between the tokens of JSON",
        logs.write_spaced_commits,
        items=1_000,
        files=100_000,
        peers=("delta-rs", "kernel-rs"),
        target=Target(ratio=1.0),
    ),
    "b": Case(
        "V1 checkpoint of 1,000,000 adds + 1 commit",
        logs.write_checkpoint_of_adds,
        items=1_000_000,
        files=1_000_001,
        peers=("kernel-rs", "delta-rs", "floor"),
        target=Target(ratio=1.3, megabytes=350),
    ),
    "c": Case(
        "10,000 commits x 1 add",
        logs.write_commits_of_1,
        items=10_000,
        files=10_000,
        peers=("kernel-rs", "delta-rs", "floor"),
        target=Target(ratio=1.0),
    ),
    "d": Case(
        "20,000 Parquet files of 10 columns and 1 to 50 rows",
        _call("small_file_tables", "write_small_files"),
        items=20_000,
        files=20_000,
        level="footers",
        peers=("pyarrow-footers",),
        target=Target(ratio=0.95),
        reads_data=True,
    ),
    "e": Case(
        "200 Parquet files of 10 columns and 100,000 rows",
        _call("many_row_tables", "write_many_rows"),
        items=20_000_000,
        files=200,
        level="rows",
        peers=("pyarrow-bounds",),
        target=Target(ratio=1.2),
        reads_data=True,
    ),
    "v2": Case(
        "V2 checkpoint of 20,000,000 adds in sidecars + 3 commits",
        _write_nothing,
        items=20_000_000,
        files=20_000_000,
        peers=("kernel-rs", "floor"),
        target=Target(ratio=1.0, cpu_seconds=110, megabytes=2_000),
        runs=3,
        is_optional=True,
        cache=_get_log_of_20_millions,
    ),
}
"""By name. The cases of growing tables follow."""


def _add_growth_cases() -> None:
    for count in (1_000, 100_000):
        CASES[f"commits-{count}"] = Case(
            f"{count:,} commits x 1 add",
            partial(logs.write_commits_of_1, count=count),
            items=count,
            files=count,
            peers=("delta-rs",),
            runs=_BIG,
        )
    for count in (100_000, 5_000_000):
        CASES[f"adds-{count}"] = Case(
            f"V1 checkpoint of {count:,} adds + 1 commit",
            partial(logs.write_checkpoint_of_adds, count=count),
            items=count,
            files=count + 1,
            peers=("delta-rs",),
            runs=_BIG,
        )
    for count in (10, 100, 1_000):
        title = f"10 commits x 100 adds with statistics of {count:,} columns"
        write = growth.write_columns(count)
        CASES[f"columns-{count}"] = Case(title, write, items=count, files=1_000, peers=("delta-rs",), runs=_BIG)
    for count in (100, 1_000):
        title = f"{count:,} metaData actions with the same schema of 100 columns"
        write = growth.write_metadata_actions(count, 100)
        CASES[f"metadata-{count}"] = Case(title, write, items=count, files=0, peers=("delta-rs",), runs=_BIG)
        CASES[f"added-columns-{count}"] = Case(
            f"{count:,} commits that each add a column",
            growth.write_added_columns(count),
            items=count,
            files=0,
            peers=("delta-rs",),
            target=Target(wall_seconds=2) if count == 1_000 else Target(),
        )
        title = f"{count:,} CHECK constraints over 1,000 columns"
        write = growth.write_expressions(count, 1_000)
        CASES[f"expressions-{count}"] = Case(title, write, items=count, files=0, runs=_BIG)
    for count in (20_000, 200_000):
        title = f"{count:,} clustering columns"
        CASES[f"clustering-{count}"] = Case(
            title, growth.write_clustering_columns(count), items=count, files=0, runs=_BIG
        )
    for count in (100_000, 1_000_000):
        CASES[f"vectors-{count}"] = Case(
            f"{count:,} inline deletion vectors",
            growth.write_files(count, with_vectors=True),
            items=count,
            files=count,
            level="files",
            peers=("floor-files",),
            target=Target(ratio=1.15, megabytes=600) if count == 1_000_000 else Target(),
            runs=5 if count == 1_000_000 else _BIG,
        )
        title = f"{count:,} files in a table with deletion vectors, none with a vector"
        write = growth.write_files(count, with_vectors=False)
        CASES[f"files-{count}"] = Case(
            title,
            write,
            items=count,
            files=count,
            level="files",
            peers=("floor-files",),
            target=Target(ratio=1.3, megabytes=500) if count == 1_000_000 else Target(),
            runs=_BIG,
        )
    CASES["since-1000000"] = Case(
        "1,000 new files of 1,000,000, since an earlier report",
        _call("nightly_table", "write_nightly_table"),
        items=1_000,
        files=1_001_001,
        level="rows",
        options=("--since", "{table}/_report.json", "--accept-unchecked", "PQT,PRP,ROW,STA"),
        peers=("level-log",),
        target=Target(ratio=1.3, megabytes=450),
        reads_data=True,
        runs=_BIG,
    )
    for count in (30_000, 300_000):
        CASES[f"missing-{count}"] = Case(
            f"{count:,} missing files",
            growth.write_missing_files(count),
            items=count,
            files=count,
            level="rows",
            peers=("level-files",),
            target=Target(ratio=1.0) if count == 300_000 else Target(),
            verdict="violations",
            runs=5 if count == 300_000 else _BIG,
        )


_add_growth_cases()

SERIES: dict[str, tuple[str, ...]] = {
    "commits of 1 add": ("commits-1000", "c", "commits-100000"),
    "adds in a V1 checkpoint": ("adds-100000", "b", "adds-5000000"),
    "columns with statistics, 1,000 adds": ("columns-10", "columns-100", "columns-1000"),
    "metaData actions with the same 100 columns": ("metadata-100", "metadata-1000"),
    "commits that each add a column": ("added-columns-100", "added-columns-1000"),
    "CHECK constraints over 1,000 columns": ("expressions-100", "expressions-1000"),
    "clustering columns": ("clustering-20000", "clustering-200000"),
    "inline deletion vectors, level files": ("vectors-100000", "vectors-1000000"),
    "the same files without vectors": ("files-100000", "files-1000000"),
    "missing files, level rows": ("missing-30000", "missing-300000"),
}
"""Cases that differ only in the number of their items, by kind of item."""


def get_table(name: str) -> Path:
    """Return the table of a case; write it if it is not cached (`$DELTASPEC_BENCH`, or the temporary directory)."""
    case = CASES[name]
    if case.cache is not None:
        return case.cache()
    cache = Path(os.environ.get("DELTASPEC_BENCH", Path(tempfile.gettempdir()) / "deltaspec-bench"))
    target = cache / f"{name}-{GENERATION}"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            log = Path(temporary) / "table" / "_delta_log"
            log.mkdir(parents=True)
            case.write(log)
            log.parent.rename(target)
    return target


if __name__ == "__main__":
    print(get_table(sys.argv[1]))

"""Measure the suites: drawing tables, the reference reader, a request to a candidate, and an engine with every check.

python -m bench.run --case suites
python -m bench.suites --tables 500 --engine deltalake
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Snapshot
from deltaspec.candidates.outcomes import Refused
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.registry import open_candidate
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.runner import SuitePlan, run_suite_plan
from deltaspec.suites.subjects import Corpus
from deltaspec_generators.table_files import write_table
from deltaspec_generators.tables.corpus import read_corpus

SEED = 1


class Nothing:
    """An engine that answers at once, to measure the host."""

    def hello(self) -> dict[str, Any]:
        return {"name": "nothing", "version": "0"}

    def snapshot(self, table: str, **_: Any) -> dict[str, Any]:
        return {"version": 0}


def main() -> None:
    """Parse the command line and print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--engine", action="append", default=[], help="further engines, such as delta_spark")
    options = parser.parse_args()
    drawn = measure("draw tables", lambda: list(read_corpus(SEED, options.tables)))
    with tempfile.TemporaryDirectory() as directory:
        folders = [Path(directory) / str(number) for number in range(len(drawn))]
        measure(
            "encode and write tables",
            lambda: [write_table(each.files, folder) for each, folder in zip(drawn, folders, strict=True)],
        )
        with InProcess(Engine()) as reference:
            requests = [Snapshot(str(folder)) for folder in folders]
            versions = measure(
                "reference: newest snapshots", lambda: [read_version(reference, each) for each in requests]
            )
            print(f"    {versions.count(None)} refused, because they use a feature that the reference does not support")
    with open_candidate("py:bench.suites:Nothing") as nothing:
        measure("requests to a process that does nothing", lambda: [nothing.snapshot(Snapshot("/")) for _ in drawn])
    run_suites("reference", options.tables, 1)
    for engine in ("deltalake", *options.engine):
        run_suites(engine, options.tables, 2)


def read_version(candidate: InProcess, request: Snapshot) -> int | None:
    """Return the newest version of a table; None if the candidate refuses the table."""
    try:
        return candidate.snapshot(request).version
    except Refused:
        return None


def measure(name: str, work: Callable[[], list[Any]]) -> list[Any]:
    """Run some work and print how many of its items a second and a CPU second allow."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name}: {len(found)} in {wall:.2f} s ({cpu:.2f} s CPU), {len(found) / wall:.0f} a second", flush=True)
    return found


def run_suites(engine: str, tables: int, jobs: int) -> None:
    """Ask an engine every question about drawn tables."""
    started = time.perf_counter()
    outcomes: Counter[Outcome] = Counter()
    for done in run_suite_plan(
        lambda: open_candidate(engine), SuitePlan(Corpus(SEED, tables, written=False), jobs=jobs)
    ):
        outcomes.update(each.outcome for each in done.results)
    seconds = time.perf_counter() - started
    cases = outcomes.total()
    print(f"{engine}: {tables} tables, {cases} cases in {seconds:.1f} s, {cases / seconds * 3600:,.0f} cases an hour")
    print("   ", ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())), flush=True)


if __name__ == "__main__":
    main()

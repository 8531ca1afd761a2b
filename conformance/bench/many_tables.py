"""`python -m bench.many_tables`: many small tables in one call, in two processes and on Spark with `local[2]`.

The tables are copies of golden tables, validated at level `rows`. Both runs append their results to a Delta table,
which is then validated at level `rows`. Every verdict must be the same. Each run has its own process. The Spark session
is started, and has validated four tables, before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import deltaspec
from bench.process_tree import run_and_sample
from bench.results import ScaleRow, describe_session
from bench.scale import save
from deltaspec.many_tables.report import TablesReport

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "golden-tables"
JOBS = 2
_WARM_UP = 4


def copy_tables(folder: Path, number: int) -> list[str]:
    """Copy golden tables in turn, and return the paths of the copies."""
    sources = sorted(GOLDEN.glob("*/*/delta"))
    paths = []
    for index in range(number):
        source = sources[index % len(sources)]
        paths.append(str(shutil.copytree(source, folder / f"{index:04}-{source.parent.name}")))
    return paths


def validate(program: str, folder: str, results: str) -> tuple[float, float, TablesReport]:
    """Validate all tables of a folder; return when the clock started and stopped, and the result."""
    tables = sorted(map(str, Path(folder).iterdir()))
    if program == "embedded":
        begin = time.perf_counter()
        found = deltaspec.validate_many(tables, jobs=JOBS, level="rows", results=results)
        return begin, time.perf_counter(), found
    from deltaspec.spark import validate_many
    from deltaspec.validation.spark.session import open_session

    with open_session(f"local[{JOBS}]") as spark:
        validate_many(spark, tables[:_WARM_UP], level="rows")
        begin = time.perf_counter()
        found = validate_many(spark, tables, jobs=JOBS, level="rows", results=results)
        return begin, time.perf_counter(), found


def measure(program: str, tables: Path, results: Path) -> tuple[ScaleRow, list[str]]:
    """Run one program in its own process; return its row, and the verdicts in the order of the tables.

    Raises:
        SystemExit: the process failed, or its results do not conform.
    """
    watched = run_and_sample([sys.executable, "-m", "bench.many_tables", "--run", program, str(tables), str(results)])
    if watched.failure:
        sys.exit(watched.failure)
    record = json.loads(watched.output)
    report = deltaspec.validate(str(results), level="rows")
    if report.verdict != "conforms":
        sys.exit(f"results of {program}: verdict {report.verdict}, expected conforms")
    cpu_seconds, peaks = watched.measure_interval(record["begin"], record["end"])
    seconds, number = record["end"] - record["begin"], len(record["verdicts"])
    note = f"{1000 * seconds / number:.0f} ms for each table"
    name = "validate_many, 2 processes" if program == "embedded" else "validate_many on `local[2]`"
    row = ScaleRow(
        f"{number:,} small tables",
        name,
        [round(seconds, 1)],
        [round(cpu_seconds, 1)],
        f"{peaks['all'] / 1e6:.0f}",
        describe_session(HERE),
        note,
    )
    return row, record["verdicts"]


def main() -> None:
    """Measure both programs, or with `--run` be one of them."""
    parser = argparse.ArgumentParser(description="Validate many small tables in one call.")
    parser.add_argument("--tables", type=int, default=1000, help="number of tables")
    parser.add_argument("--output", type=Path, help="results to update; the page has the same name and suffix .md")
    parser.add_argument("--run", nargs=3, metavar=("PROGRAM", "FOLDER", "RESULTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        begin, end, found = validate(*options.run)
        print(json.dumps({"begin": begin, "end": end, "verdicts": [each.verdict for each in found.tables]}))
        return
    with tempfile.TemporaryDirectory() as scratch:
        (tables := Path(scratch) / "tables").mkdir()
        copy_tables(tables, options.tables)
        measured = [measure(program, tables, Path(scratch) / f"results-{program}") for program in ("embedded", "spark")]
    if measured[0][1] != measured[1][1]:
        sys.exit("the programs have different verdicts")
    for row, _ in measured:
        print(row.table, row.program, row.wall_seconds, row.cpu_seconds, row.memory, row.note)
    if options.output:
        save(options.output, [row for row, _ in measured])


if __name__ == "__main__":
    main()

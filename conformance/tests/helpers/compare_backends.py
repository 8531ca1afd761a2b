"""Compare the reports of all backends on tables of all planted faults and permissions, and on tables in directories.

python -m helpers.compare_backends [SEED] [DIRECTORY ...]      (in conformance/tests; or `nox -s compare_backends`)

One table is drawn per planted fault. Level, history, revision, samples and clock are drawn for each table.
Differences are printed; the exit code is then 1.
"""

from __future__ import annotations

import random
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from helpers.backends import (
    compare_reports,
    embedded_backend,
    line_by_line_backend,
    list_backend,
    table_in_temporary_directory,
)
from helpers.drawn_tables import draw_table

from deltaspec.scales import LEVELS
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.permissions.all_permissions import PERMISSIONS


def iter_tables(choice: random.Random, directories: list[str]) -> Iterator[tuple[str, str, Any, int | None]]:
    """Yield name, minimum level, a context manager that returns the path of the table, and a clock."""
    for name, fault in sorted(PLANTED_FAULTS.items()):
        files = draw_table(fault, choice.randrange(1 << 30))
        yield name, fault.level, table_in_temporary_directory(files), files.clock_ms
    for name, permission in sorted(PERMISSIONS.items()):
        files = permission.table()
        yield name, permission.level, table_in_temporary_directory(files), files.clock_ms
    for directory in directories:
        for path in sorted(Path(directory).iterdir()):
            if (path / "_delta_log").is_dir():
                yield str(path), "log", nullcontext(str(path)), time.time_ns() // 1_000_000


def compare_table(choice: random.Random, path: str, level: Any, clock: int | None) -> tuple[dict[str, Any], list[str]]:
    """Draw options; return them and the differences from the embedded backend in memory."""
    options = {
        "level": choice.choice(LEVELS[LEVELS.index(level) :]),
        "history": choice.choice(["latest", "all"]),
        "samples": choice.choice([1, 3, 1000]),
        "clock": choice.choice([None, clock]),
        "revision": choice.choice(["current", "current", "current", "r1", "r2", "r3"]),
    }
    backends = {f"spilled to {number}": embedded_backend(0, number) for number in (1, 2, 7)}
    backends["line by line"] = line_by_line_backend()
    backends["1 bucket of lists"] = list_backend(1, choice.randrange(999))
    backends["buckets of lists"] = list_backend(choice.choice([2, 3, 5]), choice.randrange(999))
    backends["read by the driver"] = list_backend(
        choice.choice([1, 3]), choice.randrange(999), executors_can_read=False
    )
    try:
        return options, compare_reports(path, backends, **options)
    except Exception:  # noqa: BLE001 - the other tables are still compared
        return options, [traceback.format_exc()[-2000:]]


def main(arguments: list[str]) -> int:
    """Compare all tables; return 1 if any report differs."""
    warnings.simplefilter("ignore")
    choice, directories = random.Random(int(arguments[0]) if arguments else 1), arguments[1:]
    number = different = 0
    for name, level, table, clock in iter_tables(choice, directories):
        with table as path:
            options, found = compare_table(choice, path, level, clock)
        number, different = number + 1, different + bool(found)
        if found:
            print(f"{name} {options}", *found[:10], sep="\n    ", flush=True)
        if number % 100 == 0:
            print(f"{number} tables, {different} with differences", flush=True)
    print(f"{number} tables, {different} with differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

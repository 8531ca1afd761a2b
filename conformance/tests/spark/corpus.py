"""The corpus of Delta Spark tables.

To write it, run `python -m spark.corpus DIRECTORY [NAME ...]` in conformance/tests.
"""

from __future__ import annotations

import shutil
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from spark.session import Writer, start

MODULES = ("plain", "values", "features", "scenarios", "checkpoints", "changes", "data", "rewrites")

TABLES: dict[str, Writer] = {}
for _module in MODULES:
    for _name, _writer in import_module(f"spark.tables_{_module}").TABLES.items():
        assert _name not in TABLES, f"two tables are named {_name}"
        TABLES[_name] = _writer


def main(arguments: list[str]) -> int:
    """Write tables below a directory; print the time each took and the failures."""
    directory, chosen = Path(arguments[0]), arguments[1:] or list(TABLES)
    directory.mkdir(parents=True, exist_ok=True)
    start_time = time.monotonic()
    spark = start(str(directory / ".warehouse"))
    print(f"{time.monotonic() - start_time:7.2f} s  session", flush=True)
    failed = 0
    for name in chosen:
        table_start_time = time.monotonic()
        for stale in directory.glob(f"{name}*"):
            if stale.name == name or stale.name.startswith(f"{name}-"):
                shutil.rmtree(stale)
        try:
            TABLES[name](spark, str(directory / name))
        except Exception:  # noqa: BLE001 - continue with the next table
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc(limit=-3)[:1500]}", flush=True)
        print(f"{time.monotonic() - table_start_time:7.2f} s  {name}", flush=True)
    print(f"{time.monotonic() - start_time:7.2f} s  {len(chosen)} tables, {failed} failed", flush=True)
    spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The corpus by name. In conformance/tests, `python -m spark.corpus DIRECTORY [NAME ...]` writes them."""

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
        assert _name not in TABLES, f"two tables are called {_name}"
        TABLES[_name] = _writer


def main(arguments: list[str]) -> int:
    """Write tables below a directory; says what each took, and which could not be written."""
    directory, chosen = Path(arguments[0]), arguments[1:] or list(TABLES)
    directory.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    spark = start(str(directory / ".warehouse"))
    print(f"{time.monotonic() - began:7.2f} s  session", flush=True)
    failed = 0
    for name in chosen:
        before = time.monotonic()
        for left in directory.glob(f"{name}*"):
            if left.name == name or left.name.startswith(f"{name}-"):
                shutil.rmtree(left)
        try:
            TABLES[name](spark, str(directory / name))
        except Exception:  # noqa: BLE001 - the next table is written all the same
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc(limit=-3)[:1500]}", flush=True)
        print(f"{time.monotonic() - before:7.2f} s  {name}", flush=True)
    print(f"{time.monotonic() - began:7.2f} s  {len(chosen)} tables, {failed} failed", flush=True)
    spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

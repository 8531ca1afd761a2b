"""The corpus of delta-rs tables.

To write it, run `python -m delta_rs.corpus DIRECTORY [NAME ...]` in conformance/tests.
"""

from __future__ import annotations

import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from delta_rs import tables_data, tables_features, tables_plain

if TYPE_CHECKING:
    from delta_rs.tables_plain import Writer

TABLES: dict[str, Writer] = tables_plain.TABLES | tables_features.TABLES | tables_data.TABLES


def main(arguments: list[str]) -> int:
    """Write tables below a directory; print the failures."""
    directory, chosen = Path(arguments[0]), arguments[1:] or list(TABLES)
    directory.mkdir(parents=True, exist_ok=True)
    start, failed = time.monotonic(), 0
    for name in chosen:
        path = directory / name
        shutil.rmtree(path, ignore_errors=True)
        try:
            TABLES[name](str(path))
        except Exception:  # noqa: BLE001 - continue with the next table
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc(limit=-3)}")
    print(f"{time.monotonic() - start:.2f} s, {len(chosen)} tables, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

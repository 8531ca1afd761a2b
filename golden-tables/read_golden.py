"""Read golden tables with delta-rs: `python read_golden.py FOLDER [CASE]...` prints a line for each case.

Replace `read_table` and `SUPPORTED` by those of your reader. Needs `pip install deltalake pyarrow`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

SUPPORTED = {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint"}
"""Reader features of tables that can be read; a table with another one must be refused."""


def read_table(folder: Path) -> pa.Table:
    """Read the newest version; raise an exception to refuse the table."""
    return pa.table(QueryBuilder().register("t", DeltaTable(folder)).execute("SELECT * FROM t").read_all())


def list_rows(table: pa.Table) -> list[str]:
    """Return rows as sorted text, because they come in no order."""
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def ask(folder: Path, case: dict[str, Any]) -> str:
    """Read the table of a case and compare it with what is expected."""
    must_refuse = case["expect"]["kind"] == "refuse" or not SUPPORTED.issuperset(case["features"]["reader"])
    try:
        found = list_rows(read_table(folder / "delta"))
    except Exception as error:  # noqa: BLE001  (every error of a reader is a refusal)
        return "ok" if must_refuse else f"refused: {error}"
    if must_refuse:
        return "was read, but must be refused"
    return "ok" if found == list_rows(pq.read_table(folder / case["expect"]["rows"])) else f"wrong rows: {found}"


def main(root: Path, wanted: list[str]) -> dict[str, str]:
    """Ask the wanted cases, or all; return the outcomes by id."""
    index = next(path for name in ("index.json", "manifest.json") if (path := root / name).exists())
    outcomes = {}
    for listed in json.loads(index.read_bytes())["cases"]:
        if wanted and listed["id"] not in wanted:
            continue
        folder = root / listed["path"]
        case = json.loads((folder / "case.json").read_bytes())
        if case["expect"]["kind"] == "violation" or "absolute-paths" in case["portability"]:
            continue  # a table that a reader may read or refuse, and one whose paths have to be replaced first
        outcomes[case["id"]] = ask(folder, case)
        print(f"{case['id']}: {outcomes[case['id']]}")
    return outcomes


if __name__ == "__main__":
    sys.exit(0 if set(main(Path(sys.argv[1]), sys.argv[2:]).values()) == {"ok"} else 1)

"""Two writers that read version 2 commit one after the other: the second must not ignore the first.

python reproduce.py        # needs deltalake and pyarrow
"""

import tempfile
from collections.abc import Callable

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError


def run(name: str, second: Callable[[DeltaTable], object], expected: int) -> None:
    """Optimize with one handle, run the second operation with another that was opened before, and count rows."""
    with tempfile.TemporaryDirectory() as table:
        for start in (0, 10, 20):
            write_deltalake(table, pa.table({"id": range(start, start + 10)}), mode="append")
        first, other = DeltaTable(table), DeltaTable(table)
        first.optimize.compact()
        try:
            second(other)
        except CommitFailedError as error:
            print(f"{name}: refused: {error}")
            return
        ids = DeltaTable(table).to_pyarrow_table()["id"].to_pylist()
        verdict = "right" if len(ids) == expected else "WRONG"
        print(f"{name}: {verdict}, {len(ids)} rows with {len(set(ids))} ids; expected {expected} rows")


run("optimize, then optimize", lambda table: table.optimize.compact(), 30)
run("optimize, then z-order", lambda table: table.optimize.z_order(["id"]), 30)
run("optimize, then overwrite", lambda table: write_deltalake(table, pa.table({"id": [99]}), mode="overwrite"), 1)
run("optimize, then delete", lambda table: table.delete("id < 5"), 25)

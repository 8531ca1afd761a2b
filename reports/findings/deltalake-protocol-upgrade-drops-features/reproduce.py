"""Enable deletion vectors on a table with column mapping: all values become null.

python reproduce.py        # needs deltalake and pyarrow
"""

import json
import tempfile
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, Schema, write_deltalake

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'


def read_ids(table: str) -> list[int | None]:
    """Return all values of the column."""
    rows = QueryBuilder().register("t", DeltaTable(table)).execute("SELECT id FROM t").read_all()
    return list(pa.table(rows)["id"].to_pylist())


with tempfile.TemporaryDirectory() as directory:
    table = f"{directory}/table"
    DeltaTable.create(table, Schema.from_json(SCHEMA), configuration={"delta.columnMapping.mode": "name"})
    write_deltalake(table, pa.table({"id": [1, 2]}), mode="append")
    print("before:", read_ids(table))
    DeltaTable(table).alter.set_table_properties({"delta.enableDeletionVectors": "true"})
    print("after: ", read_ids(table))
    for path in sorted(Path(table, "_delta_log").glob("*.json")):
        for line in path.read_text("utf-8").splitlines():
            if "protocol" in (action := json.loads(line)):
                print(path.name, action["protocol"])

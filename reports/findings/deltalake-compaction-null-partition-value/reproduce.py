"""Compact a log with a null partition value: the compaction leaves the value out.

python reproduce.py        # needs deltalake and pyarrow
"""

import json
import tempfile
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

with tempfile.TemporaryDirectory() as table:
    for number in (1, 2):
        rows = pa.table({"id": [number], "part": pa.array([None], pa.string())})
        write_deltalake(table, rows, mode="append", partition_by=["part"])
    DeltaTable(table).compact_logs(0, 1)
    for path in sorted(Path(table, "_delta_log").iterdir()):
        for line in path.read_text("utf-8").splitlines():
            if "add" in (action := json.loads(line)):
                print(path.name, action["add"]["partitionValues"])

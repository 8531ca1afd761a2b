"""The table that `deltaspec smoke` reads: three rows that need no table feature."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TABLE_ID = "0f0a3c1e-5a7e-4a52-9d2c-3f1d5e0b7a11"
ROWS = {"id": [1, 2, 3], "name": ["a", None, "c"]}
TYPES = {"id": pa.int64(), "name": pa.string()}


def write_tiny_table(directory: Path) -> None:
    """Write a table of three rows that needs no table feature."""
    (directory / "_delta_log").mkdir(parents=True)
    file = directory / "part-00000.parquet"
    pq.write_table(pa.table(ROWS, pa.schema(list(TYPES.items()))), file)
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("id", "long"), ("name", "string"))
    ]
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": TABLE_ID,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 1_700_000_000_000,
            }
        },
        {
            "add": {
                "path": file.name,
                "partitionValues": {},
                "size": file.stat().st_size,
                "modificationTime": 1_700_000_000_000,
                "dataChange": True,
                "stats": json.dumps({"numRecords": 3}),
            }
        },
    ]
    log = "".join(json.dumps(action) + "\n" for action in actions)
    (directory / "_delta_log" / f"{0:020}.json").write_text(log, "utf-8")

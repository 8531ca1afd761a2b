"""Write a table of many small Parquet files with pyarrow."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_FIRST_MS = 1_700_000_000_000
_DISTINCT_FILES = 200
"""Distinct files; the others are copies under other names."""
_FIELDS = {
    "id": (pa.int64(), "long"),
    "count": (pa.int32(), "integer"),
    "price": (pa.float64(), "double"),
    "ratio": (pa.float32(), "float"),
    "name": (pa.string(), "string"),
    "flag": (pa.bool_(), "boolean"),
    "day": (pa.date32(), "date"),
    "at": (pa.timestamp("us", "UTC"), "timestamp"),
    "amount": (pa.decimal128(12, 2), "decimal(12,2)"),
    "payload": (pa.binary(), "binary"),
}


def _build_rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    columns: dict[str, Any] = {
        "id": ids,
        "count": [each % 1000 for each in ids],
        "price": [each / 4 for each in ids],
        "ratio": [each / 8 for each in ids],
        "name": [f"name {each}" for each in ids],
        "flag": [each % 2 == 0 for each in ids],
        "day": [each % 20_000 for each in ids],
        "at": [_FIRST_MS * 1000 + each for each in ids],
        "amount": [None] * count,
        "payload": [b"%d" % each for each in ids],
    }
    return pa.table({name: pa.array(columns[name], kind) for name, (kind, _) in _FIELDS.items()})


def write_small_files(log: Path) -> None:
    """Write (d): 20 commits of 1,000 Parquet files of 10 columns and a few rows."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, (_, kind) in _FIELDS.items()]
    metadata = {
        "id": "00000000-0000-4000-8000-000000000007",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": _FIRST_MS,
    }
    contents = []
    for number in range(_DISTINCT_FILES):
        sink = io.BytesIO()
        pq.write_table(_build_rows(number * 100, number % 50 + 1), sink, compression="snappy", store_schema=False)
        contents.append((sink.getvalue(), number % 50 + 1))
    for version in range(20):
        lines: list[dict[str, Any]] = [{"commitInfo": {"timestamp": _FIRST_MS + version, "operation": "WRITE"}}]
        if version == 0:
            lines += [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
        for each in range(1000):
            data, rows = contents[(version * 1000 + each) % _DISTINCT_FILES]
            path = f"part-{version:02}-{each:03}.snappy.parquet"
            (log.parent / path).write_bytes(data)
            add = {
                "path": path,
                "partitionValues": {},
                "size": len(data),
                "modificationTime": _FIRST_MS + version,
                "dataChange": True,
                "stats": json.dumps({"numRecords": rows}),
            }
            lines.append({"add": add})
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        (log / f"{version:020d}.json").write_text(text, encoding="utf-8")

"""Write a table of many rows and mixed columns with pyarrow, with true statistics."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FILES = 200
ROWS = 100_000
_DISTINCT_FILES = 8
"""Distinct files; the others are copies under other names."""
FIRST_MS = 1_700_000_000_000
WORDS = ("amber", "basalt", "cobalt", "damask", "ecru", "fawn", "garnet", "henna")
FIELDS = {
    "id": (pa.int64(), "long"),
    "count": (pa.int32(), "integer"),
    "price": (pa.float64(), "double"),
    "ratio": (pa.float32(), "float"),
    "name": (pa.string(), "string"),
    "color": (pa.string(), "string"),
    "flag": (pa.bool_(), "boolean"),
    "day": (pa.date32(), "date"),
    "at": (pa.timestamp("us", "UTC"), "timestamp"),
    "amount": (pa.decimal128(12, 2), "decimal(12,2)"),
}


def _build_rows(number: int) -> pa.Table:
    """Build unordered rows; a tenth of the names and prices is null, colors have few distinct values."""
    random = Random(number)
    picks = [random.randrange(1 << 30) for _ in range(ROWS)]
    columns: dict[str, Sequence[Any]] = {
        "id": [number * ROWS + pick for pick in picks],
        "count": [pick % 1000 for pick in picks],
        "price": [None if pick % 10 == 0 else pick / 64 for pick in picks],
        "ratio": [pick % 4096 / 8 for pick in picks],
        "name": [None if pick % 10 == 1 else f"customer {pick:010}" for pick in picks],
        "color": [WORDS[pick % len(WORDS)] for pick in picks],
        "flag": [pick % 3 == 0 for pick in picks],
        "day": [pick % 20_000 for pick in picks],
        "at": [(FIRST_MS + pick) * 1000 for pick in picks],
    }
    columns["amount"] = [Decimal(pick % 1000).scaleb(-2) for pick in picks]
    return pa.table({name: pa.array(columns[name], kind) for name, (kind, _) in FIELDS.items()})


def build_statistics(table: pa.Table) -> str:
    """Build statistics in Delta Spark's format."""
    bounds = {name: pc.min_max(column).as_py() for name, column in zip(table.column_names, table.columns, strict=True)}
    nulls = {name: column.null_count for name, column in zip(table.column_names, table.columns, strict=True)}
    low = {name: _encode_bound(each["min"]) for name, each in bounds.items() if name != "flag"}
    high = {name: _encode_bound(each["max"]) for name, each in bounds.items() if name != "flag"}
    return json.dumps({"numRecords": table.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls})


def _encode_bound(value: Any) -> Any:
    if hasattr(value, "hour"):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03}Z"
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return float(value) if hasattr(value, "adjusted") else value


def write_many_rows(log: Path) -> None:
    """Write (e): one commit of 200 Parquet files of 10 columns and 100,000 rows."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, (_, kind) in FIELDS.items()]
    metadata = {
        "id": "00000000-0000-4000-8000-000000000008",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": FIRST_MS,
    }
    lines: list[dict[str, Any]] = [{"commitInfo": {"timestamp": FIRST_MS, "operation": "WRITE"}}]
    lines += [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    for number in range(_DISTINCT_FILES):
        table = _build_rows(number)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="snappy", store_schema=False)
        data, stats = sink.getvalue(), build_statistics(table)
        for copy in range(number, FILES, _DISTINCT_FILES):
            path = f"part-{copy:05}.snappy.parquet"
            (log.parent / path).write_bytes(data)
            add = {"path": path, "partitionValues": {}, "size": data.size, "modificationTime": FIRST_MS}
            lines.append({"add": {**add, "dataChange": True, "stats": stats}})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (log / f"{0:020d}.json").write_text(text, encoding="utf-8")

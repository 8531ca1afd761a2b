"""Sound tables to mutate: all types in the main Parquet encodings, deletion vectors, change data, checkpoints."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from fuzz.mutate import TableBytes
from helpers.raw_logs import RICH_CHECKPOINT_TABLE_ROWS, RawLog, write_sidecar_checkpoint

from deltaspec_generators.small_tables import (
    build_table_with_change_data,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import encode_table, protocol_action
from planted_tables.bases.column_features import build_identity_table

_STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "b", "type": "string", "nullable": True, "metadata": {}},
    ],
}
_FIELDS: tuple[tuple[str, Any, pa.DataType], ...] = (
    ("boolean", "boolean", pa.bool_()),
    ("byte", "byte", pa.int8()),
    ("short", "short", pa.int16()),
    ("integer", "integer", pa.int32()),
    ("long", "long", pa.int64()),
    ("float", "float", pa.float32()),
    ("double", "double", pa.float64()),
    ("small_decimal", "decimal(9,2)", pa.decimal128(9, 2)),
    ("decimal", "decimal(38,10)", pa.decimal128(38, 10)),
    ("string", "string", pa.string()),
    ("binary", "binary", pa.binary()),
    ("date", "date", pa.date32()),
    ("timestamp", "timestamp", pa.timestamp("us", tz="UTC")),
    ("struct", _STRUCT, pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ("array", {"type": "array", "elementType": "integer", "containsNull": True}, pa.list_(pa.int32())),
    (
        "map",
        {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
        pa.map_(pa.string(), pa.int64()),
    ),
)
_ENCODINGS: dict[str, dict[str, Any]] = {
    "plain": {"compression": "none", "use_dictionary": False},
    "dictionaries": {"compression": "snappy", "data_page_size": 256, "row_group_size": 60},
    "pages of version 2": {
        "compression": "zstd",
        "data_page_version": "2.0",
        "data_page_size": 128,
        "write_page_index": True,
    },
    "delta encodings": {
        "compression": "gzip",
        "use_dictionary": False,
        "column_encoding": {
            "integer": "DELTA_BINARY_PACKED",
            "long": "DELTA_BINARY_PACKED",
            "string": "DELTA_BYTE_ARRAY",
            "binary": "DELTA_LENGTH_BYTE_ARRAY",
            "double": "BYTE_STREAM_SPLIT",
        },
    },
    "checksums": {"compression": "brotli", "write_page_checksum": True},
    "int96": {"compression": "lz4", "use_deprecated_int96_timestamps": True},
}


def _values(row: int) -> dict[str, Any]:
    text = f"text {row % 17}"
    return {
        "boolean": row % 3 == 0,
        "byte": row % 100,
        "short": row * 7,
        "integer": row * 1001,
        "long": row << 33,
        "float": row / 4,
        "double": row / 8,
        "small_decimal": Decimal(row) / 100,
        "decimal": Decimal(row) * 10**15,
        "string": text,
        "binary": text.encode() * 2,
        "date": date(2026, 1, 1) + timedelta(days=row),
        "timestamp": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=row),
        "struct": None if row % 5 == 0 else {"a": row, "b": text},
        "array": list(range(row % 4)),
        "map": {text: row},
    }


def _rows(first: int, count: int) -> pa.Table:
    rows = [_values(each) for each in range(first, first + count)]
    columns = {name: [row[name] if index % 11 else None for index, row in enumerate(rows)] for name, _, _ in _FIELDS}
    return pa.table({name: pa.array(columns[name], kind) for name, _, kind in _FIELDS})


_CONSTRAINTS = (
    "integer IS NULL OR integer * 2 >= 0 AND integer % 1001 = 0",
    "string IS NULL OR string <> '' AND string LIKE 'text %'",
    "date IS NULL OR date > '2020-01-01' AND year(date) < 2100",
    "struct.a IS NULL OR struct.a <> -1",
    "small_decimal IS NULL OR small_decimal < 100 AND decimal >= small_decimal - 1000",
    "double IS NULL OR double IS NOT NULL AND float IS NOT NULL OR long >= 0",
    "array IS NULL OR map IS NOT NULL OR map IS NULL OR binary IS NOT NULL",
    "timestamp IS NULL OR boolean OR byte BETWEEN 0 AND 99",
)


def _build_constrained_table() -> TableBytes:
    properties = {f"delta.constraints.c{number}": text for number, text in enumerate(_CONSTRAINTS)}
    return _build_table_of_all_types({"compression": "none"}, protocol=protocol_action(1, 3), configuration=properties)


def _build_table_of_all_types(options: dict[str, Any], **described: Any) -> TableBytes:
    fields = [(name, kind) for name, kind, _ in _FIELDS]
    tables = [_rows(first, 150) for first in (0, 150, 300)]
    files = build_table_with_data(fields=fields, tables=tables, parquet_options=options, **described)
    for line in (line for lines in files.commits.values() for line in lines):
        if isinstance(line, dict) and "add" in line:
            stats = json.loads(line["add"]["stats"])
            del stats["nullCount"]["struct"]  # the protocol counts nulls by member of a struct
            line["add"]["stats"] = json.dumps(stats)
    return encode_table(files)


def _build_table_with_large_vectors() -> TableBytes:
    deleted = (sorted({*range(0, 8, 2), *range(500, 6000, 3), *range(66_000, 69_000)}), [1, 7])
    return encode_table(
        build_table_with_stored_vectors(deleted, [_build_rows(10), _build_rows(70_000), _build_rows(10)])
    )


def _build_rows(count: int) -> pa.Table:
    text = pa.array(["x"] * count, pa.string())
    return pa.table({"id": pa.array(range(count), pa.int64()), "name": text, "price": pa.nulls(count, pa.float64())})


def _build_log() -> TableBytes:
    log = RawLog("rich")
    write_sidecar_checkpoint(log, lambda checkpoint: setattr(checkpoint, "naming", "uuid-parquet"))
    log.checkpoint(0, log.rows(*RICH_CHECKPOINT_TABLE_ROWS[:2]))
    return {f"_delta_log/{name}": data for name, data in log.files.items()}


@dataclass(frozen=True)
class Subject:
    """A sound table, and the level that reads its mutated files."""

    build: Callable[[], TableBytes]
    level: str = "rows"


SUBJECTS: dict[str, Subject] = {
    **{
        name: Subject(lambda options=options: _build_table_of_all_types(options))
        for name, options in _ENCODINGS.items()
    },
    "constraints": Subject(_build_constrained_table),
    "many vectors": Subject(_build_table_with_large_vectors),
    "vectors": Subject(lambda: encode_table(build_table_with_stored_vectors())),
    "change data": Subject(lambda: encode_table(build_table_with_change_data())),
    "identities": Subject(
        lambda: encode_table(build_identity_table((298, [*range(100, 300, 2)]), (320, [300, None, 320])))
    ),
    "log": Subject(_build_log, level="log"),  # it has no data files
}


def choose_subject(number: int) -> str:
    """Return the name of the table for a mutation; mutations cycle through the tables."""
    return list(SUBJECTS)[number % len(SUBJECTS)]

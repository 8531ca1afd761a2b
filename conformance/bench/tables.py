"""Log-only tables of a known size, the same bytes every time, written once into a cache outside the repository."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

GENERATION = 1
"""Part of the cache's name: raise it when the bytes change."""

_FIRST_MS = 1_700_000_000_000
_COLUMNS = ("id", "price", "name", "day", "at")
_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (*zip(_COLUMNS, ("long", "double", "string", "date", "timestamp"), strict=True), ("p", "integer"))
        ],
    }
)
_METADATA = {
    "id": str(UUID(int=7)),
    "format": {"provider": "parquet", "options": {}},
    "schemaString": _SCHEMA,
    "partitionColumns": ["p"],
    "configuration": {},
    "createdTime": _FIRST_MS,
}
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


def _stats(number: int) -> str:
    return (
        f'{{"numRecords":{1000 + number % 100},"minValues":{{"id":{number},"price":{number / 8},"name":"n{number:08d}",'
        f'"day":"2024-01-01","at":"2024-01-01T00:00:00.000Z"}},"maxValues":{{"id":{number + 999},"price":{number / 4},'
        f'"name":"z{number:08d}","day":"2024-12-31","at":"2024-12-31T23:59:59.999Z"}},'
        f'"nullCount":{{"id":0,"price":1,"name":2,"day":0,"at":3}}}}'
    )


def _path(number: int, partitions: int) -> str:
    return f"p={number % partitions}/part-{number:05d}-{UUID(int=number)}.c000.snappy.parquet"


def _add(number: int, partitions: int) -> str:
    return json.dumps(
        {
            "add": {
                "path": _path(number, partitions),
                "partitionValues": {"p": str(number % partitions)},
                "size": 100_000 + number,
                "modificationTime": _FIRST_MS + number,
                "dataChange": True,
                "stats": _stats(number),
            }
        },
        separators=(",", ":"),
    )


def _commit(log: Path, version: int, lines: list[str]) -> None:
    info = {"commitInfo": {"timestamp": _FIRST_MS + version, "operation": "WRITE", "engineInfo": "bench"}}
    text = "\n".join([json.dumps(info), *lines]) + "\n"
    (log / f"{version:020d}.json").write_text(text)


def _head() -> list[str]:
    return [json.dumps({"protocol": _PROTOCOL}), json.dumps({"metaData": _METADATA})]


def commits_of_100(log: Path) -> None:
    """(a) 1,000 commits of 100 adds, 10 partitions."""
    for version in range(1000):
        adds = [_add(version * 100 + each, 10) for each in range(100)]
        _commit(log, version, (_head() if version == 0 else []) + adds)


def commits_of_1(log: Path) -> None:
    """(c) 10,000 commits of one add, 10 partitions."""
    for version in range(10_000):
        _commit(log, version, (_head() if version == 0 else []) + [_add(version, 10)])


def checkpoint_of_a_million(log: Path) -> None:
    """(b) A V1 checkpoint with 1,000,000 adds in 100 partitions at version 10, and the commit after it."""
    strings = pa.map_(pa.string(), pa.string())
    add = pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", strings),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("tags", strings),
            ("stats", pa.string()),
        ]
    )
    schema = pa.schema(
        [
            ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])),
            ("add", add),
            ("remove", pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())])),
            (
                "metaData",
                pa.struct(
                    [
                        ("id", pa.string()),
                        ("name", pa.string()),
                        ("description", pa.string()),
                        ("format", pa.struct([("provider", pa.string()), ("options", strings)])),
                        ("schemaString", pa.string()),
                        ("partitionColumns", pa.list_(pa.string())),
                        ("configuration", strings),
                        ("createdTime", pa.int64()),
                    ]
                ),
            ),
            (
                "protocol",
                pa.struct(
                    [
                        ("minReaderVersion", pa.int32()),
                        ("minWriterVersion", pa.int32()),
                        ("readerFeatures", pa.list_(pa.string())),
                        ("writerFeatures", pa.list_(pa.string())),
                    ]
                ),
            ),
        ]
    )
    target = log / f"{10:020d}.checkpoint.parquet"
    with pq.ParquetWriter(target, schema, compression="snappy") as writer:
        metadata = {**_METADATA, "configuration": [], "format": {"provider": "parquet", "options": []}}
        writer.write_table(pa.Table.from_pylist([{"protocol": _PROTOCOL}, {"metaData": metadata}], schema=schema))
        for start in range(0, 1_000_000, 250_000):
            writer.write_table(pa.Table.from_pylist([{"add": _row(n)} for n in range(start, start + 250_000)], schema=schema))
    hint = {"version": 10, "size": 1_000_002, "sizeInBytes": target.stat().st_size, "numOfAddFiles": 1_000_000}
    (log / "_last_checkpoint").write_text(json.dumps(hint))
    _commit(log, 10, [])
    _commit(log, 11, [_add(1_000_000, 100)])


def _row(number: int) -> dict[str, object]:
    return {
        "path": _path(number, 100),
        "partitionValues": [("p", str(number % 100))],
        "size": 100_000 + number,
        "modificationTime": _FIRST_MS + number,
        "dataChange": False,
        "stats": _stats(number),
    }


CASES: dict[str, tuple[Callable[[Path], None], int]] = {
    "a": (commits_of_100, 100_000),
    "b": (checkpoint_of_a_million, 1_000_001),
    "c": (commits_of_1, 10_000),
}
"""Writer of each case, and the number of files that its table has."""


def table(case: str) -> Path:
    """The table of a case, written if it is not in the cache."""
    cache = Path(os.environ.get("DELTASPEC_BENCH", Path(tempfile.gettempdir()) / "deltaspec-bench"))
    target = cache / f"{case}-{GENERATION}"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as draft:
            log = Path(draft) / "table" / "_delta_log"
            log.mkdir(parents=True)
            CASES[case][0](log)
            log.parent.rename(target)
    return target

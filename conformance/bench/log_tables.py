"""Write logs of a known size: many commits, or a checkpoint of many adds. The bytes are deterministic.

pyarrow is imported in the writing functions, so that `run.py` stays small.
"""

import json
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

_FIRST_MS = 1_700_000_000_000
_TYPES = {"id": "long", "price": "double", "name": "string", "day": "date", "at": "timestamp", "region": "string"}
_METADATA: dict[str, Any] = {
    "id": str(UUID(int=7, version=4)),
    "format": {"provider": "parquet", "options": {}},
    "schemaString": json.dumps(
        {
            "type": "struct",
            "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _TYPES.items()],
        },
        separators=(",", ":"),
    ),
    "partitionColumns": ["region"],
    "configuration": {},
    "createdTime": _FIRST_MS,
}
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


class File:
    """Fields of the `add` of one data file, with statistics of five columns and an encoded partition path."""

    def __init__(self, number: int, partitions: int) -> None:
        random = Random(number)
        region = number % partitions
        # one region of ten has a space, because some paths of real tables need escapes
        self.region = f"region {region}" if region % 10 == 3 else f"region-{region}"
        folder = quote(f"region={self.region}", safe="=")
        name = UUID(int=random.getrandbits(128), version=4)
        self.path = f"{folder}/part-{number % 200:05d}-{name}.c000.snappy.parquet"
        self.size = random.randrange(1 << 20, 1 << 27)
        self.modification_time = _FIRST_MS - 20_000_000 + number * 10
        records = random.randrange(10, 100) * 1000
        first = number * 100_000
        low, high = random.randrange(100), random.randrange(100, 1000)
        day, hour = random.randrange(1, 29), random.randrange(10, 24)
        self.stats = (
            f'{{"numRecords":{records},"minValues":{{"id":{first},"price":{low / 4},"name":"a{low:02x}",'
            f'"day":"2024-01-{day:02d}","at":"2024-01-{day:02d}T{hour}:00:00.000Z"}},"maxValues":{{'
            f'"id":{first + records - 1},"price":{high / 4},"name":"w{high:03x}","day":"2024-02-{day:02d}",'
            f'"at":"2024-02-{day:02d}T{hour}:59:59.999Z"}},'
            f'"nullCount":{{"id":0,"price":{records // 10},"name":0,"day":0,"at":0}}}}'
        )

    def line(self) -> str:
        """Return the action as a line of a commit."""
        add = {
            "path": self.path,
            "partitionValues": {"region": self.region},
            "size": self.size,
            "modificationTime": self.modification_time,
            "dataChange": True,
            "stats": self.stats,
        }
        return json.dumps({"add": add}, separators=(",", ":"))


def write_commit(log: Path, version: int, files: list[File]) -> None:
    """Write a commit that adds files; version 0 also has the metadata."""
    info = {
        "timestamp": _FIRST_MS + version * 1000,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append", "partitionBy": '["region"]'},
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {"numFiles": str(len(files)), "numOutputBytes": str(sum(file.size for file in files))},
        "engineInfo": "deltaspec-bench",
        "txnId": str(UUID(int=Random(-version).getrandbits(128), version=4)),
    }
    head = [{"commitInfo": info}, *([{"metaData": _METADATA}, {"protocol": _PROTOCOL}] if version == 0 else [])]
    lines = [*(json.dumps(each, separators=(",", ":")) for each in head), *(file.line() for file in files)]
    (log / f"{version:020d}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_commits_of_100(log: Path) -> None:
    """Write (a): 1,000 commits of 100 adds, 10 partitions."""
    for version in range(1000):
        write_commit(log, version, [File(version * 100 + each, 10) for each in range(100)])


def write_spaced_commits(log: Path) -> None:
    """Write the actions of (a) with a space after each colon and comma, as many writers in Python do."""
    write_commits_of_100(log)
    for path in log.iterdir():
        actions = [json.dumps(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
        path.write_text("\n".join(actions) + "\n", encoding="utf-8")


def write_commits_of_1(log: Path, count: int = 10_000) -> None:
    """Write (c): commits of one add, 10 partitions."""
    for version in range(count):
        write_commit(log, version, [File(version, 10)])


def write_checkpoint_of_adds(log: Path, count: int = 1_000_000) -> None:
    """Write (b): a V1 checkpoint of adds in 100 partitions at version 10, and the commit after it."""
    from bench.checkpoint import write_checkpoint

    target = log / f"{10:020d}.checkpoint.parquet"
    write_checkpoint(target, _PROTOCOL, _METADATA, (File(number, 100) for number in range(count)))
    hint = {"version": 10, "size": count + 2, "sizeInBytes": target.stat().st_size, "numOfAddFiles": count}
    (log / "_last_checkpoint").write_text(json.dumps(hint, separators=(",", ":")))
    write_commit(log, 10, [File(count - 1, 100)])
    write_commit(log, 11, [File(count, 100)])

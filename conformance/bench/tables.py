"""Write tables of a known size once into a cache outside the repository; pure logs are deterministic.

`python conformance/bench/tables.py CASE` prints the path of a table. pyarrow is imported in the writing functions, so
that `run.py` stays small.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

GENERATION = 2
"""Generation of the cached bytes; increase it when they change."""

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


def _write_commit(log: Path, version: int, files: list[File]) -> None:
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
        _write_commit(log, version, [File(version * 100 + each, 10) for each in range(100)])


def write_commits_of_1(log: Path) -> None:
    """Write (c): 10,000 commits of one add, 10 partitions."""
    for version in range(10_000):
        _write_commit(log, version, [File(version, 10)])


def write_checkpoint_of_a_million(log: Path) -> None:
    """Write (b): a V1 checkpoint of 1,000,000 adds in 100 partitions at version 10, and the commit after it."""
    from checkpoint import write_checkpoint

    target = log / f"{10:020d}.checkpoint.parquet"
    write_checkpoint(target, _PROTOCOL, _METADATA, (File(number, 100) for number in range(1_000_000)))
    hint = {"version": 10, "size": 1_000_002, "sizeInBytes": target.stat().st_size, "numOfAddFiles": 1_000_000}
    (log / "_last_checkpoint").write_text(json.dumps(hint, separators=(",", ":")))
    _write_commit(log, 10, [File(999_999, 100)])
    _write_commit(log, 11, [File(1_000_000, 100)])


def write_small_files_table(log: Path) -> None:
    """Write (d): 20,000 small Parquet files."""
    from small_file_tables import write_small_files

    write_small_files(log)


def write_many_rows_table(log: Path) -> None:
    """Write (e): 200 Parquet files of many rows."""
    from many_row_tables import write_many_rows

    write_many_rows(log)


@dataclass(frozen=True)
class Case:
    """A table to measure engines on."""

    title: str
    write: Callable[[Path], None]
    """Write the table into this log directory."""
    files: int
    """Number of files in the table."""
    level: str = "log"
    """Level of deltaspec."""
    baselines: tuple[str, ...] = ("delta-rs", "floor")


CASES: dict[str, Case] = {
    "a": Case("1,000 commits x 100 adds", write_commits_of_100, 100_000),
    "b": Case("V1 checkpoint of 1,000,000 adds + 1 commit", write_checkpoint_of_a_million, 1_000_001),
    "c": Case("10,000 commits x 1 add", write_commits_of_1, 10_000),
    "d": Case(
        "20,000 Parquet files of 10 columns and 1 to 50 rows",
        write_small_files_table,
        20_000,
        "footers",
        ("pyarrow-footers",),
    ),
    "e": Case(
        "200 Parquet files of 10 columns and 100,000 rows", write_many_rows_table, 200, "rows", ("pyarrow-bounds",)
    ),
}


def get_table(case: str) -> Path:
    """Return the table of a case; write it if it is not cached (`$DELTASPEC_BENCH`, or the temporary directory)."""
    cache = Path(os.environ.get("DELTASPEC_BENCH", Path(tempfile.gettempdir()) / "deltaspec-bench"))
    target = cache / f"{case}-{GENERATION}"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            log = Path(temporary) / "table" / "_delta_log"
            log.mkdir(parents=True)
            CASES[case].write(log)
            log.parent.rename(target)
    return target


if __name__ == "__main__":
    print(get_table(sys.argv[1]))

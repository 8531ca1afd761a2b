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
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

import growth_tables as growth

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


def write_commits_of_1(log: Path, count: int = 10_000) -> None:
    """Write (c): commits of one add, 10 partitions."""
    for version in range(count):
        _write_commit(log, version, [File(version, 10)])


def write_checkpoint_of_adds(log: Path, count: int = 1_000_000) -> None:
    """Write (b): a V1 checkpoint of adds in 100 partitions at version 10, and the commit after it."""
    from checkpoint import write_checkpoint

    target = log / f"{10:020d}.checkpoint.parquet"
    write_checkpoint(target, _PROTOCOL, _METADATA, (File(number, 100) for number in range(count)))
    hint = {"version": 10, "size": count + 2, "sizeInBytes": target.stat().st_size, "numOfAddFiles": count}
    (log / "_last_checkpoint").write_text(json.dumps(hint, separators=(",", ":")))
    _write_commit(log, 10, [File(count - 1, 100)])
    _write_commit(log, 11, [File(count, 100)])


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
    verdict: str = "conforms"


CASES: dict[str, Case] = {
    "a": Case("1,000 commits x 100 adds", write_commits_of_100, 100_000),
    "b": Case("V1 checkpoint of 1,000,000 adds + 1 commit", write_checkpoint_of_adds, 1_000_001),
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
    "tiny": Case("1 commit x 1 add", partial(write_commits_of_1, count=1), 1, baselines=("imports",)),
}
"""Tables of the size for which there is a target."""

for _count in (1_000, 10_000, 100_000):
    CASES[f"commits-{_count}"] = Case(f"{_count:,} commits x 1 add", partial(write_commits_of_1, count=_count), _count)
for _count in (100_000, 1_000_000, 5_000_000):
    CASES[f"adds-{_count}"] = Case(
        f"V1 checkpoint of {_count:,} adds + 1 commit", partial(write_checkpoint_of_adds, count=_count), _count + 1
    )
for _count in (10, 100, 1_000):
    CASES[f"columns-{_count}"] = Case(
        f"10 commits x 100 adds with statistics of {_count:,} columns", growth.write_columns(_count), 1_000
    )
for _count in (100, 1_000):
    title = f"{_count:,} metaData actions with the same schema of 100 columns"
    CASES[f"metadata-{_count}"] = Case(title, growth.write_metadata_actions(_count, 100), 0)
    title = f"{_count:,} commits that each add a column"
    CASES[f"added-columns-{_count}"] = Case(title, growth.write_added_columns(_count), 0)
    title = f"{_count:,} CHECK constraints over 1,000 columns"
    CASES[f"expressions-{_count}"] = Case(title, growth.write_expressions(_count, 1_000), 0, baselines=())
for _count in (20_000, 200_000):
    title = f"{_count:,} clustering columns"
    CASES[f"clustering-{_count}"] = Case(title, growth.write_clustering_columns(_count), 0, baselines=())
for _count in (100_000, 1_000_000):
    title = f"{_count:,} inline deletion vectors"
    CASES[f"vectors-{_count}"] = Case(title, growth.write_deletion_vectors(_count), _count, "files", ())
for _level in ("files", "rows"):
    for _count in (30_000, 300_000):
        title = f"{_count:,} missing files, level {_level}"
        write = growth.write_missing_files(_count)
        CASES[f"missing-{_level}-{_count}"] = Case(title, write, _count, _level, (), "violations")


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

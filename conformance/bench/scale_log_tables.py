"""Write logs of millions of files: a V2 checkpoint with sidecars, a few later commits, checksums and the hint.

Every action is a pure function of the file number, computed column by column. The bytes therefore do not depend on a
random generator, and memory is bounded by one sidecar.

`python -m bench.scale_log_tables MILLIONS` prints the path of the table.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.scale_cache import check_free_disk, get_or_write
from deltaspec_generators.checkpoint_writer import CLASSIC_COLUMNS

GENERATION = 1
"""Generation of the cached bytes; increase it when they change."""

SIDECAR_FILES = 250_000
"""Adds per sidecar, in one row group; about as many as fit into Parquet's default of 128 MiB uncompressed."""
_TOMBSTONES = SIDECAR_FILES // 100
_BYTES_PER_MILLION = 145_000_000
_BATCH = 50_000
_BASE = 10_000
"""Version of the checkpoint; the log before it is cleaned up."""
_APPENDED, _DELETED = 100, 45
_DAY_MS = 86_400_000
_FIRST_MS = 1_704_067_200_000 - 1000 * _DAY_MS
"""A thousand days before 2024-01-01, the range of the partition dates."""
_LAST_MS = 1_704_067_200_000
_TYPES = {
    "id": "long",
    "price": "double",
    "quantity": "integer",
    "name": "string",
    "at": "timestamp",
    "date": "date",
    "region": "string",
}
_METADATA: dict[str, Any] = {
    "id": "00000000-0000-4000-8000-000000000009",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": json.dumps(
        {
            "type": "struct",
            "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _TYPES.items()],
        },
        separators=(",", ":"),
    ),
    "partitionColumns": ["date", "region"],
    "configuration": {"delta.checkpointPolicy": "v2"},
    "createdTime": _FIRST_MS,
}
_PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["v2Checkpoint"],
    "writerFeatures": ["v2Checkpoint", "appendOnly", "invariants"],
}
_TXN = {"appId": "deltaspec-bench", "version": 41, "lastUpdated": _LAST_MS}
_REGIONS = ["af-south", "ap-east", "ap-south", "eu-central", "eu-west", "sa east", "us-east", "us-west"]
_SCHEMA = pa.schema([("add", CLASSIC_COLUMNS["add"]), ("remove", CLASSIC_COLUMNS["remove"])])

_DATES = pa.array([str(np.datetime64(_FIRST_MS // _DAY_MS + day, "D")) for day in range(1001)])
_PARTS = pa.array([f"{part:05}" for part in range(200)])
_PRICES = pa.array([json.dumps(price / 4) for price in range(4000)])
_NAMES = pa.array([f"{name:03x}" for name in range(4096)])
_SECONDS = pa.array([f"{each // 3600:02}:{each // 60 % 60:02}:{each % 60:02}" for each in range(86_400)])
_THOUSANDTHS = pa.array([f"{each:03}" for each in range(1000)])
_HEXADECIMAL = np.array([list(b"%02x" % byte) for byte in range(256)], np.uint8)


class FileActions:
    """File actions by file number for a table of a given size; tombstones have numbers after all files."""

    def __init__(self, total: int) -> None:
        self.total = total

    def build_adds(self, numbers: np.ndarray) -> pa.StructArray:
        """Build the `add` actions of some files as in a checkpoint."""
        return _build_structs(CLASSIC_COLUMNS["add"], self._build_columns(numbers))

    def build_removes(self, numbers: np.ndarray, deletion_ms: int) -> pa.StructArray:
        """Build the `remove` actions of some files, deleted within the minute before a time."""
        columns = self._build_columns(numbers)
        copied = {name: columns[name] for name in ("path", "partitionValues", "size", "dataChange")}
        times = pa.array(deletion_ms - (hash_numbers(numbers, 8) % 60_000).astype(np.int64))
        extended = pa.repeat(True, len(numbers))
        return _build_structs(
            CLASSIC_COLUMNS["remove"], {**copied, "deletionTimestamp": times, "extendedFileMetadata": extended}
        )

    def _build_columns(self, numbers: np.ndarray) -> dict[str, pa.Array]:
        days = np.minimum(numbers * 1000 // self.total, 1000)
        dates = _DATES.take(pa.array(days))
        random = hash_numbers(numbers, 0)
        regions = pa.array(_REGIONS).take(pa.array(random % len(_REGIONS)))
        modified = _FIRST_MS + days.astype(np.int64) * _DAY_MS + (hash_numbers(numbers, 1) % _DAY_MS).astype(np.int64)
        return {
            "path": _join(
                *("date=", dates, "/region=", pc.replace_substring(regions, " ", "%20")),
                *("/part-", _PARTS.take(pa.array(numbers % 200)), "-", _uuids(numbers), ".c000.snappy.parquet"),
            ),
            "partitionValues": _build_map("date", dates, "region", regions),
            "size": pa.array((hash_numbers(numbers, 2) % (127 << 20)).astype(np.int64) + (1 << 20)),
            "modificationTime": pa.array(np.minimum(modified, _LAST_MS - 1)),
            "dataChange": pa.repeat(False, len(numbers)),
            "stats": _build_statistics(numbers, dates),
        }


def _build_statistics(numbers: np.ndarray, dates: pa.Array) -> pa.Array:
    """Build row count, bounds and null counts of five columns in Delta Spark's format."""
    records = (hash_numbers(numbers, 3) % 90_000).astype(np.int64) + 10_000
    first = numbers.astype(np.int64) * 100_000
    random, more = hash_numbers(numbers, 4), hash_numbers(numbers, 5)

    def build_bounds(high: int) -> tuple[Any, ...]:
        """Build the bounds of the other columns; `high` selects the upper half of each range."""
        seconds = random % 43_200 + 43_200 * high
        return (
            *(',"price":', _PRICES.take(pa.array(more % 2000 + 2000 * high))),
            *(',"quantity":', pc.cast(pa.array(more // 2000 % 500 + 500 * high), pa.string())),
            *(',"name":"customer ', _NAMES.take(pa.array(random // 43_200 % 2048 + 2048 * high))),
            *('","at":"', dates, "T", _SECONDS.take(pa.array(seconds))),
            *(".", _THOUSANDTHS.take(pa.array(more // 1_000_000 % 1000)), 'Z"}'),
        )

    return _join(
        *('{"numRecords":', pc.cast(pa.array(records), pa.string())),
        *(',"minValues":{"id":', pc.cast(pa.array(first), pa.string()), *build_bounds(0)),
        *(',"maxValues":{"id":', pc.cast(pa.array(first + records - 1), pa.string()), *build_bounds(1)),
        *(',"nullCount":{"id":0,"price":', pc.cast(pa.array(records // 10), pa.string())),
        ',"quantity":0,"name":0,"at":0}}',
    )


def hash_numbers(numbers: np.ndarray, salt: int) -> np.ndarray:
    """Hash each number to 64 bits with the finalizer of SplitMix64."""
    bits = numbers.astype(np.uint64) * np.uint64(16) + np.uint64(salt)
    bits = bits * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _uuids(numbers: np.ndarray) -> pa.Array:
    """Build version 4 UUIDs as strings."""
    count = len(numbers)
    octets = np.empty((count, 16), np.uint8)
    for half in range(2):
        octets[:, half * 8 : half * 8 + 8] = (
            hash_numbers(numbers, 6 + half).astype(">u8").view(np.uint8).reshape(count, 8)
        )
    octets[:, 6] = octets[:, 6] & 0x0F | 0x40
    octets[:, 8] = octets[:, 8] & 0x3F | 0x80
    digits = _HEXADECIMAL[octets].reshape(count, 32)
    text = np.full((count, 36), ord("-"), np.uint8)
    for start, end, dashes in ((0, 8, 0), (8, 12, 1), (12, 16, 2), (16, 20, 3), (20, 32, 4)):
        text[:, start + dashes : end + dashes] = digits[:, start:end]
    offsets = np.arange(count + 1, dtype=np.int32) * 36
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))


def _join(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _build_map(first: str, values: pa.Array, second: str, others: pa.Array) -> pa.MapArray:
    """Build maps of two entries."""
    count = len(values)
    keys = pa.DictionaryArray.from_arrays(np.tile(np.array([0, 1], np.int8), count), [first, second])
    order = np.arange(2 * count, dtype=np.int32).reshape(count, 2)
    order = (order // 2 + (order % 2) * count).ravel()
    items = pa.concat_arrays([values, others]).take(pa.array(order))
    return pa.MapArray.from_arrays(
        pa.array(np.arange(count + 1, dtype=np.int32) * 2), keys.dictionary_decode().cast(pa.string()), items
    )


def _build_structs(kind: pa.StructType, values: dict[str, pa.Array]) -> pa.StructArray:
    """Build actions; fields without values are null."""
    count = len(values["path"])
    columns = [values.get(field.name, pa.nulls(count, field.type)) for field in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _build_commit_action(action: dict[str, Any]) -> dict[str, Any]:
    """Convert an action to its form in a commit: no nulls, maps as objects, `dataChange` true."""
    values = {name: value for name, value in action.items() if value is not None}
    return {**values, "partitionValues": dict(values["partitionValues"]), "dataChange": True}


class Table:
    """Writer of one table, with the totals for its version checksums."""

    def __init__(self, log: Path, total: int) -> None:
        self.log = log
        self.total = total
        self.base = self.total - 2 * _APPENDED + _DELETED
        self.files = FileActions(self.total)
        self.live = 0
        self.size = 0

    def write(self) -> None:
        """Write a checkpoint, appends and a delete; the newest version has the requested number of files."""
        self._write_checkpoint()
        last = np.arange(self.base - _APPENDED, self.base)
        self._write_commit(
            0, "WRITE", [{"add": _build_commit_action(each)} for each in self.files.build_adds(last).to_pylist()]
        )
        self._append_files(1, self.base)
        removes = self.files.build_removes(np.arange(_DELETED) * (self.base // _DELETED), _LAST_MS + 2000)
        self.live -= _DELETED
        self.size -= pc.sum(pc.struct_field(removes, "size")).as_py()
        self._write_commit(2, "DELETE", [{"remove": _build_commit_action(each)} for each in removes.to_pylist()])
        self._append_files(3, self.base + _APPENDED)

    def _append_files(self, after: int, first: int) -> None:
        adds = self.files.build_adds(np.arange(first, first + _APPENDED))
        self.live += _APPENDED
        self.size += pc.sum(pc.struct_field(adds, "size")).as_py()
        self._write_commit(after, "WRITE", [{"add": _build_commit_action(each)} for each in adds.to_pylist()])

    def _write_commit(self, after: int, operation: str, actions: list[dict[str, Any]]) -> None:
        version = _BASE + after
        info = {
            "timestamp": _LAST_MS + after * 1000,
            "operation": operation,
            "operationParameters": {"mode": "Append"} if operation == "WRITE" else {"predicate": "[]"},
            "isolationLevel": "Serializable",
            "isBlindAppend": operation == "WRITE",
            "engineInfo": "deltaspec-bench",
        }
        lines = [json.dumps(each, separators=(",", ":")) for each in ({"commitInfo": info}, *actions)]
        (self.log / f"{version:020d}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
        checksum = {
            "tableSizeBytes": self.size,
            "numFiles": self.live,
            "numMetadata": 1,
            "numProtocol": 1,
            "setTransactions": [_TXN],
            "domainMetadata": [],
            "metadata": _METADATA,
            "protocol": _PROTOCOL,
        }
        (self.log / f"{version:020d}.crc").write_text(json.dumps(checksum, separators=(",", ":")), encoding="utf-8")

    def _write_checkpoint(self) -> None:
        (self.log / "_sidecars").mkdir()
        count = -(-self.base // SIDECAR_FILES)
        sidecars = [self._write_sidecar(number, count) for number in range(count)]
        rows: list[dict[str, Any]] = [{"checkpointMetadata": {"version": _BASE}}]
        rows += [{"protocol": _PROTOCOL}, {"metaData": _METADATA}, {"txn": _TXN}]
        rows += [{"sidecar": each} for each in sidecars]
        name = f"{_BASE:020d}.checkpoint.00000000-0000-4000-8000-000000000009.json"
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
        (self.log / name).write_text(text, encoding="utf-8")
        hint = {
            "version": _BASE,
            "size": len(rows) + self.base + count * _TOMBSTONES,
            "sizeInBytes": len(text) + sum(each["sizeInBytes"] for each in sidecars),
            "numOfAddFiles": self.base,
        }
        (self.log / "_last_checkpoint").write_text(json.dumps(hint, separators=(",", ":")), encoding="utf-8")

    def _write_sidecar(self, number: int, count: int) -> dict[str, Any]:
        """Write a sidecar and return its action."""
        first, end = number * SIDECAR_FILES, min((number + 1) * SIDECAR_FILES, self.base)
        unique = str(_uuids(np.array([self.total * 2 + number]))[0])
        name = f"{_BASE:020d}.checkpoint.{number + 1:010}.{count:010}.{unique}.parquet"
        table = pa.Table.from_batches(self._iter_batches(first, end, number), schema=_SCHEMA)
        target = self.log / "_sidecars" / name
        pq.write_table(table, target, row_group_size=len(table), compression="snappy", store_schema=False)
        self.live += end - first
        self.size += pc.sum(pc.struct_field(table["add"], "size")).as_py()
        return {"path": name, "sizeInBytes": target.stat().st_size, "modificationTime": _LAST_MS}

    def _iter_batches(self, first: int, end: int, number: int) -> Iterator[pa.RecordBatch]:
        """Yield adds, then tombstones of removed files."""
        for start in range(first, end, _BATCH):
            adds = self.files.build_adds(np.arange(start, min(start + _BATCH, end)))
            yield pa.record_batch([adds, pa.nulls(len(adds), _SCHEMA.field("remove").type)], schema=_SCHEMA)
        removed = self.total + np.arange(number * _TOMBSTONES, (number + 1) * _TOMBSTONES)
        removes = self.files.build_removes(removed, _LAST_MS)
        yield pa.record_batch([pa.nulls(len(removes), _SCHEMA.field("add").type), removes], schema=_SCHEMA)


def get_log_table(millions: float) -> Path:
    """Return a table of this many million files, at least 1,000 files; write it if it is not cached.

    Raises:
        SystemExit: there is not enough free disk space.
    """

    def write(folder: Path) -> None:
        check_free_disk(folder, round(millions * _BYTES_PER_MILLION))
        (folder / "_delta_log").mkdir()
        Table(folder / "_delta_log", round(millions * 1_000_000)).write()

    return get_or_write(f"{millions:g}", GENERATION, write)


if __name__ == "__main__":
    print(get_log_table(float(sys.argv[1])))

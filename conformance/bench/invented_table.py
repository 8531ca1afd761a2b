"""A table of any size that exists only in the answers of a store: its listing, its log and its data files are invented.

All data files have the same bytes. Live files have row ids and statistics. The table also has files that the log does
not name, below a directory that the log does not name. Nothing is stored, so that a run measures kit and Spark.
Every request is counted in a file that all processes of the run share.
"""

from __future__ import annotations

import io
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, FileGone, StorageError
from deltaspec.wire.storage.listing_parts import Listed, ListingPart, split_by_names
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.table_files import commit_info_action, domain_action, metadata_action, protocol_action

ROWS = 100
"""Rows of a data file."""
ADDS_PER_SIDECAR = 50_000
FILES_PER_PARTITION = 10_000
PAGE = 1_000
"""Names that one response of an object store lists."""
UNKNOWN = 1_000
"""One of so many listed files is not in the log."""
_VERSION = 10
_SIDECARS = f"{LOG_DIRECTORY}/_sidecars/"
_CHECKPOINT = f"{_VERSION:020}.checkpoint.00000000-0000-4000-8000-000000000000.json"
_COMMIT = f"{_VERSION:020}.json"


class InventedStore(msgspec.Struct, frozen=True, dict=True):
    """The store of an invented table with `files` live files. It can be pickled."""

    files: int
    counts: str
    """Directory of the files that count requests."""
    constraint: str | None = None
    """SQL expression of a CHECK constraint."""
    uri: str = "invented"
    is_remote: bool = True
    root: str | None = "/invented"
    settings: StorageSettings = ENVIRONMENT

    @property
    def listed_files(self) -> int:
        """Number of files in the table's directories."""
        return self.files + self.files // UNKNOWN

    def get_name(self, number: int) -> str:
        """Return the name of a file. Names ascend with the number."""
        if number >= self.files:
            return f"unknown/{number:012}.parquet"
        return f"day={number // FILES_PER_PARTITION:06}/part-{number:012}.c000.snappy.parquet"

    def list_log(self) -> list[Entry]:
        files = [(name, len(content)) for name, content in self._log.items()]
        files += [(f"_sidecars/{name}", size) for name, size in self._sidecars.items()]
        return sorted((Entry(name, size, 0) for name, size in files), key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        return self.list_part(ListingPart())

    def split_listing(self, names: Sequence[str], count: int) -> Iterator[Listed]:
        return split_by_names(names, count)

    def list_part(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        first = bisect_right(range(self.listed_files), part.after, key=self.get_name)
        for number in range(first, self.listed_files):
            if (number - first) % PAGE == 0:
                self._count("list")
            name = self.get_name(number)
            if part.until is not None and name > part.until:
                return
            yield Entry(name, len(build_data_file()), 0)

    def read(self, path: str, limit: int) -> bytes:
        del limit
        return self._get_content(path)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        return self._get_content(path)[start : start + length] if length > 0 else b""

    def size(self, path: str) -> int:
        return len(self._get_content(path))

    def chunks(self, path: str) -> Iterator[bytes]:
        yield self._get_content(path)

    def open_seekable(self, path: str) -> Any:
        return io.BytesIO(self._get_content(path))

    def _get_content(self, path: str) -> bytes:
        self._count("log" if path.startswith(LOG_DIRECTORY) else "data")
        if path.startswith(_SIDECARS):
            return self._encode_sidecar(int(path.removeprefix(_SIDECARS).partition(".")[0]))
        if path.startswith(LOG_DIRECTORY):
            name = path.removeprefix(f"{LOG_DIRECTORY}/")
            if name not in self._log:
                raise FileGone(f"{path}: does not exist")
            return self._log[name]
        return build_data_file()

    def _count(self, kind: str) -> None:
        handle = os.open(Path(self.counts) / kind, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, b".")
        os.close(handle)

    def count_requests(self) -> dict[str, int]:
        """Return the number of requests by kind, and begin again."""
        found = {}
        for path in sorted(Path(self.counts).iterdir()):
            found[path.name] = path.stat().st_size
            path.unlink()
        return found

    @cached_property
    def _sidecars(self) -> dict[str, int]:
        """Length of each sidecar by name. Full ones have the same length."""
        full = len(self._encode_sidecar(0))
        count = -(-self.files // ADDS_PER_SIDECAR)
        sizes = {f"{number:08}.parquet": full for number in range(count)}
        sizes[f"{count - 1:08}.parquet"] = len(self._encode_sidecar(count - 1))
        return sizes

    @cached_property
    def _log(self) -> dict[str, bytes]:
        features = ["v2Checkpoint", "rowTracking", "domainMetadata", "checkConstraints", "invariants", "appendOnly"]
        configuration = {"delta.constraints.positive": self.constraint} if self.constraint else {}
        mark = json.dumps({"rowIdHighWaterMark": self.files * ROWS - 1})
        sidecars = [
            {"sidecar": {"path": name, "sizeInBytes": size, "modificationTime": 0}}
            for name, size in self._sidecars.items()
        ]
        table = [
            protocol_action(3, 7, ["v2Checkpoint"], features),
            metadata_action(
                [("id", "long"), ("day", "string")],
                ["day"],
                {"delta.checkpointPolicy": "v2", **configuration},
            ),
            domain_action("delta.rowTracking", mark),
        ]
        return {
            _COMMIT: encode_lines([commit_info_action(_VERSION)]),
            _CHECKPOINT: encode_lines([{"checkpointMetadata": {"version": _VERSION}}, *table, *sidecars]),
        }

    def _encode_sidecar(self, number: int) -> bytes:
        first = number * ADDS_PER_SIDECAR
        numbers = range(first, min(first + ADDS_PER_SIDECAR, self.files))
        names = [self.get_name(each) for each in numbers]
        count = len(names)
        stats = json.dumps(
            {"numRecords": ROWS, "minValues": {"id": 1}, "maxValues": {"id": ROWS}, "nullCount": {"id": 0}}
        )
        values = pa.MapArray.from_arrays(range(count + 1), pa.repeat("day", count), [name[4:10] for name in names])
        fields = {
            "path": pa.array(names),
            "partitionValues": values,
            "size": pa.repeat(len(build_data_file()), count),
            "modificationTime": pa.repeat(0, count),
            "dataChange": pa.repeat(False, count),
            "stats": pa.repeat(stats, count),
            "baseRowId": pa.array([each * ROWS for each in numbers], pa.int64()),
            "defaultRowCommitVersion": pa.repeat(1, count),
        }
        add = pa.StructArray.from_arrays(list(fields.values()), list(fields))
        target = io.BytesIO()
        pq.write_table(pa.table({"add": add}), target, compression="none", use_dictionary=["add.stats"])
        return target.getvalue()


@cache
def build_data_file() -> bytes:
    """Return the content of every data file."""
    target = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array(range(1, ROWS + 1), pa.int64())}), target)
    return target.getvalue()

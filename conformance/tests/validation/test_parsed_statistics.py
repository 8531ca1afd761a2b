"""Statistics that exist only as columns of a checkpoint are compared with the rows."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.recording_run import MemoryStore

import deltaspec
from deltaspec.model.schema.data_types import Field, Primitive, Struct
from deltaspec.validation.data import parsed_statistics as parsed_statistics_module
from deltaspec.validation.data.data_bucket import DataBucket
from deltaspec.validation.data.parsed_statistics import ParsedStatisticsCache
from deltaspec.views.data.data_files import DataFile, DataFiles
from deltaspec.views.files.file_replay import DATA_REPLAY_COLUMNS
from deltaspec.views.table.state import TableSchema
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec_generators.bases.data_files import build_table_with_data
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.checkpoint_writer import CheckpointFiles, SidecarFile
from deltaspec_generators.table_files import TableFiles, write_table

_BOUNDS = pa.struct([("id", pa.int64()), ("name", pa.string()), ("price", pa.float64())])
_COUNTS = pa.struct([("id", pa.int64()), ("name", pa.int64()), ("price", pa.int64())])
_PARSED = pa.struct(
    [("numRecords", pa.int64()), ("minValues", _BOUNDS), ("maxValues", _BOUNDS), ("nullCount", _COUNTS)]
)


def build_cleaned_up_table(*, sidecar: bool = False, statistics: Any = None) -> TableFiles:
    """Build a table whose files b and c appear only in a checkpoint; `statistics` updates those of c."""
    files = build_table_with_data()
    adds = [get_action(files, 1, "add", 1), get_action(files, 2, "add")]
    rows = []
    for body in adds:
        parsed = json.loads(body.pop("stats"))
        if body is adds[1]:
            parsed |= statistics or {}
        rows.append({"add": {**body, "stats_parsed": parsed}})
    table = [{kind: get_action(files, 0, kind)} for kind in ("protocol", "metaData")]
    checkpoint = CheckpointFiles(2, rows=[*table, *([] if sidecar else rows)], parsed={"stats_parsed": _PARSED})
    if sidecar:
        get_action(files, 0, "protocol").update(
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["v2Checkpoint"],
                "writerFeatures": ["v2Checkpoint"],
            }
        )
        checkpoint.naming, checkpoint.v2 = "uuid-parquet", True
        checkpoint.rows.append({"checkpointMetadata": {"version": 2}})
        checkpoint.sidecars = [SidecarFile("side.parquet", list(rows))]
    files.checkpoints = [checkpoint]
    files.commits = {3: [{"commitInfo": {"timestamp": 1_704_164_645_123}}]}
    return files


def count_findings(files: TableFiles, directory: Path) -> dict[str, int]:
    write_table(files, directory / "table")
    report = deltaspec.validate(str(directory / "table"), level="rows", select=["STA"])
    assert report.checked.not_checked == []
    return dict(report.totals)


@pytest.mark.parametrize("sidecar", [False, True])
def test_correct_columns_have_no_finding(tmp_path: Path, sidecar: bool) -> None:
    assert count_findings(build_cleaned_up_table(sidecar=sidecar), tmp_path) == {}


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize(
    ("statistics", "rule"),
    [
        ({"minValues": {"id": 21}}, "STA001"),
        ({"maxValues": {"price": 0.5}}, "STA002"),
        ({"nullCount": {"name": 3}}, "STA005"),
    ],
)
def test_wrong_columns_are_found(tmp_path: Path, sidecar: bool, statistics: Any, rule: str) -> None:
    assert count_findings(build_cleaned_up_table(sidecar=sidecar, statistics=statistics), tmp_path) == {rule: 1}


class RecordingStore(MemoryStore):
    """Log in memory that records opened files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.opened: list[tuple[str, Any]] = []

    def open_seekable(self, path: str) -> Any:
        self.opened.append((path, super().open_seekable(path)))
        return self.opened[-1][1]


class UndecidedFiles:
    """Stand-in for `Findings` that records undecided files."""

    def __init__(self) -> None:
        self.files: list[str | None] = []

    def mark_undecided(self, _views: Any, _reason: str, file: str | None = None) -> None:
        self.files.append(file)


def encode_checkpoint_with_counts(counts: list[int]) -> bytes:
    kind = pa.struct([("path", pa.string()), ("stats_parsed", pa.struct([("numRecords", pa.int64())]))])
    adds = [{"path": "a", "stats_parsed": {"numRecords": count}} for count in counts]
    sink = io.BytesIO()
    pq.write_table(pa.table({"add": pa.array(adds, kind)}), sink)
    return sink.getvalue()


def build_cache(
    store: RecordingStore, locations: dict[str, tuple[str, int]]
) -> tuple[ParsedStatisticsCache, list[DataFile], UndecidedFiles]:
    """Build the cache over live files; `locations` maps each path to its log file and line."""
    rows = [
        {"version": 1, "kind": "add", "path_key": path, "file": file, "line": line, "source": "checkpoint"}
        for path, (file, line) in locations.items()
    ]
    frame = pl.DataFrame(
        [{name: row.get(name) for name in DATA_REPLAY_COLUMNS} for row in rows], schema=DATA_REPLAY_COLUMNS
    )
    undecided, files = UndecidedFiles(), DataFiles(frame)
    run = cast(DataBucket, SimpleNamespace(files=files, access=DataAccess(store), findings=undecided))
    schema = Struct((Field("id", Primitive("long"), True),))
    table = cast(TableSchema, SimpleNamespace(schema=schema, mapping=None, partition_columns=[]))
    return ParsedStatisticsCache(run, table), list(files), undecided


def test_cache_is_bounded_and_each_file_gets_its_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_statistics_module, "FILES_PER_PASS", 4)
    store = RecordingStore(
        {
            "a.parquet": encode_checkpoint_with_counts([10, 11, 12, 13, 14]),
            "b.parquet": encode_checkpoint_with_counts([20, 21, 22, 23, 24]),
        }
    )
    paths = {f"{position}é{name}": (f"{name}.parquet", 5 - position) for position in range(5) for name in "ab"}
    cache, files, undecided = build_cache(store, paths)
    cached_counts = []
    for file in files:
        text = cache.completed(file).stats
        assert text == f'{{"numRecords":{(10 if file.file == "a.parquet" else 20) + file.line - 1}}}'
        cached_counts.append(len(cache._texts))
    assert max(cached_counts) == 4
    assert [name for name, _ in store.opened] == ["a.parquet", "b.parquet"] * 3
    assert all(source.closed for _, source in store.opened)
    assert undecided.files == []


def test_files_in_any_order_get_their_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_statistics_module, "FILES_PER_PASS", 2)
    store = RecordingStore({"a.parquet": encode_checkpoint_with_counts([0, 1, 2, 3, 4, 5])})
    cache, files, _ = build_cache(store, {f"f{number}": ("a.parquet", number + 1) for number in range(6)})
    for number in (0, 3, 5, 1, 4):
        assert cache.completed(files[number]).stats == f'{{"numRecords":{number}}}'


def test_unreadable_checkpoint_is_marked_undecided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_statistics_module, "FILES_PER_PASS", 2)
    store = RecordingStore({"a.parquet": b"PAR1"})
    cache, files, undecided = build_cache(store, {f"f{number}": ("a.parquet", number + 1) for number in range(6)})
    assert [cache.completed(file).stats for file in files] == [None] * 6
    assert (undecided.files, len(store.opened)) == (["a.parquet"], 1)
    assert all(source.closed for _, source in store.opened)

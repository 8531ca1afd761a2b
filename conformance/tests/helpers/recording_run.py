"""A run over a table in memory that records every frame, and a decoder of the same log without `wire`."""

import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.model.log import reconciliation
from deltaspec.protocol.actions import ACTION_TYPES, DomainMetadata, MetaData, Protocol, Txn
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log import file_names, segment
from deltaspec.protocol.revisions import Revision
from deltaspec.scales import Level
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.embedded import EmbeddedLog
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.facts import LogFactsBuilder
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.options import Options
from deltaspec.validation.pipeline import check_table
from deltaspec.validation.plan import build_plan
from deltaspec.views.base import View
from deltaspec.views.files.file_replay import (
    DATA_REPLAY_COLUMNS,
    REPLAY_COLUMNS,
    build_empty_replay_frame,
    build_intervals,
)
from deltaspec.wire.storage.interface import Entry, FileGone, FileTooLarge, StorageError
from deltaspec_generators.table_files import LOG, TableFiles, encode_table


@dataclass
class MemoryStore:
    """Store of a table in memory."""

    files: dict[str, bytes]
    uri: str = "memory"
    root: str | None = None
    is_remote: bool = False
    written_ms: dict[str, int] = field(default_factory=dict)
    """Modification times by path; 0 for others."""

    def list_log(self) -> list[Entry]:
        folders = ("", "_sidecars", "_staged_commits")
        names = [path.removeprefix(LOG) for path in self.files if path.startswith(LOG)]
        recorded = [name for name in names if name.rpartition("/")[0] in folders]
        return [
            Entry(name, len(self.files[LOG + name]), self.written_ms.get(LOG + name, 0)) for name in sorted(recorded)
        ]

    def read(self, path: str, limit: int) -> bytes:
        data = self._bytes(path)
        if len(data) > limit:
            raise FileTooLarge(path)
        return data

    def chunks(self, path: str) -> Iterator[bytes]:
        data = self._bytes(path)
        yield from (data[start : start + 100] for start in range(0, len(data), 100))

    def list_files(self) -> Iterator[Entry | StorageError]:
        yield from (Entry(path, len(data), 0) for path, data in self.files.items() if not path.startswith(LOG))

    def read_range(self, path: str, start: int, length: int) -> bytes:
        return self._bytes(path)[start : start + length]

    def size(self, path: str) -> int:
        return len(self._bytes(path))

    def open_seekable(self, path: str) -> Any:
        return pa.BufferReader(self._bytes(path))

    def _bytes(self, path: str) -> bytes:
        if path not in self.files:
            raise FileGone(path)
        return self.files[path]


class RecordingFindings(Findings):
    """Stand-in for the rules: requests every view and records its frames."""

    def __init__(self) -> None:
        super().__init__([], 0)
        self.frames: dict[str, list[pl.DataFrame]] = defaultdict(list)
        self.undecided: list[tuple[str, str | None]] = []

    def has_rules_for(self, *views: View) -> bool:
        return True

    def evaluate(self, view: View, frame: pl.DataFrame, confirm: object = None) -> None:
        assert frame.schema == pl.Schema(view.schema), view.name
        self.frames[view.name].append(frame)

    def mark_undecided(self, views: Any, reason: str, file: str | None = None, **_: Any) -> None:
        self.undecided.append((reason, file))

    def mark_levels_undecided(self, reason: str, file: str | None = None, **_: Any) -> None:
        self.undecided.append((reason, file))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of all frames of a view."""
        return [row for frame in self.frames[name] for row in frame.to_dicts()]


@dataclass(frozen=True)
class RecordedState:
    """State of a run after a version, without files."""

    protocol: Protocol | None
    metadata: MetaData | None
    transactions: dict[str, Txn]
    domains: dict[str, DomainMetadata]


class _RecordingBuckets(LocalBuckets):
    """Record the adds and removes of the validated history."""

    replay_rows: pl.DataFrame | None = None

    def drop(self, tags: Iterable[str]) -> None:
        if REPLAY_ROWS in tags:
            self.replay_rows = self.rows(REPLAY_ROWS)
        super().drop(tags)


class RecordingRun:
    """A run that records its replay, the state after every version, and every frame."""

    def __init__(
        self,
        files: TableFiles,
        history: str = "all",
        at: int | None = None,
        *,
        level: Level = "log",
        revision: Revision = Revision.CURRENT,
    ) -> None:
        store = MemoryStore(encode_table(files), written_ms=files.written_ms)
        plan = build_plan(store.uri, store.list_log(), at=at, history=history)
        self.recorded, buckets = RecordingFindings(), _RecordingBuckets()
        options = Options.create(level=level, revision=revision, clock=files.clock_ms)
        self.states_by_version: dict[int, RecordedState] = {}
        log = EmbeddedLog(build_read_context(store, plan, options), self.recorded, buckets)
        with patch.object(LogFactsBuilder, "remember_state", self._build_recorder()):
            self.facts = check_table(log).facts
        self.plan = plan
        empty = build_empty_replay_frame(REPLAY_COLUMNS if level == "log" else DATA_REPLAY_COLUMNS)
        self.intervals = build_intervals(empty if buckets.replay_rows is None else buckets.replay_rows, revision)

    def _build_recorder(self) -> Callable[[LogFactsBuilder, int], None]:
        """Return a function that remembers the state of a version, and records it."""
        remember = LogFactsBuilder.remember_state

        def record(history: LogFactsBuilder, version: int) -> None:
            remember(history, version)
            state = history.state
            self.states_by_version[version] = RecordedState(
                state.protocol, state.metadata, dict(state.transactions), dict(state.domains)
            )

        return record


# independent decoder of the log: json, pyarrow and msgspec only


@dataclass
class DecodedLog:
    """Decoded log: one action per line or row, both counted from 1."""

    log: dict[str, bytes]
    commits: dict[int, list[tuple[int, str, Any]]] = field(default_factory=dict)
    """Line, kind and body of every nonempty line, by version."""

    @classmethod
    def decode(cls, files: TableFiles) -> "DecodedLog":
        log = {path.removeprefix(LOG): data for path, data in encode_table(files).items() if path.startswith(LOG)}
        found = cls(log)
        for name in log:
            parsed = file_names.parse_log_file_name(name)
            if isinstance(parsed, file_names.CommitName):
                found.commits[parsed.version] = decode_json_rows(log[name])
        return found

    def checkpoint(self, checkpoint: segment.Checkpoint) -> list[tuple[str, int, str, Any]]:
        """List file, line or row, kind and body of every action of a checkpoint and its sidecars."""
        rows: list[tuple[str, int, str, Any]] = []
        for name in checkpoint.files:
            read = decode_json_rows if name.endswith(".json") else decode_parquet_rows
            rows += [(name, *row) for row in read(self.log[name])]
        for _, _, kind, body in list(rows):
            if kind == "sidecar":
                name = file_names.SIDECARS + body["path"]
                rows += [(name, *row) for row in decode_parquet_rows(self.log[name])]
        return rows

    def snapshots(
        self, base: segment.Checkpoint | None, to: int, revision: Revision = Revision.CURRENT
    ) -> dict[int, reconciliation.Snapshot]:
        """Compute the snapshot of every version from the base on with the model."""
        snapshot, found = reconciliation.EMPTY_SNAPSHOT, {}
        if base is not None:
            rows = [(kind, body) for _, _, kind, body in self.checkpoint(base) if kind in ACTION_TYPES]
            actions = [convert_action(kind, _with_row_count(body)) for kind, body in rows]
            snapshot = found[base.version] = reconciliation.build_checkpoint_snapshot(base.version, actions, revision)
        for version in range(snapshot.version + 1, to + 1):
            actions = [convert_action(kind, body) for _, kind, body in self.commits[version] if kind in ACTION_TYPES]
            snapshot = found[version] = reconciliation.replay_commit(snapshot, version, actions, revision)
        return found


def convert_action(kind: str, body: Any) -> Any:
    """Convert a raw action to a type of the model."""
    return msgspec.convert(body, ACTION_TYPES[kind])


def _with_row_count(body: Any) -> Any:
    """Return the body of an action, with `numRecords` of `stats_parsed` if a checkpoint has that instead of `stats`."""
    count = (body.get("stats_parsed") or {}).get("numRecords")
    return body if count is None or body.get("stats") is not None else {**body, "stats": f'{{"numRecords":{count}}}'}


def decode_json_rows(data: bytes) -> list[tuple[int, str, Any]]:
    """List line, kind and body of the nonempty lines of a JSON log file."""
    rows = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            ((kind, body),) = json.loads(line).items()
            rows.append((number, kind, body))
    return rows


def decode_parquet_rows(data: bytes) -> list[tuple[int, str, Any]]:
    """List row, kind and body of the actions of a Parquet file."""
    table = pq.read_table(io.BytesIO(data))
    rows = []
    for number, row in enumerate(table.to_pylist(), 1):
        for column in table.schema:
            if row[column.name] is not None:
                rows.append((number, column.name, _plain(row[column.name], column.type)))
    return rows


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return dict(value)
    if pa.types.is_struct(kind):
        return {each.name: _plain(value[each.name], each.type) for each in kind}
    return value


def compute_path_key(body: dict[str, Any]) -> str:
    """Compute the path key of a raw file action."""
    return path_key(body["path"])

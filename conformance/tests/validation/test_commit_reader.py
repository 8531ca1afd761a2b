"""Access to single commits of a history: file actions by version, and a bounded cache of commit files."""

import json

import polars as pl
import pytest
from helpers.recording_run import MemoryStore

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.validation.data import commit_reader as commits_module
from deltaspec.validation.data.commit_reader import Commits, RowGroups, split_written_and_ended
from deltaspec.views.files.file_replay import DATA_REPLAY_COLUMNS, build_empty_replay_frame, build_intervals
from deltaspec.wire.storage.interface import LOG_DIRECTORY, FileGone


class RecordingStore(MemoryStore):
    """Records the paths that are read."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.paths_read: list[str] = []

    def read(self, path: str, limit: int) -> bytes:
        self.paths_read.append(path)
        return super().read(path, limit)


def encode_remove(path: str) -> bytes:
    return json.dumps({"remove": {"path": path, "dataChange": False, "deletionTimestamp": 1}}).encode()


def build_store(*bodies: bytes) -> RecordingStore:
    return RecordingStore({f"{LOG_DIRECTORY}/{commit_name(version)}": body for version, body in enumerate(bodies)})


def build_history(*actions: tuple[int, str, str], source: str = "commit") -> pl.DataFrame:
    rows = [
        {"version": version, "kind": kind, "path_key": path, "line": line, "source": source, "stats": "{}"}
        for line, (version, kind, path) in enumerate(actions, 1)
    ]
    return pl.DataFrame(
        [{name: row.get(name) for name in DATA_REPLAY_COLUMNS} for row in rows], schema=DATA_REPLAY_COLUMNS
    )


HISTORY = build_intervals(
    pl.concat(
        [
            build_history((0, "add", "kept"), (0, "remove", "gone"), source="checkpoint"),
            build_history((1, "add", "b"), (1, "add", "a"), (3, "add", "a"), (3, "remove", "b"), (3, "add", "c")),
            build_history((4, "remove", "c"), (4, "add", "c"), (6, "add", "d"), (6, "add", "kept")),
        ]
    )
)


def build_commits(store: MemoryStore, intervals: pl.DataFrame) -> Commits:
    """Return the commits of a short history."""
    return Commits(store, *split_written_and_ended(intervals, range(8)))


def test_groups_keep_the_order_of_rows() -> None:
    rows = pl.DataFrame({"number": [3, 1, None, 3, 1, 2], "name": list("abcdef")})
    grouped = RowGroups(rows, "number", pl.col("name") != "e")
    assert list(grouped) == [1, 2, 3]
    assert {number: grouped.of(number)["name"].to_list() for number in (1, 2, 3, 4)} == {
        1: ["b"],
        2: ["f"],
        3: ["a", "d"],
        4: [],
    }


def test_files_of_a_commit_have_no_statistics() -> None:
    commits = build_commits(build_store(), HISTORY)
    found = {version: [(each.kind, each.path) for each in commits.files(version)] for version in range(8)}
    assert found == {
        0: [],  # files of a checkpoint
        1: [("add", "a"), ("add", "b")],
        2: [],
        3: [("add", "a"), ("remove", "b"), ("add", "c")],
        4: [("remove", "c"), ("add", "c")],
        5: [],
        6: [("add", "d"), ("add", "kept")],
        7: [],
    }
    assert [(version, each) for version in found for each in commits.files(version) if each.stats is not None] == []
    assert commits.rewriting == [3, 4]


def test_readded_files_were_live_and_are_not_removed() -> None:
    commits = build_commits(build_store(), HISTORY)
    readded = {
        version: [(each.version, each.path) for each in commits.find_readded_files(version)] for version in range(8)
    }
    assert {version: files for version, files in readded.items() if files} == {3: [(1, "a")], 6: [(0, "kept")]}


def test_empty_history_has_no_commits() -> None:
    commits = build_commits(build_store(), build_intervals(build_empty_replay_frame(DATA_REPLAY_COLUMNS)))
    assert (commits.rewriting, len(commits.files(1)), len(commits.find_readded_files(1))) == ([], 0, 0)


def test_file_actions_of_a_commit_have_line_kind_and_fields() -> None:
    ((line, kind, action),) = build_commits(build_store(b"\n" + encode_remove("a")), HISTORY).read(0).files
    assert (line, kind, action.path, action.data_change) == (2, "remove", "a", False)


def test_commit_file_is_read_once() -> None:
    store = build_store(encode_remove("a"), encode_remove("b"))
    commits = build_commits(store, HISTORY)
    assert [commits.read(version) is commits.read(version) for version in (0, 1, 0)] == [True, True, True]
    assert len(store.paths_read) == 2


def test_commit_file_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [encode_remove(f"{number}") for number in range(5)]
    monkeypatch.setattr(commits_module, "CACHE_BYTES", 2 * len(bodies[0]))
    store = build_store(*bodies, encode_remove("x" * 1000))
    commits = build_commits(store, HISTORY)
    for version in (0, 1, 0, 2, 0, 1):  # reading 2 evicts 1, the least recently used
        commits.read(version)
    assert store.paths_read == [f"{LOG_DIRECTORY}/{commit_name(version)}" for version in (0, 1, 2, 1)]
    for _ in range(2):
        commits.read(5)  # larger than the cache
    assert len(store.paths_read) == 6


def test_missing_commit_file_raises() -> None:
    with pytest.raises(FileGone):
        build_commits(build_store(), HISTORY).read(0)

"""Single commits of a history: their rows are found by places, and few of their files are remembered."""

import json

import polars as pl
import pytest
from helpers.recording_run import MemoryStore

from deltaspec.model.log.file_names import commit_name
from deltaspec.validation.data import commit_reader as commits_module
from deltaspec.validation.data.commit_reader import (
    DATA_CHANGE,
    KIND,
    LINE,
    PATH,
    Commits,
    RowGroups,
    split_written_and_ended,
)
from deltaspec.views.files.file_replay import DATA_REPLAY_COLUMNS, build_empty_replay_frame, build_intervals
from deltaspec.wire.storage.interface import LOG_DIRECTORY, FileGone


class Counting(MemoryStore):
    """Keeps what was read of it."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.asked: list[str] = []

    def read(self, path: str, limit: int) -> bytes:
        self.asked.append(path)
        return super().read(path, limit)


def remove(path: str) -> bytes:
    return json.dumps({"remove": {"path": path, "dataChange": False, "deletionTimestamp": 1}}).encode()


def stored(*bodies: bytes) -> Counting:
    return Counting({f"{LOG_DIRECTORY}/{commit_name(version)}": body for version, body in enumerate(bodies)})


def history(*actions: tuple[int, str, str], source: str = "commit") -> pl.DataFrame:
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
            history((0, "add", "kept"), (0, "remove", "gone"), source="checkpoint"),
            history((1, "add", "b"), (1, "add", "a"), (3, "add", "a"), (3, "remove", "b"), (3, "add", "c")),
            history((4, "remove", "c"), (4, "add", "c"), (6, "add", "d"), (6, "add", "kept")),
        ]
    )
)


def commits_of(store: MemoryStore, intervals: pl.DataFrame) -> Commits:
    """Every commit of a short history."""
    return Commits(store, *split_written_and_ended(intervals, range(8)))


def test_rows_are_grouped_in_their_order() -> None:
    rows = pl.DataFrame({"number": [3, 1, None, 3, 1, 2], "name": list("abcdef")})
    grouped = RowGroups(rows, "number", pl.col("name") != "e")
    assert list(grouped) == [1, 2, 3]
    assert {number: grouped.of(number)["name"].to_list() for number in (1, 2, 3, 4)} == {
        1: ["b"],
        2: ["f"],
        3: ["a", "d"],
        4: [],
    }


def test_files_of_a_commit_are_its_own_without_statistics() -> None:
    commits = commits_of(stored(), HISTORY)
    found = {version: [(each.kind, each.path) for each in commits.files(version)] for version in range(8)}
    assert found == {
        0: [],  # of a checkpoint
        1: [("add", "a"), ("add", "b")],
        2: [],
        3: [("add", "a"), ("remove", "b"), ("add", "c")],
        4: [("remove", "c"), ("add", "c")],
        5: [],
        6: [("add", "d"), ("add", "kept")],
        7: [],
    }
    assert all(each.stats is None for version in found for each in commits.files(version))
    assert commits.rewriting == [3, 4]


def test_files_added_again_are_those_that_were_live_and_are_not_removed() -> None:
    commits = commits_of(stored(), HISTORY)
    again = {
        version: [(each.version, each.path) for each in commits.find_readded_files(version)] for version in range(8)
    }
    assert {version: files for version, files in again.items() if files} == {3: [(1, "a")], 6: [(0, "kept")]}


def test_no_history_has_no_commits() -> None:
    commits = commits_of(stored(), build_intervals(build_empty_replay_frame(DATA_REPLAY_COLUMNS)))
    assert (commits.rewriting, len(commits.files(1)), len(commits.find_readded_files(1))) == ([], 0, 0)


def test_rows_of_a_commit_file_are_named() -> None:
    (row,) = commits_of(stored(b"\n" + remove("a")), HISTORY).read(0).files.rows
    assert (row[LINE], row[KIND], row[PATH], row[DATA_CHANGE]) == (2, "remove", "a", False)


def test_commit_file_is_read_once_for_all_who_ask() -> None:
    store = stored(remove("a"), remove("b"))
    commits = commits_of(store, HISTORY)
    assert [commits.read(version) is commits.read(version) for version in (0, 1, 0)] == [True, True, True]
    assert len(store.asked) == 2


def test_few_bytes_of_commit_files_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [remove(f"{number}") for number in range(5)]
    monkeypatch.setattr(commits_module, "CACHE_BYTES", 2 * len(bodies[0]))
    store = stored(*bodies, remove("x" * 1000))
    commits = commits_of(store, HISTORY)
    for version in (0, 1, 0, 2, 0, 1):  # the third takes the place of the second, which was asked for longest ago
        commits.read(version)
    assert store.asked == [f"{LOG_DIRECTORY}/{commit_name(version)}" for version in (0, 1, 2, 1)]
    for _ in range(2):
        commits.read(5)  # longer than what is kept
    assert len(store.asked) == 6


def test_commit_file_that_is_gone_is_told() -> None:
    with pytest.raises(FileGone):
        commits_of(stored(), HISTORY).read(0)

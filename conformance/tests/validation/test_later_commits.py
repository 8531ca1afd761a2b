"""Whether a commit after the validated version removes a file that is missing, and what a listing leaves out."""

import json

import pytest
from helpers.recording_run import MemoryStore

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.validation.log.concurrent_writes import HINT, LaterCommits, find_gaps, is_hint_unchanged
from deltaspec.validation.plan import build_plan
from deltaspec.wire.storage.interface import Entry, StorageError
from deltaspec_generators.table_files import LOG


def remove(*paths: str) -> bytes:
    return b"\n".join(json.dumps({"remove": {"path": path, "dataChange": True}}).encode() for path in paths)


class Log(MemoryStore):
    """A log in memory with one line per commit; it counts its listings, and some reads fail."""

    def __init__(self, commits: dict[int, bytes]) -> None:
        super().__init__({LOG + commit_name(version): data for version, data in commits.items()})
        self.listings = 0
        self.unreadable: set[str] = set()

    def list_log(self) -> list[Entry]:
        self.listings += 1
        return super().list_log()

    def read(self, path: str, limit: int) -> bytes:
        if path in self.unreadable:
            raise StorageError(f"{path}: broken")
        return super().read(path, limit)

    def later_commits(self, version: int) -> LaterCommits:
        """Return the commits after a version of the log as it is now."""
        return LaterCommits(self, build_plan(self.uri, self.list_log(), at=version, history="snapshot"))


def test_listed_commits_are_read() -> None:
    later = Log({0: remove("x"), 1: remove("y"), 2: remove("a", "b"), 3: remove("c")}).later_commits(1)
    assert later.find_removed(["a", "c", "x", "y"]) == {"a": True, "c": True, "x": False, "y": False}


def test_log_is_listed_again_only_for_files_that_are_not_removed() -> None:
    log = Log({0: b"{}", 1: remove("a")})
    later = log.later_commits(0)
    assert (later.find_removed(["a"]), log.listings) == ({"a": True}, 1)
    log.files[LOG + commit_name(2)] = remove("b")
    assert (later.find_removed(["a", "b", "c"]), log.listings) == ({"a": True, "b": True, "c": False}, 2)


@pytest.mark.parametrize("data", [b"{", b'{"remove":5}', None])
def test_unreadable_commit_leaves_other_files_undecided(data: bytes | None) -> None:
    log = Log({0: b"{}", 1: data or b"{}", 2: remove("a")})
    if data is None:
        log.unreadable.add(LOG + commit_name(1))
    assert log.later_commits(0).find_removed(["a", "b"]) == {"a": True, "b": None}


def test_undecodable_line_of_another_kind_decides() -> None:
    assert Log({0: b"{}", 1: b'{"add":5}'}).later_commits(0).find_removed(["b"]) == {"b": False}


def test_missing_later_commit_leaves_files_undecided() -> None:
    log = Log({0: b"{}", 1: b"{}", 3: remove("a")})
    later = LaterCommits(log, build_plan(log.uri, [Entry(commit_name(0), 1, 0)], at=None, history="snapshot"))
    assert later.find_removed(["a", "b"]) == {"a": True, "b": None}


def test_later_checkpoint_without_its_commit_leaves_files_undecided() -> None:
    log = Log({0: b"{}"})
    log.files[f"{LOG}{1:020}.checkpoint.parquet"] = b"x"
    assert LaterCommits(
        log, build_plan(log.uri, [Entry(commit_name(0), 1, 0)], at=None, history="snapshot")
    ).find_removed(["b"]) == {"b": None}


def test_cleaned_up_log_leaves_files_undecided() -> None:
    log = Log({0: b"{}", 1: b"{}"})
    later = log.later_commits(1)
    assert later.is_latest
    del log.files[LOG + commit_name(1)]
    assert later.find_removed(["b"]) == {"b": None}
    assert not later.is_latest


def test_validated_version_is_not_the_latest_after_a_commit() -> None:
    log = Log({0: b"{}"})
    later = log.later_commits(0)
    assert later.is_latest
    log.files[LOG + commit_name(1)] = b"{}"
    assert later.is_latest
    later.refresh()
    assert not later.is_latest


# listings


C = [commit_name(version) for version in range(6)]
CRC = [f"{version:020}.crc" for version in range(6)]
CHECKPOINT = [f"{version:020}.checkpoint.parquet" for version in range(6)]


@pytest.mark.parametrize(
    ("names", "gaps"),
    [
        (C[:3], set()),
        ([C[0], C[2]], {("commit", 1, 1)}),
        (C[1:3], {("commit", 0, 0), ("base of commits", 1, 2)}),
        ([CHECKPOINT[1], C[2]], set()),
        ([CHECKPOINT[1], C[3]], {("commit", 2, 2), ("base of commits", 3, 3)}),
        (
            [f"{1:020}.{3:020}.compacted.json", C[3]],
            {("start of a compaction", 1, 2), ("base of commits", 3, 3), ("commit", 0, 2)},
        ),
        ([*C[:2], CHECKPOINT[3]], {("commit", 2, 2), ("commit", 2, 3)}),
        ([*C[:2], CRC[3]], {("commit", 2, 3)}),
        ([*C[:2], f"{2:020}.{4:020}.compacted.json"], {("commit", 2, 4)}),
        ([*C[:2], f"{3:020}.checkpoint.{1:010}.{2:010}.parquet"], {("commit", 2, 3)}),
        ([], {("commit", 0, 0)}),
        ([CRC[2]], {("commit", 0, 2)}),
        ([*C[:4], CRC[0], CRC[3]], {("checksum", 1, 1), ("checksum", 2, 2)}),
        ([*C[:4], CRC[1], CRC[2]], set()),
    ],
)
def test_gaps_of_a_listing(names: list[str], gaps: set[tuple[str, int, int]]) -> None:
    assert find_gaps([Entry(name, 1, 0) for name in names]) == gaps


def test_hint_is_unchanged_with_its_size_and_the_same_checkpoints() -> None:
    log = Log({0: b"{}"})
    log.files |= {f"{LOG}{HINT}": b"{}", LOG + CHECKPOINT[0]: b"x"}
    plan = build_plan(log.uri, log.list_log(), at=None, history="snapshot")
    assert is_hint_unchanged(log, plan)
    log.files[LOG + CHECKPOINT[1]] = b"x"
    assert not is_hint_unchanged(log, plan)
    del log.files[LOG + CHECKPOINT[1]]
    log.files[f"{LOG}{HINT}"] = b"{ }"
    assert not is_hint_unchanged(log, plan)
    del log.files[f"{LOG}{HINT}"]
    assert not is_hint_unchanged(log, plan)

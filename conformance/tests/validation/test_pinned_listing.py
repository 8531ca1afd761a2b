"""The log is listed again if a listing has gaps that concurrent writes explain."""

import pickle
from typing import Any

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.log.file_names import parse_log_file_name
from deltaspec.protocol.log.segment import find_cleanup_version, find_unreachable_commits
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.wire.storage.interface import Entry

COMMITS = [f"{version:020}.json" for version in range(3)]
PART, OTHER_PART = (f"{2:020}.checkpoint.{part:010}.{2:010}.parquet" for part in (1, 2))


class ListedStore:
    """Returns one listing after the other, and repeats the last one."""

    def __init__(self, *listings: list[str]) -> None:
        self.remaining = list(listings)

    def list_log(self) -> list[Entry]:
        names = self.remaining.pop(0) if len(self.remaining) > 1 else self.remaining[0]
        return [Entry(name, 1, 0) for name in names]


@pytest.mark.parametrize(
    "first",
    [[], ["_last_checkpoint"], [PART], [*COMMITS[:2], PART], [COMMITS[0], COMMITS[2]]],
    ids=["nothing", "only a hint", "only a part", "part of a newer checkpoint", "commit missing"],
)
def test_listing_with_a_gap_is_replaced_by_a_complete_one(first: list[str]) -> None:
    complete = [*COMMITS, PART, OTHER_PART]
    store: Any = ListedStore(first, complete)
    assert [entry.name for entry in load_pinned_listing(store)] == complete


CLEANED_UP = [f"{3:020}.checkpoint.parquet", f"{3:020}.json", f"{4:020}.json"]


@pytest.mark.parametrize(
    "leftover",
    [[COMMITS[1], COMMITS[2]], [f"{2:020}.{4:020}.compacted.json"]],
    ids=["commits without their checkpoint", "compaction without its first commit"],
)
def test_listing_during_a_cleanup_is_replaced_by_one_after_it(leftover: list[str]) -> None:
    store: Any = ListedStore([*leftover, *CLEANED_UP], CLEANED_UP)
    assert [entry.name for entry in load_pinned_listing(store)] == CLEANED_UP


def test_what_a_cleanup_left_is_kept() -> None:
    left = [COMMITS[1], COMMITS[2], f"{2:020}.{4:020}.compacted.json", *CLEANED_UP]
    store: Any = ListedStore(left)
    assert [entry.name for entry in load_pinned_listing(store)] == left


def test_lasting_gap_is_kept() -> None:
    store: Any = ListedStore([*COMMITS[:2], PART])
    assert [entry.name for entry in load_pinned_listing(store)] == [*COMMITS[:2], PART]


@example_settings(200)
@given(st.sets(st.sampled_from([*COMMITS, PART, OTHER_PART, *CLEANED_UP, f"{0:020}.checkpoint.parquet", "x.json"])))
def test_log_that_begins_with_commit_0_was_not_cleaned_up(names: set[str]) -> None:
    """So a listing with commit 0 needs no search for what a cleanup left behind."""
    names.add(COMMITS[0])
    assert (find_cleanup_version(names), find_unreachable_commits(names)) == (None, [])


def test_entry_parses_its_name_once_and_is_pickled_without_it() -> None:
    entry, other = Entry(COMMITS[1], 5, 7), Entry(COMMITS[1], 5, 7)
    assert entry.log_name == parse_log_file_name(COMMITS[1])
    assert entry.log_name is entry.log_name
    assert (entry, hash(entry)) == (other, hash(other))
    assert pickle.dumps(entry) == pickle.dumps(other)
    assert pickle.loads(pickle.dumps(entry)) == entry

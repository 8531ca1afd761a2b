"""The parts of a listing have every file of the table once, whatever the log names."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.faulty_s3 import FaultyS3
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st
from wire.s3_tables import put_table

from deltaspec.wire.storage.arrow import ArrowStore
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Entry, StorageError, Store
from deltaspec.wire.storage.listing_parts import Listed, ListingPart, SplittableStore, split_by_names, split_listing
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec.wire.storage.ratified_store import RatifiedStore

NAMES = ("a", "a-", "a/b", "a/c/d", "day=1/x", "day=1/y", "day=2/x", "day=2/below/z", "unknown/deep/u", "z")
STORES: dict[str, Callable[[Path], Store]] = {
    "local": lambda path: open_store(str(path)),
    "obstore": lambda path: ObjectStore(path.as_uri()),
    "pyarrow": lambda path: ArrowStore(path.as_uri()),
    "ratified": lambda path: RatifiedStore(open_store(str(path)), {}, {}, 0),
}


def list_in_parts(store: Store, names: list[str], count: int) -> tuple[list[str], int]:
    """Return what the parts list, names and errors, and the number of parts."""
    items: list[Listed] = list(split_listing(store, names, count))
    parts = [each for each in items if isinstance(each, ListingPart)]
    assert isinstance(store, SplittableStore)
    for part in parts:
        items += store.list_part(part)
    found = [each.name if isinstance(each, Entry) else str(each) for each in items if not isinstance(each, ListingPart)]
    return sorted(found), len(parts)


def list_at_once(store: Store) -> list[str]:
    return sorted(each.name if isinstance(each, Entry) else str(each) for each in store.list_files())


@pytest.mark.parametrize("open_as", STORES.values(), ids=STORES)
@pytest.mark.parametrize("count", [2, 4, 100])
def test_directories_list_every_file_once(open_as: Callable[[Path], Store], count: int, tmp_path: Path) -> None:
    for name in ("_delta_log/00000000000000000000.json", *(each for each in NAMES if each != "a")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    store = open_as(tmp_path)
    found, parts = list_in_parts(store, ["day=1/x"], count)
    assert found == list_at_once(store) == sorted(set(NAMES) - {"a"})
    assert parts == {2: 4, 4: 4, 100: 0}[count], "levels are listed until there are enough directories"


@pytest.mark.parametrize("names", [["day=1/x"], list(NAMES), ["0", "zz", "day=1/y", "unknown/v"]])
def test_ranges_list_every_file_once(names: list[str], s3: FaultyS3) -> None:
    folders = {"day=1/": b"", "unknown/": b"", "unknown/deep/": b""}
    store = put_table(s3, **dict.fromkeys(NAMES, b"1"), **folders)
    assert list_in_parts(store, names, 5)[0] == list_at_once(store) == sorted(NAMES)


def test_range_begins_without_the_names_before_it(s3: FaultyS3) -> None:
    store = put_table(s3, **{f"part-{number:04d}": b"" for number in range(4000)})
    before = s3.count("list")
    assert len(list(store.list_part(ListingPart(after="part-2999", until="part-3499")))) == 500
    assert s3.count("list") == before + 1


def test_store_without_order_is_listed_by_directories(s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    store = put_table(s3, **dict.fromkeys(("b/x", "a/x", "c"), b"1"))
    names = [("b/x", Entry("b/x", 1, 0)), ("a/x", Entry("a/x", 1, 0)), ("c", Entry("c", 1, 0))]
    monkeypatch.setattr(store, "iter_entries", lambda *_: iter(names))
    found, parts = list_in_parts(store, ["b/x"], 2)
    assert (found, parts) == (["a/x", "b/x", "c"], 2)
    assert [str(each) for each in store.list_part(ListingPart(until="x")) if isinstance(each, StorageError)] == [
        "the table cannot be listed: the store does not list names in order, so that its ranges are incomplete"
    ]


def test_links_to_parents_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "x").write_text("1")
    os.symlink(tmp_path / "a", tmp_path / "a" / "b" / "again")
    store = open_store(str(tmp_path))
    for count in (1, 2, 100):
        assert list_in_parts(store, [], count)[0] == ["a/x"], f"{count=}"


@example_settings(60)
@given(st.lists(st.sampled_from(NAMES)), st.integers(1, 6))
def test_ranges_cover_all_names(names: list[str], count: int) -> None:
    parts = list(split_by_names(names, count))
    assert len(parts) <= count
    assert (parts[0].after, parts[-1].until) == ("", None)
    assert [each.until for each in parts[:-1]] == [each.after for each in parts[1:]]
    for name in NAMES:
        assert sum(part.after < name and (part.until is None or name <= part.until) for part in parts) == 1, name

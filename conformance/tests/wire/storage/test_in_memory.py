"""Files in memory are read; other files are unreachable, and never reported as missing."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import CHUNK_BYTES, Entry, FileGone, FileTooLarge, StorageError, Store

COMMIT = "_delta_log/00000000000000000000.json"
WAYS: dict[str, Callable[[Store, str], object]] = {
    "read": lambda store, path: store.read(path, 100),
    "read_range": lambda store, path: store.read_range(path, 0, 100),
    "size": lambda store, path: store.size(path),
    "chunks": lambda store, path: list(store.chunks(path)),
    "open_seekable": lambda store, path: store.open_seekable(path),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture(params=[False, True], ids=["in memory", "after pickling"])
def given(request: pytest.FixtureRequest) -> Store:
    gone = {"gone.parquet": FileGone("gone.parquet: does not exist")}
    store = InMemoryStore("s3://lake/t", {COMMIT: b"zero\n", "empty": b"", **gone}, root="s3://lake/t")
    return pickle.loads(pickle.dumps(store)) if request.param else store  # type: ignore[no-any-return]


def test_file_in_memory_is_read_by_every_method(given: Store) -> None:
    assert given.read(COMMIT, 5) == b"zero\n"
    assert [given.read_range(COMMIT, *each) for each in ((1, 2), (4, 9), (9, 9), (0, -1))] == [b"er", b"\n", b"", b""]
    assert given.size(COMMIT) == 5
    assert list(given.chunks(COMMIT)) == [b"zero\n"]
    assert list(given.chunks("empty")) == []
    assert (given.uri, given.root, given.is_remote) == ("s3://lake/t", "s3://lake/t", False)


def test_parquet_is_read_by_random_access() -> None:
    sink = pa.BufferOutputStream()
    rows = pa.table({"number": list(range(1000))})
    pq.write_table(rows, sink, row_group_size=100)
    store = InMemoryStore("t", {"rows.parquet": sink.getvalue().to_pybytes()})
    with pq.ParquetFile(store.open_seekable("rows.parquet")) as file:
        assert file.read_row_group(3)["number"].to_pylist() == list(range(300, 400))


def test_large_file_is_read_in_chunks() -> None:
    content = b"0123456789abcdef" * (CHUNK_BYTES // 16) + b"end"
    pieces = list(InMemoryStore("t", {"f": content}).chunks("f"))
    assert [len(piece) for piece in pieces] == [CHUNK_BYTES, 3]
    assert b"".join(pieces) == content


@each_way
def test_other_file_is_unreachable_and_not_missing(way: Callable[[Store, str], object], given: Store) -> None:
    with pytest.raises(StorageError, match=r"part\.parquet: not in memory, and executors cannot reach") as caught:
        way(given, "part.parquet")
    assert not isinstance(caught.value, FileGone)


@each_way
def test_file_with_a_missing_error_is_missing(way: Callable[[Store, str], object], given: Store) -> None:
    with pytest.raises(FileGone, match=r"gone\.parquet: does not exist"):
        way(given, "gone.parquet")


@each_way
def test_path_out_of_the_table_is_not_followed(way: Callable[[Store, str], object], given: Store) -> None:
    with pytest.raises(StorageError, match="leads out of the table"):
        way(given, "../other")


def test_file_above_the_limit_is_refused(given: Store) -> None:
    with pytest.raises(FileTooLarge, match="5 bytes, more than the limit of 4 bytes"):
        given.read(COMMIT, 4)


def test_without_fallback_only_the_given_log_is_listed(given: Store) -> None:
    with pytest.raises(TableUnreadable, match="executors cannot reach the table"):
        given.list_log()
    [fault] = given.list_files()
    assert isinstance(fault, StorageError)
    entries = [Entry("b", 1, 2), Entry("a", 3, 4)]
    assert InMemoryStore("t", {}, log=entries).list_log() == [Entry("a", 3, 4), Entry("b", 1, 2)]


def test_other_files_come_from_the_fallback(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / COMMIT).write_bytes(b"below")
    (tmp_path / "part.parquet").write_bytes(b"data")
    below = open_store(str(tmp_path))
    store: Store = InMemoryStore("t", {COMMIT: b"given"}, fallback=below)
    assert store.read(COMMIT, 10) == b"given"
    assert store.read("part.parquet", 10) == b"data"
    assert store.read_range("part.parquet", 1, 2) == b"at"
    assert store.size("part.parquet") == 4
    assert b"".join(store.chunks("part.parquet")) == b"data"
    with store.open_seekable("part.parquet") as file:
        assert file.read() == b"data"
    with pytest.raises(FileGone):
        store.read("other", 10)
    assert [entry.name for entry in store.list_files() if isinstance(entry, Entry)] == ["part.parquet"]
    assert [entry.name for entry in store.list_log()] == ["00000000000000000000.json"]
    assert (store.root, store.is_remote) == (str(tmp_path), False)

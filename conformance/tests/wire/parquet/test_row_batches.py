"""Rows of a file batch by batch, those that are wanted, and files that cannot be read."""

from typing import Any

import pyarrow as pa
import pytest
from helpers.recording_run import MemoryStore
from pyroaring import BitMap64

from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import BATCH_ROWS, RowBatches, compute_remaining_rows, iter_empty_batches
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import FileGone
from deltaspec_generators.bases.data_files import encode_data_file


def opened(table: pa.Table | bytes, **options: object) -> RowBatches:
    data = table if isinstance(table, bytes) else encode_data_file(table, **options)
    return RowBatches(DataAccess(MemoryStore({"a": data})), "a")


class Watched(MemoryStore):
    """Keeps what it opened."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.opened: list[Any] = []

    def open_seekable(self, path: str) -> Any:
        self.opened.append(super().open_seekable(path))
        return self.opened[-1]


MANY = pa.table({"id": pa.array(range(3 * BATCH_ROWS + 5)), "a.b": pa.array(range(3 * BATCH_ROWS + 5))})


@pytest.mark.parametrize("row_group_size", [1000, 1 << 20])
def test_every_row_comes_once_and_in_order(row_group_size: int) -> None:
    source = opened(MANY, row_group_size=row_group_size)
    batches = list(source.read(["a.b"]))
    assert pa.chunked_array([each.columns["a.b"] for each in batches]).to_pylist() == MANY["a.b"].to_pylist()
    assert [each.start for each in batches[1:]] == [each.start + each.rows for each in batches[:-1]]


def test_rows_that_are_wanted_are_left() -> None:
    row_count = MANY.num_rows
    wanted = BitMap64([0, 3, BATCH_ROWS, row_count - 1, row_count + 7])
    batches = list(opened(MANY).read(["id"], wanted))
    assert [value for each in batches for value in each.columns["id"].to_pylist()] == sorted(wanted)[:-1]
    assert sum(each.rows for each in batches) == 4


def test_bare_batches_are_the_same_without_columns() -> None:
    wanted = BitMap64([1, BATCH_ROWS + 2])
    bare = list(iter_empty_batches(MANY.num_rows, wanted))
    read = list(opened(MANY).read(["id"], wanted))
    assert [(each.start, each.rows, each.kept) for each in bare] == [
        (each.start, each.rows, each.kept) for each in read
    ]


def test_rows_left_are_those_not_deleted() -> None:
    assert list(compute_remaining_rows(5, BitMap64([1, 4, 9]))) == [0, 2, 3]


def test_file_that_is_not_there_is_gone() -> None:
    with pytest.raises(FileGone):
        RowBatches(DataAccess(MemoryStore({})), "a")


def test_size_is_that_of_the_opened_file() -> None:
    class Sizeless(MemoryStore):
        def size(self, path: str) -> int:
            raise AssertionError(f"{path}: one request is enough")

    assert RowBatches(DataAccess(Sizeless({"a": encode_data_file(MANY)})), "a").row_count == MANY.num_rows


@pytest.mark.parametrize("large", [False, True])
def test_file_is_closed_with_its_batches(large: bool) -> None:
    store = Watched({"a": encode_data_file(MANY, compression="none", use_dictionary=False)})
    if large:  # longer than what is read whole
        numbers = pa.table({"id": pa.array(range(5 << 19))})
        store.files["a"] = encode_data_file(numbers, compression="none", use_dictionary=False)
        assert len(store.files["a"]) > 16 << 20
    with RowBatches(DataAccess(store), "a") as source:
        next(source.read(["id"]))
    assert [each.closed for each in store.opened] == [True]


def test_file_that_is_no_parquet_is_closed() -> None:
    store = Watched({"a": b"PAR1"})
    with pytest.raises(UnreadableRows):
        RowBatches(DataAccess(store), "a")
    assert [each.closed for each in store.opened] == [True]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(64) + b"PAR1", b"no Parquet at all"])
def test_file_that_is_no_parquet_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableRows):
        opened(data)


def test_broken_pages_are_unreadable() -> None:
    data = bytearray(
        encode_data_file(pa.table({"id": pa.array(range(1000))}), compression="none", use_dictionary=False)
    )
    data[4:40] = bytes(36)
    source = opened(bytes(data))
    with pytest.raises(UnreadableRows):
        list(source.read(["id"]))


def test_column_that_stands_twice_or_nowhere_is_unreadable() -> None:
    twice = pa.table([pa.array([1]), pa.array([2])], names=["id", "id"])
    for table, name in ((twice, "id"), (MANY, "nowhere")):
        with pytest.raises(UnreadableRows, match=name):
            list(opened(table).read([name]))

"""Rows of a file in batches, chosen rows, and files that cannot be read."""

from typing import Any

import pyarrow as pa
import pytest
from helpers.recording_run import MemoryStore
from pyroaring import BitMap64

from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import BATCH_ROWS, RowBatches, compute_remaining_rows, iter_empty_batches
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import FileGone
from deltaspec_generators.small_tables import encode_data_file


def open_batches(table: pa.Table | bytes, **options: object) -> RowBatches:
    data = table if isinstance(table, bytes) else encode_data_file(table, **options)
    return RowBatches(DataAccess(MemoryStore({"a": data})), "a")


class RecordingStore(MemoryStore):
    """Record the handles that it opens."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.opened: list[Any] = []

    def open_seekable(self, path: str) -> Any:
        self.opened.append(super().open_seekable(path))
        return self.opened[-1]


MANY = pa.table({"id": pa.array(range(3 * BATCH_ROWS + 5)), "a.b": pa.array(range(3 * BATCH_ROWS + 5))})


@pytest.mark.parametrize("row_group_size", [1000, 1 << 20])
def test_every_row_is_read_once_in_order(row_group_size: int) -> None:
    source = open_batches(MANY, row_group_size=row_group_size)
    batches = list(source.read(["a.b"]))
    assert pa.chunked_array([each.columns["a.b"] for each in batches]).to_pylist() == MANY["a.b"].to_pylist()
    assert [each.start for each in batches[1:]] == [each.start + each.rows for each in batches[:-1]]


def test_only_chosen_rows_remain() -> None:
    row_count = MANY.num_rows
    chosen = BitMap64([0, 3, BATCH_ROWS, row_count - 1, row_count + 7])
    batches = list(open_batches(MANY).read(["id"], chosen))
    assert [value for each in batches for value in each.columns["id"].to_pylist()] == sorted(chosen)[:-1]
    assert sum(each.rows for each in batches) == 4


def test_empty_batches_have_the_same_rows() -> None:
    chosen = BitMap64([1, BATCH_ROWS + 2])
    empty = list(iter_empty_batches(MANY.num_rows, chosen))
    read = list(open_batches(MANY).read(["id"], chosen))
    assert [(each.start, each.rows, each.kept) for each in empty] == [
        (each.start, each.rows, each.kept) for each in read
    ]


def test_remaining_rows_are_not_deleted() -> None:
    assert list(compute_remaining_rows(5, BitMap64([1, 4, 9]))) == [0, 2, 3]


def test_missing_file_is_gone() -> None:
    with pytest.raises(FileGone):
        RowBatches(DataAccess(MemoryStore({})), "a")


def test_size_is_read_from_the_opened_file() -> None:
    class StoreWithoutSizes(MemoryStore):
        def size(self, path: str) -> int:
            raise AssertionError(f"{path}: one request is enough")

    assert RowBatches(DataAccess(StoreWithoutSizes({"a": encode_data_file(MANY)})), "a").row_count == MANY.num_rows


@pytest.mark.parametrize("large", [False, True])
def test_file_is_closed_with_its_batches(large: bool) -> None:
    store = RecordingStore({"a": encode_data_file(MANY, compression="none", use_dictionary=False)})
    if large:  # too large to be read at once
        numbers = pa.table({"id": pa.array(range(5 << 19))})
        store.files["a"] = encode_data_file(numbers, compression="none", use_dictionary=False)
        assert len(store.files["a"]) > 16 << 20
    with RowBatches(DataAccess(store), "a") as source:
        next(source.read(["id"]))
    assert [each.closed for each in store.opened] == [True]


def test_file_that_is_not_parquet_is_closed() -> None:
    store = RecordingStore({"a": b"PAR1"})
    with pytest.raises(UnreadableRows):
        RowBatches(DataAccess(store), "a")
    assert [each.closed for each in store.opened] == [True]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(64) + b"PAR1", b"no Parquet at all"])
def test_file_that_is_not_parquet_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableRows):
        open_batches(data)


def test_broken_pages_are_unreadable() -> None:
    data = bytearray(
        encode_data_file(pa.table({"id": pa.array(range(1000))}), compression="none", use_dictionary=False)
    )
    data[4:40] = bytes(36)
    source = open_batches(bytes(data))
    with pytest.raises(UnreadableRows):
        list(source.read(["id"]))


def test_duplicate_or_missing_column_is_unreadable() -> None:
    twice = pa.table([pa.array([1]), pa.array([2])], names=["id", "id"])
    for table, name in ((twice, "id"), (MANY, "nowhere")):
        with pytest.raises(UnreadableRows, match=name):
            list(open_batches(table).read([name]))

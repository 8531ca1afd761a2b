"""Strings that repeat are read as indexes into their dictionary, and say the same as strings of each row."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.wire.data.column_aggregates import ColumnAggregate
from deltaspec.wire.data.row_reader import DataFileRows, read_rows
from deltaspec.wire.parquet import page_sizes
from deltaspec.wire.parquet.dictionary_columns import DictionarySizes, UntrustedDictionary
from deltaspec.wire.parquet.file_opener import open_data_file

TEXT = Primitive("string")


def encode(columns: dict[str, Any], **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="none", store_schema=False, **options)
    return sink.getvalue()


def find_dictionaries(data: bytes) -> dict[str, DictionarySizes]:
    return open_data_file(pa.BufferReader(data), len(data)).dictionaries


def read(data: bytes, deleted: BitMap64 | None = None, *names: str) -> DataFileRows:
    schema = Struct(tuple(Field(name, TEXT, name != "required") for name in names or ("s",)))
    return read_rows(pa.BufferReader(data), len(data), schema, None, [], {}, deleted)


def read_as_strings(data: bytes, deleted: BitMap64 | None = None, *names: str) -> DataFileRows:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_sizes, "FEWEST_REPEATS", 1 << 40)
        assert find_dictionaries(data) == {}
        return read(data, deleted, *names)


REPEATED = encode({"s": ["aa", "ab", "ac", None] * 20})
ENTRIES = b"\x02\0\0\0aa\x02\0\0\0ab\x02\0\0\0ac"


def test_each_row_group_has_its_dictionary() -> None:
    data = encode({"s": ["a", "b"] * 20 + ["c"] * 30}, row_group_size=40)
    assert find_dictionaries(data) == {"s": DictionarySizes((40, 70), (2, 1))}


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"s": [f"{row}" for row in range(100)]}, {}),
        ({"s": ["a"] * 100}, {"use_dictionary": False}),
        ({"s": [f"{row % 500:0400}" for row in range(8000)]}, {"dictionary_pagesize_limit": 10_000}),
        ({"s": ["a"] * 40 + [f"{row}" for row in range(40)]}, {"row_group_size": 40}),
        ({"s": pa.array([b"a"] * 100, pa.binary())}, {}),
        ({"s": [1] * 100}, {}),
        ({"s": [{"t": "a"}] * 100}, {}),
        ({"s": [["a"]] * 100}, {}),
        ({"s.t": ["a"] * 100}, {}),
        ({"s": pa.array([], pa.string())}, {}),
    ],
    ids=["distinct", "plain", "falls back", "second group", "binary", "number", "struct", "list", "dot", "empty"],
)
def test_all_other_columns_are_read_as_they_are(columns: dict[str, Any], options: dict[str, Any]) -> None:
    assert find_dictionaries(encode(columns, **options)) == {}


def test_a_column_is_read_as_a_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = []
    original = ColumnAggregate.take

    def take(self: ColumnAggregate, array: pa.Array, offset: int, keep: pa.BooleanArray | None) -> None:
        original(self, array, offset, keep)
        kinds.append(array.type)

    monkeypatch.setattr(ColumnAggregate, "take", take)
    (leaf,) = read(REPEATED).leaves
    assert kinds == [pa.dictionary(pa.int32(), pa.string())]  # not read again as strings
    assert (leaf.minimum, leaf.maximum, leaf.nulls) == ("aa", "ac", 20)


texts = st.lists(st.sampled_from(["", "a", "b", "é", "\U0001f600", None]), min_size=1, max_size=3)


@given(texts, texts, st.integers(8, 40), st.sets(st.integers(0, 200)), st.sampled_from(["1.0", "2.0"]))
def test_a_dictionary_says_the_same_as_its_strings(
    first: list[str | None], second: list[str | None], times: int, deleted: set[int], version: str
) -> None:
    rows = first * times
    table = {name: pa.array(rows + second * times, pa.string()) for name in ("s", "required")}
    data = encode(table, row_group_size=len(rows), data_page_version=version)
    for vector in (None, BitMap64(deleted)):
        assert read(data, vector, "s", "required") == read_as_strings(data, vector, "s", "required")


@pytest.mark.parametrize(
    "entries",
    [
        b"\x02\0\0\0aa\x02\0\0\0aa\x02\0\0\0ac",
        b"\x02\0\0\0ac\x02\0\0\0ac\x02\0\0\0aa",
        b"\x02\0\0\0aa\x02\0\0\0\xff\xfe\x02\0\0\0ac",
        b"\x02\0\0\0aa\x02\0\0\0ab\x09\0\0\0ac",
        b"\x02\0\0\0aa\x02\0\0\0ab\xff\xff\xff\xffac",
    ],
    ids=["repeated", "repeated before", "not UTF-8", "too long", "negative length"],
)
def test_wrong_entries_say_the_same_as_their_strings(entries: bytes) -> None:
    assert REPEATED.count(ENTRIES) == 1
    data = REPEATED.replace(ENTRIES, entries)
    assert find_dictionaries(data) == {"s": DictionarySizes((80,), (3,))}
    for deleted in (None, BitMap64([0, 1, 2, 3])):
        assert read(data, deleted) == read_as_strings(data, deleted)


def test_strings_that_are_not_utf8_are_found_in_batches_that_limit_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """One string of 30,000 bytes in 65,536 rows: two kilobytes as a file, two gigabytes as rows."""
    sizes = []
    original = ColumnAggregate.take

    def take(self: ColumnAggregate, array: pa.Array, offset: int, keep: pa.BooleanArray | None) -> None:
        sizes.append(array.nbytes)
        original(self, array, offset, keep)

    monkeypatch.setattr(ColumnAggregate, "take", take)
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 65_536, pa.int32()), ["x" * 30_000])
    data = encode({"s": column})
    assert find_dictionaries(data)
    (check,) = read(data.replace(b"x" * 30_000, b"x" * 29_999 + b"\xff")).checks
    assert (check.check, check.violating_rows, check.first_row) == ("UTF-8", 65_536, 0)
    assert max(sizes) < 64 << 20


def test_an_entry_that_no_row_has_is_no_value() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 2] * 20, pa.int32()), ["aa", "ab", "ac"])
    data = encode({"s": column})
    assert ENTRIES in data
    (leaf,) = read(data).leaves
    assert (leaf.minimum, leaf.maximum) == ("ab", "ac")


def test_a_repeated_entry_does_not_move_later_ones() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 20, pa.int32()), ["aa", "ab", "ac"])
    data = encode({"s": column}).replace(ENTRIES, b"\x02\0\0\0aa\x02\0\0\0aa\x02\0\0\0ac")
    (leaf,) = read(data).leaves
    assert (leaf.minimum, leaf.maximum) == ("aa", "aa")


@pytest.mark.parametrize("byte", range(256))
def test_any_indexes_say_the_same_as_their_strings(byte: int) -> None:
    """The last bytes of the pages are indexes of two bits; those of 3 are outside of the dictionary."""
    data = encode({"s": ["aa", "ab", "ac"] * 20})
    start = data.index(ENTRIES) + len(ENTRIES)
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert end > start
    changed = data[: end - 1] + bytes([byte]) + data[end:]
    assert read(changed) == read_as_strings(changed)


def test_batch_of_two_row_groups_is_not_trusted() -> None:
    sizes = DictionarySizes((40, 70), (1, 1))
    array = pa.array(["a"] * 41).dictionary_encode()
    sizes.verify(array[:40], 0)
    sizes.verify(array[:30], 40)
    for rows, offset in ((41, 0), (31, 40), (1, 70)):
        with pytest.raises(UntrustedDictionary, match="one row group"):
            sizes.verify(array[:rows], offset)

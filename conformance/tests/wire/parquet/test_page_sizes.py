"""Headers of Parquet pages bound the memory that decoding needs."""

import io
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.wire.data.column_aggregates import ColumnAggregate
from deltaspec.wire.data.row_reader import read_rows
from deltaspec.wire.parquet import page_sizes
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.page_sizes import PagesTooLarge, summarize_pages

STRING_COLUMN = Struct((Field("s", Primitive("string"), True),))


def encode_table(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


PLAIN = {"use_dictionary": False, "compression": "none"}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_plain_page_stores_each_value_with_its_length(version: str, compression: str) -> None:
    data = encode_table(
        pa.table({"s": pa.array(["x" * 96] * 50)}),
        use_dictionary=False,
        compression=compression,
        data_page_version=version,
    )
    assert 100 <= summarize_pages(data).value_bytes <= 101  # four bytes of length, and levels


def test_largest_page_decides() -> None:
    texts = ["a"] * 400 + ["x" * 50_000] * 3 + ["a"] * 400
    data = encode_table(pa.table({"s": texts}), write_batch_size=1, data_page_size=1000, **PLAIN)
    assert 50_000 < summarize_pages(data).value_bytes < 51_000


def test_dictionary_estimate_assumes_skew_up_to_its_size() -> None:
    even = encode_table(pa.table({"s": [f"{each % 1000:0100}" for each in range(5000)]}))
    assert summarize_pages(even).value_bytes == 104 * 64
    assert summarize_pages(encode_table(pa.table({"s": ["x" * 1000, "y"] * 100}))).value_bytes == 1000 + 1 + 2 * 4


def test_columns_of_fixed_width_have_no_estimate() -> None:
    assert (
        summarize_pages(encode_table(pa.table({"a": range(100), "b": [1.5] * 100, "c": [True] * 100}))).value_bytes == 0
    )


def test_file_without_rows_or_columns_has_no_estimate() -> None:
    assert summarize_pages(encode_table(pa.table({"s": pa.array([], pa.string())}))).value_bytes == 0
    assert summarize_pages(encode_table(pa.table({}))).value_bytes == 0


@pytest.mark.slow("conformance/deltaspec/wire/parquet")
def test_page_above_the_limit_is_not_decoded() -> None:
    data = encode_table(
        pa.table({"s": ["x" * (page_sizes.MAX_PAGE_BYTES + 1)]}), compression="zstd", use_dictionary=False
    )
    assert len(data) < 1 << 20
    with pytest.raises(PagesTooLarge, match="a page of 13421"):
        summarize_pages(data)
    with pytest.raises(UnreadableRows, match="a page of 13421"):
        read_rows(pa.BufferReader(data), len(data), STRING_COLUMN, None, [], {}, None)


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_sizes, "MAX_PAGE_HEADERS", 9)
    data = encode_table(pa.table({"s": ["x"] * 10}), write_batch_size=1, data_page_size=1, **PLAIN)
    with pytest.raises(PagesTooLarge, match="more pages than the limit of 9"):
        summarize_pages(data)


def test_long_dictionary_values_are_read_in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One string of a megabyte in 20,000 rows: some kilobytes as a file, 20 gigabytes as rows."""
    sizes = []
    original = ColumnAggregate.take

    def take(self: ColumnAggregate, array: pa.Array, offset: int, keep: pa.BooleanArray | None) -> None:
        sizes.append(array.nbytes)
        if len(sizes) == 3:
            raise MemoryError("enough was seen")
        original(self, array, offset, keep)

    monkeypatch.setattr(ColumnAggregate, "take", take)
    monkeypatch.setattr(page_sizes, "FEWEST_REPEATS", 1 << 40)  # else it is read as a dictionary
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["x" * 1_000_000])
    data = encode_table(pa.table({"s": column}), store_schema=False)
    assert len(data) < 200_000
    assert read_rows(pa.BufferReader(data), len(data), STRING_COLUMN, None, [], {}, None).unread == [
        "s: enough was seen"
    ]
    assert 1_000_000 <= max(sizes) < 64 << 20


SOUND = encode_table(pa.table({"s": ["a", "bc"] * 20, "i": range(40)}), data_page_size=10)


@given(st.binary(max_size=60))
def test_any_bytes_have_no_estimate(data: bytes) -> None:
    assert summarize_pages(data).value_bytes == 0
    assert summarize_pages(b"PAR1" + data + len(data).to_bytes(4, "little") + b"PAR1").value_bytes == 0


@given(st.integers(0, len(SOUND) - 1), st.integers(0, 255))
def test_changed_byte_never_crashes(place: int, value: int) -> None:
    data = SOUND[:place] + bytes([value]) + SOUND[place + 1 :]
    with suppress(PagesTooLarge):
        assert 0 <= summarize_pages(data).value_bytes <= page_sizes.MAX_PAGE_BYTES

"""Plain column chunks: what the regular expression accepts is what `ThriftReader` skips."""

import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.wire.parquet.plain_chunks import find_plain_chunk_end
from deltaspec.wire.parquet.thrift import BINARY, ThriftReader
from deltaspec.wire.parquet.thrift_footer import iter_chunks

TABLE = pa.table(
    {
        "number": pa.array([1, None, 3], pa.int64()),
        "text": ["a", "b" * 60, None],
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(12, 2)),
        "flag": [True, False, None],
        "list": pa.array([[1], [], None], pa.list_(pa.int32())),
        "struct": pa.array([{"x": 1, "y": "z"}, None, {"x": None, "y": ""}]),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "col-5f422f40-de70-45b2-88ab-1d5c90e94db1": [1.5, 2.5, float("nan")],
    }
)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"compression": "none", "use_dictionary": False},
    {"write_page_index": True, "row_group_size": 1},
    {"write_statistics": False, "data_page_version": "2.0"},
    {"version": "1.0", "compression": "zstd", "write_page_checksum": True},
]


def encode_footer(**options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, **options)
    return get_footer(sink.getvalue())


def get_footer(data: bytes) -> bytes:
    return data[-8 - int.from_bytes(data[-8:-4], "little") :]


def list_chunks(footer: bytes) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each column chunk."""
    for reader in iter_chunks(footer):
        begin = reader.position
        reader.skip_struct(1, BINARY)
        yield begin, reader.position


FOOTER = encode_footer()
CHUNKS = list(list_chunks(FOOTER))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_chunks_of_pyarrow_are_plain(options: dict[str, Any]) -> None:
    footer = encode_footer(**options)
    chunks = list(list_chunks(footer))
    assert len(chunks) >= 10
    assert [find_plain_chunk_end(footer, begin) for begin, _ in chunks] == [end for _, end in chunks]


def test_chunk_with_a_long_value_is_not_plain() -> None:
    for length, is_plain in ((79, True), (80, False)):
        sink = io.BytesIO()
        pq.write_table(pa.table({"text": ["x" * length]}), sink)
        footer = get_footer(sink.getvalue())
        ((begin, end),) = list_chunks(footer)
        assert find_plain_chunk_end(footer, begin) == (end if is_plain else None)


@pytest.mark.parametrize("path", [b"\x18\x01b\x16", b"\x18\x00\x16", b"\x08\x02\x01b\x26"])
def test_chunk_with_a_path_is_not_plain(path: bytes) -> None:
    """The path is field 1, in the short or long form of a header."""
    for begin, end in CHUNKS:
        chunk = path + FOOTER[begin + 1 : end]
        assert ThriftReader(chunk).skip_struct(1, BINARY) is not None, f"{begin=}, {end=}"
        assert find_plain_chunk_end(chunk, 0) is None, f"{begin=}, {end=}"
        late = FOOTER[begin : end - 1] + b"\x08\x02\x01b\x00"
        assert ThriftReader(late).skip_struct(1, BINARY) is not None, f"{begin=}, {end=}"
        assert find_plain_chunk_end(late, 0) is None, f"{begin=}, {end=}"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x26",
        b"\x26" + b"\xff" * 100_000,
        b"\x26\x00" + b"\x1c" * 100_000,
        b"\x26\x00\x1c" + b"\x15\x02" * 100_000,
    ],
    ids=["empty", "header only", "endless number", "endless nesting", "endless fields"],
)
def test_truncated_chunk_is_not_plain(data: bytes) -> None:
    assert find_plain_chunk_end(data, 0) is None


@given(st.data())
def test_mutated_chunk_ends_where_thrift_ends(data: st.DataObject) -> None:
    begin, end = data.draw(st.sampled_from(CHUNKS))
    chunk = bytearray(FOOTER[begin:end])
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(chunk) - 1))
        change = data.draw(st.sampled_from(["replace", "insert", "delete"]))
        chunk[position : position + (change != "insert")] = (
            b"" if change == "delete" else data.draw(st.binary(min_size=1, max_size=2))
        )
        if not chunk:
            break
    changed = bytes(chunk) + FOOTER[end:]
    found = find_plain_chunk_end(changed, 0)
    if found is not None:
        reader = ThriftReader(changed)
        assert reader.skip_struct(1, BINARY) is None
        assert reader.position == found

"""Arrow files of engines: every legal file is read; a hostile one is refused, with bounded memory."""

import datetime
import decimal
import io
import random
import struct
from typing import Any

import pyarrow as pa
import pytest

from deltaspec.candidates import arrow_file
from deltaspec.candidates.arrow_file import RowsFault, read_arrow_file

TIME = datetime.datetime(2024, 1, 2, 3, 4, 5, 6, datetime.UTC)
TABLE = pa.table(
    {
        "long": pa.array([1, None, 3], pa.int64()),
        "text": ["a", None, "ccc"],
        "view": pa.array(["a", None, "longer than twelve bytes"], pa.string_view()),
        "bytes": pa.array([b"a", None, b"c" * 20], pa.binary_view()),
        "large": pa.array(["a", None, "c"], pa.large_string()),
        "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
        "decimal": pa.array([decimal.Decimal("1.23"), None, decimal.Decimal("-4.56")], pa.decimal128(10, 2)),
        "time": pa.array([TIME, None, TIME], pa.timestamp("us", "UTC")),
        "list": [["a"], None, ["b", None]],
        "large_list": pa.array([[1], None, []], pa.large_list(pa.int8())),
        "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)),
        "struct": [{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}],
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "void": pa.nulls(3),
        "bool": [True, None, False],
    },
    metadata={"writer": "tests"},
)
NULLS = pa.Array.from_buffers(pa.null(), 2**30, [None])
SMALL = TABLE.select(["long", "text", "view", "dictionary", "list"])


def write(table: pa.Table, batch_rows: int | None = None, **options: Any) -> bytes:
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, batch_rows)
    return buffer.getvalue()


def read_peak(data: bytes) -> tuple[str, int]:
    """Return the message of the fault, and the bytes that Arrow allocated meanwhile."""
    pool = pa.jemalloc_memory_pool() if "jemalloc" in pa.supported_memory_backends() else pa.system_memory_pool()
    before = pa.default_memory_pool().max_memory(), pool.max_memory()
    with pytest.raises(RowsFault) as caught:
        read_arrow_file(data)
    after = pa.default_memory_pool().max_memory(), pool.max_memory()
    return str(caught.value), max(after[0] - before[0], after[1] - before[1])


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("batch_rows", [None, 1])
def test_file_of_all_types_is_read(compression: str | None, batch_rows: int | None) -> None:
    read = read_arrow_file(write(TABLE, batch_rows, compression=compression, emit_dictionary_deltas=True))
    assert read.schema == TABLE.schema
    assert read.to_pylist() == TABLE.to_pylist()


def test_file_without_columns_keeps_the_number_of_rows() -> None:
    assert read_arrow_file(write(TABLE.select([]))).num_rows == 3


def test_file_without_batches_is_read() -> None:
    assert read_arrow_file(write(TABLE.schema.empty_table())).num_rows == 0


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_every_truncated_file_is_refused(compression: str | None) -> None:
    data = write(SMALL, compression=compression)
    for length in range(len(data)):
        with pytest.raises(RowsFault):
            read_arrow_file(data[:length])


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_changed_bytes_end_in_a_table_or_a_fault(compression: str | None) -> None:
    data = write(SMALL, compression=compression)
    draw = random.Random(17)
    refused = 0
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, changed[position] ^ 1 << draw.randrange(8)])
        try:
            read_arrow_file(bytes(changed)).to_pylist()
        except RowsFault:
            refused += 1
    assert refused > len(data) / 10


def test_compressed_buffer_of_claimed_huge_size_is_not_allocated() -> None:
    data = write(pa.table({"n": pa.array([0] * 1000, pa.int64())}), compression="zstd")
    size = struct.pack("<q", 8000)
    assert data.count(size) == 1
    message, allocated = read_peak(data.replace(size, struct.pack("<q", 1 << 44)))
    assert message == "the rows have more than 1,073,741,824 bytes"
    assert allocated < 1_000_000


def test_offsets_outside_of_the_data_are_refused() -> None:
    data = write(pa.table({"text": ["a", "bb", "cccc"]}))
    offsets = struct.pack("<4i", 0, 1, 3, 7)
    assert data.count(offsets) == 1
    with pytest.raises(RowsFault, match="not valid Arrow data"):
        read_arrow_file(data.replace(offsets, struct.pack("<4i", 0, 1, 2**30, 7)))


def test_index_outside_of_the_dictionary_is_refused() -> None:
    indices = struct.pack("<5i", 0, 1, 2, 1, 0)
    data = write(pa.table({"d": pa.array(["a", "b", "c", "b", "a"]).dictionary_encode()}))
    assert data.count(indices) == 1
    with pytest.raises(RowsFault, match="not valid Arrow data"):
        read_arrow_file(data.replace(indices, struct.pack("<5i", 0, 1, 2**30, 1, 0)))


def test_text_that_is_not_utf8_is_refused() -> None:
    data = write(pa.table({"text": ["marker"]}))
    with pytest.raises(RowsFault, match=r"not valid Arrow data.*UTF8"):
        read_arrow_file(data.replace(b"marker", b"mar\xffer"))


@pytest.mark.parametrize(
    "array",
    [
        NULLS,
        pa.FixedSizeListArray.from_arrays(NULLS, 2**20),
        pa.StructArray.from_arrays([NULLS], ["n"]),
        pa.Array.from_buffers(pa.binary(0), 2**30, [None, pa.py_buffer(b"")]),
    ],
    ids=["null", "fixed-size list", "struct", "binary(0)"],
)
def test_values_without_memory_are_counted(array: pa.Array) -> None:
    with pytest.raises(RowsFault, match="16,777,216 values"):
        read_arrow_file(write(pa.table({"n": array})))


def test_huge_number_of_rows_without_columns_is_refused() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), 2**30, [None]))
    with pytest.raises(RowsFault, match="there are 1,073,741,824 rows"):
        read_arrow_file(write(pa.Table.from_batches([batch])))


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], pa.int32()), ["a"]), "run_end_encoded"),
        (pa.array([["a"]], pa.list_view(pa.string())), "list_view"),
        (pa.array([["a"]], pa.large_list_view(pa.string())), "large_list_view"),
        (pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "union"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_types_that_repeat_values_are_refused(array: pa.Array, name: str) -> None:
    nested = pa.StructArray.from_arrays([array], ["n"])
    with pytest.raises(RowsFault, match=f"Arrow type {name}, which the protocol excludes"):
        read_arrow_file(write(pa.table({"n": nested})))


def test_dictionary_that_decodes_to_much_text_is_refused() -> None:
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int16()), ["x" * 1_000_000])
    nested = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int16()), pa.array([["x" * 1_000_000]]))
    for array in (text, nested):
        with pytest.raises(RowsFault, match="after decoding views and dictionaries"):
            read_arrow_file(write(pa.table({"d": array})))
        assert read_arrow_file(write(pa.table({"d": array[:10]}))).num_rows == 10


def test_views_that_share_much_text_are_refused() -> None:
    text = b"x" * 1_000_000
    view = struct.pack("<i4sii", len(text), text[:4], 0, 0)
    array = pa.Array.from_buffers(pa.string_view(), 2000, [None, pa.py_buffer(view * 2000), pa.py_buffer(text)])
    with pytest.raises(RowsFault, match="after decoding views and dictionaries"):
        read_arrow_file(write(pa.table({"v": array})))


def test_lengths_of_null_views_do_not_count() -> None:
    array = pa.array([None, "longer than twelve bytes"] * 10, pa.string_view())
    validity, views, *data = array.buffers()
    garbage = struct.pack("<i", 2**31 - 1) + bytes(12)
    changed = pa.py_buffer(b"".join([garbage, views.to_pybytes()[16:32]] * 10))
    array = pa.Array.from_buffers(array.type, 20, [validity, changed, *data])
    assert arrow_file.measure_decoded(array) == 10 * 24
    assert read_arrow_file(write(pa.table({"v": array}))).num_rows == 20


def test_buffers_that_columns_share_count_for_each_column(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{number}" for number in range(50)]
    data = bytearray(write(pa.table({name: pa.array(range(500), pa.int64()) for name in names})))
    start = data.find(struct.pack("<qqqq", 0, 0, 0, 4000))  # the first column has no validity buffer
    for index in range(50):
        struct.pack_into("<qq", data, start + 32 * index + 16, 0, 4000)
    assert len(read_arrow_file(bytes(data)).column_names) == 50
    monkeypatch.setattr(arrow_file, "check_file", lambda _: None)
    monkeypatch.setattr(arrow_file, "MAX_BYTES", 100_000)
    with pytest.raises(RowsFault, match="more than 100,000 bytes"):
        read_arrow_file(bytes(data))


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MAX_FIELDS", 19, "more than 19 fields"),
        ("MAX_TEXT_BYTES", 100, "names and metadata of the rows have more than 100 bytes"),
        ("MAX_BATCHES", 2, "3 batches of 15 columns; write fewer, larger batches"),
        ("MAX_COLUMN_BATCHES", 40, "3 batches of 15 columns; write fewer, larger batches"),
        ("MAX_BYTES", 1000, "more than 1,000 bytes"),
        ("MAX_VALUES", 50, "or 50 values in columns and nested fields"),
    ],
)
def test_limits_are_checked(limit: str, value: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write(TABLE.drop_columns(["dictionary"]).append_column("more", pa.array([1, 2, 3])), 1)
    monkeypatch.setattr(arrow_file, limit, value)
    with pytest.raises(RowsFault, match=message):
        read_arrow_file(data)


def test_batch_that_is_listed_often_counts_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    data = write(pa.table({"n": pa.array([1, 2], pa.int64())}), 1)
    footer = len(data) - 10 - struct.unpack_from("<i", data, len(data) - 10)[0]
    blocks = [index for index in range(footer, len(data) - 24) if is_block(data, index)]
    assert len(blocks) == 2
    copied = bytearray(data)
    copied[blocks[1] : blocks[1] + 24] = copied[blocks[0] : blocks[0] + 24]
    assert read_arrow_file(bytes(copied)).to_pydict() in ({"n": [1, 1]}, {"n": [2, 2]})
    _, metadata_length, body_length = struct.unpack_from("<qi4xq", copied, blocks[0])
    monkeypatch.setattr(arrow_file, "MAX_BYTES", 2 * (metadata_length + body_length) - 1)
    with pytest.raises(RowsFault, match="the rows have more than"):
        read_arrow_file(bytes(copied))


def is_block(data: bytes, index: int) -> bool:
    offset, metadata_length, body_length = struct.unpack_from("<qi4xq", data, index)
    is_message = 0 < offset < len(data) and data[offset : offset + 4] == b"\xff" * 4
    return is_message and 0 < metadata_length < 1000 and 0 < body_length < 1000

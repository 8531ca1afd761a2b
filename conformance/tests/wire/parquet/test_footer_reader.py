"""Footers: row counts, schema with field ids and annotations; broken footers and footers that cannot be checked."""

import io
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.schema.parquet_types import Annotation, Node
from deltaspec.wire.parquet import footer_reader
from deltaspec.wire.parquet.footer_reader import FooterReader, NotParquet, UnsupportedFooter, read_footer
from deltaspec.wire.parquet.thrift import ThriftError
from deltaspec.wire.parquet.thrift_footer import SchemaTooLarge, decode_schema, iter_column_chunks, read_external_path
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import FileGone, StorageError


def encode_parquet(schema: pa.Schema, rows: list[dict[str, Any]] | None = None, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows or [], schema), sink, store_schema=False, **options)
    return sink.getvalue()


def write_file(directory: Path, data: bytes, name: str = "a.parquet") -> DataAccess:
    (directory / name).write_bytes(data)
    return DataAccess(open_store(str(directory)))


def read_column_node(directory: Path, kind: pa.DataType, **options: Any) -> Node:
    """Return the node that pyarrow writes for a column of a type."""
    access = write_file(directory, encode_parquet(pa.schema([("c", kind)]), **options))
    return FooterReader(access).read("a.parquet").schema.children[0]


def test_row_counts(tmp_path: Path) -> None:
    data = encode_parquet(pa.schema([("c", pa.int64())]), [{"c": each} for each in range(7)], row_group_size=3)
    footer = FooterReader(write_file(tmp_path, data)).read("a.parquet", len(data))
    assert (footer.row_count, footer.row_group_rows, footer.external_path) == (7, 7, None)


@pytest.mark.parametrize(
    ("kind", "physical", "annotation"),
    [
        (pa.bool_(), "BOOLEAN", None),
        (pa.int8(), "INT32", Annotation("INTEGER", bits=8, signed=True)),
        (pa.uint16(), "INT32", Annotation("INTEGER", bits=16, signed=False)),
        (pa.uint64(), "INT64", Annotation("INTEGER", bits=64, signed=False)),
        (pa.int32(), "INT32", None),
        (pa.int64(), "INT64", None),
        (pa.float32(), "FLOAT", None),
        (pa.float64(), "DOUBLE", None),
        (pa.string(), "BYTE_ARRAY", Annotation("STRING")),
        (pa.binary(), "BYTE_ARRAY", None),
        (pa.date32(), "INT32", Annotation("DATE")),
        (pa.timestamp("us", "UTC"), "INT64", Annotation("TIMESTAMP", unit="MICROS", utc=True)),
        (pa.timestamp("ns"), "INT64", Annotation("TIMESTAMP", unit="NANOS", utc=False)),
        (pa.timestamp("ms"), "INT64", Annotation("TIMESTAMP", unit="MILLIS", utc=False)),
        (pa.time64("us"), "INT64", Annotation("TIME", unit="MICROS", utc=False)),
        (pa.decimal128(10, 2), "FIXED_LEN_BYTE_ARRAY", Annotation("DECIMAL", precision=10, scale=2)),
        (pa.null(), "INT32", Annotation("UNKNOWN")),
        (pa.float16(), "FIXED_LEN_BYTE_ARRAY", Annotation("FLOAT16")),
    ],
)
def test_types_of_pyarrow(tmp_path: Path, kind: pa.DataType, physical: str, annotation: Annotation | None) -> None:
    node = read_column_node(tmp_path, kind)
    assert (node.physical, node.annotation, node.repetition) == (physical, annotation, "optional")


def test_fixed_length_is_read(tmp_path: Path) -> None:
    assert read_column_node(tmp_path, pa.binary(5)).length == 5


def test_decimal_in_four_bytes(tmp_path: Path) -> None:
    node = read_column_node(tmp_path, pa.decimal128(9, 4), store_decimal_as_integer=True)
    assert (node.physical, node.annotation) == ("INT32", Annotation("DECIMAL", precision=9, scale=4))


def test_int96_has_no_annotation(tmp_path: Path) -> None:
    node = read_column_node(tmp_path, pa.timestamp("us", "UTC"), use_deprecated_int96_timestamps=True)
    assert (node.physical, node.annotation) == ("INT96", None)


def test_nested_groups_with_field_ids(tmp_path: Path) -> None:
    def with_id(number: int) -> dict[str, str]:
        return {"PARQUET:field_id": str(number)}

    inner = pa.struct([pa.field("x", pa.int32(), nullable=False, metadata=with_id(5))])
    fields = [
        pa.field("s", inner, metadata=with_id(1)),
        pa.field("l", pa.list_(pa.field("element", pa.int64(), metadata=with_id(3))), metadata=with_id(2)),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
    ]
    s, array, m = (
        FooterReader(write_file(tmp_path, encode_parquet(pa.schema(fields)))).read("a.parquet").schema.children
    )
    assert s == Node("s", "optional", field_id=1, children=(Node("x", "required", "INT32", field_id=5),))
    element = Node("element", "optional", "INT64", field_id=3)
    assert array.children == (Node("list", "repeated", children=(element,)),)
    assert (array.annotation, array.field_id) == (Annotation("LIST"), 2)
    key, value = m.children[0].children
    assert (m.annotation, m.field_id, m.children[0].name) == (Annotation("MAP"), None, "key_value")
    assert (key.name, key.repetition, value.name, value.repetition) == ("key", "required", "value", "optional")


@pytest.mark.parametrize("name", ["a.b", "x (Date)", "x\n  optional int32 field_id=3 z;", "x;{", "", "日本", "'\"\\"])
def test_names_are_kept_exactly(tmp_path: Path, name: str) -> None:
    data = encode_parquet(pa.schema([(name, pa.struct([(name, pa.int32())])), ("z", pa.int64())]))
    first, second = FooterReader(write_file(tmp_path, data)).read("a.parquet").schema.children
    assert (first.name, first.children[0].name, second.name) == (name, name, "z")


def test_files_of_one_schema_share_it(tmp_path: Path) -> None:
    schema = pa.schema([("c", pa.int64()), ("d", pa.string())])
    write_file(tmp_path, encode_parquet(schema, [{"c": 1, "d": "x"}]), "a.parquet")
    write_file(tmp_path, encode_parquet(schema, [{"c": 1}, {"c": 2}]), "b.parquet")
    write_file(tmp_path, encode_parquet(pa.schema([("c", pa.int64())])), "c.parquet")
    reader = FooterReader(DataAccess(open_store(str(tmp_path))))
    a, b, c = (reader.read(f"{name}.parquet") for name in "abc")
    assert a.schema is b.schema
    assert c.schema != a.schema
    assert (a.row_count, b.row_count, c.row_count) == (1, 2, 0)


def test_schema_evicted_from_the_cache_is_decoded_again(tmp_path: Path) -> None:
    access = write_file(tmp_path, b"")
    for number in range(150):
        write_file(tmp_path, encode_parquet(pa.schema([("c" * (number + 1), pa.int64())])), f"{number}.parquet")
    reader = FooterReader(access)
    for attempt in ("decoded", "decoded again"):
        names = [reader.read(f"{number}.parquet").schema.children[0].name for number in range(150)]
        assert names == ["c" * (number + 1) for number in range(150)], attempt


def test_long_footer_takes_a_second_read(tmp_path: Path) -> None:
    data = encode_parquet(pa.schema([(f"column {each}", pa.int64()) for each in range(1000)]))
    footer = FooterReader(write_file(tmp_path, data)).read("a.parquet", len(data))
    assert len(footer.schema.children) == 1000


@pytest.mark.parametrize("stated_size", [None, -1, 0, 13, 10**9])
def test_wrong_size_in_the_log_does_not_hide_the_footer(tmp_path: Path, stated_size: int | None) -> None:
    data = encode_parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])
    assert FooterReader(write_file(tmp_path, data)).read("a.parquet", stated_size).row_count == 1


def test_columns_in_another_file_are_found(tmp_path: Path) -> None:
    rows = [{"c": 1, "d": "x"}]
    source = io.BytesIO(encode_parquet(pa.schema([("c", pa.int64()), ("d", pa.string())]), rows))
    metadata = pq.read_metadata(source)
    metadata.set_file_path("elsewhere/b.parquet")
    sink = io.BytesIO()
    metadata.write_metadata_file(sink)
    footer = FooterReader(write_file(tmp_path, sink.getvalue())).read("a.parquet")
    assert footer.external_path == "elsewhere/b.parquet"


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_single_column_chunk_in_another_file_is_found(number: int) -> None:
    schema = pa.schema([("c", pa.int64()), ("d", pa.string())])
    data = encode_parquet(schema, [{"c": 1, "d": "x"}, {"c": 2, "d": "y"}], row_group_size=1)
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    starts = [match.start() for match in re.finditer(rb"\x26[\x80-\xff]*[\x00-\x7f]\x1c\x15", footer)]
    assert len(starts) == 4
    path = b"\x18\x01b\x16"  # field 1, a string of one byte; file_offset is the next field
    changed = footer[: starts[number]] + path + footer[starts[number] + 1 :]
    assert (read_external_path(footer), read_external_path(changed)) == (None, "b")


@given(st.text(min_size=1, max_size=300))
def test_any_external_path_is_found(path: str) -> None:
    metadata = pq.read_metadata(io.BytesIO(encode_parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])))
    metadata.set_file_path(path)
    sink = io.BytesIO()
    metadata.write_metadata_file(sink)
    footer = sink.getvalue()[4:]
    assert read_external_path(footer) == read_external_path(footer, decode_schema(footer)[1]) == path
    assert FooterReader(DataAccess(open_store("/nowhere"))).decode(footer).external_path == path


@given(st.lists(st.integers(0, 2000), max_size=4), st.sampled_from(["snappy", "none"]))
def test_row_groups_are_walked(groups: list[int], compression: str) -> None:
    schema = pa.schema([("c", pa.int64()), ("d", pa.string())])
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression=compression) as writer:
        for rows in groups:
            writer.write_table(pa.table([pa.array(range(rows)), ["x"] * rows], schema=schema))
    footer = sink.getvalue()[-int.from_bytes(sink.getvalue()[-8:-4], "little") - 8 :]
    metadata = pq.read_metadata(sink)
    found = FooterReader(DataAccess(open_store("/nowhere"))).decode(footer)
    assert (found.row_count, found.row_group_rows, found.external_path) == (sum(groups), sum(groups), None)
    assert [
        (chunk.value_count, chunk.compressed_bytes, chunk.data_page_offset) for chunk in iter_column_chunks(footer)
    ] == [
        (column.num_values, column.total_compressed_size, column.data_page_offset)
        for group in range(metadata.num_row_groups)
        for column in map(metadata.row_group(group).column, range(metadata.num_columns))
    ]


# files that are not Parquet, and footers that cannot be checked


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "0 bytes are too few"),
        (b"PAR1PAR1", "8 bytes are too few"),
        (b"id,name\n1,one\n2,two\n", "ends with b'two"),
        (
            b"PAR1" + b"\x00" * 40 + (1000).to_bytes(4, "little") + b"PAR1",
            "states a footer of 1000 bytes, and has only 52 bytes",
        ),
        (b"PAR1" + b"\xff" * 40 + (40).to_bytes(4, "little") + b"PAR1", "broken"),
        (b"PAR1" + (0).to_bytes(4, "little") + b"PAR1", "broken"),
    ],
)
def test_file_that_is_not_parquet(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(NotParquet, match=reason):
        FooterReader(write_file(tmp_path, data)).read("a.parquet", len(data))


def test_footer_truncated_after_its_schema_is_broken(tmp_path: Path) -> None:
    data = encode_parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])
    footer = read_footer(write_file(tmp_path, data), "a.parquet")
    end = decode_schema(footer)[1] + 4
    cut = data[: len(data) - len(footer)] + footer[:end] + end.to_bytes(4, "little") + b"PAR1"
    with pytest.raises(NotParquet, match="its footer is broken"):
        FooterReader(write_file(tmp_path, cut)).read("a.parquet")


def test_encrypted_footer_is_unsupported(tmp_path: Path) -> None:
    data = encode_parquet(pa.schema([("c", pa.int64())]))
    with pytest.raises(UnsupportedFooter, match="encrypted"):
        FooterReader(write_file(tmp_path, b"PARE" + data[4:-4] + b"PARE")).read("a.parquet")


def test_column_name_that_is_not_utf8_is_unsupported_in_every_file(tmp_path: Path) -> None:
    data = encode_parquet(pa.schema([("abcd", pa.int64())]), [{"abcd": 1}]).replace(b"abcd", b"ab\xff\xfe")
    reader = FooterReader(write_file(tmp_path, data))
    for _ in range(2):
        with pytest.raises(UnsupportedFooter, match="Arrow rejects its footer: 'utf-8' codec can't decode byte 0xff"):
            reader.read("a.parquet")


def test_missing_file_is_gone(tmp_path: Path) -> None:
    with pytest.raises(FileGone):
        FooterReader(DataAccess(open_store(str(tmp_path)))).read("a.parquet", 100)


def test_directory_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").mkdir()
    with pytest.raises(StorageError):
        FooterReader(DataAccess(open_store(str(tmp_path)))).read("a.parquet", 100)


def test_footer_above_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer_reader, "MAX_FOOTER_BYTES", 10)
    with pytest.raises(UnsupportedFooter, match=r"its footer has \d+ bytes, more than the limit of 10 bytes"):
        FooterReader(write_file(tmp_path, encode_parquet(pa.schema([("c", pa.int64())])))).read("a.parquet")


def test_external_path_that_cannot_be_decoded_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ThriftError("it is nested too deeply")

    monkeypatch.setattr(footer_reader, "read_external_path", fail)
    data = encode_parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])
    metadata = pq.read_metadata(io.BytesIO(data))
    metadata.set_file_path("b.parquet")
    sink = io.BytesIO()
    metadata.write_metadata_file(sink)
    with pytest.raises(UnsupportedFooter, match="the column chunks in its footer cannot be decoded: it is nested"):
        FooterReader(DataAccess(open_store("/nowhere"))).decode(sink.getvalue()[4:])


def test_row_groups_of_a_large_footer_are_counted(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, pa.schema([("c", pa.int64())])) as writer:
        writer.write_table(pa.table({"c": [1, 2, 3]}))
        writer.add_key_value_metadata({"padding": "x" * (5 << 20)})
    before_rows = b"\x16\x06\x19"  # field 3 of the footer, 3 rows, the row groups
    whole = sink.getvalue()
    assert whole.count(before_rows) == 1
    footer = FooterReader(write_file(tmp_path, whole.replace(before_rows, b"\x16\x0e\x19"))).read("a.parquet")
    assert (footer.row_count, footer.row_group_rows) == (7, 3)


# hostile bytes


def element(*, children: int = 0, name: bytes = b"c", rest: bytes = b"") -> bytes:
    """Return a schema element in the compact protocol; `rest` has its fields after `num_children`."""
    count = b"\x15" + bytes([children * 2]) if children else b""
    return b"\x48" + bytes([len(name)]) + name + count + rest + b"\x00"


def with_schema(elements: list[bytes], count: int | None = None) -> bytes:
    length = len(elements) if count is None else count
    head = b"\xfc" + _varint(length)
    return b"\x15\x02\x19" + head + b"".join(elements) + b"\x00"


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


@pytest.mark.parametrize(("number", "name"), [(16, "VARIANT"), (17, "GEOMETRY"), (18, "GEOGRAPHY")])
def test_logical_types_that_pyarrow_does_not_write(number: int, name: str) -> None:
    in_union = b"\x0c" + bytes([2 * number]) + b"\x00"  # a field with an explicit number, an empty struct
    group = element(children=1, rest=b"\x5c" + in_union + b"\x00")
    root, _ = decode_schema(with_schema([element(children=1), group, element()]))
    assert root.children[0].annotation == Annotation(name)


def test_deep_schema_is_refused_without_recursion() -> None:
    with pytest.raises(SchemaTooLarge, match="levels deep"):
        decode_schema(with_schema([element(children=1)] * 5000 + [element()]))


def test_node_count_beyond_the_bytes_is_refused() -> None:
    with pytest.raises(ThriftError, match="a list extends past its end"):
        decode_schema(with_schema([element()], count=2**60))


@pytest.mark.parametrize(
    "elements",
    [[], [element(children=2), element()], [element(children=1), element(), element()], [element(children=100)]],
    ids=["empty", "too few", "too many", "no children"],
)
def test_schema_that_is_not_a_tree_is_refused(elements: list[bytes]) -> None:
    with pytest.raises(ThriftError):
        decode_schema(with_schema(elements))


@given(st.data())
def test_mutated_footer_is_read_or_refused(data: st.DataObject) -> None:
    schema = pa.schema([("c", pa.int64()), ("l", pa.list_(pa.string())), ("d", pa.decimal128(5, 2))])
    whole = encode_parquet(schema, [{"c": 1, "l": ["x"], "d": None}])
    footer = bytearray(whole[-int.from_bytes(whole[-8:-4], "little") - 8 :])
    for _ in range(data.draw(st.integers(1, 6))):
        footer[data.draw(st.integers(0, len(footer) - 9))] = data.draw(st.integers(0, 255))
    try:
        found = FooterReader(DataAccess(open_store("/nowhere"))).decode(bytes(footer))
    except (NotParquet, UnsupportedFooter):
        return
    assert isinstance(found.row_count, int)

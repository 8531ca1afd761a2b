"""Footers: rows, schema with field ids and annotations, and what is no Parquet file beside what cannot be read."""

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.model.schema.parquet_types import Annotation, Node
from deltaspec.wire.parquet import footer_reader, thrift_footer
from deltaspec.wire.parquet.footer_reader import FooterReader, NotParquet, UnsupportedFooter, read_footer
from deltaspec.wire.parquet.thrift_footer import (
    SchemaTooLarge,
    ThriftError,
    decode_schema,
    iter_external_paths,
    row_group_rows,
)
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import FileGone, StorageError


def parquet(schema: pa.Schema, rows: list[dict[str, Any]] | None = None, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows or [], schema), sink, store_schema=False, **options)
    return sink.getvalue()


def laid(directory: Path, data: bytes, name: str = "a.parquet") -> DataAccess:
    (directory / name).write_bytes(data)
    return DataAccess(open_store(str(directory)))


def column(directory: Path, kind: pa.DataType, **options: Any) -> Node:
    """The node that pyarrow stores a column of a type as."""
    access = laid(directory, parquet(pa.schema([("c", kind)]), **options))
    return FooterReader(access).read("a.parquet").schema.children[0]


def test_counts_and_writer(tmp_path: Path) -> None:
    data = parquet(pa.schema([("c", pa.int64())]), [{"c": each} for each in range(7)], row_group_size=3)
    footer = FooterReader(laid(tmp_path, data)).read("a.parquet", len(data))
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
def test_type_as_written(tmp_path: Path, kind: pa.DataType, physical: str, annotation: Annotation | None) -> None:
    node = column(tmp_path, kind)
    assert (node.physical, node.annotation, node.repetition) == (physical, annotation, "optional")


def test_fixed_length(tmp_path: Path) -> None:
    assert column(tmp_path, pa.binary(5)).length == 5


def test_decimal_of_four_bytes(tmp_path: Path) -> None:
    node = column(tmp_path, pa.decimal128(9, 4), store_decimal_as_integer=True)
    assert (node.physical, node.annotation) == ("INT32", Annotation("DECIMAL", precision=9, scale=4))


def test_int96_has_no_annotation(tmp_path: Path) -> None:
    node = column(tmp_path, pa.timestamp("us", "UTC"), use_deprecated_int96_timestamps=True)
    assert (node.physical, node.annotation) == ("INT96", None)


def test_nested_groups_with_field_ids(tmp_path: Path) -> None:
    def number(each: int) -> dict[str, str]:
        return {"PARQUET:field_id": str(each)}

    inner = pa.struct([pa.field("x", pa.int32(), nullable=False, metadata=number(5))])
    fields = [
        pa.field("s", inner, metadata=number(1)),
        pa.field("l", pa.list_(pa.field("element", pa.int64(), metadata=number(3))), metadata=number(2)),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
    ]
    s, array, m = FooterReader(laid(tmp_path, parquet(pa.schema(fields)))).read("a.parquet").schema.children
    assert s == Node("s", "optional", field_id=1, children=(Node("x", "required", "INT32", field_id=5),))
    element = Node("element", "optional", "INT64", field_id=3)
    assert array.children == (Node("list", "repeated", children=(element,)),)
    assert (array.annotation, array.field_id) == (Annotation("LIST"), 2)
    key, value = m.children[0].children
    assert (m.annotation, m.field_id, m.children[0].name) == (Annotation("MAP"), None, "key_value")
    assert (key.name, key.repetition, value.name, value.repetition) == ("key", "required", "value", "optional")


@pytest.mark.parametrize("name", ["a.b", "x (Date)", "x\n  optional int32 field_id=3 z;", "x;{", "", "日本", "'\"\\"])
def test_names_are_what_they_are(tmp_path: Path, name: str) -> None:
    data = parquet(pa.schema([(name, pa.struct([(name, pa.int32())])), ("z", pa.int64())]))
    first, second = FooterReader(laid(tmp_path, data)).read("a.parquet").schema.children
    assert (first.name, first.children[0].name, second.name) == (name, name, "z")


def test_files_of_one_schema_share_it(tmp_path: Path) -> None:
    schema = pa.schema([("c", pa.int64()), ("d", pa.string())])
    laid(tmp_path, parquet(schema, [{"c": 1, "d": "x"}]), "a.parquet")
    laid(tmp_path, parquet(schema, [{"c": 1}, {"c": 2}]), "b.parquet")
    laid(tmp_path, parquet(pa.schema([("c", pa.int64())])), "c.parquet")
    reader = FooterReader(DataAccess(open_store(str(tmp_path))))
    a, b, c = (reader.read(f"{name}.parquet") for name in "abc")
    assert a.schema is b.schema
    assert c.schema != a.schema
    assert (a.row_count, b.row_count, c.row_count) == (1, 2, 0)


def test_schema_is_found_again_when_many_were_seen(tmp_path: Path) -> None:
    access = laid(tmp_path, b"")
    for number in range(150):
        laid(tmp_path, parquet(pa.schema([("c" * (number + 1), pa.int64())])), f"{number}.parquet")
    reader = FooterReader(access)
    for _ in range(2):
        names = [reader.read(f"{number}.parquet").schema.children[0].name for number in range(150)]
        assert names == ["c" * (number + 1) for number in range(150)]


def test_wide_footer_is_read_by_a_second_request(tmp_path: Path) -> None:
    data = parquet(pa.schema([(f"column {each}", pa.int64()) for each in range(1000)]))
    footer = FooterReader(laid(tmp_path, data)).read("a.parquet", len(data))
    assert len(footer.schema.children) == 1000


@pytest.mark.parametrize("claimed", [None, 0, 13, 10**9])
def test_wrong_size_in_the_log_does_not_hide_the_footer(tmp_path: Path, claimed: int | None) -> None:
    data = parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])
    assert FooterReader(laid(tmp_path, data)).read("a.parquet", claimed).row_count == 1


def test_columns_in_another_file_are_noticed(tmp_path: Path) -> None:
    rows = [{"c": 1, "d": "x"}]
    source = io.BytesIO(parquet(pa.schema([("c", pa.int64()), ("d", pa.string())]), rows))
    metadata = pq.read_metadata(source)
    metadata.set_file_path("elsewhere/b.parquet")
    sink = io.BytesIO()
    metadata.write_metadata_file(sink)
    footer = FooterReader(laid(tmp_path, sink.getvalue())).read("a.parquet")
    assert footer.external_path == "elsewhere/b.parquet"


@given(st.text(min_size=1, max_size=300))
def test_any_path_of_a_column_chunk_is_noticed(path: str) -> None:
    metadata = pq.read_metadata(io.BytesIO(parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])))
    metadata.set_file_path(path)
    sink = io.BytesIO()
    metadata.write_metadata_file(sink)
    assert list(iter_external_paths(sink.getvalue()[4:])) == [path]


@given(st.lists(st.integers(0, 2000), max_size=4), st.sampled_from(["snappy", "none"]))
def test_rows_of_row_groups_are_counted(groups: list[int], compression: str) -> None:
    schema = pa.schema([("c", pa.int64()), ("d", pa.string())])
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression=compression) as writer:
        for rows in groups:
            writer.write_table(pa.table([pa.array(range(rows)), ["x"] * rows], schema=schema))
    footer = sink.getvalue()[-int.from_bytes(sink.getvalue()[-8:-4], "little") - 8 :]
    assert row_group_rows(footer, sum(groups)) == sum(groups)
    assert row_group_rows(footer, sum(groups) + 1) == sum(groups)


def test_large_footer_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])
    monkeypatch.setattr(thrift_footer, "DECODED_BYTES", 10)
    assert row_group_rows(whole[-int.from_bytes(whole[-8:-4], "little") - 8 :], 7) == 7


# what is no Parquet file


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "0 bytes are too few"),
        (b"PAR1PAR1", "8 bytes are too few"),
        (b"id,name\n1,one\n2,two\n", "ends with b'two"),
        (b"PAR1" + b"\x00" * 40 + (1000).to_bytes(4, "little") + b"PAR1", "says that its footer has 1000 bytes"),
        (b"PAR1" + b"\xff" * 40 + (40).to_bytes(4, "little") + b"PAR1", "broken"),
        (b"PAR1" + (0).to_bytes(4, "little") + b"PAR1", "broken"),
    ],
)
def test_no_parquet(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(NotParquet, match=why):
        FooterReader(laid(tmp_path, data)).read("a.parquet", len(data))


def test_footer_cut_behind_its_schema_is_broken(tmp_path: Path) -> None:
    data = parquet(pa.schema([("c", pa.int64())]), [{"c": 1}])
    footer = read_footer(laid(tmp_path, data), "a.parquet")
    end = decode_schema(footer)[1] + 4
    cut = data[: len(data) - len(footer)] + footer[:end] + end.to_bytes(4, "little") + b"PAR1"
    with pytest.raises(NotParquet, match="its footer is broken"):
        FooterReader(laid(tmp_path, cut)).read("a.parquet")


def test_encrypted_footer_is_not_read(tmp_path: Path) -> None:
    data = parquet(pa.schema([("c", pa.int64())]))
    with pytest.raises(UnsupportedFooter, match="encrypted"):
        FooterReader(laid(tmp_path, b"PARE" + data[4:-4] + b"PARE")).read("a.parquet")


def test_missing_file_is_gone(tmp_path: Path) -> None:
    with pytest.raises(FileGone):
        FooterReader(DataAccess(open_store(str(tmp_path)))).read("a.parquet", 100)


def test_directory_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").mkdir()
    with pytest.raises(StorageError):
        FooterReader(DataAccess(open_store(str(tmp_path)))).read("a.parquet", 100)


def test_large_footer_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer_reader, "MAX_FOOTER_BYTES", 10)
    with pytest.raises(UnsupportedFooter, match="more than the 10"):
        FooterReader(laid(tmp_path, parquet(pa.schema([("c", pa.int64())])))).read("a.parquet")


# hostile bytes


def element(*, children: int = 0, name: bytes = b"c") -> bytes:
    """A group of the compact form."""
    return b"\x48" + bytes([len(name)]) + name + (b"\x15" + bytes([children * 2]) if children else b"") + b"\x00"


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


def test_deep_schema_is_refused_before_anything_descends_it() -> None:
    with pytest.raises(SchemaTooLarge, match="levels deep"):
        decode_schema(with_schema([element(children=1)] * 5000 + [element()]))


def test_length_beyond_the_bytes_is_refused() -> None:
    with pytest.raises(ThriftError, match="goes beyond its end"):
        decode_schema(with_schema([element()], count=2**60))


@pytest.mark.parametrize(
    "elements",
    [[], [element(children=2), element()], [element(children=1), element(), element()], [element(children=100)]],
    ids=["empty", "too few", "too many", "of nothing"],
)
def test_schema_that_is_no_tree(elements: list[bytes]) -> None:
    with pytest.raises(ThriftError):
        decode_schema(with_schema(elements))


@given(st.data())
def test_mutated_footers_are_read_or_refused(data: st.DataObject) -> None:
    schema = pa.schema([("c", pa.int64()), ("l", pa.list_(pa.string())), ("d", pa.decimal128(5, 2))])
    whole = parquet(schema, [{"c": 1, "l": ["x"], "d": None}])
    footer = bytearray(whole[-int.from_bytes(whole[-8:-4], "little") - 8 :])
    for _ in range(data.draw(st.integers(1, 6))):
        footer[data.draw(st.integers(0, len(footer) - 9))] = data.draw(st.integers(0, 255))
    try:
        found = FooterReader(DataAccess(open_store("/nowhere"))).decode(bytes(footer))
    except (NotParquet, UnsupportedFooter):
        return
    assert isinstance(found.row_count, int)

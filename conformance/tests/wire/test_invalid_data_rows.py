"""Rows of data files that violate checks, and files that cannot be read."""

from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from wire.data_row_reading import (
    LONG,
    STRING,
    fields,
    find_bounds,
    find_broken_checks,
    find_leaf,
    parquet_bytes,
    read_file_rows,
    to_micros,
)

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct
from deltaspec.wire.data import row_reader
from deltaspec.wire.data.column_aggregates import ColumnAggregate
from deltaspec.wire.data.row_reader import read_rows
from deltaspec.wire.parquet import file_opener
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import StorageError

# checks


def test_violating_rows_are_counted_with_their_index_in_the_file() -> None:
    values = [None if each in (70_000, 150_000) else each for each in range(160_000)]
    schema = Struct((Field("id", LONG, False),))
    result = read_file_rows(parquet_bytes(pa.table({"id": values}), row_group_size=64_000), schema)
    assert find_broken_checks(result) == {("not null", "id"): (2, 70_000)}
    assert find_broken_checks(read_file_rows(parquet_bytes(pa.table({"id": values})), schema, deleted=[70_000])) == {
        ("not null", "id"): (1, 150_000)
    }


def test_nulls_in_containers_count_their_rows_once() -> None:
    inner = Struct((Field("x", LONG, False),))
    kind = Map(STRING, Array(inner, False), False)
    arrow = pa.map_(pa.string(), pa.list_(pa.struct([("x", pa.int64())])))
    rows = [
        [("a", [{"x": 1}])],
        None,
        [("a", [{"x": None}, {"x": None}]), ("b", [{"x": None}])],
        [("a", None)],
        [("a", [None, {"x": 1}])],
    ]
    result = read_file_rows(pa.table({"m": pa.array(rows, arrow)}), fields(m=kind))
    assert find_broken_checks(result) == {
        ("not null", "m.value"): (1, 3),
        ("not null", "m.value.element"): (1, 4),
        ("not null", "m.value.element.x"): (1, 2),
    }
    assert [each.column for each in result.checks if each.violating_rows and not each.column.inside] == []


def test_integer_outside_of_its_type() -> None:
    result = read_file_rows(pa.table({"b": pa.array([1, 128, None, -129], pa.int32())}), fields(b=Primitive("byte")))
    check = next(each for each in result.checks if each.check == "range")
    assert (check.violating_rows, check.first_row, check.found, check.expected) == (2, 1, "128", "byte")


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        (Primitive("byte"), pa.array([300], pa.int64())),
        (Decimal(5, 2), pa.array([Exact("12345.6")], pa.decimal128(6, 1))),
        (Decimal(5, 2), pa.array([Exact("1.234")], pa.decimal128(5, 3))),
    ],
)
def test_values_of_a_wrong_stored_type_have_no_range_check(kind: DataType, array: pa.Array) -> None:
    assert find_broken_checks(read_file_rows(pa.table({"c": array}), fields(c=kind))) == {}


PARTITIONS: list[tuple[DataType, str | None, pa.Array, int]] = [
    (STRING, "a", pa.array(["a", "a"]), 0),
    (STRING, "a", pa.array(["a", "b"]), 1),
    (STRING, "a", pa.array(["a", None]), 1),
    (STRING, "", pa.array(["", None]), 0),
    (STRING, None, pa.array(["", "a"]), 1),
    (LONG, "007", pa.array([7, 7], pa.int32()), 0),
    (Primitive("float"), "3.4", pa.array([3.4, 3.4], pa.float32()), 0),
    (Primitive("double"), "3.4", pa.array([3.4, 3.4], pa.float32()), 0),
    (Primitive("double"), "NaN", pa.array([float("nan"), 1.0]), 1),
    (Primitive("double"), "-0.0", pa.array([0.0, -0.0]), 0),
    (Decimal(5, 2), "1.5", pa.array([Exact("1.50"), Exact("1.51")], pa.decimal128(5, 2)), 1),
    (Decimal(20, 0), "5", pa.array([5, 6], pa.int32()), 1),
    (Primitive("boolean"), "TRUE", pa.array([True, False]), 1),
    (Primitive("date"), "1500-02-28", pa.array([-171_606, -171_605], pa.date32()), 1),
    (
        Primitive("timestamp"),
        "2024-01-01 00:00:00",
        pa.array([to_micros(2024, 1, 1, 8)] * 2, pa.timestamp("us", "UTC")),
        0,
    ),
    (
        Primitive("timestamp"),
        "2024-01-01 00:00:00",
        pa.array([to_micros(2024, 1, 2)] * 2, pa.timestamp("us", "UTC")),
        2,
    ),
    (Primitive("timestamp"), "2024-01-01T00:00:00Z", pa.array([to_micros(2024, 1, 1, 8)] * 2, pa.timestamp("us")), 2),
    (Primitive("timestamp_ntz"), "2024-01-01 00:00:00", pa.array([to_micros(2024, 1, 1)] * 2, pa.timestamp("us")), 0),
    (Primitive("timestamp_ntz"), "1970-01-02", pa.array([1, 2], pa.date32()), 1),
    (Primitive("binary"), "\\u0001\\u00ff", pa.array([b"\x01\xff", b"\x01"]), 1),
    (Primitive("binary"), "é", pa.array(["é".encode(), "é".encode()]), 0),
    (Primitive("binary"), "\ufffd", pa.array([b"\xff", b"\xff"]), 0),
    (LONG, "x", pa.array([7, 8]), 0),
    (LONG, "7", pa.array(["7", "8"]), 0),
]


@pytest.mark.parametrize(("kind", "text", "array", "wrong"), PARTITIONS)
def test_stored_partition_columns(kind: DataType, text: str | None, array: pa.Array, wrong: int) -> None:
    result = read_file_rows(pa.table({"p": array, "id": [1, 2]}), fields(p=kind, id=LONG), partition={"p": text})
    assert sum(each.violating_rows for each in result.checks) == wrong
    assert [each.path for each in result.leaves] == [("id",)]


def test_missing_partition_value_is_not_compared() -> None:
    data = parquet_bytes(pa.table({"p": ["a"], "id": [1]}))
    schema = Struct((Field("p", STRING, False), Field("id", LONG, True)))
    result = read_rows(pa.BufferReader(data), len(data), schema, None, ["p"], {}, None)
    assert find_broken_checks(result) == {}
    assert [each.path for each in result.leaves] == [("id",)]


# unreadable files


PLAIN = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}


def damage(table: pa.Table, column: int) -> bytes:
    data = bytearray(parquet_bytes(table, **PLAIN))
    chunk = pq.ParquetFile(pa.BufferReader(bytes(data))).metadata.row_group(0).column(column)
    data[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 1
    return bytes(data)


def test_damaged_page_affects_only_its_column() -> None:
    result = read_file_rows(
        damage(pa.table({"a": [1, 2], "b": [3, 4], "c": ["x", "y"]}), 1), fields(a=LONG, b=LONG, c=STRING)
    )
    assert list(result.corrupt) == ["b"]
    assert "CRC" in result.corrupt["b"]
    assert sorted(result.decoded) == ["a", "c"]
    assert (find_bounds(result, "a"), find_bounds(result, "c")) == ((1, 2), ("x", "y"))
    assert str(find_leaf(result, "b").unread).startswith("its pages cannot be decoded: ")


def test_columns_outside_of_the_table_are_not_read() -> None:
    result = read_file_rows(damage(pa.table({"a": [1, 2], "dropped": [3, 4]}), 1), fields(a=LONG))
    assert (result.corrupt, result.decoded) == ({}, ["a"])


@pytest.mark.parametrize(
    "fault", [NotImplementedError("Codec lzo"), MemoryError("malloc of size 2"), OSError(5, "EIO")]
)
def test_unsupported_pages_are_not_corrupt(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise fault

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fail)
    result = read_file_rows(pa.table({"id": [1]}), fields(id=LONG))
    assert result.corrupt == {}
    assert result.unread == [f"id: {' '.join(str(fault).split())}"]
    assert find_leaf(result, "id").unread


def test_storage_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise StorageError("a.parquet: timed out")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fail)
    with pytest.raises(StorageError):
        read_file_rows(pa.table({"id": [1]}), fields(id=LONG))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PARE" * 10, b"PAR1" + b"\xff" * 50 + b"PAR1"])
def test_file_that_is_not_parquet_cannot_be_opened(data: bytes) -> None:
    with pytest.raises(UnreadableRows, match="cannot be opened as Parquet"):
        read_file_rows(data, fields(id=LONG))


def test_too_many_stated_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_opener, "MAX_ROWS_OF_ANY_FILE", 10)
    monkeypatch.setattr(file_opener, "MAX_ROWS_PER_BYTE", 0)
    with pytest.raises(UnreadableRows, match=r"states 11 rows; \d+ bytes can have at most \d+"):
        read_file_rows(pa.table({"id": range(11)}), fields(id=LONG))


def test_too_large_batch_is_read_in_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary encodes 3,000 long strings in a file of some kilobytes."""
    text = "x" * 10_000
    table = pa.table({"s": ["a"] * 1000 + [text] * 3000 + ["z"], "l": [[1, None]] * 4001})
    monkeypatch.setattr(row_reader, "LARGE_BATCH_BYTES", 1 << 20)
    sizes = []
    taken = ColumnAggregate.take

    def take(self: Any, array: pa.Array, offset: int, keep: Any) -> None:
        sizes.append(array.nbytes)
        taken(self, array, offset, keep)

    monkeypatch.setattr(ColumnAggregate, "take", take)
    result = read_file_rows(table, fields(s=STRING, l=Array(LONG, False)))
    assert max(sizes) <= 1 << 20
    assert find_bounds(result, "s") == ("a", "z")
    assert find_broken_checks(result) == {("not null", "l.element"): (4001, 0)}


# members of structs


REQUIRED, OPTIONAL = Field("a", LONG, False), Field("b", LONG, True)
MEMBERS = Struct((REQUIRED, OPTIONAL))


@pytest.mark.parametrize("is_optional", [True, False])
def test_missing_required_member_is_null_where_its_optional_struct_exists(is_optional: bool) -> None:
    schema = Struct((Field("s", MEMBERS, is_optional),))
    array = pa.array([{"b": 1}, None, {"b": 2}] if is_optional else [{"b": 1}])
    found = find_broken_checks(read_file_rows(pa.table({"s": array}), schema))
    # without an optional parent, the footer decides
    assert found == ({("not null", "s.a"): (2, 0)} if is_optional else {})


def test_missing_member_below_a_required_struct_of_an_optional_one() -> None:
    schema = Struct((Field("s", Struct((Field("t", MEMBERS, False),)), True),))
    array = pa.array([{"t": {"b": 1}}, None])
    assert find_broken_checks(read_file_rows(pa.table({"s": array}), schema)) == {("not null", "s.t.a"): (1, 0)}


def test_missing_member_inside_an_array_is_null_in_every_element() -> None:
    array = pa.array([[], [{"b": 1}, {"b": 2}], [{"b": 3}]])
    found = find_broken_checks(read_file_rows(pa.table({"s": array}), fields(s=Array(MEMBERS, True))))
    assert found == {("not null", "s.element.a"): (2, 1)}


def test_struct_of_another_type_is_not_read() -> None:
    schema = Struct((Field("s", MEMBERS, True),))
    result = read_file_rows(pa.table({"s": pa.array([1, 2])}), schema)
    assert {leaf.path: leaf.unread for leaf in result.leaves} == {
        ("s", "a"): "the file stores int64",
        ("s", "b"): "the file stores int64",
    }
    assert [each for each in result.checks if len(each.column.path) > 1] == []


def test_leaves_of_a_column_that_cannot_be_decoded_have_no_rows() -> None:
    leaf = find_leaf(read_file_rows(damage(pa.table({"a": [1, 2]}), 0), fields(a=LONG)), "a")
    assert (leaf.rows, leaf.nulls, leaf.minimum) == (0, 0, None)


@pytest.mark.parametrize("fault", [NotImplementedError("Codec lzo"), StorageError("timed out")])
def test_change_type_that_cannot_be_decoded_is_not_checked(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = row_reader.GroupReader.iter_batches

    def fail(self: Any, names: list[str], *more: Any) -> Any:
        if names == ["_change_type"]:
            raise fault
        return batches(self, names, *more)

    monkeypatch.setattr(row_reader.GroupReader, "iter_batches", fail)
    table = pa.table({"id": [1], "_change_type": ["insert"]})
    if isinstance(fault, StorageError):
        with pytest.raises(StorageError, match="timed out"):
            read_file_rows(table, fields(id=LONG))
    else:
        result = read_file_rows(table, fields(id=LONG))
        assert (result.unread, result.decoded) == (["_change_type: Codec lzo"], ["id"])

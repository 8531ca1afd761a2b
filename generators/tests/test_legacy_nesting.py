"""Legacy forms of Parquet columns have the same rows in another schema."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec_generators.data_files.legacy_nesting import LegacyForm, store_as

NUMBERS = pa.list_(pa.field("element", pa.int32(), nullable=False))
PAIRS = pa.list_(pa.field("element", pa.struct([("a", pa.int64()), ("b", pa.string())]), nullable=False))
TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "small": pa.array([-128, None, 127], pa.int8()),
        "numbers": pa.array([[1, 2], [], None], NUMBERS),
        "nested": pa.array([[[1], []], None, []], pa.list_(pa.field("element", NUMBERS, nullable=False))),
        "pairs": pa.array([[{"a": 1, "b": "é"}], None, []], PAIRS),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "last": pa.array(["a", "b", None]),
    }
)
EXPECTED: dict[LegacyForm, tuple[str, ...]] = {
    "two-levels": ("repeated int32 field_id=-1 array;", "repeated group field_id=-1 array {"),
    "tuples": ("repeated int32 field_id=-1 numbers_tuple;", "repeated group field_id=-1 pairs_tuple {"),
    "bags": ("repeated group field_id=-1 bag {", "required int32 field_id=-1 array_element;"),
    "key-value-maps": ("repeated group field_id=-1 map {",),
    "map-groups": ("repeated group field_id=-1 map (Map) {",),
    "plain-integers": ("optional int32 field_id=-1 small;",),
}


def encode(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, **options)
    return sink.getvalue()


@pytest.mark.parametrize("form", EXPECTED)
def test_rows_are_the_same_in_another_schema(form: LegacyForm) -> None:
    stored = store_as(encode(TABLE, row_group_size=2), form)
    schema = str(pq.ParquetFile(io.BytesIO(stored)).schema)
    assert [line for line in EXPECTED[form] if line not in schema] == []
    assert pq.read_table(io.BytesIO(stored)).to_pylist() == TABLE.to_pylist()


def test_column_chunks_have_their_new_path() -> None:
    group = pq.ParquetFile(io.BytesIO(store_as(encode(TABLE), "two-levels"))).metadata.row_group(0)
    assert [group.column(number).path_in_schema for number in (2, 3)] == ["numbers.array", "nested.array.array"]


def test_arrow_rejects_unknown_maps() -> None:
    with pytest.raises((OSError, ValueError)):
        pq.read_table(io.BytesIO(store_as(encode(TABLE), "unknown-maps")))


def test_elements_that_may_be_null_have_no_form_of_two_levels() -> None:
    table = pa.table({"x": pa.array([[1, None]], pa.list_(pa.int32()))})
    with pytest.raises(ValueError, match="may be null"):
        store_as(encode(table), "two-levels")


@pytest.mark.parametrize("form", EXPECTED)
def test_a_file_without_such_a_column_is_an_error(form: LegacyForm) -> None:
    with pytest.raises(ValueError, match="nothing to store"):
        store_as(encode(pa.table({"x": pa.array([1], pa.int64())})), form)

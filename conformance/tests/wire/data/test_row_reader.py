"""Rows of data files: bounds, nulls and violations, for every encoding of the file."""

from datetime import date
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire.data_row_reading import (
    INTEGER,
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
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec.wire.data.row_reader import GroupReader
from deltaspec.wire.parquet.arrow_errors import is_corruption
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec_generators.data_files.parquet_encodings import (
    ParquetEncoding,
    build_parquet_fields,
    build_rows_table,
    write_parquet,
)
from deltaspec_generators.tables.strategies import column_values as columns_of
from deltaspec_generators.tables.strategies import data_types, parquet_encodings
from deltaspec_generators.values.arrow_values import to_plain_values
from planted_tables.bases.single_file import build_string_array

# bounds of every type


EVERY_TYPE: list[tuple[str, DataType, pa.Array, Any, Any]] = [
    ("byte", Primitive("byte"), pa.array([-128, 127, None], pa.int8()), -128, 127),
    ("short", Primitive("short"), pa.array([3, -5, None], pa.int16()), -5, 3),
    ("integer", INTEGER, pa.array([None, 3, -5], pa.int32()), -5, 3),
    ("long", LONG, pa.array([2**63 - 1, None, -(2**63)]), -(2**63), 2**63 - 1),
    ("float", Primitive("float"), pa.array([1.5, None, -2.25], pa.float32()), -2.25, 1.5),
    ("double", Primitive("double"), pa.array([float("inf"), 0.1, None]), 0.1, float("inf")),
    ("boolean", Primitive("boolean"), pa.array([True, None, False]), False, True),
    ("string", STRING, pa.array(["é", None, "z", "\U0001f600", "\uffff"]), "z", "\U0001f600"),
    ("binary", Primitive("binary"), pa.array([b"\xff", None, b"\x7f"]), b"\x7f", b"\xff"),
    ("date", Primitive("date"), pa.array([-719_162, 2_932_896], pa.date32()), -719_162, 2_932_896),
    ("date beyond", Primitive("date"), pa.array([-(2**31), 2**31 - 1], pa.date32()), -(2**31), 2**31 - 1),
    ("timestamp", Primitive("timestamp"), pa.array([-1, 2**62], pa.timestamp("us", "UTC")), -1, 2**62),
    ("ntz", Primitive("timestamp_ntz"), pa.array([-(2**62), 5], pa.timestamp("us")), -(2**62), 5),
    ("millis", Primitive("timestamp"), pa.array([-1, 2**60], pa.timestamp("ms", "UTC")), -1000, 2**60 * 1000),
    ("nanos", Primitive("timestamp"), pa.array([-1, 1999], pa.timestamp("ns", "UTC")), -1, 1),
    (
        "decimal",
        Decimal(38, 10),
        pa.array([Exact("-1"), Exact("9999999999999999999999999999.9999999999")], pa.decimal128(38, 10)),
        Exact("-1"),
        Exact("9999999999999999999999999999.9999999999"),
    ),
]


@pytest.mark.parametrize(
    ("kind", "array", "low", "high"), [case[1:] for case in EVERY_TYPE], ids=[c[0] for c in EVERY_TYPE]
)
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "data_page_size": 1}, {"store_schema": False}])
def test_bounds_of_every_type(kind: DataType, array: pa.Array, low: Any, high: Any, options: dict[str, Any]) -> None:
    result = read_file_rows(parquet_bytes(pa.table({"c": array}), **options), fields(c=kind))
    found = find_leaf(result, "c")
    assert (found.minimum, found.maximum) == (low, high)
    assert type(found.minimum) is type(low)
    assert (found.nulls, found.valid_nulls) == (array.null_count, array.null_count)
    assert found.type is None
    assert not found.has_nan
    assert result.unread == []
    assert result.corrupt == {}


def test_int96_has_early_and_late_timestamps() -> None:
    moments = [to_micros(1, 1, 1), to_micros(1582, 10, 4, 23, 59), to_micros(9999, 12, 31)]
    table = pa.table({"c": pa.array(moments, pa.timestamp("us"))})
    result = read_file_rows(write_parquet(table, ParquetEncoding(times="int96")), fields(c=Primitive("timestamp")))
    assert find_bounds(result, "c") == (moments[0], moments[2])


def test_nan_is_not_a_bound() -> None:
    nan = float("nan")
    table = pa.table({"a": [nan, 1.0, -1.0], "b": [nan, nan, None], "c": [1.0, 2.0, None]})
    result = read_file_rows(table, fields(a=Primitive("double"), b=Primitive("double"), c=Primitive("double")))
    assert [(find_bounds(result, name), find_leaf(result, name).has_nan) for name in "abc"] == [
        ((-1.0, 1.0), True),
        ((None, None), True),
        ((1.0, 2.0), False),
    ]


@pytest.mark.parametrize(
    ("kind", "array", "low", "of_type"),
    [
        (LONG, pa.array([1], pa.int32()), 1, None),
        (Primitive("double"), pa.array([1], pa.int16()), 1, Primitive("short")),
        (Primitive("double"), pa.array([0.1], pa.float32()), 0.10000000149011612, Primitive("float")),
        (Decimal(20, 2), pa.array([7], pa.int64()), 7, LONG),
        (Decimal(10, 4), pa.array([Exact("1.25")], pa.decimal128(6, 2)), Exact("1.25"), Decimal(6, 2)),
        (Primitive("timestamp_ntz"), pa.array([date(1970, 1, 2)]), 1, Primitive("date")),
    ],
)
def test_values_of_a_narrower_type_keep_their_type(
    kind: DataType, array: pa.Array, low: Any, of_type: DataType | None
) -> None:
    found = find_leaf(read_file_rows(pa.table({"c": array}), fields(c=kind)), "c")
    assert (found.minimum, found.type) == (low, of_type)


@pytest.mark.parametrize("array", [pa.array(["1"]), pa.array([1.5]), pa.array([{"x": 1}]), pa.array([[1]])])
def test_values_of_an_unrelated_type_are_not_read(array: pa.Array) -> None:
    found = find_leaf(read_file_rows(pa.table({"c": array}), fields(c=LONG)), "c")
    assert str(found.unread).startswith("the file stores ")


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"], pa.string_view()),
        pa.array([b"a", None, b"b"], pa.binary()),
    ],
    ids=["dictionary", "large", "view", "binary"],
)
def test_strings_of_any_arrow_type_are_read(array: pa.Array) -> None:
    result = read_file_rows(pa.table({"c": array}), fields(c=STRING))
    assert (find_bounds(result, "c"), find_leaf(result, "c").nulls) == (("a", "b"), 1)
    assert find_broken_checks(result) == {}


# nesting


def test_null_parent_makes_its_members_null() -> None:
    kind = Struct((Field("x", LONG, True), Field("t", Struct((Field("y", STRING, True),)), True)))
    hidden = pa.StructArray.from_arrays(
        [pa.array([1, 2, -9]), pa.array([{"y": "b"}, None, {"y": "a"}], pa.struct([("y", pa.string())]))],
        names=["x", "t"],
        mask=pa.array([False, False, True]),
    )
    result = read_file_rows(pa.table({"s": hidden}), fields(s=kind))
    assert (find_bounds(result, "s", "x"), find_leaf(result, "s", "x").nulls) == ((1, 2), 1)
    assert (find_bounds(result, "s", "t", "y"), find_leaf(result, "s", "t", "y").nulls) == (("b", "b"), 2)


def test_arrays_maps_and_variants_have_null_counts_only() -> None:
    variant = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
    table = pa.table(
        {
            "a": pa.array([[1, None], None, []], pa.list_(pa.int64())),
            "m": pa.array([None, None, [("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "v": pa.array([{"metadata": b"\1\0\0", "value": b"\0"}, None, None], variant),
            "n": pa.nulls(3),
        }
    )
    kinds: dict[str, DataType] = {"a": Array(LONG, True), "m": Map(STRING, LONG, True)}
    result = read_file_rows(table, fields(**kinds, v=Primitive("variant"), n=Primitive("void")))
    assert {each.path[0]: (each.nulls, each.minimum) for each in result.leaves} == {
        "a": (1, None),
        "m": (2, None),
        "v": (2, None),
        "n": (3, None),
    }


def test_missing_column_is_null_in_every_row() -> None:
    kind = Struct((Field("x", LONG, True), Field("y", LONG, False)))
    result = read_file_rows(pa.table({"id": [1, 2], "s": [{"x": 1}, {"x": 2}]}), fields(id=LONG, s=kind, gone=kind))
    assert find_leaf(result, "s", "y") == LeafValues(("s", "y"), 2, 2, 2, 2)
    assert find_leaf(result, "gone", "x") == LeafValues(("gone", "x"), 2, 2, 2, 2)


def test_file_without_columns_of_the_table() -> None:
    result = read_file_rows(pa.table({"other": [1, 2, 3]}), fields(id=LONG), deleted=[0])
    assert result.leaves == [LeafValues(("id",), 3, 2, 3, 2)]


# deletion vectors


def test_deleted_rows_do_not_change_bounds() -> None:
    table = pa.table({"c": pa.array([None, *range(1, 200_000)])})
    data = parquet_bytes(table, row_group_size=50_000)
    result = read_file_rows(data, fields(c=LONG), deleted=[0, 1, 65_536, 199_999, 10**12])
    assert find_leaf(result, "c") == LeafValues(("c",), 200_000, 199_996, 1, 0, 2, 199_998)


def test_deleted_rows_violate_nothing() -> None:
    schema = Struct((Field("id", LONG, False), Field("s", STRING, True), Field("d", Decimal(3, 0), True)))
    table = pa.table(
        {"id": [None, 1], "s": build_string_array(b"\xff", b"a"), "d": pa.array([5, 5], pa.decimal128(3, 0))}
    )
    assert find_broken_checks(read_file_rows(table, schema, deleted=[0])) == {}
    assert find_broken_checks(read_file_rows(table, schema, deleted=[1])) == {
        ("not null", "id"): (1, 0),
        ("UTF-8", "s"): (1, 0),
    }


def test_nullable_struct_decides_at_every_depth_whether_a_required_field_may_be_missing() -> None:
    lowest = Struct((Field("x", LONG, True), Field("missing", LONG, False)))
    middle = Struct((Field("c", lowest, False),))
    schema = Struct((Field("a", Struct((Field("b", middle, False),)), True),))
    kind = pa.struct({"b": pa.struct({"c": pa.struct({"x": pa.int64()})})})
    table = pa.table({"a": pa.array([None, {"b": {"c": {"x": 1}}}], kind)})
    assert find_broken_checks(read_file_rows(table, schema)) == {("not null", "a.b.c.missing"): (1, 1)}
    assert find_broken_checks(read_file_rows(table, schema, deleted=[1])) == {}


# column resolution


def numbered(name: str, kind: pa.DataType, number: int | None) -> pa.Field:
    return pa.field(name, kind, metadata=None if number is None else {"PARQUET:field_id": str(number)})


def mapped(name: str, kind: DataType, number: int, physical: str) -> Field:
    return Field(name, kind, True, {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical})


def test_columns_are_resolved_by_id_at_every_depth() -> None:
    inner = pa.struct([numbered("renamed", pa.int64(), 3), numbered("x", pa.int64(), 9)])
    schema = pa.schema([numbered("whatever", pa.int64(), 1), numbered("s", inner, 2), numbered("col-1", pa.int64(), 8)])
    table = pa.table([pa.array([1, 2]), pa.array([{"renamed": 5, "x": 0}] * 2, inner), pa.array([7, 8])], schema=schema)
    struct = Struct((mapped("x", LONG, 3, "x"),))
    judged = Struct((mapped("id", LONG, 1, "col-1"), mapped("s", struct, 2, "s"), mapped("z", LONG, 4, "col-4")))
    result = read_file_rows(table, judged, mapping="id")
    assert find_bounds(result, "col-1") == (1, 2)
    assert find_bounds(result, "s", "x") == (5, 5)
    assert find_leaf(result, "col-4").nulls == 2


def test_columns_are_resolved_by_physical_name_despite_ids() -> None:
    table = pa.table(
        [pa.array([1]), pa.array([2])], schema=pa.schema([numbered("a", pa.int64(), 7), ("c", pa.int64())])
    )
    result = read_file_rows(table, Struct((mapped("c", LONG, 7, "a"), mapped("a", LONG, 8, "c"))), mapping="name")
    assert (find_bounds(result, "a"), find_bounds(result, "c")) == ((1, 1), (2, 2))


def test_column_name_ignores_case() -> None:
    assert find_bounds(read_file_rows(pa.table({"ID": [1]}), fields(id=LONG)), "id") == (1, 1)
    assert find_bounds(read_file_rows(pa.table({"ID": [1], "id": [2]}), fields(id=LONG)), "id") == (2, 2)


def test_names_with_dots_are_not_paths() -> None:
    table = pa.table({"a.b": [1], "a": [{"b": 2}]})
    result = read_file_rows(
        table, Struct((Field("a.b", LONG, True), Field("a", Struct((Field("b", LONG, True),)), True)))
    )
    assert (find_bounds(result, "a.b"), find_bounds(result, "a", "b")) == ((1, 1), (2, 2))


def test_unresolvable_columns_are_unreadable() -> None:
    twice = pa.table([pa.array([1]), pa.array([2])], names=["id", "id"])
    with pytest.raises(UnreadableRows, match="expected one column id in the file, found 2"):
        read_file_rows(twice, fields(id=LONG))
    with pytest.raises(UnreadableRows, match="no field ids"):
        read_file_rows(pa.table({"id": [1]}), Struct((mapped("id", LONG, 1, "id"),)), mapping="id")


# any rows in any encoding


@st.composite
def files(draw: st.DrawFn) -> tuple[Struct, list[list[Any]], bytes, list[int]]:
    """A schema, its columns as plain values, a file with them, and deleted rows."""
    kinds = draw(st.lists(data_types(depth=1), min_size=1, max_size=3))
    count = draw(st.integers(1, 8))
    schema = Struct(tuple(Field(f"c{place}", kind, True) for place, kind in enumerate(kinds)))
    columns = [to_plain_values(draw(columns_of(kind, rows=count))) for kind in kinds]
    spelling = draw(parquet_encodings())
    rows = [dict(zip((each.name for each in schema.fields), row, strict=True)) for row in zip(*columns, strict=True)]
    data = write_parquet(build_rows_table(rows, build_parquet_fields(schema, spelling)), spelling)
    return schema, columns, data, draw(st.lists(st.integers(0, count - 1), unique=True))


def _walk(
    kind: DataType, values: list[Any], path: tuple[str, ...]
) -> list[tuple[tuple[str, ...], DataType, list[Any]]]:
    if not isinstance(kind, Struct):
        return [(path, kind, values)]
    below = []
    for field in kind.fields:
        below += _walk(field.type, [None if each is None else each[field.name] for each in values], (*path, field.name))
    return below


def _key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_leaves_equal_the_rows(drawn: tuple[Struct, list[list[Any]], bytes, list[int]]) -> None:
    schema, columns, data, deleted = drawn
    result = read_file_rows(data, schema, deleted=deleted)
    assert result.unread == []
    assert result.corrupt == {}
    assert find_broken_checks(result) == {}
    expected = [
        each
        for field, column in zip(schema.fields, columns, strict=True)
        for each in _walk(field.type, column, (field.name,))
    ]
    assert {each.path for each in result.leaves} == {path for path, _, _ in expected}
    for path, kind, values in expected:
        found = find_leaf(result, *path)
        valid = [value for row, value in enumerate(values) if row not in deleted]
        assert (found.rows, found.valid_rows) == (len(values), len(valid))
        assert (found.nulls, found.valid_nulls) == (values.count(None), valid.count(None))
        if isinstance(kind, (Array, Map)) or kind in (Primitive("variant"), Primitive("void")):
            assert (found.minimum, found.maximum) == (None, None), f"{path=}"
            continue
        numbers = [value for value in valid if value is not None and value == value]
        assert found.has_nan == any(value != value for value in valid), f"{path=}"
        assert (found.minimum, found.maximum) == (
            min(numbers, key=_key, default=None),
            max(numbers, key=_key, default=None),
        ), f"{path=}"


@pytest.mark.parametrize(
    ("fault", "is_corrupt"),
    [
        (pa.ArrowInvalid("Unexpected end of stream"), True),
        (OSError("Corrupt snappy compressed data."), True),
        (pa.ArrowNotImplementedError("nested reads"), False),
        (OSError("Support for codec 'lzo' not built"), False),
        (OSError("Unknown encoding type."), False),
        (OSError(5, "Input/output error"), False),
        (MemoryError("malloc of size 1"), False),
        (KeyError("a defect"), False),
    ],
)
def test_only_errors_of_the_decoder_mean_corruption(fault: Exception, is_corrupt: bool) -> None:
    """Other errors say nothing about the file, so that its column counts as not read."""
    assert is_corruption(fault) is is_corrupt


# columns that are read together


@pytest.mark.parametrize(
    ("long_value", "groups"),
    [("x", [["a", "n", "b"]]), ("x" * 100_000, [["n"], ["a"], ["b"]])],
    ids=["small", "skewed"],
)
def test_columns_are_read_together_only_if_the_longest_page_permits(
    long_value: str, groups: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, found = GroupReader.read, list[list[str]]()

    def remember(reader: GroupReader, *arguments: Any) -> None:
        found.append([column.name for column in reader.columns])
        read(reader, *arguments)

    monkeypatch.setattr(GroupReader, "read", remember)
    # the mean length of the dictionary's values says nothing about the longest one
    texts = [*(f"{number:05}" for number in range(99)), long_value]
    table = pa.table({"a": texts, "n": list(range(100)), "b": texts})
    result = read_file_rows(parquet_bytes(table), fields(a=STRING, n=LONG, b=STRING))
    assert found == groups
    assert [(each.path, each.maximum) for each in result.leaves] == [
        ((name,), 99 if name == "n" else long_value) for names in groups for name in names
    ]

"""Rows are compared as bags of values; only lossless conversions are accepted."""

import datetime
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest
from helpers.matrix_reports import build_result

from deltaspec.candidates.row_comparison import MOST_SURPLUS_ROWS, WrongType, find_row_difference
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.rendering import render_failure

UTC = pa.timestamp("us", "UTC")
MAPS = pa.map_(pa.string(), pa.int64())
Rows = list[tuple[int | None, str | None]]


def build(kind: pa.DataType, *values: Any) -> pa.Table:
    return pa.table({"x": pa.array(values, kind)})


EQUAL = {
    "order": (build(pa.int64(), 1, 2, 2), build(pa.int64(), 2, 1, 2)),
    "nan": (build(pa.float64(), math.nan), build(pa.float64(), -math.nan)),
    "string view": (build(pa.string(), "a", None), build(pa.string_view(), "a", None)),
    "large string": (build(pa.string(), "a"), build(pa.large_string(), "a")),
    "binary view": (build(pa.binary(), b"a"), build(pa.binary_view(), b"a")),
    "dictionary": (build(pa.string(), "a", "a"), pa.table({"x": pa.array(["a", "a"]).dictionary_encode()})),
    "nanoseconds": (build(UTC, 1_000), build(pa.timestamp("ns", "+00:00"), 1_000_000)),
    "milliseconds": (build(pa.timestamp("us"), 1_000), build(pa.timestamp("ms"), 1)),
    "decimal256": (
        build(pa.decimal128(5, 2), decimal.Decimal("1.25")),
        build(pa.decimal256(5, 2), decimal.Decimal("1.25")),
    ),
    "list item name": (build(pa.list_(pa.int64()), [1, None], None), build(pa.large_list(pa.int64()), [1, None], None)),
    "map order": (build(MAPS, [("a", 1), ("b", 2)]), build(MAPS, [("b", 2), ("a", 1)])),
    "map as list of entries": (
        build(MAPS, [("a", 1)], None),
        build(pa.list_(pa.struct([("k", pa.string()), ("v", pa.int64())])), [{"k": "a", "v": 1}], None),
    ),
    "struct order": (
        build(pa.struct([("a", pa.int64()), ("b", pa.string())]), {"a": 1, "b": "x"}),
        build(pa.struct([("b", pa.string()), ("a", pa.int64())]), {"a": 1, "b": "x"}),
    ),
    "column order": (pa.table({"a": [1], "b": [2]}), pa.table({"b": [2], "a": [1]})),
    "void": (build(pa.null(), None), build(pa.string(), None)),
}
DIFFERENT = {
    "value": (build(pa.int64(), 1), build(pa.int64(), 2)),
    "row twice": (build(pa.int64(), 1), build(pa.int64(), 1, 1)),
    "null": (build(pa.string(), ""), build(pa.string(), None)),
    "zeros": (build(pa.float64(), 0.0), build(pa.float64(), -0.0)),
    "null struct": (build(pa.struct([("a", pa.int64())]), None), build(pa.struct([("a", pa.int64())]), {"a": None})),
    "empty list": (build(pa.list_(pa.int64()), []), build(pa.list_(pa.int64()), None)),
    "map entry": (build(MAPS, [("a", 1)]), build(MAPS, [("a", None)])),
    "list order": (build(pa.list_(pa.int64()), [1, 2]), build(pa.list_(pa.int64()), [2, 1])),
}
WRONG_TYPE = {
    "float for decimal": (build(pa.decimal128(5, 2), decimal.Decimal(1)), build(pa.float64(), 1.0)),
    "no zone": (build(UTC, 0), build(pa.timestamp("us"), 0)),
    "another zone": (build(UTC, 0), build(pa.timestamp("us", "Europe/Paris"), 0)),
    "nanoseconds lost": (build(UTC, 0), build(pa.timestamp("ns", "UTC"), 1)),
    "wider integer": (build(pa.int32(), 1), build(pa.int64(), 1)),
    "text for date": (build(pa.date32(), datetime.date(2020, 1, 1)), build(pa.string(), "2020-01-01")),
    "missing column": (pa.table({"a": [1], "b": [1]}), pa.table({"a": [1]})),
    "further column": (pa.table({"a": [1]}), pa.table({"a": [1], "b": [1]})),
    "column in other case": (pa.table({"a": [1]}), pa.table({"A": [1]})),
    "column twice": (pa.table({"a": [1]}), pa.Table.from_arrays([pa.array([1]), pa.array([1])], ["a", "a"])),
    "struct field": (
        build(pa.struct([("a", pa.int64())]), {"a": 1}),
        build(pa.struct([("b", pa.int64())]), {"b": 1}),
    ),
    "value for void": (build(pa.null(), None), build(pa.string(), "x")),
    "decimal scale": (
        build(pa.decimal128(5, 2), decimal.Decimal(1)),
        build(pa.decimal128(5, 1), decimal.Decimal(1)),
    ),
}


@pytest.mark.parametrize(("expected", "actual"), EQUAL.values(), ids=EQUAL)
def test_equal_rows(expected: pa.Table, actual: pa.Table) -> None:
    assert find_row_difference(expected, actual) is None


@pytest.mark.parametrize(("expected", "actual"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_rows(expected: pa.Table, actual: pa.Table) -> None:
    difference = find_row_difference(expected, actual)
    assert difference is not None
    assert difference.missing_count + difference.extra_count > 0


@pytest.mark.parametrize(("expected", "actual"), WRONG_TYPE.values(), ids=WRONG_TYPE)
def test_type_that_cannot_represent_the_values(expected: pa.Table, actual: pa.Table) -> None:
    with pytest.raises(WrongType):
        find_row_difference(expected, actual)


def test_sliced_arrays_are_compared_by_their_own_values() -> None:
    lists = pa.array([[1], [2, 3], None, [4]], pa.list_(pa.int64()))
    maps = pa.array([[("a", 1)], [("b", 2)], None, []], MAPS)
    whole = pa.table({"lists": lists, "maps": maps})
    parts = pa.concat_tables([whole.slice(3), whole.slice(1, 2), whole.slice(0, 1)])
    assert find_row_difference(whole, parts) is None
    assert find_row_difference(whole.slice(1), whole.slice(0, 3)) is not None


def test_difference_shows_rows_of_both_sides() -> None:
    difference = find_row_difference(build(pa.int64(), 1, 2, None), build(pa.int64(), 2, 3, None))
    assert str(difference).split("\n") == [
        "expected 3, got 3: 1 missing, 1 not expected",
        "  differs: other value of type int64",
        "  columns: x",
        "  - (x=1)",
        "  + (x=3)",
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "kinds"),
    [
        ([(1, "a"), (2, "b")], [(1, "a")], {"missing rows"}),
        ([(1, "a")], [(1, "a"), (1, "a")], {"surplus rows"}),
        ([(1, "a"), (2, "b")], [(1, None), (2, None)], {"null for a value of type string"}),
        ([(1, None), (2, "b")], [(1, ""), (2, "b")], {"value for null of type string"}),
        ([(1, "a"), (None, "b")], [(1, "c"), (7, "b")], {"other value of type string", "value for null of type int64"}),
        (
            [(1, "a"), (2, "b")],
            [(1, None), (2, "c")],
            {"null for a value of type string", "other value of type string"},
        ),
        ([(1, "a"), (2, "b")], [(2, "a"), (1, "b")], {"values in other rows"}),
        ([(1, "a"), (2, "a")], [(1, None)], {"missing rows", "null for a value of type string"}),
    ],
)
def test_difference_says_how_rows_differ(expected: Rows, actual: Rows, kinds: set[str]) -> None:
    schema = pa.schema({"n": pa.int64(), "text": pa.string()})
    tables = [pa.table(list(zip(*rows, strict=True)), schema=schema) for rows in (expected, actual)]
    difference = find_row_difference(*tables)
    assert difference is not None
    assert set(difference.kinds) == kinds


def test_failure_shows_the_whole_difference() -> None:
    difference = find_row_difference(build(pa.int64(), *range(20)), build(pa.int64(), *range(20, 40)))
    lines = render_failure(build_result("read.all-rows/drawn.1.0", Outcome.FAILED, message=str(difference)), "mill")
    assert "  + … 15 more" in [line.removeprefix("  ") for line in lines]


def test_optional_rows_may_appear_once_each() -> None:
    one, two = build(pa.int64(), 1), build(pa.int64(), 2)
    assert find_row_difference(one, pa.concat_tables([one, two]), optional=two) is None
    assert find_row_difference(one, pa.concat_tables([one, two, two]), optional=two) is not None
    assert find_row_difference(one, two, optional=two) is not None


@pytest.mark.parametrize(
    "actual",
    [
        build(pa.int64(), *range(MOST_SURPLUS_ROWS + 2)),
        pa.table({"x": pa.repeat(pa.scalar(list(range(100_000)), pa.list_(pa.int64())), 30)}),
    ],
    ids=["rows", "elements"],
)
def test_answer_that_is_much_too_large_is_not_compared(actual: pa.Table) -> None:
    expected = pa.table({"x": actual.column("x").slice(0, 1)})
    difference = find_row_difference(expected, actual)
    assert str(difference) == f"expected 1, got {actual.num_rows:,}: too large to compare"


def test_empty_map_may_lack_offsets() -> None:
    garbage = pa.py_buffer(b"\x7f" * 64).slice(0, 0)  # what follows an empty buffer must not be read
    fields = [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int64())]
    entries = pa.StructArray.from_arrays([pa.array([], each.type) for each in fields], fields=fields)
    kind = pa.map_(pa.string(), pa.int64())
    actual = pa.MapArray.from_buffers(kind, 0, [None, garbage], children=[entries])
    assert find_row_difference(pa.table({"a": pa.array([], kind)}), pa.table({"a": actual})) is None


VARIANT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
NO_NAMES = b"\x11\x00\x00"


def build_variant(value: bytes, metadata: bytes = NO_NAMES) -> pa.Table:
    return pa.table({"v": pa.array([{"metadata": metadata, "value": value}], VARIANT)})


@pytest.mark.parametrize(
    ("first", "second", "are_equal"),
    [
        (build_variant(b"\x0c\x01"), build_variant(b"\x18\x01" + b"\0" * 7), True),  # 1 as a byte and as a long
        (build_variant(b"\x0c\x01"), build_variant(b"\x0c\x02"), False),
        (build_variant(b"\x0c\x01"), build_variant(b"\x05x"), False),
        # {"a": 1}, with and without another name
        (build_variant(b"\x02\x01\x00\x00\x02\x0c\x01", b"\x11\x01\x00\x01a"),
         build_variant(b"\x02\x01\x00\x00\x02\x0c\x01", b"\x11\x02\x00\x01\x02ab"), True),
        (build_variant(b"\x02\x01\x00\x00\x02\x0c\x01", b"\x11\x01\x00\x01a"),
         build_variant(b"\x02\x01\x00\x00\x02\x0c\x01", b"\x11\x01\x00\x01b"), False),
        (build_variant(b"\xff"), build_variant(b"\xff"), True),  # not a variant
        (build_variant(b"\xff"), build_variant(b"\xfe"), False),
        (build_variant(b"\x00"), pa.table({"v": pa.nulls(1, VARIANT)}), False),  # a variant null is not null
    ],
)  # fmt: skip
def test_variants_are_compared_by_value(first: pa.Table, second: pa.Table, are_equal: bool) -> None:
    assert (find_row_difference(first, second) is None) == are_equal

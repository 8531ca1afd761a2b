"""Bounds in data skipping: truncated, in other forms, of floating-point numbers, and of widened types."""

import json

import pytest
from model.file_statistics import DAY, NAN, Y2020, A, comparison, file, file_with_bounds, schema

from deltaspec.model import can_skip
from deltaspec.model.rows.predicates import IsNotNull, IsNull, NanOrder, Not, Or, StartsWith
from deltaspec.model.rows.skipping import PredicateError
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive, Struct, UndefinedType


def test_contradictory_bounds_are_ignored() -> None:
    assert not can_skip(comparison("=", 5), file_with_bounds("9", "1"), schema("long"))


@pytest.mark.parametrize(
    ("literal", "skipped"), [("aa", True), ("ab", False), ("abb", False), ("abzz", False), ("ac", True), ("b", True)]
)
def test_maximum_of_strings_may_be_truncated(literal: str, skipped: bool) -> None:
    """Every string that starts with the maximum is possible."""
    add = file_with_bounds('"ab"', '"ab"')
    assert can_skip(comparison("=", literal), add, schema("string")) is skipped
    assert not can_skip(comparison(">", "ab"), add, schema("string"))
    assert not can_skip(comparison("<>", "ab"), add, schema("string"))


def test_truncated_maximum_below_the_minimum_is_a_bound() -> None:
    add = file_with_bounds('"abcd"', '"ab"')
    assert can_skip(comparison("=", "abb"), add, schema("string"))
    assert can_skip(comparison("=", "ac"), add, schema("string"))
    assert not can_skip(comparison("=", "abd"), add, schema("string"))


def test_maximum_with_a_tie_breaker_is_a_bound() -> None:
    add = file_with_bounds('"ab"', json.dumps("ab\x7f"))
    assert not can_skip(comparison("=", "abz"), add, schema("string"))
    assert can_skip(comparison("=", "ac"), add, schema("string"))


def test_empty_maximum_is_not_truncated() -> None:
    assert can_skip(comparison("=", "a"), file_with_bounds('""', '""'), schema("string"))
    assert not can_skip(comparison("=", ""), file_with_bounds('""', '""'), schema("string"))


def test_strings_are_ordered_by_their_bytes() -> None:
    """In UTF-16 the second of these comes before the first."""
    add = file_with_bounds(json.dumps("\uffee"), json.dumps("\U00010001"))
    assert not can_skip(comparison("=", "\U00010000"), add, schema("string"))
    assert can_skip(comparison("=", "\uffed"), add, schema("string"))


@pytest.mark.parametrize(
    ("prefix", "skipped", "skipped_without"),
    [
        ("a", True, False),
        ("b", False, False),
        ("ba", False, False),
        ("bz", False, False),
        ("c", False, False),
        ("d", False, False),
        ("dz", False, False),
        ("e", True, False),
        ("", False, True),
    ],
)
def test_strings_with_a_prefix_are_contiguous(prefix: str, skipped: bool, skipped_without: bool) -> None:
    add = file_with_bounds('"ba"', '"d"')
    assert can_skip(StartsWith(A, prefix), add, schema("string")) is skipped
    assert can_skip(Not(StartsWith(A, prefix)), add, schema("string")) is skipped_without


def test_all_strings_may_have_the_prefix() -> None:
    assert can_skip(Not(StartsWith(A, "ab")), file_with_bounds('"aba"', '"abz"'), schema("string"))
    assert not can_skip(Not(StartsWith(A, "ab")), file_with_bounds('"aba"', None), schema("string"))
    assert can_skip(StartsWith(A, "ab"), file_with_bounds('"aca"', None), schema("string"))
    assert can_skip(StartsWith(A, "ab"), file_with_bounds(None, '"aa"'), schema("string"))


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_maximum_of_timestamps_may_be_truncated_to_milliseconds(kind: str) -> None:
    zone = "Z" if kind == "timestamp" else ""
    whole, fine = (file_with_bounds(None, f'"2020-01-01T00:00:00.{digits}{zone}"') for digits in ("001", "001002"))
    assert not can_skip(comparison("=", Y2020 + 1999), whole, schema(kind))
    assert can_skip(comparison("=", Y2020 + 2000), whole, schema(kind))
    assert not can_skip(comparison("=", Y2020 + 1002), fine, schema(kind))
    assert can_skip(comparison("=", Y2020 + 1003), fine, schema(kind))


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        ("timestamp", '"2020-01-01T00:00:00.000"'),
        ("timestamp", "5"),
        ("timestamp_ntz", '"2020-01-01T00:00:00.000Z"'),
        ("date", "5"),
        ("date", '"yesterday"'),
        ("boolean", '"false"'),
        ("long", '"5"'),
        ("long", "5.5"),
        ("long", '{"b":5}'),
        ("string", "5"),
    ],
)
def test_bounds_in_other_forms_are_ignored(kind: str, bound: str) -> None:
    add = file_with_bounds(bound, bound)
    literals = {"string": "0", "boolean": True, "date": 9**5, "long": 7}
    assert not can_skip(comparison(">=", literals.get(kind, 9**20)), add, schema(kind))


@pytest.mark.parametrize("kind", ["binary", "variant"])
def test_types_with_undefined_bounds_are_not_skipped(kind: str) -> None:
    add = file_with_bounds('"a"', '"b"')
    literal = b"z" if kind == "binary" else None
    assert not can_skip(Or(comparison("=", literal), IsNotNull(A)), add, schema(kind))
    if kind == "binary":
        assert not can_skip(comparison("=", literal), add, schema(kind))


@pytest.mark.parametrize(
    "kind",
    [
        Struct((Field("b", Primitive("long"), True),)),
        Array(Primitive("long"), True),
        Map(Primitive("string"), Primitive("long"), True),
        UndefinedType("string collate UNICODE"),
    ],
)
def test_columns_of_other_types(kind: DataType) -> None:
    add = file({"numRecords": 3, "minValues": {"a": "b"}, "maxValues": {"a": "c"}})
    assert not can_skip(IsNull(A), add, schema(kind))
    assert not can_skip(IsNotNull(A), add, schema(kind))
    with pytest.raises(PredicateError):
        can_skip(comparison("=", "z"), add, schema(kind))


def test_void_is_always_null() -> None:
    add = file({"numRecords": 3})
    assert can_skip(IsNotNull(A), add, schema("void"))
    assert can_skip(comparison("=", 1), add, schema("void"))
    assert not can_skip(IsNull(A), add, schema("void"))


FRACTION = pytest.mark.parametrize("kind", ["float", "double"])


@FRACTION
def test_fractions_below_the_minimum(kind: str) -> None:
    add = file_with_bounds("-0.0", "2.5")
    assert can_skip(comparison("<", 0.0), add, schema(kind))
    assert can_skip(comparison("=", -1), add, schema(kind))
    assert not can_skip(comparison("<=", 0.0), add, schema(kind))
    assert not can_skip(comparison("=", -0.0), file_with_bounds("0.0", "1.0"), schema(kind))
    assert can_skip(comparison("<", float("-inf")), add, schema(kind))


@FRACTION
def test_nan_may_be_above_the_maximum(kind: str) -> None:
    add, table = file_with_bounds("1.0", "2.5"), schema(kind)
    for predicate in (comparison(">", 2.5), comparison("=", NAN), comparison(">=", NAN), Not(comparison("<=", 2.5))):
        assert not can_skip(predicate, add, table)
        assert not can_skip(predicate, add, table, nan_orders=[NanOrder.GREATEST])
    assert can_skip(comparison("=", 2.75), add, table)
    assert can_skip(comparison(">", 2.5), add, table, nan_orders=[NanOrder.UNORDERED])
    assert can_skip(comparison("=", NAN), add, table, nan_orders=[NanOrder.UNORDERED])
    assert not can_skip(Not(comparison("<=", 2.5)), add, table, nan_orders=[NanOrder.UNORDERED])
    assert can_skip(comparison("=", NAN), file_with_bounds(None, None, nulls=10), table)


@FRACTION
def test_bounds_that_are_nan_or_infinite(kind: str) -> None:
    table = schema(kind)
    assert not can_skip(comparison(">", 5.0), file_with_bounds("1.0", '"NaN"'), table)
    assert can_skip(comparison("<", 1.0), file_with_bounds("1.0", '"NaN"'), table)
    assert not can_skip(comparison("<", 1.0), file_with_bounds('"NaN"', '"NaN"'), table)
    assert not can_skip(comparison("<", 1.0), file_with_bounds('"-Infinity"', '"Infinity"'), table)


def test_float_bounds_are_printed_with_the_digits_of_a_float() -> None:
    """Rows contain 3.4000000953674316, which is 3.4 in 32 bits."""
    value = 3.4000000953674316
    add = file_with_bounds("3.4", "3.4")
    assert not can_skip(comparison("=", value), add, schema("float"))
    assert can_skip(comparison("=", 3.4), add, schema("float"))
    assert not can_skip(comparison("=", 3.4), add, schema("double"))
    assert can_skip(comparison("=", value), add, schema("double"))


def test_float_file_of_a_widened_double_column() -> None:
    value = 3.4000000953674316
    change = {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
    assert not can_skip(comparison("=", value), file_with_bounds("3.4", "3.4"), schema("double", change))
    assert not can_skip(comparison("=", 3.4), file_with_bounds("3.4", "3.4"), schema("double", change))
    assert can_skip(comparison("=", 3.5), file_with_bounds("3.4", "3.4"), schema("double", change))


def test_date_file_of_a_widened_timestamp_column() -> None:
    add = file_with_bounds('"2020-01-01"', '"2020-01-01"')
    assert not can_skip(comparison("=", Y2020), add, schema("timestamp_ntz"))
    assert can_skip(comparison("=", Y2020 - 1), add, schema("timestamp_ntz"))
    assert can_skip(comparison("=", Y2020 + DAY), add, schema("timestamp_ntz"))

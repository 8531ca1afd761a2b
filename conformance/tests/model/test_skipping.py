"""Which files may be left out for a predicate: by hand, type by type and case by case."""

import json
from datetime import timedelta, timezone
from decimal import Decimal as Exact
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from deltaspec.model import can_skip
from deltaspec.model.actions import Add, DeletionVectorDescriptor
from deltaspec.model.data_types import Array, DataType, Decimal, Field, Map, Primitive, Proposed, Struct
from deltaspec.model.predicates import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    NanOrder,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    Predicate,
    StartsWith,
)
from deltaspec.model.skipping import PredicateError

A = ("a",)
NAN = float("nan")
SECOND = 10**6
DAY = 86_400 * SECOND
Y2020 = 18_262 * DAY
"""2020-01-01 in microseconds since the epoch."""


def schema(kind: DataType | str, metadata: dict[str, Any] | None = None) -> Struct:
    kind = Primitive(kind) if isinstance(kind, str) else kind
    return Struct((Field("a", kind, True, metadata or {}),))


def file(stats: dict[str, Any] | str | None = None, *, gone: int | None = None, **partition_values: str | None) -> Add:
    vector = DeletionVectorDescriptor(storage_type="i", path_or_inline_dv="", size_in_bytes=1, cardinality=gone or 0)
    return Add(
        path="a",
        partition_values=partition_values,
        size=1,
        modification_time=0,
        data_change=True,
        stats=json.dumps(stats) if isinstance(stats, dict) else stats,
        deletion_vector=None if gone is None else vector,
    )


def bounded(low: Any, high: Any, nulls: int | None = 0, records: int | None = 10) -> Add:
    """Statistics as text, so that numbers keep their digits."""
    parts = [f'"numRecords":{records}'] if records is not None else []
    parts += [f'"minValues":{{"a":{low}}}'] if low is not None else []
    parts += [f'"maxValues":{{"a":{high}}}'] if high is not None else []
    parts += [f'"nullCount":{{"a":{nulls}}}'] if nulls is not None else []
    return file("{" + ",".join(parts) + "}")


def is_(operator: str, literal: Any) -> Compare:
    return Compare(A, Operator(operator), literal)


TYPES: list[tuple[DataType, str, str, Any, Any, Any]] = [
    (Primitive("byte"), "-3", "4", -4, 0, 5),
    (Primitive("short"), "-3", "4", -4, 0, 5),
    (Primitive("integer"), "-3", "4", -4, 0, 5),
    (Primitive("long"), str(2**53 + 1), str(2**53 + 3), 2**53, 2**53 + 2, 2**53 + 4),
    (Decimal(20, 2), "123456789012345678.10", "123456789012345678.30", *map(Exact, (
        "123456789012345678.09", "123456789012345678.20", "123456789012345678.31"))),
    (Decimal(5, 2), '"-1.50"', '"1.50"', Exact("-1.51"), Exact(0), Exact("1.51")),
    (Primitive("string"), '"b"', '"d"', "a", "c", "e"),
    (Primitive("boolean"), "false", "false", None, False, True),
    (Primitive("date"), '"2020-01-02"', '"2020-01-04"', 18_262, 18_264, 18_266),
    (
        Primitive("timestamp"), '"2020-01-01T00:00:01.000Z"', '"2020-01-01T00:00:02.000Z"',
        Y2020 + SECOND - 1, Y2020 + SECOND + 1, Y2020 + 2 * SECOND + 1000,
    ),
    (
        Primitive("timestamp"), '"2020-01-01T02:00:01.000+02:00"', '"2020-01-01T02:00:02.000+02:00"',
        Y2020 + SECOND - 1, Y2020 + SECOND + 1, Y2020 + 2 * SECOND + 1000,
    ),
    (
        Primitive("timestamp_ntz"), '"2020-01-01T00:00:01.000"', '"2020-01-01T00:00:02.000"',
        Y2020 + SECOND - 1, Y2020 + SECOND + 1, Y2020 + 2 * SECOND + 1000,
    ),
]  # fmt: skip
"""Type, minimum, maximum, and values below, between and above them."""

each_type = pytest.mark.parametrize(("kind", "low", "high", "below", "between", "above"), TYPES)


@each_type
def test_values_outside_of_the_bounds_are_not_there(
    kind: DataType, low: str, high: str, below: Any, between: Any, above: Any
) -> None:
    add, table = bounded(low, high), schema(kind)
    outside = [each for each in (below, above) if each is not None]
    for literal in outside:
        assert can_skip(is_("=", literal), add, table)
        assert can_skip(NullSafeEqual(A, literal), add, table)
        assert not can_skip(is_("<>", literal), add, table)
    assert can_skip(In(A, tuple(outside)), add, table)
    assert not can_skip(In(A, (*outside, between)), add, table)
    assert can_skip(is_(">=", above), add, table)
    assert not can_skip(is_("<", above), add, table)
    if below is not None:
        assert can_skip(is_("<=", below), add, table)
        assert not can_skip(is_(">", below), add, table)
    for operator in ("=", "<=", ">="):
        assert not can_skip(is_(operator, between), add, table)


@each_type
def test_one_bound_decides_one_side(kind: DataType, low: str, high: str, below: Any, between: Any, above: Any) -> None:
    table = schema(kind)
    if below is not None:
        assert can_skip(is_("<=", below), bounded(low, None), table)
        assert not can_skip(is_("<=", below), bounded(None, high), table)
    assert can_skip(is_(">=", above), bounded(None, high), table)
    assert not can_skip(is_(">=", above), bounded(low, None), table)


@each_type
def test_nulls_are_in_no_comparison(kind: DataType, low: str, high: str, below: Any, between: Any, above: Any) -> None:
    add, table = bounded(low, high, nulls=3), schema(kind)
    assert can_skip(is_("=", above), add, table)
    assert can_skip(Not(is_("<", above)), add, table)
    assert not can_skip(IsNull(A), add, table)
    assert not can_skip(NullSafeEqual(A, None), add, table)
    assert not can_skip(IsNotNull(A), add, table)


@pytest.mark.parametrize("tight", [None, True, False])
@pytest.mark.parametrize("gone", [None, 2])
@pytest.mark.parametrize("kind", ["long", "binary", "variant"])
def test_null_counts_of_none_and_of_all(tight: bool | None, gone: int | None, kind: str) -> None:
    flag = {} if tight is None else {"tightBounds": tight}
    none, some, every = (file({"numRecords": 10, "nullCount": {"a": count}, **flag}, gone=gone) for count in (0, 4, 10))
    table = schema(kind)
    assert can_skip(IsNull(A), none, table)
    assert can_skip(Not(IsNotNull(A)), none, table)
    assert can_skip(NullSafeEqual(A, None), none, table)
    assert not can_skip(IsNotNull(A), none, table)
    for predicate in (IsNull(A), IsNotNull(A)):
        assert not can_skip(predicate, some, table)
    assert can_skip(IsNotNull(A), every, table)
    assert can_skip(Not(IsNull(A)), every, table)
    assert not can_skip(IsNull(A), every, table)


def test_bounds_of_a_column_of_nulls_say_nothing() -> None:
    add = bounded("7", "3", nulls=10)
    assert can_skip(is_("=", 5), add, schema("long"))
    assert not can_skip(IsNull(A), add, schema("long"))


@pytest.mark.parametrize("tight", [None, True, False])
def test_tight_and_wide_bounds_serve_alike(tight: bool | None) -> None:
    stats: dict[str, Any] = {"numRecords": 10, "minValues": {"a": 3}, "maxValues": {"a": 5}, "nullCount": {"a": 1}}
    if tight is not None:
        stats["tightBounds"] = tight
    for gone in (None, 4):
        add = file(stats, gone=gone)
        assert can_skip(is_(">", 5), add, schema("long"))
        assert not can_skip(is_(">=", 5), add, schema("long"))


def test_where_both_bounds_are_one_value_all_have_it() -> None:
    add = bounded("5", "5", nulls=2)
    for predicate in (is_("<>", 5), Not(is_("=", 5)), Not(In(A, (4, 5)))):
        assert can_skip(predicate, add, schema("long"))
    assert not can_skip(Not(In(A, (4,))), add, schema("long"))


def test_literals_that_are_null() -> None:
    add = bounded("1", "2")
    for predicate in (is_("=", None), Not(is_("<>", None)), Not(In(A, (1, None))), In(A, (7, None)), In(A, ())):
        assert can_skip(predicate, add, schema("long"))
    assert not can_skip(In(A, (1, None)), add, schema("long"))
    assert can_skip(StartsWith(A, None), bounded('"a"', '"b"'), schema("string"))


def test_predicates_put_together() -> None:
    add, table = bounded("1", "9", nulls=2), schema("long")
    yes, no = is_("=", 5), is_("=", 10)
    assert can_skip(And(yes, no), add, table)
    assert not can_skip(Or(yes, no), add, table)
    assert can_skip(Or(no, is_("<", 1)), add, table)
    assert can_skip(Not(Or(is_("<", 5), is_(">=", 1))), add, table)
    assert not can_skip(Not(no), add, table)
    assert can_skip(Not(And(is_(">=", 1), is_("<=", 9))), add, table)


@pytest.mark.parametrize("stats", [None, "", "{", "[]", "{}", '{"numRecords":-1}', '{"minValues":3}'])
def test_without_statistics_every_file_is_read(stats: str | None) -> None:
    for predicate in (is_("=", 5), IsNull(A), IsNotNull(A)):
        assert not can_skip(predicate, file(stats), schema("long"))


def test_misspelt_null_counts_count_nothing() -> None:
    assert not can_skip(IsNull(A), file({"numRecords": 1, "nullCounts": {"a": 0}}), schema("long"))


@pytest.mark.parametrize("count", ["-1", '"0"', "0.5", "null", "{}"])
def test_null_counts_that_are_none_count_nothing(count: str) -> None:
    add = file(f'{{"numRecords":-1,"nullCount":{{"a":{count}}}}}')
    assert not can_skip(IsNull(A), add, schema("long"))
    assert not can_skip(IsNotNull(A), add, schema("long"))


def test_file_without_rows_is_never_read() -> None:
    for predicate in (IsNull(A), IsNotNull(A), is_("<>", 3)):
        assert can_skip(predicate, file({"numRecords": 0}), schema("long"))
        assert can_skip(predicate, file({"numRecords": 3}, gone=3), schema("long"))
        assert not can_skip(predicate, file({"numRecords": 3}, gone=2), schema("long"))
        assert not can_skip(predicate, file("{}", gone=3), schema("long"))


def test_bounds_that_contradict_each_other_say_nothing() -> None:
    assert not can_skip(is_("=", 5), bounded("9", "1"), schema("long"))


@pytest.mark.parametrize(
    ("literal", "skipped"), [("aa", True), ("ab", False), ("abb", False), ("abzz", False), ("ac", True), ("b", True)]
)
def test_maximum_of_strings_may_be_cut(literal: str, skipped: bool) -> None:
    """What begins with the maximum may be there, however it goes on."""
    add = bounded('"ab"', '"ab"')
    assert can_skip(is_("=", literal), add, schema("string")) is skipped
    assert not can_skip(is_(">", "ab"), add, schema("string"))
    assert not can_skip(is_("<>", "ab"), add, schema("string"))


def test_cut_maximum_below_the_minimum_is_a_bound() -> None:
    add = bounded('"abcd"', '"ab"')
    assert can_skip(is_("=", "abb"), add, schema("string"))
    assert can_skip(is_("=", "ac"), add, schema("string"))
    assert not can_skip(is_("=", "abd"), add, schema("string"))


def test_maximum_with_a_tie_breaker_is_a_bound() -> None:
    add = bounded('"ab"', json.dumps("ab\x7f"))
    assert not can_skip(is_("=", "abz"), add, schema("string"))
    assert can_skip(is_("=", "ac"), add, schema("string"))


def test_empty_maximum_is_not_cut() -> None:
    assert can_skip(is_("=", "a"), bounded('""', '""'), schema("string"))
    assert not can_skip(is_("=", ""), bounded('""', '""'), schema("string"))


def test_strings_are_ordered_by_their_bytes() -> None:
    """In UTF-16 the second of these comes before the first."""
    add = bounded(json.dumps("\uffee"), json.dumps("\U00010001"))
    assert not can_skip(is_("=", "\U00010000"), add, schema("string"))
    assert can_skip(is_("=", "\uffed"), add, schema("string"))


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
def test_strings_of_a_prefix_stand_together(prefix: str, skipped: bool, skipped_without: bool) -> None:
    add = bounded('"ba"', '"d"')
    assert can_skip(StartsWith(A, prefix), add, schema("string")) is skipped
    assert can_skip(Not(StartsWith(A, prefix)), add, schema("string")) is skipped_without


def test_all_strings_may_have_the_prefix() -> None:
    assert can_skip(Not(StartsWith(A, "ab")), bounded('"aba"', '"abz"'), schema("string"))
    assert not can_skip(Not(StartsWith(A, "ab")), bounded('"aba"', None), schema("string"))
    assert can_skip(StartsWith(A, "ab"), bounded('"aca"', None), schema("string"))
    assert can_skip(StartsWith(A, "ab"), bounded(None, '"aa"'), schema("string"))


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_maximum_of_timestamps_may_be_cut_to_milliseconds(kind: str) -> None:
    zone = "Z" if kind == "timestamp" else ""
    whole, fine = (bounded(None, f'"2020-01-01T00:00:00.{digits}{zone}"') for digits in ("001", "001002"))
    assert not can_skip(is_("=", Y2020 + 1999), whole, schema(kind))
    assert can_skip(is_("=", Y2020 + 2000), whole, schema(kind))
    assert not can_skip(is_("=", Y2020 + 1002), fine, schema(kind))
    assert can_skip(is_("=", Y2020 + 1003), fine, schema(kind))


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
def test_bounds_in_other_forms_say_nothing(kind: str, bound: str) -> None:
    add = bounded(bound, bound)
    literals = {"string": "0", "boolean": True, "date": 9**5, "long": 7}
    assert not can_skip(is_(">=", literals.get(kind, 9**20)), add, schema(kind))


@pytest.mark.parametrize("kind", ["binary", "variant"])
def test_types_whose_bounds_have_no_form_are_not_skipped(kind: str) -> None:
    add = bounded('"a"', '"b"')
    literal = b"z" if kind == "binary" else None
    assert not can_skip(Or(is_("=", literal), IsNotNull(A)), add, schema(kind))
    if kind == "binary":
        assert not can_skip(is_("=", literal), add, schema(kind))


@pytest.mark.parametrize(
    "kind",
    [
        Struct((Field("b", Primitive("long"), True),)),
        Array(Primitive("long"), True),
        Map(Primitive("string"), Primitive("long"), True),
        Proposed("string collate UNICODE"),
    ],
)
def test_columns_of_other_types(kind: DataType) -> None:
    add = file({"numRecords": 3, "minValues": {"a": "b"}, "maxValues": {"a": "c"}})
    assert not can_skip(IsNull(A), add, schema(kind))
    assert not can_skip(IsNotNull(A), add, schema(kind))
    with pytest.raises(PredicateError):
        can_skip(is_("=", "z"), add, schema(kind))


def test_void_holds_null_alone() -> None:
    add = file({"numRecords": 3})
    assert can_skip(IsNotNull(A), add, schema("void"))
    assert can_skip(is_("=", 1), add, schema("void"))
    assert not can_skip(IsNull(A), add, schema("void"))


FRACTION = pytest.mark.parametrize("kind", ["float", "double"])


@FRACTION
def test_fractions_below_the_minimum(kind: str) -> None:
    add = bounded("-0.0", "2.5")
    assert can_skip(is_("<", 0.0), add, schema(kind))
    assert can_skip(is_("=", -1), add, schema(kind))
    assert not can_skip(is_("<=", 0.0), add, schema(kind))
    assert not can_skip(is_("=", -0.0), bounded("0.0", "1.0"), schema(kind))
    assert can_skip(is_("<", float("-inf")), add, schema(kind))


@FRACTION
def test_nan_may_stand_above_the_maximum(kind: str) -> None:
    add, table = bounded("1.0", "2.5"), schema(kind)
    for predicate in (is_(">", 2.5), is_("=", NAN), is_(">=", NAN), Not(is_("<=", 2.5))):
        assert not can_skip(predicate, add, table)
        assert not can_skip(predicate, add, table, nan_orders=[NanOrder.GREATEST])
    assert can_skip(is_("=", 2.75), add, table)
    assert can_skip(is_(">", 2.5), add, table, nan_orders=[NanOrder.UNORDERED])
    assert can_skip(is_("=", NAN), add, table, nan_orders=[NanOrder.UNORDERED])
    assert not can_skip(Not(is_("<=", 2.5)), add, table, nan_orders=[NanOrder.UNORDERED])
    assert can_skip(is_("=", NAN), bounded(None, None, nulls=10), table)


@FRACTION
def test_bounds_that_are_nan_or_infinite(kind: str) -> None:
    table = schema(kind)
    assert not can_skip(is_(">", 5.0), bounded("1.0", '"NaN"'), table)
    assert can_skip(is_("<", 1.0), bounded("1.0", '"NaN"'), table)
    assert not can_skip(is_("<", 1.0), bounded('"NaN"', '"NaN"'), table)
    assert not can_skip(is_("<", 1.0), bounded('"-Infinity"', '"Infinity"'), table)


def test_float_bounds_are_printed_with_the_digits_of_a_float() -> None:
    """3.4 is 3.4000000953674316 in 32 bits, and that is what rows hold."""
    held = 3.4000000953674316
    add = bounded("3.4", "3.4")
    assert not can_skip(is_("=", held), add, schema("float"))
    assert can_skip(is_("=", 3.4), add, schema("float"))
    assert not can_skip(is_("=", 3.4), add, schema("double"))
    assert can_skip(is_("=", held), add, schema("double"))


def test_file_of_floats_in_a_column_that_is_double_now() -> None:
    held = 3.4000000953674316
    change = {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
    assert not can_skip(is_("=", held), bounded("3.4", "3.4"), schema("double", change))
    assert not can_skip(is_("=", 3.4), bounded("3.4", "3.4"), schema("double", change))
    assert can_skip(is_("=", 3.5), bounded("3.4", "3.4"), schema("double", change))


def test_file_of_dates_in_a_column_that_is_a_timestamp_now() -> None:
    add = bounded('"2020-01-01"', '"2020-01-01"')
    assert not can_skip(is_("=", Y2020), add, schema("timestamp_ntz"))
    assert can_skip(is_("=", Y2020 - 1), add, schema("timestamp_ntz"))
    assert can_skip(is_("=", Y2020 + DAY), add, schema("timestamp_ntz"))


NESTED = Struct(
    (
        Field(
            "a",
            Struct((Field("b", Primitive("long"), True, {"delta.columnMapping.physicalName": "col-b"}),)),
            True,
            {"delta.columnMapping.physicalName": "col-a"},
        ),
        Field("p", Primitive("string"), True, {"delta.columnMapping.physicalName": "col-p"}),
    )
)


def test_columns_within_structs() -> None:
    add = file(
        {"numRecords": 3, "minValues": {"a": {"b": 1}}, "maxValues": {"a": {"b": 2}}, "nullCount": {"a": {"b": 0}}}
    )
    deep = ("a", "b")
    assert can_skip(Compare(deep, Operator.GREATER, 2), add, NESTED)
    assert not can_skip(Compare(deep, Operator.GREATER, 1), add, NESTED)
    assert can_skip(IsNull(deep), add, NESTED)
    assert not can_skip(IsNull(A), add, NESTED)
    flat = file({"minValues": {"a": 1}, "maxValues": {"a": 2}})
    assert not can_skip(Compare(deep, Operator.GREATER, 2), flat, NESTED)


@pytest.mark.parametrize("mapping", ["id", "name"])
def test_mapped_columns_go_by_their_physical_names(mapping: str) -> None:
    predicate = Compare(("a", "b"), Operator.GREATER, 2)
    physical = file({"maxValues": {"col-a": {"col-b": 2}}})
    logical = file({"maxValues": {"a": {"b": 2}}})
    assert can_skip(predicate, physical, NESTED, mapping=mapping)
    assert not can_skip(predicate, logical, NESTED, mapping=mapping)
    assert can_skip(predicate, logical, NESTED)
    of_partition = Compare(("p",), Operator.EQUAL, "x")
    assert can_skip(of_partition, file(**{"col-p": "y"}), NESTED, ["p"], mapping)
    assert not can_skip(of_partition, file(p="y"), NESTED, ["p"], mapping)


PARTITIONS: list[tuple[DataType, str, Any, Any]] = [
    (Primitive("integer"), "5", 5, 6),
    (Primitive("long"), "-7", -7, 7),
    (Primitive("float"), "3.4", 3.4000000953674316, 3.4),
    (Primitive("double"), "-0.0", 0.0, 1.0),
    (Decimal(5, 2), "1.50", Exact("1.5"), Exact("1.51")),
    (Primitive("boolean"), "true", True, False),
    (Primitive("string"), "null", "null", "NULL"),
    (Primitive("string"), "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__", "x"),
    (Primitive("date"), "2020-01-01", 18_262, 18_263),
    (Primitive("timestamp"), "2020-01-01T00:00:00.000001Z", Y2020 + 1, Y2020),
    (Primitive("timestamp"), "2020-01-01 02:00:00+02:00", Y2020, Y2020 + 7200 * SECOND),
    (Primitive("timestamp_ntz"), "2020-01-01 00:00:00.000001", Y2020 + 1, Y2020),
    (Primitive("binary"), "\x01\x02", b"\x01\x02", b"\x01"),
]


@pytest.mark.parametrize(("kind", "text", "value", "other"), PARTITIONS)
def test_partition_values_are_exact(kind: DataType, text: str, value: Any, other: Any) -> None:
    add, table = file(a=text), schema(kind)
    assert not can_skip(is_("=", value), add, table, ["a"])
    assert can_skip(is_("<>", value), add, table, ["a"])
    assert can_skip(is_("=", other), add, table, ["a"])
    assert not can_skip(is_("<>", other), add, table, ["a"])
    assert can_skip(IsNull(A), add, table, ["a"])
    assert not can_skip(IsNotNull(A), add, table, ["a"])


@pytest.mark.parametrize("kind", ["string", "long", "timestamp", "binary", "double"])
@pytest.mark.parametrize("text", [None, ""])
def test_null_and_the_empty_string_are_null(kind: str, text: str | None) -> None:
    add, table = file(a=text), schema(kind)
    assert can_skip(IsNotNull(A), add, table, ["a"])
    assert not can_skip(IsNull(A), add, table, ["a"])
    assert can_skip(Compare(A, Operator.NOT_EQUAL, {"string": "x", "binary": b"x"}.get(kind, 1)), add, table, ["a"])


def test_empty_string_is_in_no_partition() -> None:
    assert can_skip(is_("=", ""), file(a=""), schema("string"), ["a"])


def test_partition_values_outrank_statistics() -> None:
    add = file({"minValues": {"a": 5}, "maxValues": {"a": 6}, "nullCount": {"a": 0}}, a="7")
    assert not can_skip(is_("=", 7), add, schema("long"), ["a"])
    assert can_skip(is_("=", 5), add, schema("long"), ["a"])


@pytest.mark.parametrize(
    ("kind", "text", "literal"),
    [("long", "x", 1), ("date", "x", 1), ("binary", "\u00e9", b"x"), ("timestamp_ntz", "2020-01-01T00:00:00Z", 1)],
)
def test_partition_values_that_mean_nothing_sure_decide_nothing(kind: str, text: str, literal: Any) -> None:
    assert not can_skip(is_("=", literal), file(a=text), schema(kind), ["a"])


def test_partition_value_that_is_not_there_decides_nothing() -> None:
    for predicate in (is_("=", 1), IsNull(A), IsNotNull(A)):
        assert not can_skip(predicate, file(), schema("long"), ["a"])


def test_partition_of_nan() -> None:
    add, table = file(a="NaN"), schema("double")
    assert can_skip(is_("<", 5.0), add, table, ["a"])
    assert not can_skip(is_("=", NAN), add, table, ["a"])
    assert can_skip(is_("=", NAN), add, table, ["a"], nan_orders=[NanOrder.UNORDERED])
    assert can_skip(IsNull(A), add, table, ["a"])


def test_partition_of_floats_in_a_column_that_is_double_now() -> None:
    table = schema("double", {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]})
    for value in (3.4, 3.4000000953674316):
        assert not can_skip(is_("=", value), file(a="3.4"), table, ["a"])
    for value in (3.3999999, 3.4000002):
        assert can_skip(is_("=", value), file(a="3.4"), table, ["a"])
    assert can_skip(is_("=", 3.4000000953674316), file(a="3.4"), schema("double"), ["a"])


def test_partition_of_a_timestamp_without_zone_may_be_any_moment_near() -> None:
    add, table = file(a="2020-01-01 00:00:00"), schema("timestamp")
    hour = 3600 * SECOND
    for hours in (-18, -14, 0, 12, 18):
        assert not can_skip(is_("=", Y2020 + hours * hour), add, table, ["a"])
    for hours in (-19, 19):
        assert can_skip(is_("=", Y2020 + hours * hour), add, table, ["a"])
    east = timezone(timedelta(hours=2))
    assert not can_skip(is_("=", Y2020 - 2 * hour), add, table, ["a"], writer_zone=east)
    assert can_skip(is_("=", Y2020), add, table, ["a"], writer_zone=east)


def test_hour_that_comes_twice_is_two_moments() -> None:
    add, table = file(a="2020-10-25 02:30:00"), schema("timestamp")
    first = 1_603_585_800 * SECOND
    berlin = ZoneInfo("Europe/Berlin")
    for moment in (first, first + 3600 * SECOND):
        assert not can_skip(is_("=", moment), add, table, ["a"], writer_zone=berlin)
    assert can_skip(is_("=", first - 3600 * SECOND), add, table, ["a"], writer_zone=berlin)


def test_years_that_no_calendar_of_python_has() -> None:
    add, table = file(a="12020-01-01 00:00:00"), schema("timestamp")
    assert not can_skip(is_(">", Y2020), add, table, ["a"], writer_zone=ZoneInfo("Europe/Berlin"))
    assert can_skip(is_("<", Y2020), add, table, ["a"], writer_zone=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        (IsNull(("b",)), "long"),
        (IsNull(("a", "b")), "long"),
        (IsNull(()), "long"),
        (is_("=", "x"), "long"),
        (is_("=", True), "long"),
        (is_("=", 1), "boolean"),
        (is_("=", 1), "string"),
        (is_("=", b"x"), "string"),
        (is_("=", "x"), "binary"),
        (is_("=", 1.5), "date"),
        (is_(">", Exact("NaN")), "double"),
        (In(A, (1, Exact("sNaN"))), "long"),
        (In(A, (1, "x")), "long"),
        (NullSafeEqual(A, "x"), "timestamp"),
        (StartsWith(A, "x"), "long"),
        (is_("=", 1), "variant"),
        (And(is_("=", 1), Not(IsNull(("b",)))), "long"),
    ],
)
def test_predicates_that_do_not_fit_the_table(predicate: Predicate, kind: str) -> None:
    with pytest.raises(PredicateError):
        can_skip(predicate, file(), schema(kind))


@pytest.mark.parametrize("literal", ["NaN", "sNaN"])
def test_decimal_that_is_no_number_is_no_decimal(literal: str) -> None:
    with pytest.raises(PredicateError, match="is no decimal"):
        can_skip(is_(">", Exact(literal)), bounded("1", "2"), schema(Decimal(10, 2)))


def test_skips_exactly_where_no_whole_number_between_the_bounds_will_do() -> None:
    operators = {
        "=": int.__eq__,
        "<>": int.__ne__,
        "<": int.__lt__,
        "<=": int.__le__,
        ">": int.__gt__,
        ">=": int.__ge__,
    }
    table = schema("long")
    for low in range(-2, 3):
        for high in range(low, 3):
            add = bounded(str(low), str(high), nulls=1)
            for literal in range(-3, 4):
                for operator, holds in operators.items():
                    said = [holds(value, literal) for value in range(low, high + 1)]
                    # between two neighbours the bounds leave no value out: every one of them may be there
                    assert can_skip(is_(operator, literal), add, table) is not any(said), (low, high, operator, literal)
                    assert can_skip(Not(is_(operator, literal)), add, table) is all(said)

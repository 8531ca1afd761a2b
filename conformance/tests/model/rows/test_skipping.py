"""Files that may be skipped for a predicate: handwritten cases by type."""

from decimal import Decimal as Exact
from typing import Any

import pytest
from model.file_statistics import SECOND, Y2020, A, comparison, file, file_with_bounds, schema

from deltaspec.model import can_skip
from deltaspec.model.rows.predicates import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    Predicate,
    StartsWith,
)
from deltaspec.model.rows.skipping import PredicateError
from deltaspec.protocol.schema.data_types import DataType, Decimal, Field, Primitive, Struct

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
def test_values_outside_the_bounds_are_skipped(
    kind: DataType, low: str, high: str, below: Any, between: Any, above: Any
) -> None:
    add, table = file_with_bounds(low, high), schema(kind)
    outside = [each for each in (below, above) if each is not None]
    for literal in outside:
        assert can_skip(comparison("=", literal), add, table)
        assert can_skip(NullSafeEqual(A, literal), add, table)
        assert not can_skip(comparison("<>", literal), add, table)
    assert can_skip(In(A, tuple(outside)), add, table)
    assert not can_skip(In(A, (*outside, between)), add, table)
    assert can_skip(comparison(">=", above), add, table)
    assert not can_skip(comparison("<", above), add, table)
    if below is not None:
        assert can_skip(comparison("<=", below), add, table)
        assert not can_skip(comparison(">", below), add, table)
    for operator in ("=", "<=", ">="):
        assert not can_skip(comparison(operator, between), add, table)


@each_type
def test_one_bound_limits_one_side(kind: DataType, low: str, high: str, below: Any, between: Any, above: Any) -> None:
    table = schema(kind)
    if below is not None:
        assert can_skip(comparison("<=", below), file_with_bounds(low, None), table)
        assert not can_skip(comparison("<=", below), file_with_bounds(None, high), table)
    assert can_skip(comparison(">=", above), file_with_bounds(None, high), table)
    assert not can_skip(comparison(">=", above), file_with_bounds(low, None), table)


@each_type
def test_nulls_satisfy_no_comparison(kind: DataType, low: str, high: str, below: Any, between: Any, above: Any) -> None:
    add, table = file_with_bounds(low, high, nulls=3), schema(kind)
    assert can_skip(comparison("=", above), add, table)
    assert can_skip(Not(comparison("<", above)), add, table)
    assert not can_skip(IsNull(A), add, table)
    assert not can_skip(NullSafeEqual(A, None), add, table)
    assert not can_skip(IsNotNull(A), add, table)


@pytest.mark.parametrize("tight", [None, True, False])
@pytest.mark.parametrize("deleted", [None, 2])
@pytest.mark.parametrize("kind", ["long", "binary", "variant"])
def test_null_counts_of_none_and_of_all(tight: bool | None, deleted: int | None, kind: str) -> None:
    flag = {} if tight is None else {"tightBounds": tight}
    none, some, every = (
        file({"numRecords": 10, "nullCount": {"a": count}, **flag}, deleted=deleted) for count in (0, 4, 10)
    )
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


def test_bounds_of_a_column_of_nulls_are_ignored() -> None:
    add = file_with_bounds("7", "3", nulls=10)
    assert can_skip(comparison("=", 5), add, schema("long"))
    assert not can_skip(IsNull(A), add, schema("long"))


@pytest.mark.parametrize("tight", [None, True, False])
def test_tight_and_wide_bounds_skip_alike(tight: bool | None) -> None:
    stats: dict[str, Any] = {"numRecords": 10, "minValues": {"a": 3}, "maxValues": {"a": 5}, "nullCount": {"a": 1}}
    if tight is not None:
        stats["tightBounds"] = tight
    for deleted in (None, 4):
        add = file(stats, deleted=deleted)
        assert can_skip(comparison(">", 5), add, schema("long")), f"{deleted=}"
        assert not can_skip(comparison(">=", 5), add, schema("long")), f"{deleted=}"


def test_equal_bounds_mean_one_value() -> None:
    add = file_with_bounds("5", "5", nulls=2)
    for predicate in (comparison("<>", 5), Not(comparison("=", 5)), Not(In(A, (4, 5)))):
        assert can_skip(predicate, add, schema("long"))
    assert not can_skip(Not(In(A, (4,))), add, schema("long"))


def test_null_literals() -> None:
    add = file_with_bounds("1", "2")
    for predicate in (
        comparison("=", None),
        Not(comparison("<>", None)),
        Not(In(A, (1, None))),
        In(A, (7, None)),
        In(A, ()),
    ):
        assert can_skip(predicate, add, schema("long"))
    assert not can_skip(In(A, (1, None)), add, schema("long"))
    assert can_skip(StartsWith(A, None), file_with_bounds('"a"', '"b"'), schema("string"))


def test_combined_predicates() -> None:
    add, table = file_with_bounds("1", "9", nulls=2), schema("long")
    yes, no = comparison("=", 5), comparison("=", 10)
    assert can_skip(And(yes, no), add, table)
    assert not can_skip(Or(yes, no), add, table)
    assert can_skip(Or(no, comparison("<", 1)), add, table)
    assert can_skip(Not(Or(comparison("<", 5), comparison(">=", 1))), add, table)
    assert not can_skip(Not(no), add, table)
    assert can_skip(Not(And(comparison(">=", 1), comparison("<=", 9))), add, table)


@pytest.mark.parametrize("stats", [None, "", "{", "[]", "{}", '{"numRecords":-1}', '{"minValues":3}'])
def test_without_statistics_every_file_is_read(stats: str | None) -> None:
    for predicate in (comparison("=", 5), IsNull(A), IsNotNull(A)):
        assert not can_skip(predicate, file(stats), schema("long"))


def test_nonstandard_null_counts_are_ignored() -> None:
    assert not can_skip(IsNull(A), file({"numRecords": 1, "nullCounts": {"a": 0}}), schema("long"))


@pytest.mark.parametrize("count", ["-1", '"0"', "0.5", "null", "{}"])
def test_invalid_null_counts_are_ignored(count: str) -> None:
    add = file(f'{{"numRecords":-1,"nullCount":{{"a":{count}}}}}')
    assert not can_skip(IsNull(A), add, schema("long"))
    assert not can_skip(IsNotNull(A), add, schema("long"))


def test_file_without_rows_is_never_read() -> None:
    for predicate in (IsNull(A), IsNotNull(A), comparison("<>", 3)):
        assert can_skip(predicate, file({"numRecords": 0}), schema("long"))
        assert can_skip(predicate, file({"numRecords": 3}, deleted=3), schema("long"))
        assert not can_skip(predicate, file({"numRecords": 3}, deleted=2), schema("long"))
        assert not can_skip(predicate, file("{}", deleted=3), schema("long"))


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
def test_mapped_columns_use_physical_names(mapping: str) -> None:
    predicate = Compare(("a", "b"), Operator.GREATER, 2)
    physical = file({"maxValues": {"col-a": {"col-b": 2}}})
    logical = file({"maxValues": {"a": {"b": 2}}})
    assert can_skip(predicate, physical, NESTED, mapping=mapping)
    assert not can_skip(predicate, logical, NESTED, mapping=mapping)
    assert can_skip(predicate, logical, NESTED)
    of_partition = Compare(("p",), Operator.EQUAL, "x")
    assert can_skip(of_partition, file(**{"col-p": "y"}), NESTED, ["p"], mapping)
    assert not can_skip(of_partition, file(p="y"), NESTED, ["p"], mapping)


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        (IsNull(("b",)), "long"),
        (IsNull(("a", "b")), "long"),
        (IsNull(()), "long"),
        (comparison("=", "x"), "long"),
        (comparison("=", True), "long"),
        (comparison("=", 1), "boolean"),
        (comparison("=", 1), "string"),
        (comparison("=", b"x"), "string"),
        (comparison("=", "x"), "binary"),
        (comparison("=", 1.5), "date"),
        (comparison(">", Exact("NaN")), "double"),
        (In(A, (1, Exact("sNaN"))), "long"),
        (In(A, (1, "x")), "long"),
        (NullSafeEqual(A, "x"), "timestamp"),
        (StartsWith(A, "x"), "long"),
        (comparison("=", 1), "variant"),
        (And(comparison("=", 1), Not(IsNull(("b",)))), "long"),
    ],
)
def test_predicates_that_do_not_match_the_table_are_refused(predicate: Predicate, kind: str) -> None:
    with pytest.raises(PredicateError):
        can_skip(predicate, file(), schema(kind))


@pytest.mark.parametrize("literal", ["NaN", "sNaN"])
def test_decimal_nan_is_refused(literal: str) -> None:
    with pytest.raises(PredicateError, match="is not of type decimal"):
        can_skip(comparison(">", Exact(literal)), file_with_bounds("1", "2"), schema(Decimal(10, 2)))


def test_skips_exactly_if_no_integer_within_the_bounds_matches() -> None:
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
            add = file_with_bounds(str(low), str(high), nulls=1)
            for literal in range(-3, 4):
                for operator, holds in operators.items():
                    matches = [holds(value, literal) for value in range(low, high + 1)]
                    # between two neighbours the bounds leave no value out: every one of them may be there
                    assert can_skip(comparison(operator, literal), add, table) is not any(matches), (
                        low,
                        high,
                        operator,
                        literal,
                    )
                    assert can_skip(Not(comparison(operator, literal)), add, table) is all(matches), f"{low=}, {high=}"

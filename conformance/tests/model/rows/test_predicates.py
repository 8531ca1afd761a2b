"""Evaluation of predicates: three truth values, and values of every type."""

from decimal import Decimal
from typing import Any

import pytest

from deltaspec.model.rows.predicates import (
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
    evaluate,
    filter_rows,
    list_column_predicates,
)

A = ("a",)
NAN = float("nan")
TRUE, FALSE, UNKNOWN = IsNull(("absent",)), IsNotNull(("absent",)), Compare(("absent",), Operator.EQUAL, 1)


def compared(value: Any, operator: str, literal: Any, nan: NanOrder = NanOrder.GREATEST) -> bool | None:
    return evaluate(Compare(A, Operator(operator), literal), {"a": value}, nan)


@pytest.mark.parametrize(
    ("operator", "below", "same", "above"),
    [
        ("=", False, True, False),
        ("<>", True, False, True),
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
@pytest.mark.parametrize(
    ("low", "middle", "high"),
    [
        (1, 2, 3),
        (-1.5, -0.0, 2.5),
        (Decimal("1.10"), Decimal("1.2"), Decimal("10.0")),
        (False, False, True),
        ("B", "a", "ä"),
        ("\uffff", "\U00010000", "\U00010001"),
        (b"\x01", b"\x7f", b"\xff"),
    ],
)
def test_comparisons(operator: str, below: bool, same: bool, above: bool, low: Any, middle: Any, high: Any) -> None:
    if low != middle:
        assert compared(low, operator, middle) is below
    assert compared(middle, operator, middle) is same
    assert compared(high, operator, middle) is above


@pytest.mark.parametrize("operator", list(Operator))
def test_comparison_with_null_is_unknown(operator: Operator) -> None:
    assert compared(None, operator, 1) is None
    assert compared(1, operator, None) is None
    assert compared(None, operator, None) is None


def test_zero_has_no_sign() -> None:
    assert compared(-0.0, "=", 0.0) is True
    assert compared(-0.0, "<", 0.0) is False


@pytest.mark.parametrize(
    ("value", "operator", "literal", "greatest", "unordered"),
    [
        (NAN, "=", NAN, True, False),
        (NAN, "<>", NAN, False, True),
        (NAN, ">=", NAN, True, False),
        (NAN, ">", NAN, False, False),
        (NAN, ">", float("inf"), True, False),
        (NAN, "=", 1.0, False, False),
        (NAN, "<>", 1.0, True, True),
        (NAN, "<", 1.0, False, False),
        (1.0, "<", NAN, True, False),
        (1.0, "<>", NAN, True, True),
    ],
)
def test_nan_is_greatest_or_unordered(
    value: float, operator: str, literal: float, greatest: bool, unordered: bool
) -> None:
    assert compared(value, operator, literal, NanOrder.GREATEST) is greatest
    assert compared(value, operator, literal, NanOrder.UNORDERED) is unordered


@pytest.mark.parametrize(
    ("predicate", "value", "says"),
    [
        (IsNull(A), None, True),
        (IsNull(A), 0, False),
        (IsNotNull(A), None, False),
        (IsNotNull(A), "", True),
        (NullSafeEqual(A, None), None, True),
        (NullSafeEqual(A, None), 1, False),
        (NullSafeEqual(A, 1), None, False),
        (NullSafeEqual(A, 1), 1, True),
        (NullSafeEqual(A, 1), 2, False),
        (In(A, (1, 2)), 2, True),
        (In(A, (1, 2)), 3, False),
        (In(A, (1, 2)), None, None),
        (In(A, (1, None)), 1, True),
        (In(A, (1, None)), 2, None),
        (In(A, ()), 2, False),
        (In(A, ()), None, False),
        (StartsWith(A, "ab"), "abc", True),
        (StartsWith(A, "ab"), "ab", True),
        (StartsWith(A, "ab"), "a", False),
        (StartsWith(A, ""), "", True),
        (StartsWith(A, "ab"), None, None),
        (StartsWith(A, None), "ab", None),
    ],
)
def test_predicates_of_one_column(predicate: Predicate, value: Any, says: bool | None) -> None:
    assert evaluate(predicate, {"a": value}) is says


def test_ordered_nan_is_null_safe_equal_to_itself() -> None:
    assert evaluate(NullSafeEqual(A, NAN), {"a": NAN}, NanOrder.GREATEST) is True
    assert evaluate(NullSafeEqual(A, NAN), {"a": NAN}, NanOrder.UNORDERED) is False


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (TRUE, TRUE, True, True),
        (TRUE, FALSE, False, True),
        (TRUE, UNKNOWN, None, True),
        (FALSE, FALSE, False, False),
        (FALSE, UNKNOWN, False, None),
        (UNKNOWN, UNKNOWN, None, None),
    ],
)
def test_three_truth_values(left: Predicate, right: Predicate, both: bool | None, either: bool | None) -> None:
    for one, other in ((left, right), (right, left)):
        assert evaluate(And(one, other), {}) is both
        assert evaluate(Or(one, other), {}) is either


def test_negation() -> None:
    assert evaluate(Not(TRUE), {}) is False
    assert evaluate(Not(FALSE), {}) is True
    assert evaluate(Not(UNKNOWN), {}) is None


def test_columns_in_structs() -> None:
    predicate = Compare(("a", "b", "c"), Operator.EQUAL, 1)
    rows: list[dict[str, Any]] = [{"a": {"b": {"c": 1}}}, {"a": {"b": None}}, {"a": None}, {}, {"a": {"b": {"c": 2}}}]
    assert [evaluate(predicate, row) for row in rows] == [True, None, None, None, False]
    assert [evaluate(IsNull(("a", "b")), row) for row in rows] == [False, True, True, True, False]
    assert filter_rows(Not(predicate), rows) == [{"a": {"b": {"c": 2}}}]


def test_column_predicates_are_listed_in_order() -> None:
    assert list(list_column_predicates(Not(And(Or(TRUE, FALSE), UNKNOWN)))) == [TRUE, FALSE, UNKNOWN]

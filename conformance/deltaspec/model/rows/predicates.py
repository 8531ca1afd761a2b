"""Predicates over the rows of a table and their evaluation; data skipping must agree with it.

The protocol has no predicates. These follow SQL: a comparison with null is unknown (None), and a row is selected only
if its predicate is true.

    both = And(Compare(("day",), Operator.EQUAL, 18262), Not(IsNull(("who", "name"))))
    evaluate(both, {"day": 18262, "who": {"name": "Ann"}})  # True
    evaluate(both, {"day": None, "who": {"name": "Ann"}})  # None

Columns are paths of logical names. Values have the types that `ordering.parse_lexeme` returns: int, float,
`decimal.Decimal`, bool, str, bytes, dates as days and timestamps as microseconds since the epoch.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from deltaspec.model.rows.file_values import Column

Truth: TypeAlias = bool | None
"""None is SQL's unknown."""


class Operator(StrEnum):
    """Comparison operator."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


class NanOrder(StrEnum):
    """Order of NaN relative to numbers, which the protocol does not define (S12)."""

    GREATEST = "greatest"
    """Above all numbers and equal to itself, as in Spark."""
    UNORDERED = "unordered"
    """Unordered and not equal to itself, as in IEEE 754."""


class Compare(msgspec.Struct, frozen=True):
    """`column operator literal`; unknown if either is null."""

    column: Column
    operator: Operator
    literal: Any


class NullSafeEqual(msgspec.Struct, frozen=True):
    """`column <=> literal`: null equals null; never unknown."""

    column: Column
    literal: Any


class In(msgspec.Struct, frozen=True):
    """`column IN (literals)`: equal to one of them; false for an empty list."""

    column: Column
    literals: tuple[Any, ...]


class IsNull(msgspec.Struct, frozen=True):
    """`column IS NULL`."""

    column: Column


class IsNotNull(msgspec.Struct, frozen=True):
    """`column IS NOT NULL`."""

    column: Column


class StartsWith(msgspec.Struct, frozen=True):
    """`column LIKE 'prefix%'` for strings."""

    column: Column
    prefix: str | None


class And(msgspec.Struct, frozen=True):
    left: "Predicate"
    right: "Predicate"


class Or(msgspec.Struct, frozen=True):
    left: "Predicate"
    right: "Predicate"


class Not(msgspec.Struct, frozen=True):
    operand: "Predicate"


Predicate: TypeAlias = Compare | NullSafeEqual | In | IsNull | IsNotNull | StartsWith | And | Or | Not
ColumnPredicate: TypeAlias = Compare | NullSafeEqual | In | IsNull | IsNotNull | StartsWith
"""A predicate of one column without And, Or or Not."""


def evaluate(predicate: Predicate, row: Mapping[str, Any], nan: NanOrder = NanOrder.GREATEST) -> Truth:
    """Evaluate a predicate on a row.

    Args:
        predicate: The predicate.
        row: Values by logical name, structs as mappings; missing values are null.
        nan: Order of NaN.
    """
    match predicate:
        case And(left, right):
            return conjunction(evaluate(left, row, nan), evaluate(right, row, nan))
        case Or(left, right):
            return negation(
                conjunction(negation(evaluate(left, row, nan)), negation(evaluate(right, row, nan))),
            )
        case Not(operand):
            return negation(evaluate(operand, row, nan))
        case _:
            return evaluate_on_value(predicate, get_value(row, predicate.column), nan)


def filter_rows(
    predicate: Predicate, rows: Iterable[Mapping[str, Any]], nan: NanOrder = NanOrder.GREATEST
) -> list[Mapping[str, Any]]:
    """Return the rows for which a predicate is true."""
    return [row for row in rows if evaluate(predicate, row, nan) is True]


def get_value(row: Mapping[str, Any], column: Column) -> Any:
    """Return the value of a column in a row; null if an enclosing struct is null."""
    here: Any = row
    for name in column:
        if here is None:
            return None
        here = here.get(name)
    return here


def evaluate_on_value(predicate: ColumnPredicate, value: Any, nan: NanOrder) -> Truth:
    """Evaluate a predicate of one column on a value of the column."""
    match predicate:
        case IsNull():
            return value is None
        case IsNotNull():
            return value is not None
        case NullSafeEqual(_, literal):
            if value is None or literal is None:
                return value is literal
            return compare(value, Operator.EQUAL, literal, nan)
        case In(_, literals):
            return _is_in(value, literals, nan)
        case StartsWith(_, prefix):
            return None if value is None or prefix is None else bool(value.startswith(prefix))
        case Compare(_, operator, literal):
            return None if value is None or literal is None else compare(value, operator, literal, nan)


def _is_in(value: Any, literals: tuple[Any, ...], nan: NanOrder) -> Truth:
    if not literals:
        return False
    if value is None:
        return None
    if any(each is not None and compare(value, Operator.EQUAL, each, nan) for each in literals):
        return True
    return None if None in literals else False


def compare(value: Any, operator: Operator, literal: Any, nan: NanOrder) -> bool:
    """Compare two values of one type, neither of them null.

    -0.0 equals 0.0. Strings are compared by code points, which equals the order of their UTF-8 bytes.
    """
    if is_nan(value) or is_nan(literal):
        if nan is NanOrder.UNORDERED:
            return operator is Operator.NOT_EQUAL
        value, literal = is_nan(value), is_nan(literal)
    match operator:
        case Operator.EQUAL:
            return bool(value == literal)
        case Operator.NOT_EQUAL:
            return bool(value != literal)
        case Operator.LESS:
            return bool(value < literal)
        case Operator.AT_MOST:
            return bool(value <= literal)
        case Operator.GREATER:
            return bool(value > literal)
        case Operator.AT_LEAST:
            return bool(value >= literal)


def is_nan(value: Any) -> bool:
    """Return whether a value is a float NaN."""
    return isinstance(value, float) and math.isnan(value)


def negation(truth: Truth) -> Truth:
    """Three-valued NOT."""
    return None if truth is None else not truth


def conjunction(left: Truth, right: Truth) -> Truth:
    """Three-valued AND: false takes precedence over unknown."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def list_column_predicates(predicate: Predicate) -> Iterator[ColumnPredicate]:
    """Yield the single-column predicates of a predicate from left to right."""
    match predicate:
        case And(left, right) | Or(left, right):
            yield from list_column_predicates(left)
            yield from list_column_predicates(right)
        case Not(operand):
            yield from list_column_predicates(operand)
        case _:
            yield predicate

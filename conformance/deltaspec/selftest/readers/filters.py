"""Faults in evaluating predicates on rows."""

from collections.abc import Mapping
from typing import Any

from deltaspec.candidates.reference.engine import Engine
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
    evaluate,
    get_value,
)
from deltaspec.selftest.mutants import Method, mutant

FILTERED = "statistics.skipping"
Row = Mapping[str, Any]


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def unknown_taken_for_true(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Returns rows for which a predicate is null."""
    return evaluate(condition, row) is not False


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def not_of_unknown_taken_for_true(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Evaluates NOT with two values, so that NOT of null is true."""
    return _evaluate_with_two_values(condition, row)


def _evaluate_with_two_values(condition: Predicate, row: Row) -> bool:
    match condition:
        case Not(operand):
            return not _evaluate_with_two_values(operand, row)
        case And(left, right):
            return _evaluate_with_two_values(left, row) and _evaluate_with_two_values(right, row)
        case Or(left, right):
            return _evaluate_with_two_values(left, row) or _evaluate_with_two_values(right, row)
    return evaluate(condition, row) is True


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def null_differs_from_every_value(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Returns rows with null for <>."""
    if isinstance(condition, Compare) and condition.operator is Operator.NOT_EQUAL and condition.literal is not None:
        return bool(get_value(row, condition.column) != condition.literal)
    return bool(original(engine, condition, row))


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def null_never_equals_null(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Evaluates null-safe equality as equality."""
    if isinstance(condition, NullSafeEqual):
        condition = Compare(condition.column, Operator.EQUAL, condition.literal)
    return bool(original(engine, condition, row))


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def strings_compared_without_case(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Compares strings without case."""
    if isinstance(condition, Compare) and isinstance(condition.literal, str):
        value = get_value(row, condition.column)
        if isinstance(value, str):
            folded = Compare(("value",), condition.operator, condition.literal.casefold())
            return evaluate(folded, {"value": value.casefold()}) is True
    return bool(original(engine, condition, row))


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def limits_excluded(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Evaluates >= as >."""
    if isinstance(condition, Compare) and condition.operator is Operator.AT_LEAST:
        condition = Compare(condition.column, Operator.GREATER, condition.literal)
    return bool(original(engine, condition, row))


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def fields_of_null_structs_not_null(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Decides IS NULL and IS NOT NULL of a field by its struct."""
    if isinstance(condition, IsNull | IsNotNull) and len(condition.column) > 1:
        condition = type(condition)(condition.column[:-1])
    return bool(original(engine, condition, row))


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def null_begins_with_every_prefix(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Returns rows with null for LIKE 'x%'."""
    if isinstance(condition, StartsWith) and get_value(row, condition.column) is None:
        return True
    return bool(original(engine, condition, row))


@mutant(Engine.matches, FILTERED, suites=("predicates",))
def null_in_every_list(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Returns rows with null for IN."""
    if isinstance(condition, In) and get_value(row, condition.column) is None:
        return True
    return bool(original(engine, condition, row))

"""Data skipping: which files a reader may skip for a predicate without losing a row.

Source: Per-file Statistics, Partition Value Serialization; identical in all revisions.

`file_values` derives the possible values of each column from partition values and statistics. A file may be skipped if
no possible value makes the predicate true.

    can_skip(Compare(("price",), Operator.GREATER, 100), add, schema)       # maxValues.price is 99, a long

An engine that skips a file for which `can_skip` is False may lose rows; one that reads a file for which it is True is
only slow.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from decimal import Decimal as Exact
from typing import Any, TypeAlias

from deltaspec.model.rows.file_values import Column, FileValues, NoSuchColumn, Values
from deltaspec.model.rows.predicates import (
    And,
    ColumnPredicate,
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
    Truth,
    compare,
    conjunction,
    evaluate_on_value,
    is_nan,
    list_column_predicates,
    negation,
)
from deltaspec.protocol.actions import Add
from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive, Struct, get_type_name

_NUMBERS = ("byte", "short", "integer", "long", "float", "double")
_MOMENTS = ("date", "timestamp", "timestamp_ntz")


class PredicateError(ValueError):
    """A predicate of an unknown column, or with a literal that is not a value of the column's type."""


def can_skip(
    predicate: Predicate,
    add: Add,
    schema: Struct,
    partition_columns: Sequence[str] = (),
    mapping: str | None = None,
    *,
    writer_zone: tzinfo | None = None,
    nan_orders: Iterable[NanOrder] = tuple(NanOrder),
) -> bool:
    """Return whether the file's action proves that no row satisfies a predicate.

    True requires that every valid interpretation of the action excludes such rows. Skipping is optional: readers may
    read every file.

    Args:
        predicate: Condition on rows; columns by logical names.
        add: Action of the file with its statistics, partition values and deletion vector.
        schema: Schema of the table.
        partition_columns: Logical names.
        mapping: Mode from `column_mapping.get_mapping_mode`; statistics and partition values then use physical names,
            in `id` mode too.
        writer_zone: Zone of timestamp partition values without a zone; None means any zone.
        nan_orders: Possible orders of NaN; the file must be skippable under each of them.

    Raises:
        PredicateError: A column is not in the schema, or a literal has another type.
    """
    file = FileValues(add, schema, frozenset(partition_columns), mapping, writer_zone)
    for part in list_column_predicates(predicate):
        _check(part, _type_of(file, part.column))
    if file.has_no_rows():
        return True
    return all(True not in compute_outcomes(predicate, file.values, nan) for nan in nan_orders)


def _type_of(file: FileValues, column: Column) -> DataType:
    try:
        return file.fields(column)[-1].type
    except NoSuchColumn as fault:
        raise PredicateError(str(fault)) from fault


Outcomes: TypeAlias = frozenset[Truth]
"""Possible results of a predicate."""


def compute_outcomes(predicate: Predicate, values: Callable[[Column], Values], nan: NanOrder) -> Outcomes:
    """Return all possible results of a predicate for rows with these column values; columns are independent."""
    match predicate:
        case And(left, right):
            return _conjunctions(compute_outcomes(left, values, nan), compute_outcomes(right, values, nan))
        case Or(left, right):
            neither = _conjunctions(
                _negations(compute_outcomes(left, values, nan)),
                _negations(compute_outcomes(right, values, nan)),
            )
            return _negations(neither)
        case Not(operand):
            return _negations(compute_outcomes(operand, values, nan))
        case _:
            return _outcomes_of_column(predicate, values(predicate.column), nan)


def _negations(found: Outcomes) -> Outcomes:
    return frozenset(negation(each) for each in found)


def _conjunctions(left: Outcomes, right: Outcomes) -> Outcomes:
    return frozenset(conjunction(one, other) for one in left for other in right)


def _outcomes_of_column(predicate: ColumnPredicate, values: Values, nan: NanOrder) -> Outcomes:
    found: set[Truth] = set()
    if values.may_be_null:
        found.add(evaluate_on_value(predicate, None, nan))
    if values.may_be_nan:
        found.add(evaluate_on_value(predicate, float("nan"), nan))
    if values.may_have_value:
        found |= _outcomes_of_values(predicate, values, nan)
    return frozenset(found)


def _outcomes_of_values(predicate: ColumnPredicate, values: Values, nan: NanOrder) -> Outcomes:
    """Return the possible results for values that are neither null nor NaN."""
    match predicate:
        case IsNull():
            return frozenset({False})
        case IsNotNull():
            return frozenset({True})
        case NullSafeEqual(_, None):
            return frozenset({False})
        case NullSafeEqual(_, literal):
            return _outcomes_of_comparison(values, Operator.EQUAL, literal, nan)
        case In(_, literals):
            return _outcomes_of_list(values, literals, nan)
        case StartsWith(_, prefix):
            return frozenset({None}) if prefix is None else _outcomes_of_prefix(values, prefix)
        case Compare(_, _, None):
            return frozenset({None})
        case Compare(_, operator, literal):
            return _outcomes_of_comparison(values, operator, literal, nan)


def _outcomes_of_comparison(values: Values, operator: Operator, literal: Any, nan: NanOrder) -> Outcomes:
    """Compare three kinds of values: below the literal, equal to it, and above it."""
    if is_nan(literal):
        return frozenset({compare(0.0, operator, literal, nan)})
    found: set[Truth] = set()
    if values.may_be_below(literal):
        found.add(operator in (Operator.LESS, Operator.AT_MOST, Operator.NOT_EQUAL))
    if values.may_equal(literal):
        found.add(operator in (Operator.EQUAL, Operator.AT_MOST, Operator.AT_LEAST))
    if values.may_be_above(literal):
        found.add(operator in (Operator.GREATER, Operator.AT_LEAST, Operator.NOT_EQUAL))
    return frozenset(found)


def _outcomes_of_list(values: Values, literals: tuple[Any, ...], nan: NanOrder) -> Outcomes:
    """Combine the comparisons with OR; without a match, a null literal makes the result unknown."""
    equal: Outcomes = frozenset({False})
    for literal in literals:
        one: Outcomes = frozenset({None})
        if literal is not None:
            one = _outcomes_of_comparison(values, Operator.EQUAL, literal, nan)
        equal = _negations(_conjunctions(_negations(equal), _negations(one)))
    return equal


def _outcomes_of_prefix(values: Values, prefix: str) -> Outcomes:
    """Evaluate a prefix: matching strings are contiguous in the order, and the prefix itself is the first of them."""
    lowest, highest = values.lowest, values.highest
    from_below = lowest is None or lowest <= prefix or lowest.startswith(prefix)
    from_above = highest is None or highest >= prefix or (values.highest_is_truncated and prefix.startswith(highest))
    found: set[Truth] = {True} if from_below and from_above else set()
    if lowest is None or highest is None or not (lowest.startswith(prefix) and highest.startswith(prefix)):
        found.add(False)
    return frozenset(found)


def _check(predicate: ColumnPredicate, data_type: DataType) -> None:
    """Require literals of the column's type; types without an order have no literals."""
    match predicate:
        case IsNull() | IsNotNull():
            return
        case StartsWith(_, prefix):
            if data_type != Primitive("string"):
                raise PredicateError(f"{get_type_name(data_type)} has no prefixes")
            literals: tuple[Any, ...] = (prefix,)
        case In(_, literals):
            pass
        case Compare(_, _, literal) | NullSafeEqual(_, literal):
            literals = (literal,)
    for literal in literals:
        if literal is not None and not _is_of(literal, data_type):
            raise PredicateError(f"{literal!r} is not of type {get_type_name(data_type)}")


def _is_of(literal: Any, data_type: DataType) -> bool:
    if isinstance(literal, bool):
        return data_type == Primitive("boolean")
    if isinstance(literal, Exact) and literal.is_nan():
        return False  # not comparable; NaN is a float
    match data_type:
        case Primitive("string"):
            return isinstance(literal, str)
        case Primitive("binary"):
            return isinstance(literal, bytes)
        case Primitive(name) if name in _MOMENTS:
            return isinstance(literal, int)
        case Primitive(name) if name in _NUMBERS:
            return isinstance(literal, int | float | Exact)
        case Decimal():
            return isinstance(literal, int | float | Exact)
    return data_type == Primitive("void")

"""Which files a reader may leave out for a predicate, without losing a row.

Source: Per-file Statistics, Partition Value Serialization; all revisions say the same.

`file_values` turns what partition values and statistics say into what a column may hold in the file. A file may be
skipped where no such value makes the predicate true.

    can_skip(Compare(("price",), Operator.GREATER, 100), add, schema)       # maxValues.price is 99, a long

An engine that skips a file which this keeps may lose a row; one that reads a file which this leaves out is only slow.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from decimal import Decimal as Exact
from typing import Any, TypeAlias

from deltaspec.model.actions import Add
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
from deltaspec.model.schema.data_types import DataType, Decimal, Primitive, Struct, get_type_name

_NUMBERS = ("byte", "short", "integer", "long", "float", "double")
_MOMENTS = ("date", "timestamp", "timestamp_ntz")


class PredicateError(ValueError):
    """A predicate of a column that the table lacks, or with a literal that is no value of the column's type."""


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
    """Whether a file has no row that satisfies a predicate, as far as its action tells.

    True only where every sound reading of the action excludes them: a reader that leaves such a file out loses no row,
    and one that leaves out another may. Not a must: readers are free to read every file.

    Args:
        predicate: what rows have to satisfy; columns by logical names.
        add: of the file, with its statistics, partition values and deletion vector.
        schema: of the table.
        partition_columns: logical names.
        mapping: column mapping in force, as `column_mapping.mode` gives it: statistics and partition values then go by
            physical names, in `id` mode too.
        writer_zone: zone in which partition values of timestamps are written that do not name one; None: any.
        nan_orders: where NaN may stand; the file can be skipped under each of them.

    Raises:
        PredicateError: it names a column that the schema lacks, or has a literal of another type.
    """
    file = FileValues(add, schema, frozenset(partition_columns), mapping, writer_zone)
    for part in list_column_predicates(predicate):
        _check(part, _type_of(file, part.column))
    if file.has_no_rows():
        return True
    return all(True not in outcomes(predicate, file.values, nan) for nan in nan_orders)


def _type_of(file: FileValues, column: Column) -> DataType:
    try:
        return file.fields(column)[-1].type
    except NoSuchColumn as fault:
        raise PredicateError(str(fault)) from fault


Outcomes: TypeAlias = frozenset[Truth]
"""What a predicate may say of rows."""


def outcomes(predicate: Predicate, values: Callable[[Column], Values], nan: NanOrder) -> Outcomes:
    """Everything that a predicate may say of a row whose columns hold such values, each taken by itself."""
    match predicate:
        case And(left, right):
            return _conjunctions(outcomes(left, values, nan), outcomes(right, values, nan))
        case Or(left, right):
            neither = _conjunctions(
                _negations(outcomes(left, values, nan)),
                _negations(outcomes(right, values, nan)),
            )
            return _negations(neither)
        case Not(operand):
            return _negations(outcomes(operand, values, nan))
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
    """What is said of values that are neither null nor NaN."""
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
    """Three kinds of values there are: below the literal, equal to it, above it; each compares in one way."""
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
    """One `=` or another; what holds of none of them is unknown where one is null."""
    equal: Outcomes = frozenset({False})
    for literal in literals:
        one: Outcomes = frozenset({None})
        if literal is not None:
            one = _outcomes_of_comparison(values, Operator.EQUAL, literal, nan)
        equal = _negations(_conjunctions(_negations(equal), _negations(one)))
    return equal


def _outcomes_of_prefix(values: Values, prefix: str) -> Outcomes:
    """Strings that begin with a prefix stand together in the order, and the prefix itself is the first of them."""
    lowest, highest = values.lowest, values.highest
    from_below = lowest is None or lowest <= prefix or lowest.startswith(prefix)
    from_above = highest is None or highest >= prefix or (values.highest_is_truncated and prefix.startswith(highest))
    found: set[Truth] = {True} if from_below and from_above else set()
    if lowest is None or highest is None or not (lowest.startswith(prefix) and highest.startswith(prefix)):
        found.add(False)
    return frozenset(found)


def _check(predicate: ColumnPredicate, kind: DataType) -> None:
    """Literals are values of the column's type; of types without order there is nothing to compare."""
    match predicate:
        case IsNull() | IsNotNull():
            return
        case StartsWith(_, prefix):
            if kind != Primitive("string"):
                raise PredicateError(f"{get_type_name(kind)} has no prefixes")
            literals: tuple[Any, ...] = (prefix,)
        case In(_, literals):
            pass
        case Compare(_, _, literal) | NullSafeEqual(_, literal):
            literals = (literal,)
    for literal in literals:
        if literal is not None and not _is_of(literal, kind):
            raise PredicateError(f"{literal!r} is no {get_type_name(kind)}")


def _is_of(literal: Any, kind: DataType) -> bool:
    if isinstance(literal, bool):
        return kind == Primitive("boolean")
    if isinstance(literal, Exact) and literal.is_nan():
        return False  # compares with nothing; NaN is a float
    match kind:
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
    return kind == Primitive("void")

"""Values of expressions as Polars columns with their Spark types, and how two values are compared.

| type | column |
|-|-|
| byte, short, integer, long | 64-bit integers |
| date | days since 1970-01-01, 64-bit integers |
| decimal | unscaled values, 128-bit integers |
| double, string, boolean | the Polars type |
| any other | `true` where the value is not null: only NULL tests are evaluated |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context
from decimal import Decimal as Exact
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.files.partition_values import PartitionValueError, parse_partition_value
from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Decimal, Primitive, get_type_name
from deltaspec.sql.tree import Literal

MAX_DIGITS = 38
MINUS_DIGITS = 34
"""Digits to which Spark's unary minus rounds a decimal."""
EXACT_CONTEXT = Context(prec=2 * MAX_DIGITS)
"""Wide enough to rescale any decimal of a table without rounding."""
_INTEGER_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
TIMES = ("date", "timestamp", "timestamp_ntz")
_DTYPES = {
    **dict.fromkeys((*INTEGER_BITS, "date"), pl.Int64),
    "double": pl.Float64,
    "string": pl.String,
    "boolean": pl.Boolean,
}
_CLOCK = r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_DAY = r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_FORMATS = {
    "date": re.compile(_DAY),
    "timestamp": re.compile(f"{_DAY}{_CLOCK}(Z|[+-][0-9]{{2}}:[0-9]{{2}})"),
    "timestamp_ntz": re.compile(f"{_DAY}({_CLOCK})?"),
}
"""Formats that every engine reads alike under every setting."""
BOOLEAN, STRING, DOUBLE, VOID = Primitive("boolean"), Primitive("string"), Primitive("double"), Primitive("void")
INTEGER, DATE = Primitive("integer"), Primitive("date")


class Undecided(ValueError):
    """The value of an expression is not certain without Spark; the message is the reason."""


class Guard(msgspec.Struct, frozen=True):
    """A condition that every row must meet (true or null); otherwise the expression stays undecided."""

    holds: pl.Expr
    reason: str
    """State of the rows that fail the guard, for messages."""


class Term(msgspec.Struct, frozen=True):
    """The values of an expression, one per row, and their type."""

    values: pl.Expr
    type: DataType
    constant: Any = ...
    """The value of a constant, as the column stores it; an ellipsis for anything else."""

    @property
    def is_constant(self) -> bool:
        return self.constant is not ...


def polars_type(data_type: DataType) -> pl.DataType | type[pl.DataType]:
    """Return the type of the Polars column for values of a Delta type."""
    return pl.Int128 if isinstance(data_type, Decimal) else _DTYPES.get(get_type_name(data_type), pl.Boolean)


def is_comparable(data_type: DataType) -> bool:
    """Return whether values of a type are loaded; of other types, only nulls are known."""
    return isinstance(data_type, Decimal) or get_type_name(data_type) in _DTYPES


def null_term(data_type: DataType) -> Term:
    """Return NULL with a type."""
    return Term(pl.lit(None, dtype=polars_type(data_type)), data_type, None)


def is_integer(data_type: DataType) -> bool:
    return isinstance(data_type, Primitive) and data_type.name in INTEGER_BITS


def is_exact(data_type: DataType) -> bool:
    """Return whether a type is an integer or a decimal."""
    return is_integer(data_type) or isinstance(data_type, Decimal)


def get_precision_and_scale(data_type: DataType) -> tuple[int, int]:
    """Return precision and scale of an integer or decimal type."""
    if isinstance(data_type, Decimal):
        return data_type.precision, data_type.scale
    return _INTEGER_DIGITS[get_type_name(data_type)], 0


def has_more_digits_than_minus_keeps(value: Exact) -> bool:
    """Return whether the unary minus of Spark may round a decimal."""
    return len(value.as_tuple().digits) > MINUS_DIGITS


def constant_term(literal: Literal) -> Term:
    """Return a constant as a term. Raises `Undecided` if its value depends on settings or has too many digits."""
    value: Any = literal.value
    kind: DataType = Primitive(literal.type)
    if literal.type == "decimal":
        sign, digits, exponent = Exact(value).as_tuple()
        scale = -int(exponent)
        kind = Decimal(max(len(digits), scale), scale)
        value = int("".join(map(str, digits))) * (-1 if sign else 1)
        if kind.precision > MAX_DIGITS or scale < 0:
            raise Undecided("a number has too many digits")
    elif literal.type == "date":
        value = parse_time(value, literal.type)
    elif literal.type in INTEGER_BITS and not _is_in_range(value, literal.type):
        raise Undecided(f"{value} is outside the range of {literal.type}")
    elif literal.type != "void" and not is_comparable(kind):
        raise Undecided(f"it uses a value of type {literal.type}")
    return Term(pl.lit(value, dtype=polars_type(kind)), kind, value)


def _is_in_range(value: int, name: str) -> bool:
    bits = INTEGER_BITS[name] - 1
    return -(1 << bits) <= value < 1 << bits


def parse_time(text: str, kind: str) -> int:
    """Return days (date) or microseconds (timestamps) since the epoch.

    Raises `Undecided` unless every engine reads the string alike.
    """
    if not _TIME_FORMATS[kind].fullmatch(text):
        raise Undecided(f"how {text[:40]!r} is read as {kind} depends on settings")
    try:
        return int(parse_partition_value(text, Primitive(kind)))
    except PartitionValueError as error:
        raise Undecided(str(error)) from error


def fits(values: pl.Expr, data_type: DataType) -> pl.Expr:
    """Return whether 128-bit integers are in the range of an integer type."""
    bits = INTEGER_BITS[get_type_name(data_type)] - 1
    low, high = (pl.lit(each, dtype=pl.Int128) for each in (-(1 << bits), (1 << bits) - 1))
    return (values >= low) & (values <= high)


def rescale(term: Term, scale: int) -> pl.Expr:
    """Return an integer or decimal as unscaled values of a scale that is not below its own. Raises `Undecided`."""
    precision, own_scale = get_precision_and_scale(term.type)
    if precision - own_scale + scale > MAX_DIGITS:
        raise Undecided(f"it compares decimals with more than {MAX_DIGITS} digits")
    if term.is_constant:
        return pl.lit(None if term.constant is None else term.constant * 10 ** (scale - own_scale), dtype=pl.Int128)
    return term.values.cast(pl.Int128) * pl.lit(10 ** (scale - own_scale), dtype=pl.Int128)


def make_comparable(left: Term, right: Term) -> tuple[pl.Expr, pl.Expr]:
    """Return two terms as columns that compare as Spark compares the terms. Raises `Undecided`."""
    if VOID in (left.type, right.type):
        kind = right.type if left.type == VOID else left.type
        one, other = (null_term(kind) if each.type == VOID else each for each in (left, right))
        return one.values, other.values
    if is_exact(left.type) and is_exact(right.type):
        if is_integer(left.type) and is_integer(right.type):
            return left.values, right.values
        scale = max(get_precision_and_scale(each.type)[1] for each in (left, right))
        return rescale(left, scale), rescale(right, scale)
    if DOUBLE in (left.type, right.type) and all(is_exact(each.type) or each.type == DOUBLE for each in (left, right)):
        return _as_double(left), _as_double(right)
    left, right = _as_dates(left, right)
    if left.type != right.type or not is_comparable(left.type):
        raise Undecided(f"it compares {get_type_name(left.type)} with {get_type_name(right.type)}")
    return left.values, right.values


def _as_double(term: Term) -> pl.Expr:
    if isinstance(term.type, Decimal):
        if not term.is_constant or term.constant is None:
            raise Undecided("it compares a decimal with a double")
        return pl.lit(float(Exact(term.constant).scaleb(-term.type.scale, EXACT_CONTEXT)), dtype=pl.Float64)
    return term.values.cast(pl.Float64)


def _as_dates(left: Term, right: Term) -> tuple[Term, Term]:
    """Return a string constant that is compared with a date as a date."""
    if left.type == DATE and right.type == STRING:
        return left, _string_as_date(right)
    if left.type == STRING and right.type == DATE:
        return _string_as_date(left), right
    return left, right


def _string_as_date(term: Term) -> Term:
    if not isinstance(term.constant, str):
        raise Undecided("it compares a string column with a date")
    return constant_term(Literal(term.constant, "date"))


def align_in_operands(terms: Sequence[Term]) -> list[Term]:
    """Return the operands of IN for comparison in pairs. Raises `Undecided`.

    Spark first converts all operands to one type. Next to a string, ANSI mode decides which operand is converted;
    for dates in full form both modes agree.
    """
    kinds = {each.type for each in terms} - {VOID}
    if kinds == {STRING, DATE}:
        return [_string_as_date(each) if each.type == STRING else each for each in terms]
    if len(kinds) > 1:
        if not all(map(is_exact, kinds)):
            raise Undecided(f"IN compares {' and '.join(sorted(map(get_type_name, kinds)))}")
        sizes = [get_precision_and_scale(each) for each in kinds]
        if max(precision - scale for precision, scale in sizes) + max(scale for _, scale in sizes) > MAX_DIGITS:
            raise Undecided(f"it compares decimals with more than {MAX_DIGITS} digits")
    return list(terms)

"""Compile supported expressions to Polars, for the part of Spark SQL whose result is certain.

These are evaluated: comparisons, AND/OR/NOT, NULL tests, IN, BETWEEN, integer and decimal arithmetic, casts between
these, LIKE, and year, month and day of dates. Anything else raises `Undecided`; the Spark backend evaluates it.

Results that depend on settings, on the version of Spark or on the engine are undecided too: when the expression is
compiled, or because a guard fails on the rows. Guards are checked in every row, even where Spark would short-circuit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal as Exact
from functools import reduce

import msgspec
import polars as pl

from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Decimal, Primitive, get_type_name
from deltaspec.sql.terms import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_DIGITS,
    MINUS_DIGITS,
    STRING,
    VOID,
    Guard,
    Term,
    Undecided,
    align_in_operands,
    constant_term,
    fits,
    get_precision_and_scale,
    has_more_digits_than_minus_keeps,
    is_exact,
    is_integer,
    make_comparable,
    null_term,
    rescale,
)
from deltaspec.sql.tree import Binary, Call, Cast, Column, Expression, In, Is, Like, Literal, Not, Sign

ColumnLookup = Callable[[tuple[str, ...]], Term]
"""Return the column of a name; raises `Undecided` if there is none or its values are not certain."""
MAX_STEPS = 200
MAX_WILDCARDS = 100
_REGEX_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$#&\-~])")
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31 in days since the epoch: engines differ outside this range."""
_LAST_INTEGER = (1 << 63) - 1
_ZERO = pl.lit(0, dtype=pl.Int128)
_DATE_PARTS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "year": lambda days: days.dt.year(),
    "month": lambda days: days.dt.month(),
    "day": lambda days: days.dt.day(),
    "dayofmonth": lambda days: days.dt.day(),
}
_COMPARISONS: Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<=>": lambda left, right: left.eq_missing(right),
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SYNTAX = {"Case": "CASE", "Item": "an element of an array or map", "Like": "RLIKE", "Member": "a computed struct"}


class CompiledExpression(msgspec.Struct, frozen=True):
    """An expression over columns of a frame, with one step per operation so that no value is computed twice."""

    term: Term
    steps: tuple[tuple[str, pl.Expr], ...]
    """Columns to add to the frame, in this order."""
    guards: tuple[Guard, ...]


def compile_expression(tree: Expression, columns: ColumnLookup) -> CompiledExpression:
    """Compile an expression. Raises `Undecided` with the reason for the ledger."""
    compiler = _Compiler(columns)
    term = compiler.compile(tree)
    return CompiledExpression(term, tuple(compiler.steps), tuple(compiler.guards))


class _Compiler(msgspec.Struct):
    columns: ColumnLookup
    guards: list[Guard] = msgspec.field(default_factory=list)
    steps: list[tuple[str, pl.Expr]] = msgspec.field(default_factory=list)

    def compile(self, tree: Expression) -> Term:
        """Return an expression as a constant or as a column of the frame."""
        term = self.build_term(tree)
        if isinstance(tree, Literal | Column):
            return term
        if len(self.steps) == MAX_STEPS:
            raise Undecided(f"it has more than {MAX_STEPS} operations")
        name = f"step {len(self.steps)}"
        self.steps.append((name, term.values))
        return Term(pl.col(name), term.type, term.constant)

    def build_term(self, tree: Expression) -> Term:
        match tree:
            case Literal():
                return constant_term(tree)
            case Column(parts):
                return self.columns(parts)
            case Not(operand):
                return Term(~self.condition(operand), BOOLEAN)
            case Sign("-", Literal(int() | float() | Exact() as value, kind)) if kind != "boolean":
                if isinstance(value, Exact) and has_more_digits_than_minus_keeps(value):
                    raise Undecided(f"Spark rounds - of a decimal to {MINUS_DIGITS} digits")
                return constant_term(Literal(-value, kind))
            case Sign(operator, operand):
                return self.sign(operator, self.compile(operand))
            case Binary("and", left, right):
                return Term(self.condition(left) & self.condition(right), BOOLEAN)
            case Binary("or", left, right):
                return Term(self.condition(left) | self.condition(right), BOOLEAN)
            case Binary(operator, left, right) if operator in _COMPARISONS:
                return _compare(operator, self.compile(left), self.compile(right))
            case Binary(operator, left, right):
                return self.arithmetic(operator, self.compile(left), self.compile(right))
            case Is(operand, None) | Call("isnull", (operand,)):
                return Term(self.compile(operand).values.is_null(), BOOLEAN)
            case Call("isnotnull", (operand,)):
                return Term(self.compile(operand).values.is_not_null(), BOOLEAN)
            case Is(operand, value):
                return Term(self.condition(operand).eq_missing(pl.lit(value, dtype=pl.Boolean)), BOOLEAN)
            case In(operand, choices):
                return self.is_in(self.compile(operand), [self.compile(each) for each in choices])
            case Like(operand, pattern, False):
                return self.like(self.compile(operand), self.compile(pattern))
            case Cast(Literal(str() as text, "string"), "date"):
                return constant_term(Literal(text, "date"))
            case Cast(operand, kind):
                return self.cast(self.compile(operand), _parse_type(kind))
            case Call(name, (operand,)) if name in _DATE_PARTS:
                return self.date_part(name, self.compile(operand))
            case Call(name):
                raise Undecided(f"it calls {name}")
        raise Undecided(f"it uses {_SYNTAX.get(type(tree).__name__, type(tree).__name__)}")

    def condition(self, tree: Expression) -> pl.Expr:
        term = self.compile(tree)
        if term.type == VOID:
            return null_term(BOOLEAN).values
        if term.type != BOOLEAN:
            raise Undecided(f"a condition is of type {get_type_name(term.type)}")
        return term.values

    def is_in(self, operand: Term, choices: list[Term]) -> Term:
        operand, *choices = align_in_operands([operand, *choices])
        equal = [_compare("=", operand, each).values for each in choices]
        while len(equal) > 1:  # in pairs, so that many choices do not nest deeply
            equal = [reduce(lambda one, other: one | other, equal[at : at + 2]) for at in range(0, len(equal), 2)]
        return Term(equal[0], BOOLEAN)

    def like(self, operand: Term, pattern: Term) -> Term:
        text = pattern.constant
        if operand.type != STRING or not isinstance(text, str) or "\\" in text:
            raise Undecided("LIKE has another operand than a string, or a pattern that is not constant or has a \\")
        if sum(map(text.count, "%_")) > MAX_WILDCARDS:
            raise Undecided(f"LIKE has more than {MAX_WILDCARDS} wildcards")
        regex = "".join({"%": ".*", "_": "."}.get(each) or _REGEX_SPECIAL.sub(r"\\\1", each) for each in text)
        return Term(operand.values.str.contains(f"(?s)^{regex}$"), BOOLEAN)

    def date_part(self, name: str, term: Term) -> Term:
        if term.type != DATE:
            raise Undecided(f"it calls {name} on a {get_type_name(term.type)}")
        in_range = (term.values >= _FIRST_DAY) & (term.values <= _LAST_DAY)
        self.guards.append(Guard(in_range, "a date is outside the years 1 to 9999"))
        days = pl.when(in_range).then(term.values).cast(pl.Int32).cast(pl.Date)
        return Term(_DATE_PARTS[name](days).cast(pl.Int64), INTEGER)

    # numbers

    def sign(self, operator: str, term: Term) -> Term:
        if operator == "~" or not (is_exact(term.type) or term.type == DOUBLE):
            raise Undecided(f"it applies {operator} to {get_type_name(term.type)}")
        if operator == "+":
            return term
        if is_integer(term.type):
            return self.integer(_ZERO - term.values.cast(pl.Int128), term.type)
        if term.type == DOUBLE:
            return Term(-term.values, term.type)
        if get_precision_and_scale(term.type)[0] > MINUS_DIGITS:
            limit = pl.lit(10**MINUS_DIGITS, dtype=pl.Int128)
            holds = (-limit < term.values) & (term.values < limit)
            self.guards.append(Guard(holds, f"Spark rounds - of a decimal to {MINUS_DIGITS} digits"))
        return Term(_ZERO - term.values, term.type)

    def integer(self, values: pl.Expr, data_type: DataType) -> Term:
        """Return a 128-bit result as an integer of its type: what an overflow gives depends on settings."""
        self.guards.append(
            Guard(fits(values, data_type), f"a result is outside the range of {get_type_name(data_type)}")
        )
        return Term(values.cast(pl.Int64, strict=False), data_type)

    def arithmetic(self, operator: str, left: Term, right: Term) -> Term:
        integers = is_integer(left.type) and is_integer(right.type)
        operators = ("+", "-", "*", "%", "div") if integers else ("+", "-", "*")
        if operator not in operators or not (is_exact(left.type) and is_exact(right.type)):
            raise Undecided(f"it applies {operator} to {get_type_name(left.type)} and {get_type_name(right.type)}")
        if integers:
            return self.integer_arithmetic(operator, left, right)
        precisions, scales = zip(*(get_precision_and_scale(each.type) for each in (left, right)), strict=True)
        if operator == "*":
            precision, scale = sum(precisions) + 1, sum(scales)
            values = rescale(left, scales[0]) * rescale(right, scales[1])
        else:
            scale = max(scales)
            precision = max(precisions[0] - scales[0], precisions[1] - scales[1]) + scale + 1
            one, other = rescale(left, scale), rescale(right, scale)
            values = one + other if operator == "+" else one - other
        if precision > MAX_DIGITS:
            raise Undecided(f"a decimal result has more than {MAX_DIGITS} digits")
        return Term(values, Decimal(precision, scale))

    def integer_arithmetic(self, operator: str, left: Term, right: Term) -> Term:
        """Quotients are truncated and a remainder has the sign of the dividend, as in Java."""
        kind = max((left.type, right.type), key=lambda each: INTEGER_BITS[get_type_name(each)])
        one, other = rescale(left, 0), rescale(right, 0)
        match operator:
            case "+":
                return self.integer(one + other, kind)
            case "-":
                return self.integer(one - other, kind)
            case "*":
                return self.integer(one * other, kind)
        self.guards.append(Guard(right.values != 0, "a divisor is zero"))
        divisor = pl.when(other != 0).then(other)
        quotient = one.abs() // divisor.abs()
        if operator == "div":
            return self.integer(
                pl.when((one < 0) != (divisor < 0)).then(_ZERO - quotient).otherwise(quotient), Primitive("long")
            )
        remainder = one.abs() - quotient * divisor.abs()
        return self.integer(pl.when(one < 0).then(_ZERO - remainder).otherwise(remainder), kind)

    def cast(self, term: Term, data_type: DataType) -> Term:
        """Convert between integers and decimals; values that would be cut off or do not fit fail a guard."""
        name = get_type_name(data_type)
        if term.type == data_type:
            return term
        if term.type == VOID:
            return null_term(data_type)
        if not (is_exact(term.type) and is_exact(data_type)):
            raise Undecided(f"it casts {get_type_name(term.type)} to {name}")
        own_scale, (precision, scale) = get_precision_and_scale(term.type)[1], get_precision_and_scale(data_type)
        values = rescale(term, max(scale, own_scale))
        if scale < own_scale:
            unit, exact = 10 ** (own_scale - scale), values
            values = exact // unit
            self.guards.append(Guard(values * unit == exact, f"a value loses digits as {name}"))
        if is_integer(data_type):
            return self.integer(values, data_type)
        low, high = (pl.lit(each, dtype=pl.Int128) for each in (-(10**precision), 10**precision))
        self.guards.append(Guard((low < values) & (values < high), f"a value is outside the range of {name}"))
        return Term(values, data_type)


def _parse_type(name: str) -> DataType:
    if not name.startswith("decimal("):
        return Primitive(name)
    precision, scale = map(int, name[len("decimal(") : -1].split(","))
    if not scale <= precision <= MAX_DIGITS:
        raise Undecided(f"it uses the type {name}")
    return Decimal(precision, scale)


def _compare(operator: str, left: Term, right: Term) -> Term:
    """Polars and Spark agree on doubles: NaN equals itself and is the greatest value, both zeros are equal."""
    one, other = make_comparable(left, right)
    if operator in _MIRRORED and (_is_out_of_range(left, right) or _is_out_of_range(right, left)):
        raise Undecided("it compares an integer with a number that no integer type holds")
    if not one.meta.root_names():  # Polars fails on a constant to the left of a column with one value
        operator, one, other = _MIRRORED.get(operator, operator), other, one
    return Term(_COMPARISONS[operator](one, other), BOOLEAN)


def _is_out_of_range(number: Term, constant: Term) -> bool:
    """Return whether Spark answers from the constant alone, even for null: no integer type holds it."""
    if not (is_integer(number.type) and isinstance(constant.type, Decimal) and constant.is_constant):
        return False
    return bool(abs(constant.constant or 0) > _LAST_INTEGER * 10**constant.type.scale)

"""Evaluates admitted expressions on columns of rows, as Spark would: only what no setting and no version changes.

The text speaks of SQL and names no dialect: what other engines of Delta tables are known to read otherwise is left out.

Everything else raises `Undecided` when the expression is compiled, or fails a guard on the rows at hand: a result
beyond its type, a division by zero. A guard is looked at in every row, also where Spark would not come to evaluate it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import polars as pl

from deltaspec.model.schema.data_types import DataType, Decimal, Primitive, get_type_name
from deltaspec.sql.casts import cast
from deltaspec.sql.function_evaluation import FUNCTIONS, concatenate
from deltaspec.sql.terms import (
    BOOLEAN,
    DOUBLE,
    INTEGER_BITS,
    MAX_DIGITS,
    STRING,
    VOID,
    ZERO,
    Guard,
    Guards,
    Term,
    Undecided,
    align_in_operands,
    as_double,
    constant_term,
    find_common_type,
    fits,
    fits_integer,
    get_precision_and_scale,
    is_exact,
    is_floating,
    is_integer,
    make_comparable,
    negate,
    null_term,
    rescale,
)
from deltaspec.sql.tree import (
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    In,
    Is,
    Like,
    Literal,
    Not,
    Sign,
)

ColumnLookup = Callable[[tuple[str, ...]], Term]
"""The column of a name; raises `Undecided` where there is none, or none that is evaluated."""
MAX_STEPS = 200
MAX_BRANCHES = 50
MAX_WILDCARDS = 10
_ESCAPE = re.compile(r"([\\.+*?()|\[\]{}^$#&\-~])")


@dataclass(frozen=True)
class CompiledExpression:
    """An expression over columns of a frame, one step a column: no value is computed twice, however deep it stands."""

    term: Term
    steps: tuple[tuple[str, pl.Expr], ...]
    """Columns to be added in this order, each of those before it."""
    guards: tuple[Guard, ...]
    """What has to hold in all rows."""


def compile_expression(tree: Expression, columns: ColumnLookup) -> CompiledExpression:
    """Raises `Undecided`, in words for the ledger."""
    compiler = _Compiler(columns)
    term = compiler.of(tree)
    return CompiledExpression(term, tuple(compiler.steps), tuple(compiler.guards))


@dataclass
class _Compiler:
    columns: ColumnLookup
    guards: Guards = field(default_factory=list)
    steps: list[tuple[str, pl.Expr]] = field(default_factory=list)

    def of(self, tree: Expression) -> Term:
        """The value of an expression: a constant, or a column."""
        term = self.value_of(tree)
        if isinstance(tree, Literal | Column):
            return term
        if len(self.steps) == MAX_STEPS:
            raise Undecided(f"it has more than {MAX_STEPS} operations")
        name = f"step {len(self.steps)}"
        self.steps.append((name, term.values))
        return Term(pl.col(name), term.type, term.constant)

    def value_of(self, tree: Expression) -> Term:
        match tree:
            case Literal():
                return constant_term(tree)
            case Column(parts):
                return self.columns(parts)
            case Not(operand):
                return Term(~self.truth(operand), BOOLEAN)
            case Sign(operator, operand):
                return self.signed(operator, self.of(operand))
            case Binary("and", left, right):
                return Term(self.truth(left) & self.truth(right), BOOLEAN)
            case Binary("or", left, right):
                return Term(self.truth(left) | self.truth(right), BOOLEAN)
            case Binary(operator, left, right) if operator in _COMPARISONS:
                return _compared(operator, self.of(left), self.of(right))
            case Binary("||", left, right):
                return concatenate([self.of(left), self.of(right)])
            case Binary(operator, left, right):
                return self.arithmetic(operator, self.of(left), self.of(right))
            case Is(operand, None):
                return Term(self.of(operand).values.is_null(), BOOLEAN)
            case Is(operand, value):
                return Term(self.truth(operand).eq_missing(pl.lit(value, dtype=pl.Boolean)), BOOLEAN)
            case In(operand, choices):
                return self.one_of(self.of(operand), [self.of(each) for each in choices])
            case Like(operand, pattern, False):
                return self.like(self.of(operand), self.of(pattern))
            case Case():
                return self.case(tree)
            case Cast(operand, kind):
                return cast(self.of(operand), kind, self.guards)
            case Call(name, arguments) if name in FUNCTIONS:
                return FUNCTIONS[name]([self.of(each) for each in arguments], self.guards)
            case Call(name):
                raise Undecided(f"what {name} gives is left to Spark")
        raise Undecided(f"{type(tree).__name__} is left to Spark")

    def truth(self, tree: Expression) -> pl.Expr:
        term = self.of(tree)
        if term.type == VOID:
            return null_term(BOOLEAN).values
        if term.type != BOOLEAN:
            raise Undecided(f"a condition is of type {get_type_name(term.type)}")
        return term.values

    def condition(self, tree: Expression) -> pl.Expr:
        """Of a CASE, the one place where Spark does not take NULL for a boolean."""
        term = self.of(tree)
        if term.type != BOOLEAN:
            raise Undecided(f"a condition of CASE is of type {get_type_name(term.type)}")
        return term.values

    def one_of(self, operand: Term, choices: list[Term]) -> Term:
        if is_exact(operand.type) and not all(is_exact(each.type) or each.type == VOID for each in choices):
            raise Undecided("IN compares several types")
        operand, *choices = align_in_operands([operand, *choices])
        equal = [_compared("=", operand, each).values for each in choices]
        while len(equal) > 1:  # pair by pair: many choices are no deep expression
            equal = [reduce(lambda one, other: one | other, equal[at : at + 2]) for at in range(0, len(equal), 2)]
        return Term(equal[0], BOOLEAN)

    def like(self, operand: Term, pattern: Term) -> Term:
        text = pattern.constant
        if operand.type != STRING or not isinstance(text, str) or "\\" in text:
            raise Undecided("LIKE is given something else than a string and a constant without a backslash")
        if sum(text.count(each) for each in "%_") > MAX_WILDCARDS:
            raise Undecided(f"LIKE with more than {MAX_WILDCARDS} wildcards")
        spelled = "".join({"%": ".*", "_": "."}.get(each) or _ESCAPE.sub(r"\\\1", each) for each in text)
        return Term(operand.values.str.contains(f"(?s)^{spelled}$"), BOOLEAN)

    def case(self, tree: Case) -> Term:
        if len(tree.branches) > MAX_BRANCHES:
            raise Undecided(f"CASE with more than {MAX_BRANCHES} branches")
        operand = None if tree.operand is None else self.of(tree.operand)
        conditions = [
            self.condition(when) if operand is None else _compared("=", operand, self.of(when)).values
            for when, _ in tree.branches
        ]
        terms = [self.of(then) for _, then in tree.branches]
        terms.append(null_term(VOID) if tree.otherwise is None else self.of(tree.otherwise))
        kind, values = find_common_type(terms)
        chosen = values[-1]
        for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
            chosen = pl.when(condition.fill_null(False)).then(value).otherwise(chosen)
        return Term(chosen, kind)

    # numbers

    def signed(self, operator: str, term: Term) -> Term:
        if operator == "~" or not (is_exact(term.type) or is_floating(term.type)):
            raise Undecided(f"{operator} before {get_type_name(term.type)}")
        if operator == "+":
            return term
        if term.is_constant and term.constant is not None:
            if is_integer(term.type) and not fits_integer(-term.constant, get_type_name(term.type)):
                raise Undecided(f"a result is beyond {get_type_name(term.type)}")
            return Term(negate(term), term.type, -term.constant)
        if is_integer(term.type):
            return self.integer(negate(term), term.type)
        return Term(negate(term), term.type)

    def integer(self, values: pl.Expr, kind: DataType) -> Term:
        """A result as wide as need be, as an integer of its type: what overflows depends on settings."""
        self.guards.append(Guard(fits(values, kind), f"a result is beyond {get_type_name(kind)}"))
        return Term(values.cast(pl.Int64, strict=False), kind)

    def arithmetic(self, operator: str, left: Term, right: Term) -> Term:
        if VOID in (left.type, right.type):
            raise Undecided("arithmetic with NULL")
        if is_exact(left.type) and is_exact(right.type):
            return self.exact(operator, left, right)
        if operator in ("+", "-", "*", "/") and DOUBLE in (left.type, right.type):
            return self.floating(operator, as_double(left), as_double(right))
        raise Undecided(f"{get_type_name(left.type)} {operator} {get_type_name(right.type)}")

    def floating(self, operator: str, left: pl.Expr, right: pl.Expr) -> Term:
        match operator:
            case "+":
                return Term(left + right, DOUBLE)
            case "-":
                return Term(left - right, DOUBLE)
            case "*":
                return Term(left * right, DOUBLE)
        self.guards.append(Guard(right != 0.0, "a divisor is zero"))
        return Term(left / right, DOUBLE)

    def exact(self, operator: str, left: Term, right: Term) -> Term:
        integers = is_integer(left.type) and is_integer(right.type)
        if integers and operator == "/":
            raise Undecided("what / gives of integers differs between engines")
        if integers and operator in ("%", "div"):
            return self.divided(operator, left, right)
        if operator not in ("+", "-", "*"):
            raise Undecided(f"{get_type_name(left.type)} {operator} {get_type_name(right.type)}")
        if integers:
            kind = max((left.type, right.type), key=lambda each: INTEGER_BITS[get_type_name(each)])
            return self.integer(_result(operator, rescale(left, 0), rescale(right, 0)), kind)
        (left_precision, left_scale), (right_precision, right_scale) = (
            get_precision_and_scale(left.type),
            get_precision_and_scale(right.type),
        )
        if operator == "*":
            precision, scale = left_precision + right_precision + 1, left_scale + right_scale
            values = rescale(left, left_scale) * rescale(right, right_scale)
        else:
            scale = max(left_scale, right_scale)
            precision = max(left_precision - left_scale, right_precision - right_scale) + scale + 1
            values = _result(operator, rescale(left, scale), rescale(right, scale))
        if precision > MAX_DIGITS:
            raise Undecided("a decimal result of more than 38 digits")
        return Term(values, Decimal(precision, scale))

    def divided(self, operator: str, left: Term, right: Term) -> Term:
        """What remains has the sign of what is divided, as in Java."""
        self.guards.append(Guard(right.values != 0, "a divisor is zero"))
        one, other = rescale(left, 0), rescale(right, 0)
        other = pl.when(other == 0).then(None).otherwise(other)
        whole = one.abs() // other.abs()
        if operator == "div":
            signed = pl.when((one < 0) != (other < 0)).then(ZERO - whole).otherwise(whole)
            return self.integer(signed, Primitive("long"))
        rest = one.abs() - whole * other.abs()
        kind = max((left.type, right.type), key=lambda each: INTEGER_BITS[get_type_name(each)])
        return self.integer(pl.when(one < 0).then(ZERO - rest).otherwise(rest), kind)


def _result(operator: str, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
    return left * right


_COMPARISONS: Mapping[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "<=>": lambda one, other: one.eq_missing(other),
}


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LAST_INTEGER = (1 << 63) - 1


def _is_beyond(number: Term, constant: Term) -> bool:
    """Whether a constant is of no type of integers: Spark then answers without a look at the number, even if null."""
    if not (is_integer(number.type) and isinstance(constant.type, Decimal) and constant.is_constant):
        return False
    return bool(abs(constant.constant or 0) > _LAST_INTEGER * 10**constant.type.scale)


def _compared(operator: str, left: Term, right: Term) -> Term:
    """Polars and Spark agree on numbers: NaN equals itself and is above all others, the two zeros are one."""
    one, other = make_comparable(left, right)
    binary = Primitive("binary") in (left.type, right.type)
    if binary and operator not in ("=", "<>", "<=>"):
        raise Undecided("binary values are put in order")
    if operator in _MIRRORED and (_is_beyond(left, right) or _is_beyond(right, left)):
        raise Undecided("an integer is compared with a number beyond all integers")
    if not one.meta.root_names():  # a constant on the left of a column of one value breaks Polars
        operator, one, other = _MIRRORED.get(operator, operator), other, one
    return Term(_COMPARISONS[operator](one, other), BOOLEAN)

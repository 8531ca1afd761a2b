"""Values of expressions as Polars columns, with the type that Spark gives them, and how two of them become comparable.

Integers, dates (days) and timestamps (microseconds) are 64-bit integers, decimals 128-bit integers without their point:
what Polars knows of decimals and of time is not asked. Of arrays, maps and structs there is only whether they are null.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context
from decimal import Decimal as Exact
from typing import Any

import polars as pl

from deltaspec.model.schema.data_types import DataType, Decimal, Primitive, get_type_name
from deltaspec.model.schema.partition_values import PartitionValueError
from deltaspec.model.schema.partition_values import parse_partition_value as parse_value
from deltaspec.sql.tree import Literal

MAX_DIGITS = 38
WIDE = Context(prec=2 * MAX_DIGITS)
"""In which a decimal of a table is moved without being rounded."""
INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_INTEGER_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_EXACT_IN_FLOAT = 1 << 24
"""Up to here, numbers of 32 bits hold every integer."""
TIMES = ("date", "timestamp", "timestamp_ntz")
_DTYPES = {
    **dict.fromkeys((*INTEGER_BITS, *TIMES), pl.Int64),
    "float": pl.Float32,
    "double": pl.Float64,
    "string": pl.String,
    "boolean": pl.Boolean,
    "binary": pl.Binary,
}
_CLOCK = r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_DAY = r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_TEXTS = {
    "date": re.compile(_DAY),
    "timestamp": re.compile(f"{_DAY}{_CLOCK}(Z|[+-][0-9]{{2}}:[0-9]{{2}})"),
    "timestamp_ntz": re.compile(f"{_DAY}({_CLOCK})?"),
}
"""Spellings that mean the same under every setting."""
BOOLEAN, STRING, DOUBLE, VOID = Primitive("boolean"), Primitive("string"), Primitive("double"), Primitive("void")
DATE = Primitive("date")
MICROSECONDS_OF_DAY = 86_400_000_000
ZERO = pl.lit(0, dtype=pl.Int128)


class Undecided(ValueError):
    """An expression whose value is not beyond doubt without Spark; the message says why."""


@dataclass(frozen=True)
class Guard:
    """What has to hold in every row, or an expression is not evaluated on them; where it is null it holds."""

    holds: pl.Expr
    why: str
    """What is so where it does not hold."""


Guards = list[Guard]


@dataclass(frozen=True)
class Term:
    """What an expression is, row by row."""

    values: pl.Expr
    type: DataType
    constant: Any = ...
    """Its value where it is a constant, as the columns hold it; an ellipsis where it is none."""

    @property
    def is_constant(self) -> bool:
        return self.constant is not ...


def polars_type(kind: DataType) -> pl.DataType | type[pl.DataType]:
    """The type of the Polars column that holds values of a Delta type."""
    if isinstance(kind, Decimal):
        return pl.Int128
    return _DTYPES.get(get_type_name(kind), pl.Boolean)


def parse_type(spelled: str) -> DataType:
    """A type as an expression names it. Raises `Undecided`."""
    if not spelled.startswith("decimal("):
        return Primitive(spelled)
    precision, scale = map(int, spelled[len("decimal(") : -1].split(","))
    if not scale <= precision <= MAX_DIGITS:
        raise Undecided(f"the type {spelled}")
    return Decimal(precision, scale)


def null_term(kind: DataType) -> Term:
    return Term(pl.lit(None, dtype=polars_type(kind)), kind, None)


def is_integer(kind: DataType) -> bool:
    return isinstance(kind, Primitive) and kind.name in INTEGER_BITS


def is_exact(kind: DataType) -> bool:
    return is_integer(kind) or isinstance(kind, Decimal)


def is_floating(kind: DataType) -> bool:
    return isinstance(kind, Primitive) and kind.name in ("float", "double")


def get_precision_and_scale(kind: DataType) -> tuple[int, int]:
    """Precision and scale of an exact number."""
    if isinstance(kind, Decimal):
        return kind.precision, kind.scale
    return _INTEGER_DIGITS[get_type_name(kind)], 0


def constant_term(literal: Literal) -> Term:
    """A constant of an expression. Raises `Undecided` where its value depends on settings."""
    value: Any = literal.value
    kind: DataType = Primitive(literal.type)
    match literal.type:
        case "void":
            return null_term(VOID)
        case "decimal":
            sign, digits, exponent = Exact(value).as_tuple()
            scale = -int(exponent)
            kind = Decimal(max(len(digits), scale), scale)
            value = int("".join(map(str, digits))) * (-1 if sign else 1)
            if kind.precision > MAX_DIGITS or scale < 0:
                raise Undecided("a number has too many digits")
        case "float":
            if value != 0 and struct.unpack("<f", struct.pack("<f", _within_floats(value)))[0] != value:
                raise Undecided("a constant of type float is not exact")
        case "date" | "timestamp" | "timestamp_ntz":
            value = parse_time(value, literal.type)
        case name if name in INTEGER_BITS and not fits_integer(value, name):
            raise Undecided(f"{value} is no {name}")
    return Term(pl.lit(value, dtype=polars_type(kind)), kind, value)


def _within_floats(value: float) -> float:
    if abs(value) > 3.4e38:
        raise Undecided("a constant of type float is not exact")
    return value


def fits_integer(value: int, name: str) -> bool:
    bits = INTEGER_BITS[name] - 1
    return -(1 << bits) <= value < 1 << bits


def parse_time(text: str, kind: str) -> int:
    """Days or microseconds since the epoch, of a text that every engine takes for the same. Raises `Undecided`."""
    if not _TIME_TEXTS[kind].fullmatch(text):
        raise Undecided(f"what {text[:40]!r} is as {kind} depends on settings")
    try:
        return int(parse_value(text, Primitive(kind)))
    except PartitionValueError as fault:
        raise Undecided(str(fault)) from fault


def fits(values: pl.Expr, kind: DataType) -> pl.Expr:
    """Whether integers are within one of the types of integers."""
    bits = INTEGER_BITS[get_type_name(kind)] - 1
    low, high = (pl.lit(each, dtype=pl.Int128) for each in (-(1 << bits), (1 << bits) - 1))
    return (values >= low) & (values <= high)


def negate(term: Term) -> pl.Expr:
    """A number of the other sign; of an integer, as wide as need be."""
    return -term.values if is_floating(term.type) else ZERO - term.values.cast(pl.Int128)


# comparing and choosing


def make_comparable(left: Term, right: Term) -> tuple[pl.Expr, pl.Expr]:
    """Two terms as columns that can be compared as Spark compares them. Raises `Undecided`."""
    if left.type == VOID or right.type == VOID:
        null = null_term(right.type if left.type == VOID else left.type).values
        return null if left.type == VOID else left.values, null if right.type == VOID else right.values
    if is_exact(left.type) and is_exact(right.type):
        return exact_pair(left, right)
    if _is_number(left.type) and _is_number(right.type):
        return _floating_pair(left, right)
    left, right = _time_pair(left, right)
    if left.type != right.type or get_type_name(left.type) not in _DTYPES:
        raise Undecided(f"{get_type_name(left.type)} is compared with {get_type_name(right.type)}")
    return left.values, right.values


def exact_pair(left: Term, right: Term) -> tuple[pl.Expr, pl.Expr]:
    """Two exact numbers with as many digits behind the point."""
    if is_integer(left.type) and is_integer(right.type):
        return left.values, right.values
    scale = max(get_precision_and_scale(left.type)[1], get_precision_and_scale(right.type)[1])
    return rescale(left, scale), rescale(right, scale)


def rescale(term: Term, scale: int) -> pl.Expr:
    """An exact number with so many digits behind the point, no fewer than it has. Raises `Undecided`."""
    precision, own = get_precision_and_scale(term.type)
    if precision - own + scale > MAX_DIGITS:
        raise Undecided("decimals with more than 38 digits are compared")
    if term.is_constant:
        return pl.lit(None if term.constant is None else term.constant * 10 ** (scale - own), dtype=pl.Int128)
    return term.values.cast(pl.Int128) * pl.lit(10 ** (scale - own), dtype=pl.Int128)


def _is_number(kind: DataType) -> bool:
    return is_exact(kind) or is_floating(kind)


def _floating_pair(left: Term, right: Term) -> tuple[pl.Expr, pl.Expr]:
    for one, other in ((left, right), (right, left)):
        if one.type == Primitive("float") and is_integer(other.type):
            small = get_type_name(other.type) in ("byte", "short")
            exact = other.is_constant and abs(other.constant or 0) <= _EXACT_IN_FLOAT
            if not (small or exact):
                raise Undecided("a float is compared with an integer")
    return as_double(left), as_double(right)


def as_double(term: Term) -> pl.Expr:
    """A number as one of 64 bits, rounded as Spark rounds it. Raises `Undecided`."""
    if isinstance(term.type, Decimal):
        if not term.is_constant or term.constant is None:
            raise Undecided("a decimal becomes a double")
        return pl.lit(float(Exact(term.constant).scaleb(-term.type.scale, WIDE)), dtype=pl.Float64)
    if not _is_number(term.type):
        raise Undecided(f"{get_type_name(term.type)} becomes a double")
    return term.values.cast(pl.Float64)


def _time_pair(left: Term, right: Term) -> tuple[Term, Term]:
    """Texts beside a time become times, dates beside a time without zone midnights."""
    names = get_type_name(left.type), get_type_name(right.type)
    if names[0] in TIMES and names[1] == "string":
        return left, time_of_text(right, names[0])
    if names[0] == "string" and names[1] in TIMES:
        return time_of_text(left, names[1]), right
    if names == ("date", "timestamp_ntz"):
        return midnight(left), right
    if names == ("timestamp_ntz", "date"):
        return left, midnight(right)
    return left, right


def time_of_text(term: Term, kind: str) -> Term:
    """A constant string as a time. Raises `Undecided`."""
    if not term.is_constant or term.constant is None:
        raise Undecided(f"strings of a column are compared with a {kind}")
    return constant_term(Literal(term.constant, kind))


def midnight(term: Term) -> Term:
    """A date as a time without zone; evaluating it fails, as in Spark, where no time is that far away."""
    value = term.constant * MICROSECONDS_OF_DAY if term.is_constant and term.constant is not None else term.constant
    wide = term.values.cast(pl.Int128) * pl.lit(MICROSECONDS_OF_DAY, dtype=pl.Int128)
    return Term(wide.cast(pl.Int64), Primitive("timestamp_ntz"), value)


def align_in_operands(terms: Sequence[Term]) -> list[Term]:
    """The operands of IN, of which Spark makes one type before it compares any of them. Raises `Undecided`.

    Beside a string, others become strings in one mode of Spark and strings become others in the other. Of dates, as
    they are spelled in full, both find the same.
    """
    kinds = {each.type for each in terms} - {VOID}
    if STRING in kinds and len(kinds) > 1:
        if kinds != {STRING, DATE}:
            raise Undecided(f"IN compares {' and '.join(sorted(map(get_type_name, kinds)))}")
        return [time_of_text(each, "date") if each.type == STRING else each for each in terms]
    if kinds and all(map(is_exact, kinds)):
        kind, values = find_common_type(terms)
        return [Term(each, kind) for each in values]
    return list(terms)


def find_common_type(terms: Sequence[Term]) -> tuple[DataType, list[pl.Expr]]:
    """The type of a choice between terms, and each as a column of it. Raises `Undecided`."""
    kinds = {each.type for each in terms if each.type != VOID}
    if not kinds:
        return VOID, [each.values for each in terms]
    if len(kinds) == 1:
        kind = kinds.pop()
    elif all(map(is_integer, kinds)):
        kind = max(kinds, key=lambda each: INTEGER_BITS[get_type_name(each)])
    elif all(map(is_exact, kinds)):
        scale = max(get_precision_and_scale(each)[1] for each in kinds)
        whole = max(get_precision_and_scale(each)[0] - get_precision_and_scale(each)[1] for each in kinds)
        kind = Decimal(min(whole + scale, MAX_DIGITS), scale)
        return kind, [null_term(kind).values if each.type == VOID else rescale(each, scale) for each in terms]
    elif DOUBLE in kinds and all(map(_is_number, kinds)):
        return DOUBLE, [null_term(DOUBLE).values if each.type == VOID else as_double(each) for each in terms]
    else:
        raise Undecided(f"a choice between {' and '.join(sorted(map(get_type_name, kinds)))}")
    if get_type_name(kind) not in _DTYPES and not isinstance(kind, Decimal):
        raise Undecided(f"a value of type {get_type_name(kind)}")
    return kind, [null_term(kind).values if each.type == VOID else each.values for each in terms]

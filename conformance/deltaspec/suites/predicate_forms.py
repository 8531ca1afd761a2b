"""Draw predicates over the columns of a table, and write them as SQL.

Literals come from the rows of the table, from their neighbourhood, and from the edges of the type, because predicates
about values that occur nowhere test little.
"""

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Context
from decimal import Decimal as Exact
from typing import Any

import msgspec

from deltaspec.model.rows.predicate_trees import find_type, spell_literal
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
    get_value,
)
from deltaspec.protocol.schema.data_types import DataType, Decimal, Struct, get_type_name
from deltaspec.protocol.time_units import DAY_US
from deltaspec_generators.choices import Choices

_INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64, "date": 32, "timestamp": 64, "timestamp_ntz": 64}
_FLOATS = ("float", "double")
_PATTERN_CHARACTERS = frozenset("%_\\")
"""Characters with a meaning in patterns of LIKE, whose escapes differ between engines."""
_CUT_BOUNDS = ("string", "timestamp", "timestamp_ntz")
_ORDERED = ("string", "binary", "boolean", *_INTEGER_BITS, *_FLOATS)
_SQL_TYPES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "date": "DATE",
}
_EXACT = Context(prec=100)
_DAYS = 2_000_000
"""Dates and timestamps further from 1970 are not drawn as literals: engines differ in the years that SQL can spell."""


class Column(msgspec.Struct, frozen=True):
    """A column that predicates can compare."""

    path: tuple[str, ...]
    type: DataType


def list_columns(schema: Struct) -> list[Column]:
    """List the columns and fields of structs with an ordered type."""
    found: list[Column] = []

    def visit(data_type: Struct, path: tuple[str, ...]) -> None:
        for field in data_type.fields:
            here = (*path, field.name)
            if isinstance(field.type, Struct):
                visit(field.type, here)
            elif isinstance(field.type, Decimal) or get_type_name(field.type) in _ORDERED:
                found.append(Column(here, field.type))

    visit(schema, ())
    return found


def draw_predicate(choices: Choices, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Predicate:
    """Draw a predicate of one to three comparisons."""
    first: Predicate = _draw_comparison(choices, columns, rows)
    for _ in range(choices.integer(0, 2)):
        second = _draw_comparison(choices, columns, rows)
        first = And(first, second) if choices.chance(1, 2) else Or(first, second)
    return Not(first) if choices.chance(1, 5) else first


def iter_bound_predicates(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Iterator[Predicate]:
    """Yield predicates that only the largest or the smallest rows of a column match.

    They find bounds that exclude a row. Columns whose bounds may be cut off come first.
    """
    for column in sorted(columns, key=lambda each: get_type_name(each.type) not in _CUT_BOUNDS):
        values = [value for row in rows if (value := get_value(row, column.path)) is not None and value == value]
        if values and all(is_spellable(value, column.type) for value in values):
            yield Compare(column.path, Operator.AT_LEAST, max(values))
            yield Compare(column.path, Operator.AT_MOST, min(values))


def iter_null_predicates(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Iterator[Predicate]:
    """Yield predicates that rows with null match, for columns that have nulls and other values."""
    for column in columns:
        nulls = [get_value(row, column.path) is None for row in rows]
        if any(nulls) and not all(nulls):
            yield IsNull(column.path)
            yield NullSafeEqual(column.path, None)


def iter_case_predicates(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Iterator[Predicate]:
    """Yield predicates that would match a row if strings were compared without case."""
    for column in columns:
        if get_type_name(column.type) == "string":
            values = [value for row in rows if (value := get_value(row, column.path)) is not None]
            other = sorted(value.swapcase() for value in values if value.swapcase().casefold() == value.casefold())
            yield from (
                Compare(column.path, Operator.EQUAL, value)
                for value in other
                if value not in values and is_spellable(value, column.type)
            )


def iter_zero_predicates(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Iterator[Predicate]:
    """Yield predicates about zeros, for columns that have some; columns with -0.0 come first.

    Zeros are equal and differ in their sign, so a reader that orders them loses rows of a file that has only one.
    """
    zeros = {each.path: [value for row in rows if (value := get_value(row, each.path)) == 0.0] for each in columns
             if get_type_name(each.type) in _FLOATS}  # fmt: skip
    for path, values in sorted(zeros.items(), key=lambda item: all(math.copysign(1, each) > 0 for each in item[1])):
        if values:
            yield Compare(path, Operator.EQUAL, 0.0)
            yield Compare(path, Operator.AT_LEAST, 0.0)
            yield NullSafeEqual(path, 0.0)
            yield In(path, (0.0, 1.0))
            yield Compare(path, Operator.AT_MOST, -0.0)
            yield Compare(path, Operator.EQUAL, -0.0)


def iter_equal_predicates(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], first: Collection[str]
) -> Iterator[Predicate]:
    """Yield predicates that the rows with one or two values of a column match; the columns in `first` come first."""
    for column in sorted(columns, key=lambda each: each.path[0] not in first):
        values = [value for row in rows if (value := get_value(row, column.path)) is not None and value == value]
        spellable = [each for each in values if is_spellable(each, column.type)]
        if spellable:
            yield Compare(column.path, Operator.EQUAL, spellable[0])
            yield In(column.path, (spellable[-1], spellable[0]))


def iter_prefix_predicates(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Iterator[Predicate]:
    """Yield predicates that strings with a prefix match: a character, and a complete string. Nulls never match.

    Columns with nulls come first.
    """
    found = []
    for column in columns:
        if get_type_name(column.type) == "string":
            values = [get_value(row, column.path) for row in rows]
            plain = [each for each in values if each and not _PATTERN_CHARACTERS & {*each} and "\0" not in each]
            found += [(None not in values, column, max(plain, key=len))] if plain else []
    for _, column, longest in sorted(found, key=lambda each: each[0]):
        yield StartsWith(column.path, longest[0])
        yield StartsWith(column.path, longest)


def iter_normal_form_predicates(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Iterator[Predicate]:
    """Yield predicates that would match a row if Unicode's normal forms of a string were equal."""
    for column in columns:
        if get_type_name(column.type) == "string":
            values = {value for row in rows if (value := get_value(row, column.path)) is not None}
            others = {unicodedata.normalize(form, value) for value in values for form in ("NFC", "NFD")} - values
            yield from (
                Compare(column.path, Operator.EQUAL, each) for each in sorted(others) if is_spellable(each, column.type)
            )


def _draw_comparison(choices: Choices, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Predicate:
    column = choices.pick(columns)
    kind = choices.integer(0, 9)
    if kind == 8:
        return IsNull(column.path) if choices.chance(1, 2) else IsNotNull(column.path)
    literal = None if kind == 9 and choices.chance(1, 3) else _draw_literal(choices, column, rows)
    if kind == 7:
        return NullSafeEqual(column.path, literal)
    return Compare(column.path, choices.pick(tuple(Operator)), literal)


def _draw_literal(choices: Choices, column: Column, rows: Sequence[Mapping[str, Any]]) -> Any:
    values = [value for row in rows if (value := get_value(row, column.path)) is not None]
    if values and not choices.chance(1, 5):
        # rows at the bounds are those that wrong statistics lose
        value = choices.pick((choices.pick(values), max(values, key=_sort_key), min(values, key=_sort_key)))
        if choices.chance(1, 3):
            value = _step(choices, value, column.type)
    else:
        value = choices.pick(_list_edges(column.type))
    return value if is_spellable(value, column.type) else _list_edges(column.type)[0]


def _sort_key(value: Any) -> tuple[bool, Any]:
    """Order values of one type; NaN comes last."""
    return (True, 0) if value != value else (False, value)


def is_spellable(value: Any, data_type: DataType) -> bool:
    """Return whether SQL of every engine can spell a value."""
    name = get_type_name(data_type)
    if name == "date":
        return bool(-719_162 <= value <= _DAYS)
    if name in ("timestamp", "timestamp_ntz"):
        return bool(-719_162 <= value // DAY_US <= _DAYS)
    return "\0" not in value if name == "string" else True


def _step(choices: Choices, value: Any, data_type: DataType) -> Any:
    """Return a value close to another."""
    up = choices.chance(1, 2)
    name = get_type_name(data_type)
    if isinstance(data_type, Decimal):
        unscaled = int(value.scaleb(data_type.scale, _EXACT)) + (1 if up else -1)
        fits = abs(unscaled) < 10**data_type.precision
        return Exact(unscaled).scaleb(-data_type.scale, _EXACT) if fits else value
    if name in _INTEGER_BITS:
        limit = 1 << _INTEGER_BITS[name] - 1
        return min(limit - 1, value + 1) if up else max(-limit, value - 1)
    if name == "double":
        return math.nextafter(value, math.inf if up else -math.inf)
    if name == "string":
        return value + "a" if up else value[: len(value) // 2]
    if name == "binary":
        return value + b"a" if up else value[: len(value) // 2]
    return (not value) if name == "boolean" else value


def _list_edges(data_type: DataType) -> list[Any]:
    """List values at the edges of a type, the simplest first."""
    name = get_type_name(data_type)
    if isinstance(data_type, Decimal):
        nines = (9,) * data_type.precision
        return [
            Exact((0, (0,), -data_type.scale)),
            Exact((0, nines, -data_type.scale)),
            Exact((1, nines, -data_type.scale)),
        ]
    if name in ("date", "timestamp", "timestamp_ntz"):
        return [0, 1, -1]
    if name in _INTEGER_BITS:
        limit = 1 << _INTEGER_BITS[name] - 1
        return [0, 1, limit - 1, -limit]
    if name in _FLOATS:
        return [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan]
    if name == "string":
        return ["", "a", "~", "\U0010ffff", "é"]
    return [b"", b"\xff", b"\x00"] if name == "binary" else [False, True]


def build_sql(predicate: Predicate, schema: Struct) -> str:
    """Write a predicate as standard SQL."""
    match predicate:
        case And(left, right):
            return f"({build_sql(left, schema)} AND {build_sql(right, schema)})"
        case Or(left, right):
            return f"({build_sql(left, schema)} OR {build_sql(right, schema)})"
        case Not(operand):
            return f"(NOT {build_sql(operand, schema)})"
        case IsNull(column):
            return f"({_quote(column)} IS NULL)"
        case IsNotNull(column):
            return f"({_quote(column)} IS NOT NULL)"
        case Compare(column, operator, literal):
            return f"({_quote(column)} {operator.value} {_spell_sql(literal, find_type(schema, column))})"
        case NullSafeEqual(column, literal):
            text = _spell_sql(literal, find_type(schema, column))
            return f"({_quote(column)} IS NOT DISTINCT FROM {text})"
        case In(column, literals):
            texts = (_spell_sql(each, find_type(schema, column)) for each in literals)
            return f"({_quote(column)} IN ({', '.join(texts)}))"
        case StartsWith(column, str(prefix)):
            return f"({_quote(column)} LIKE {_spell_sql(f'{prefix}%', find_type(schema, column))})"
    raise ValueError(f"no SQL for {predicate}")


def _quote(path: Sequence[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in path)


def _spell_sql(value: Any, data_type: DataType) -> str:
    if value is None:
        return "NULL"
    name = get_type_name(data_type)
    text = spell_literal(value, data_type) or ""
    if name == "boolean":
        return text.upper()
    if name == "binary":
        return f"X'{text.upper()}'"
    quoted = "'" + text.replace("'", "''") + "'"
    if name == "string":
        return quoted
    sql_type = (
        f"DECIMAL({data_type.precision}, {data_type.scale})" if isinstance(data_type, Decimal) else _SQL_TYPES[name]
    )
    return f"CAST({quoted} AS {sql_type})"

"""Predicates in the tree form of the candidate protocol.

A tree is `["and", t, t]`, `["or", t, t]`, `["not", t]`, `["is_null", x]`, `["is_not_null", x]`, or `[sign, x, x]` with
a sign such as `<` or `<=>`. `x` is `["col", part, ...]` or `["lit", type, text]`. The text is spelled as in partition
values, but binary in hexadecimal digits and strings verbatim. It is null for null.

Two further forms are only for engines that declare them: `["in", x, x, ...]` and `["starts_with", x, x]`. For others
they are written with comparisons.
"""

from collections.abc import Collection, Sequence
from functools import reduce
from typing import Any, Literal, TypeAlias

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
)
from deltaspec.protocol.files.partition_values import parse_partition_value, serialize_partition_value
from deltaspec.protocol.schema.data_types import DataType, Struct, get_type_name

Tree: TypeAlias = list[Any]
Form: TypeAlias = Literal["in", "starts_with"]

_OPERATORS = {"!=": Operator.NOT_EQUAL, **{each.value: each for each in Operator}}


class InvalidPredicate(ValueError):
    """A tree that is not a predicate over the schema."""


def parse_predicate(tree: Any, schema: Struct) -> Predicate:
    """Parse a predicate. Raises `InvalidPredicate`."""
    match tree:
        case ["and", left, right]:
            return And(parse_predicate(left, schema), parse_predicate(right, schema))
        case ["or", left, right]:
            return Or(parse_predicate(left, schema), parse_predicate(right, schema))
        case ["not", operand]:
            return Not(parse_predicate(operand, schema))
        case ["is_null", ["col", *path]]:
            return IsNull(tuple(path))
        case ["is_not_null", ["col", *path]]:
            return IsNotNull(tuple(path))
        case [sign, ["col", *path], ["lit", _, text]] if sign == "<=>" or sign in _OPERATORS:
            literal = parse_literal(text, find_type(schema, path))
            column = tuple(path)
            return NullSafeEqual(column, literal) if sign == "<=>" else Compare(column, _OPERATORS[sign], literal)
        case ["starts_with", ["col", *path], ["lit", _, prefix]]:
            return StartsWith(tuple(path), prefix)
        case ["in", ["col", *path], *literals]:
            data_type = find_type(schema, path)
            return In(tuple(path), tuple(parse_literal(text, data_type) for _, _, text in literals))
    raise InvalidPredicate(f"not a predicate: {str(tree)[:200]}")


def parse_literal(text: str | None, data_type: DataType) -> Any:
    """Parse the text of a literal of a tree."""
    if text is None:
        return None
    match get_type_name(data_type):
        case "string":
            return text
        case "binary":
            return bytes.fromhex(text)
    return parse_partition_value(text, data_type)


def find_type(schema: Struct, path: Sequence[str]) -> DataType:
    """Return the type of a column or field. Raises `InvalidPredicate`."""
    kind: DataType = schema
    for name in path:
        fields = {each.name: each.type for each in kind.fields} if isinstance(kind, Struct) else {}
        if name not in fields:
            raise InvalidPredicate(f"unknown column {'.'.join(path)}")
        kind = fields[name]
    return kind


def build_tree(predicate: Predicate, schema: Struct, forms: Collection[Form] = ()) -> Tree:
    """Write a predicate as a tree; of `In` and `StartsWith`, only those in `forms` have a form of their own.

    Raises:
        ValueError: A tree cannot express the predicate, such as a list without literals.
    """
    match predicate:
        case And(left, right):
            return ["and", build_tree(left, schema, forms), build_tree(right, schema, forms)]
        case Or(left, right):
            return ["or", build_tree(left, schema, forms), build_tree(right, schema, forms)]
        case Not(operand):
            return ["not", build_tree(operand, schema, forms)]
        case IsNull(column):
            return ["is_null", ["col", *column]]
        case IsNotNull(column):
            return ["is_not_null", ["col", *column]]
        case Compare(column, operator, literal):
            sign = "!=" if operator is Operator.NOT_EQUAL else operator.value
            return [sign, ["col", *column], _build_literal(literal, find_type(schema, column))]
        case NullSafeEqual(column, literal):
            return ["<=>", ["col", *column], _build_literal(literal, find_type(schema, column))]
        case In(column, literals) if literals and "in" in forms:
            data_type = find_type(schema, column)
            return ["in", ["col", *column], *(_build_literal(each, data_type) for each in literals)]
        case In(column, literals) if literals:
            equal: list[Predicate] = [Compare(column, Operator.EQUAL, each) for each in literals]
            return build_tree(reduce(Or, equal), schema)
        case StartsWith(column, prefix) if "starts_with" in forms:
            return ["starts_with", ["col", *column], _build_literal(prefix, find_type(schema, column))]
        case StartsWith(column, prefix):
            return build_tree(_write_with_bounds(column, prefix), schema)
    raise ValueError(f"no tree for {predicate}")


def _write_with_bounds(column: tuple[str, ...], prefix: str | None) -> Predicate:
    """Write `StartsWith` as a range: from the prefix to the least string above all that begin with it."""
    begin = Compare(column, Operator.AT_LEAST, prefix)
    shortened = (prefix or "").rstrip("\U0010ffff")
    if not shortened:
        return begin
    following = ord(shortened[-1]) + 1
    end = chr(0xE000 if following == 0xD800 else following)  # surrogates are no characters
    return And(begin, Compare(column, Operator.LESS, shortened[:-1] + end))


def _build_literal(value: Any, data_type: DataType) -> list[Any]:
    return ["lit", get_type_name(data_type), spell_literal(value, data_type)]


def spell_literal(value: Any, data_type: DataType) -> str | None:
    """Return the text of a value in a tree."""
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, str) else serialize_partition_value(value, data_type)

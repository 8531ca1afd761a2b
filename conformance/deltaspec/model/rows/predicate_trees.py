"""Predicates in the tree form of the candidate protocol.

A tree is `["and", t, t]`, `["or", t, t]`, `["not", t]`, `["is_null", x]`, `["is_not_null", x]`, or `[sign, x, x]` with
a sign such as `<` or `<=>`. `x` is `["col", part, ...]` or `["lit", type, text]`. The text is spelled as in partition
values, but binary in hexadecimal digits and strings verbatim. It is null for null.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from deltaspec.model.rows.predicates import (
    And,
    Compare,
    IsNotNull,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    Predicate,
)
from deltaspec.protocol.files.partition_values import parse_partition_value, serialize_partition_value
from deltaspec.protocol.schema.data_types import DataType, Struct, get_type_name

Tree: TypeAlias = list[Any]

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


def build_tree(predicate: Predicate, schema: Struct) -> Tree:
    """Write a predicate as a tree. Raises `ValueError` for predicates that trees cannot express."""
    match predicate:
        case And(left, right):
            return ["and", build_tree(left, schema), build_tree(right, schema)]
        case Or(left, right):
            return ["or", build_tree(left, schema), build_tree(right, schema)]
        case Not(operand):
            return ["not", build_tree(operand, schema)]
        case IsNull(column):
            return ["is_null", ["col", *column]]
        case IsNotNull(column):
            return ["is_not_null", ["col", *column]]
        case Compare(column, operator, literal):
            sign = "!=" if operator is Operator.NOT_EQUAL else operator.value
            return [sign, ["col", *column], _build_literal(literal, find_type(schema, column))]
        case NullSafeEqual(column, literal):
            return ["<=>", ["col", *column], _build_literal(literal, find_type(schema, column))]
    raise ValueError(f"no tree for {predicate}")


def _build_literal(value: Any, data_type: DataType) -> list[Any]:
    return ["lit", get_type_name(data_type), spell_literal(value, data_type)]


def spell_literal(value: Any, data_type: DataType) -> str | None:
    """Return the text of a value in a tree."""
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, str) else serialize_partition_value(value, data_type)

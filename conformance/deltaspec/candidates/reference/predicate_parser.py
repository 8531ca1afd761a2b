"""Parse the tree form of a predicate into a predicate of the model."""

from typing import Any

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
from deltaspec.model.schema.data_types import DataType, Struct, get_type_name
from deltaspec.model.schema.partition_values import parse_partition_value

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


def parse_literal(text: str | None, kind: DataType) -> Any:
    """Parse the text of a literal: as in partition values, binary in hexadecimal digits, strings verbatim."""
    if text is None:
        return None
    match get_type_name(kind):
        case "string":
            return text
        case "binary":
            return bytes.fromhex(text)
    return parse_partition_value(text, kind)


def find_type(schema: Struct, path: list[str]) -> DataType:
    """Return the type of a column or field. Raises `InvalidPredicate`."""
    kind: DataType = schema
    for name in path:
        fields = {each.name: each.type for each in kind.fields} if isinstance(kind, Struct) else {}
        if name not in fields:
            raise InvalidPredicate(f"unknown column {'.'.join(path)}")
        kind = fields[name]
    return kind

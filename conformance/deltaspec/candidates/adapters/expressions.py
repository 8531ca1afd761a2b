"""Predicate trees as expressions of a data frame library."""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

_PARSERS: dict[str, Callable[[str], Any]] = {
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "decimal": Decimal,
    "boolean": "true".__eq__,
    "string": str,
    "binary": bytes.fromhex,
    "date": date.fromisoformat,
    "timestamp": lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
    "timestamp_ntz": datetime.fromisoformat,
}
OPERATORS: dict[str, Callable[..., Any]] = {
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
    "is_null": operator.methodcaller("is_null"),
    "is_not_null": lambda operand: ~operand.is_null(),
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""How most libraries spell the operators of predicate trees."""


def parse_literal(kind: str, text: str | None) -> Any:
    """Return the value of a literal; timestamps are in UTC."""
    return None if text is None else _PARSERS[kind.partition("(")[0]](text)


def parse_decimal_type(kind: str) -> tuple[int, int]:
    """Return precision and scale of `decimal(precision,scale)`."""
    precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


def build_predicate(
    tree: Sequence[Any],
    build_column: Callable[[Sequence[str]], Any],
    build_literal: Callable[[str, str | None], Any],
    operators: Mapping[str, Callable[..., Any]],
) -> Any:
    """Return a predicate tree as an expression.

    Args:
        tree: As in `sql_text`.
        build_column: Returns the expression of a path.
        build_literal: Returns the expression of a literal from type and text.
        operators: By name, all of `OPERATORS`, `<=>` and the further forms that the engine declares.
    """
    head, *parts = tree
    if head == "col":
        return build_column(parts)
    if head == "lit":
        return build_literal(*parts)
    operands = (build_predicate(each, build_column, build_literal, operators) for each in parts)
    return operators[head](*operands)

"""Evaluate the SQL of CHECK constraints and generated columns on single rows, as far as the reference writer knows it.

It knows comparisons, AND, OR, NOT, IS, arithmetic with integers, columns and constants. A table with other SQL is
refused.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.tree import Binary, Column, Expression, Is, Literal, Not, Sign

_CALCULATE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


class UnsupportedExpression(ValueError):
    """SQL that the writer cannot evaluate."""


def parse_supported(text: str) -> Expression:
    """Return the tree of an expression. Raises `UnsupportedExpression`."""
    parsed = parse_expression(text)
    if not isinstance(parsed, SupportedExpression):
        raise UnsupportedExpression(f"{text}: {parsed.reason}")
    return parsed.tree


def evaluate_sql(tree: Expression, row: Mapping[str, Any]) -> Any:
    """Return the value of an expression; comparisons with null are null. Raises `UnsupportedExpression`."""
    match tree:
        case Literal(value):
            return value
        case Column((name,)):
            found = {key.lower(): value for key, value in row.items()}
            if name.lower() not in found:
                raise UnsupportedExpression(f"unknown column {name}")
            return found[name.lower()]
        case Is(operand, value):
            return evaluate_sql(operand, row) is value
        case Not(operand):
            value = evaluate_sql(operand, row)
            return None if value is None else not value
        case Sign("-", operand):
            value = evaluate_sql(operand, row)
            return None if value is None else -value
        case Binary("and" | "or" as sign, left, right):
            values = (evaluate_sql(left, row), evaluate_sql(right, row))
            decisive = sign == "or"
            return decisive if decisive in values else None if None in values else not decisive
        case Binary(sign, left, right) if sign in _CALCULATE:
            first, second = evaluate_sql(left, row), evaluate_sql(right, row)
            return None if first is None or second is None else _CALCULATE[sign](first, second)
    raise UnsupportedExpression(f"{type(tree).__name__} is not supported")

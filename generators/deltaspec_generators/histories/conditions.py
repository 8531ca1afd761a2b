"""Conditions over rows of plain values, in the tree form of the candidate protocol."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Tree: TypeAlias = list[Any]
"""`["and", t, t]`, `["is_null", ["col", name]]` or `[operator, ["col", name], ["lit", type, text]]`."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = ("byte", "short", "integer", "long")


def compare(name: str, sign: str, kind: str, value: Any) -> Tree:
    """Return the condition that a column compares to a value that is not null."""
    return [sign, ["col", name], ["lit", kind, str(value)]]


def evaluate(tree: Tree, row: Mapping[str, Any]) -> bool | None:
    """Return the value of a condition in three-valued logic."""
    match tree:
        case ["and", left, right]:
            found = (evaluate(left, row), evaluate(right, row))
            return False if False in found else None if None in found else True
        case ["is_null", ["col", name]]:
            return row[name] is None
        case [sign, ["col", name], ["lit", kind, text]]:
            return None if row[name] is None else _COMPARE[sign](row[name], parse_literal(kind, text))
    raise ValueError(f"not a condition: {tree}")


def parse_literal(kind: str, text: str | None) -> Any:
    """Return the plain value of a literal of a type that conditions and updates use."""
    if text is None or kind == "string":
        return text
    return text == "true" if kind == "boolean" else float(text) if kind == "double" else int(text)


def render_sql(tree: Tree) -> str:
    """Return a condition as SQL."""
    match tree:
        case ["and", left, right]:
            return f"({render_sql(left)} AND {render_sql(right)})"
        case ["is_null", ["col", name]]:
            return f"`{name}` IS NULL"
        case [sign, ["col", name], ["lit", kind, text]]:
            return f"`{name}` {sign} {text if kind in _NUMBERS else _quote(text)}"
    raise ValueError(f"not a condition: {tree}")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def list_columns(tree: Tree) -> set[str]:
    """Return the names of the columns of a condition."""
    if tree[0] == "col":
        return {tree[1]}
    return {name for part in tree[1:] if isinstance(part, list) for name in list_columns(part)}

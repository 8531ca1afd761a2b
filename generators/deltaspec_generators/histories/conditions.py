"""Build the conditions of operations, in both forms of the candidate protocol: trees and SQL."""

from typing import Any

from deltaspec.model.rows.predicate_trees import Tree
from deltaspec.protocol.schema.data_types import INTEGER_BITS


def compare(name: str, sign: str, kind: str, value: Any) -> Tree:
    """Return the condition that a column compares to a value that is not null."""
    return [sign, ["col", name], ["lit", kind, str(value)]]


def render_sql(tree: Tree) -> str:
    """Return a condition as SQL."""
    match tree:
        case ["and", left, right]:
            return f"({render_sql(left)} AND {render_sql(right)})"
        case ["is_null", ["col", name]]:
            return f"`{name}` IS NULL"
        case [sign, ["col", name], ["lit", kind, text]]:
            return f"`{name}` {sign} {text if kind in INTEGER_BITS else _quote(text)}"
    raise ValueError(f"not a condition: {tree}")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

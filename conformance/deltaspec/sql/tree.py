"""Syntax trees of expressions in table metadata, and their rendering as Spark SQL with every name quoted.

The node types cover the expressions of real tables; other SQL is not supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal as OneOf

import msgspec

Value = bool | int | float | str | bytes | Decimal | None
Logical = OneOf["and", "or"]
Comparison = OneOf["=", "<>", "<", "<=", ">", ">=", "<=>"]
Arithmetic = OneOf["+", "-", "*", "/", "%", "div", "&", "|", "^"]


class Literal(msgspec.Struct, frozen=True):
    """A constant with its Spark type.

    `value` is a `Decimal` if the type is `decimal`, and the string as written for `date`, `timestamp` and
    `timestamp_ntz`.
    """

    value: Value
    type: str
    """Name as in a schema, `decimal` without precision and scale; `void` for NULL."""


class Column(msgspec.Struct, frozen=True):
    """A column or a member of one; the schema determines how many parts name the column."""

    parts: tuple[str, ...]


class Item(msgspec.Struct, frozen=True):
    """An element of an array, or the value of a key in a map: `base[key]`."""

    base: Expression
    key: Expression


class Member(msgspec.Struct, frozen=True):
    """A member of a computed struct: `base.name`."""

    base: Expression
    name: str


class Not(msgspec.Struct, frozen=True):
    operand: Expression


class Sign(msgspec.Struct, frozen=True):
    """`-`, `+` or `~` before an operand."""

    operator: OneOf["-", "+", "~"]
    operand: Expression


class Binary(msgspec.Struct, frozen=True):
    operator: Logical | Comparison | Arithmetic | OneOf["||"]
    left: Expression
    right: Expression


class Is(msgspec.Struct, frozen=True):
    """`operand IS value`, where the value is NULL, TRUE or FALSE."""

    operand: Expression
    value: bool | None


class In(msgspec.Struct, frozen=True):
    operand: Expression
    choices: tuple[Expression, ...]


class Like(msgspec.Struct, frozen=True):
    operand: Expression
    pattern: Expression
    is_regex: bool = False
    """RLIKE: the pattern is a regular expression."""


class Case(msgspec.Struct, frozen=True):
    """`CASE operand WHEN when THEN then ... ELSE otherwise END`; without an operand, each `when` is a condition."""

    operand: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


class Cast(msgspec.Struct, frozen=True):
    operand: Expression
    type: str
    """Name as in a schema."""
    is_try_cast: bool = False
    """TRY_CAST: null if the value cannot be converted."""


class Call(msgspec.Struct, frozen=True):
    name: str
    """In lower case."""
    arguments: tuple[Expression, ...]


class Unit(msgspec.Struct, frozen=True):
    """A unit of time as an argument, such as `DAY`."""

    name: str


Expression = Literal | Column | Item | Member | Not | Sign | Binary | Is | In | Like | Case | Cast | Call | Unit


def children(tree: Expression) -> tuple[Expression, ...]:
    """Return the child nodes from left to right."""
    match tree:
        case Literal() | Column() | Unit():
            return ()
        case Item(base, key):
            return (base, key)
        case Member(operand) | Not(operand) | Sign(_, operand) | Is(operand) | Cast(operand):
            return (operand,)
        case Binary(_, left, right) | Like(left, right):
            return (left, right)
        case In(operand, choices):
            return (operand, *choices)
        case Call(_, arguments):
            return arguments
        case Case(operand, branches, otherwise):
            parts = (operand, *(part for branch in branches for part in branch), otherwise)
            return tuple(each for each in parts if each is not None)


def with_children(tree: Expression, parts: Sequence[Expression]) -> Expression:
    """Return a copy of a node with other children, in the number and order of `children`."""
    match tree:
        case Literal() | Column() | Unit():
            return tree
        case Item():
            return Item(parts[0], parts[1])
        case Member(_, name):
            return Member(parts[0], name)
        case Not():
            return Not(parts[0])
        case Sign(operator):
            return Sign(operator, parts[0])
        case Is(_, value):
            return Is(parts[0], value)
        case Cast(_, kind, is_try_cast):
            return Cast(parts[0], kind, is_try_cast)
        case Binary(operator):
            return Binary(operator, parts[0], parts[1])
        case Like(_, _, is_regex):
            return Like(parts[0], parts[1], is_regex)
        case In():
            return In(parts[0], tuple(parts[1:]))
        case Call(name):
            return Call(name, tuple(parts))
        case Case(operand, branches, otherwise):
            rest = list(parts)
            first = None if operand is None else rest.pop(0)
            last = None if otherwise is None else rest.pop()
            pairs = zip(rest[::2], rest[1::2], strict=True)
            assert len(rest) == 2 * len(branches)
            return Case(first, tuple(pairs), last)


def walk(tree: Expression) -> Iterator[Expression]:
    """Yield a node and all its descendants, parents first."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def render(tree: Expression) -> str:
    """Return the tree as Spark SQL with every operation in parentheses and every name in backticks."""
    match tree:
        case Literal():
            return _render_literal(tree)
        case Unit(name):
            return name
        case Column(parts):
            return ".".join(map(_quote, parts))
        case Item(base, key):
            return f"{render(base)}[{render(key)}]"
        case Member(base, name):
            return f"{render(base)}.{_quote(name)}"
        case Not(operand):
            return f"(NOT {render(operand)})"
        case Sign(operator, operand):
            return f"({operator} {render(operand)})"
        case Binary(operator, left, right):
            return f"({render(left)} {operator.upper()} {render(right)})"
        case Is(operand, value):
            return f"({render(operand)} IS {'NULL' if value is None else str(value).upper()})"
        case In(operand, choices):
            return f"({render(operand)} IN ({', '.join(map(render, choices))}))"
        case Like(operand, pattern, is_regex):
            return f"({render(operand)} {'RLIKE' if is_regex else 'LIKE'} {render(pattern)})"
        case Case(operand, branches, otherwise):
            head = "CASE" if operand is None else f"CASE {render(operand)}"
            body = "".join(f" WHEN {render(when)} THEN {render(then)}" for when, then in branches)
            return f"{head}{body}{'' if otherwise is None else f' ELSE {render(otherwise)}'} END"
        case Cast(operand, kind, is_try_cast):
            return f"{'TRY_CAST' if is_try_cast else 'CAST'}({render(operand)} AS {kind})"
        case Call(name, arguments):
            return f"{name}({', '.join(map(render, arguments))})"


_SUFFIX = {"byte": "Y", "short": "S", "long": "L", "float": "F", "double": "D"}


def _render_literal(literal: Literal) -> str:
    match literal.value:
        case None:
            return "NULL"
        case bool(value):
            return str(value).upper()
        case bytes(value):
            return f"X'{value.hex()}'"
        case str(value):
            prefix = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ"}.get(literal.type, "")
            return f"{prefix}{_render_string(value)}"
        case Decimal() as value:
            return f"{value:f}BD"
        case value:
            return f"{value!r}{_SUFFIX.get(literal.type, '')}"


def _render_string(value: str) -> str:
    """Return a string literal that means the same under every setting: how to escape a quote depends on settings."""
    if "'" not in value:
        return f"'{value}'"
    return "concat(" + ", chr(39), ".join(f"'{part}'" for part in value.split("'")) + ")"


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"

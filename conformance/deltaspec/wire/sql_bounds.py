"""Bounds on what an expression of a stranger may cost an engine: patterns that backtrack without end, values that grow.

An engine has no bounds of its own: one row is enough to keep a task for hours, or to end its process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltaspec.wire.sql_terms import Undecided
from deltaspec.wire.sql_tree import Binary, Call, Column, Expression, Item, Like, Literal, Member, children, walk

_OF_PATTERNS = frozenset(
    ["rlike", "regexp", "regexp_like", "regexp_extract", "regexp_substr", "regexp_replace", "split"]
)
"""Functions whose second argument is a regular expression."""
_ENDLESS = re.compile(r"[*+]|\{\d*,\}")
_REPEATED = re.compile(r"[*+?]|\{")
_MOST_ENDLESS, _MOST_REPEATED, _MOST_WILDCARDS = 2, 6, 4
_MOST_TIMES, _MOST_CHARACTERS = 256, 1 << 20
_OTHER = 64
"""Characters of a number, a time, a hash."""


def keep_bounded(tree: Expression) -> None:
    """Raises `Undecided` where evaluating an expression on one row may take time or memory that nothing bounds."""
    for node in walk(tree):
        match node:
            case Like(_, pattern, regular):
                _check(pattern, regular=regular)
            case Call("like", (_, pattern)):
                _check(pattern, regular=False)
            case Call(name, arguments) if name in _OF_PATTERNS:
                _check(arguments[1], regular=True)
    size = _size(tree)
    if size.times > _MOST_TIMES or size.characters > _MOST_CHARACTERS:
        raise Undecided("its values may grow large")


def _check(pattern: Expression, *, regular: bool) -> None:
    text = _constant(pattern)
    if not isinstance(text, str):
        raise Undecided("a pattern is not constant")
    if not regular:
        if text.count("%") > _MOST_WILDCARDS:
            raise Undecided(f"a pattern with more than {_MOST_WILDCARDS} wildcards")
        return
    costly = len(_ENDLESS.findall(text)) > _MOST_ENDLESS or len(_REPEATED.findall(text)) > _MOST_REPEATED
    if costly or re.search(r"\)[*+?{]", text):
        raise Undecided("a regular expression that may take long")


def _constant(node: Expression) -> object:
    return node.value if isinstance(node, Literal) else None


@dataclass(frozen=True)
class _Size:
    """How long a value may become."""

    times: int = 0
    """Of the longest value of a column."""
    characters: int = 0
    """Beside that."""

    def __add__(self, other: _Size) -> _Size:
        return _Size(self.times + other.times, self.characters + other.characters)

    def __mul__(self, factor: int) -> _Size:
        return _Size(self.times * factor, self.characters * factor)


def _size(node: Expression) -> _Size:
    """At the most, what is below it one after the other, grown by what a function makes of it."""
    match node:
        case Literal(value):
            return _Size(0, len(value) if isinstance(value, str | bytes) else _OTHER)
        case Column() | Member():
            return _Size(1, 0)
        case Item(base, key):
            return _size(base) + _size(key)
        case Binary(operator) if operator != "||":
            return _largest(node) + _Size(0, _OTHER)
        case Call(name, arguments):
            return _grown(name, arguments, _sum(node))
    return _sum(node)


def _sum(node: Expression) -> _Size:
    return sum((_size(each) for each in children(node)), _Size(0, _OTHER))


def _largest(node: Expression) -> _Size:
    """Of values that are compared or counted together, each alone."""
    sizes = [_size(each) for each in children(node)]
    return _Size(max(each.times for each in sizes), max(each.characters for each in sizes))


def _grown(name: str, arguments: tuple[Expression, ...], size: _Size) -> _Size:
    match name:
        case "repeat":
            return size * max(_number(arguments[1]), 1)
        case "lpad" | "rpad":
            return size + _Size(0, max(_number(arguments[1]), 0))
        case "replace" if len(arguments) == 2:
            return size
        case "replace" | "regexp_replace":
            text = _constant(arguments[2])
            if not isinstance(text, str) or (name == "regexp_replace" and "$" in text):
                raise Undecided(f"what {name} puts in is not constant")
            return size * (len(text) + 1)
        case "concat_ws":
            return size + _size(arguments[0]) * len(arguments)
        case "hex" | "base64" | "split":
            return size * 2
    return size


def _number(node: Expression) -> int:
    value = _constant(node)
    if not isinstance(value, int):
        raise Undecided("a length is not constant")
    return value

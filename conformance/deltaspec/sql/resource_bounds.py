"""Bounds on what an expression of a stranger may cost an engine: patterns that backtrack without end, values that grow.

An engine has no bounds of its own: one row is enough to keep a task for hours, or to end its process.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.sql.pattern_cost import PatternCost, compute_like_cost, compute_regex_cost
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Binary, Call, Column, Expression, Item, Like, Literal, Member, children, walk

_OF_PATTERNS = frozenset(
    ["rlike", "regexp", "regexp_like", "regexp_extract", "regexp_substr", "regexp_replace", "split"]
)
"""Functions whose second argument is a regular expression."""
_MOST_TIMES, _MOST_CHARACTERS = 256, 1 << 20
_OTHER = 64
"""Characters of a number, a time, a hash."""
_NO_LONGER = frozenset(
    ["upper", "ucase", "lower", "lcase", "trim", "btrim", "ltrim", "rtrim", "substring", "substr", "left", "right"]
)
"""Functions whose value is no longer than the longest argument, but for letters that become several."""
_MOST_BYTES = 16 << 20
"""Of one value: an engine holds it several times, beside others."""


@dataclass(frozen=True)
class ResourceBounds:
    """What values of columns an expression is evaluated on."""

    longest: int
    """Bytes of one value; longer ones may grow to what does not fit into memory."""
    matched: tuple[tuple[PatternCost, _Size], ...] = ()
    """Its patterns, with how long the texts are that they are looked for in."""

    def steps(self, lengths: pa.Array) -> float:
        """What looking for its patterns may take at the most.

        Args:
            lengths: in bytes, of the longest value of each row.
        """
        found = 0.0
        for effort, size in self.matched:
            texts = pc.add(pc.multiply(lengths.cast(pa.float64()), size.times), size.characters)
            found += effort.ways * (pc.sum(pc.power(texts, effort.degree)).as_py() or 0.0)
        return found


def compute_resource_bounds(tree: Expression) -> ResourceBounds:
    """The bounds of an expression.

    Raises:
        Undecided: evaluating it on one row may take time or memory that no length of its columns' values bounds.
    """
    matched = []
    for node in walk(tree):
        match node:
            case Like(operand, pattern, is_regex):
                matched.append((_effort(pattern, is_regex=is_regex), _size(operand)))
            case Call("like", (operand, pattern)):
                matched.append((_effort(pattern, is_regex=False), _size(operand)))
            case Call(name, arguments) if name in _OF_PATTERNS:
                matched.append((_effort(arguments[1], is_regex=True), _size(arguments[0])))
    size = _size(tree)
    if size.times > _MOST_TIMES or size.characters > _MOST_CHARACTERS:
        raise Undecided("its values may grow large")
    return ResourceBounds(_MOST_BYTES // max(size.times, 1), tuple(matched))


def _effort(pattern: Expression, *, is_regex: bool) -> PatternCost:
    text = _constant(pattern)
    if not isinstance(text, str):
        raise Undecided("a pattern is not constant")
    return compute_regex_cost(text) if is_regex else compute_like_cost(text)


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
            return _largest(children(node)) + _Size(0, _OTHER)
        case Call(name, arguments):
            return _grown(name, arguments, _sum(node))
    return _sum(node)


def _sum(node: Expression) -> _Size:
    return sum((_size(each) for each in children(node)), _Size(0, _OTHER))


def _largest(nodes: Iterable[Expression]) -> _Size:
    """Of values that are held together, each alone: compared, counted, or one of them made from the others."""
    sizes = [_size(each) for each in nodes]
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
        case _ if name in _NO_LONGER:
            return _largest(arguments)
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

"""Limit what an untrusted expression may cost an engine: patterns that backtrack, and values that grow.

Engines have no such limits: a single row can block a task for hours or exhaust the memory of its process.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.sql.pattern_cost import PatternCost, compute_like_cost, compute_regex_cost
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Binary, Call, Column, Expression, Item, Like, Literal, Member, children, walk

_REGEX_FUNCTIONS = frozenset(
    ["rlike", "regexp", "regexp_like", "regexp_extract", "regexp_substr", "regexp_replace", "split"]
)
"""Functions whose second argument is a regular expression."""
_MAX_FACTOR, _MAX_CHARACTERS = 256, 1 << 20
_OTHER_LENGTH = 64
"""Maximum length of a number, a timestamp or a hash as a string."""
_NOT_LONGER = frozenset(
    ["upper", "ucase", "lower", "lcase", "trim", "btrim", "ltrim", "rtrim", "substring", "substr", "left", "right"]
)
"""Functions whose result is at most as long as the longest argument, except for letters that become several."""
_MAX_VALUE_BYTES = 16 << 20
"""Maximum size of one value: an engine keeps several copies of it in memory."""


class ResourceBounds(msgspec.Struct, frozen=True):
    """The values on which an expression may be evaluated."""

    longest: int
    """Maximum bytes of one column value; results for longer values may not fit into memory."""
    matched: tuple[tuple[PatternCost, _Size], ...] = ()
    """The patterns and the maximum size of the strings that they are matched against."""

    def steps(self, lengths: pa.Array) -> float:
        """Return the maximum number of steps to match the patterns in some rows.

        Args:
            lengths: bytes of the longest value in each row.
        """
        total = 0.0
        for cost, size in self.matched:
            sizes = pc.add(pc.multiply(lengths.cast(pa.float64()), size.factor), size.characters)
            total += cost.ways * (pc.sum(pc.power(sizes, cost.degree)).as_py() or 0.0)
        return total


def compute_resource_bounds(tree: Expression) -> ResourceBounds:
    """Return the bounds of an expression.

    Raises:
        Undecided: time or memory for one row has no bound that depends on the length of column values.
    """
    matched = []
    for node in walk(tree):
        match node:
            case Like(operand, pattern, is_regex):
                matched.append((_compute_pattern_cost(pattern, is_regex=is_regex), _compute_size(operand)))
            case Call("like", (operand, pattern)):
                matched.append((_compute_pattern_cost(pattern, is_regex=False), _compute_size(operand)))
            case Call(name, arguments) if name in _REGEX_FUNCTIONS:
                matched.append((_compute_pattern_cost(arguments[1], is_regex=True), _compute_size(arguments[0])))
    size = _compute_size(tree)
    if size.factor > _MAX_FACTOR or size.characters > _MAX_CHARACTERS:
        raise Undecided("its values may become too large")
    return ResourceBounds(_MAX_VALUE_BYTES // max(size.factor, 1), tuple(matched))


def _compute_pattern_cost(pattern: Expression, *, is_regex: bool) -> PatternCost:
    text = _get_constant(pattern)
    if not isinstance(text, str):
        raise Undecided("a pattern is not constant")
    return compute_regex_cost(text) if is_regex else compute_like_cost(text)


def _get_constant(node: Expression) -> object:
    return node.value if isinstance(node, Literal) else None


class _Size(msgspec.Struct, frozen=True):
    """Maximum length of a value: `factor` times the longest column value, plus `characters`."""

    factor: int = 0
    characters: int = 0

    def __add__(self, other: _Size) -> _Size:
        return _Size(self.factor + other.factor, self.characters + other.characters)

    def __mul__(self, factor: int) -> _Size:
        return _Size(self.factor * factor, self.characters * factor)


def _compute_size(node: Expression) -> _Size:
    """Return the maximum size of a result; by default, of all operands concatenated."""
    match node:
        case Literal(value):
            return _Size(0, len(value) if isinstance(value, str | bytes) else _OTHER_LENGTH)
        case Column() | Member():
            return _Size(1, 0)
        case Item(base, key):
            return _compute_size(base) + _compute_size(key)
        case Binary(operator) if operator != "||":
            return _max_size(children(node)) + _Size(0, _OTHER_LENGTH)
        case Call(name, arguments):
            return _compute_call_size(name, arguments, _sum_sizes(node))
    return _sum_sizes(node)


def _sum_sizes(node: Expression) -> _Size:
    return sum((_compute_size(each) for each in children(node)), _Size(0, _OTHER_LENGTH))


def _max_size(nodes: Iterable[Expression]) -> _Size:
    """Return the size of the longest of some values."""
    sizes = [_compute_size(each) for each in nodes]
    return _Size(max(each.factor for each in sizes), max(each.characters for each in sizes))


def _compute_call_size(name: str, arguments: tuple[Expression, ...], size: _Size) -> _Size:
    match name:
        case "repeat":
            return size * max(_get_length(arguments[1]), 1)
        case "lpad" | "rpad":
            return size + _Size(0, max(_get_length(arguments[1]), 0))
        case "replace" if len(arguments) == 2:
            return size
        case "replace" | "regexp_replace":
            text = _get_constant(arguments[2])
            if not isinstance(text, str) or (name == "regexp_replace" and "$" in text):
                raise Undecided(f"the replacement of {name} is not constant")
            return size * (len(text) + 1)
        case _ if name in _NOT_LONGER:
            return _max_size(arguments)
        case "concat_ws":
            return size + _compute_size(arguments[0]) * len(arguments)
        case "hex" | "base64" | "split":
            return size * 2
    return size


def _get_length(node: Expression) -> int:
    value = _get_constant(node)
    if not isinstance(value, int):
        raise Undecided("a length is not constant")
    return value

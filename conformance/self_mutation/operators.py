"""Operators that cosmic-ray does not have: remove a statement, drop a condition, swap a name.

Also a variant of one of its operators, for exceptions with dotted names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cosmic_ray.exceptions import CosmicRayTestingException
from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Keyword, Name
from parso.tree import BaseNode, NodeOrLeaf

_Span = tuple[tuple[int, int], tuple[int, int]]

_REMOVED = {"raise_stmt", "return_stmt", "yield_expr", "atom_expr"}
"""Types of statements that are removed, in addition to assignments to a part of an object."""

_SWAPPED = {
    "all": "any",
    "any_horizontal": "all_horizontal",
    "difference": "intersection",
    "first": "last",
    "is_not_null": "is_null",
    "issubset": "issuperset",
    "max": "min",
    "max_horizontal": "min_horizontal",
    "startswith": "endswith",
}
_SWAPPED |= {new: old for old, new in _SWAPPED.items()}


class RemoveStatement(Operator):  # type: ignore[misc]
    """Replace a statement that has an effect by `pass`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[_Span]:
        """Yield the position of the statement, if `node` is a line with one statement that has an effect."""
        if node.type == "simple_stmt" and _has_effect(node.children[0]):
            yield node.start_pos, node.children[0].end_pos

    def mutate(self, node: BaseNode, index: int) -> BaseNode:
        """Replace the statement."""
        first = node.get_first_leaf()
        node.children[0] = Keyword("pass", first.start_pos, first.prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return code before and after."""
        return (
            Example("f(x)\n", "pass\n"),
            Example("x.y = 1\n", "pass\n"),
            Example("x += 1\n", "pass\n"),
            Example("if x:\n    raise E\n", "if x:\n    pass\n"),
        )


class DropOperand(Operator):  # type: ignore[misc]
    """Drop one operand of `and`, `or`, `&` or `|`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[_Span]:
        """Yield one position for each operand of `node`."""
        if node.type in {"and_test", "or_test", "and_expr", "expr"}:
            for operand in node.children[::2]:
                yield operand.start_pos, operand.end_pos

    def mutate(self, node: BaseNode, index: int) -> BaseNode:
        """Remove the operand and the operator next to it."""
        prefix = node.get_first_leaf().prefix
        start = max(2 * index - 1, 0)
        del node.children[start : start + 2]
        node.get_first_leaf().prefix = prefix
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return code before and after."""
        return (
            Example("a and b", "b"),
            Example("a and b", "a", occurrence=1),
            Example("a | b | c", "a | c", occurrence=1),
        )


class ReplaceException(Operator):  # type: ignore[misc]
    """Replace one exception of a handler by one that nothing raises. The names may have dots."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[_Span]:
        """Yield the position of each exception, if `node` is the head of a handler."""
        for each in _list_exceptions(node):
            yield each.start_pos, each.end_pos

    def mutate(self, node: BaseNode, index: int) -> BaseNode:
        """Replace the exception."""
        replaced = _list_exceptions(node)[index]
        first, siblings = replaced.get_first_leaf(), replaced.parent.children
        siblings[siblings.index(replaced)] = Name(CosmicRayTestingException.__name__, first.start_pos, first.prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return code before and after."""
        name = CosmicRayTestingException.__name__
        return (
            Example("try: pass\nexcept E: pass", f"try: pass\nexcept {name}: pass"),
            Example("try: pass\nexcept a.E as e: pass", f"try: pass\nexcept {name} as e: pass"),
            Example("try: pass\nexcept (D, a.b.E): pass", f"try: pass\nexcept (D, {name}): pass", occurrence=1),
            Example("try: pass\nexcept (E): pass", f"try: pass\nexcept ({name}): pass"),
        )


class SwapName(Operator):  # type: ignore[misc]
    """Replace the name of a function or method by the name of its counterpart."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[_Span]:
        """Yield the position of `node`, if it is the name of a called function that has a counterpart."""
        after = node.get_next_leaf() if node.type == "name" and node.value in _SWAPPED else None
        if after is not None and after.value == "(" and node.parent.type != "funcdef":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Replace the name."""
        node.value = _SWAPPED[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return code before and after."""
        return (Example("any(x)", "all(x)"), Example("x.is_null()", "x.is_not_null()"))


class OperatorProvider:
    """Operators of this project, for cosmic-ray."""

    _operators = {each.__name__: each for each in (RemoveStatement, DropOperand, SwapName, ReplaceException)}  # noqa: RUF012

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def __getitem__(self, name: str) -> type[Operator]:
        return self._operators[name]


def _list_exceptions(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    """Return the exceptions that the head of a handler names; none for other nodes."""
    if node.type != "except_clause":
        return []
    named = node.children[1]
    if named.type == "atom":  # in parentheses
        named = named.children[1]
    return list(named.children[::2]) if named.type == "testlist_comp" else [named]


def _has_effect(statement: NodeOrLeaf) -> bool:
    if statement.type == "expr_stmt":
        target, operator = statement.children[:2]
        is_part = target.type in {"atom_expr", "power"}
        return is_part or (operator.type == "operator" and operator.value != "=")
    return statement.type in _REMOVED or statement.type == "power"

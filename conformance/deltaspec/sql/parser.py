"""Reads the SQL that tables keep: CHECK constraints, column invariants, generation expressions, defaults.

The text comes from whoever wrote the table. It is parsed as Spark's dialect by sqlglot, within bounds, and turned into
a tree of our own; sqlglot sees neither names nor constants (`sql_tokens`). Where its precedence is another than that of
Spark's grammar, only parentheses help: without them, the text is not admitted.
"""

from dataclasses import dataclass
from functools import lru_cache

from deltaspec.model.schema.data_types import Array, DataType, Map, Primitive, Struct
from deltaspec.sql.function_allowlist import unsupported_call_reason
from deltaspec.sql.negative_literals import merge_minus_signs
from deltaspec.sql.tokens import InvalidSql, UnsupportedSql, tokenize_expression
from deltaspec.sql.translation import Translation
from deltaspec.sql.tree import Call, Column, Expression, walk

_EXPRESSIONS_KEPT = 1024


@dataclass(frozen=True)
class SupportedExpression:
    """An expression of which every part is known, and deterministic."""

    tree: Expression


@dataclass(frozen=True)
class UnsupportedExpression:
    """An expression that may be sound SQL of Spark, but that is not evaluated, nor handed to an engine."""

    reason: str
    tree: Expression | None = None
    """Where it can be told what it names, but not that it is deterministic."""


@dataclass(frozen=True)
class InvalidExpression:
    """A text that is no SQL under any reading."""

    reason: str


ParseResult = SupportedExpression | UnsupportedExpression | InvalidExpression


@lru_cache(_EXPRESSIONS_KEPT)
def parse_expression(text: str) -> ParseResult:
    """What an expression of a table is; never raises, whatever the text."""
    try:
        tree = Translation(merge_minus_signs(tokenize_expression(text), text)).tree
    except InvalidSql as fault:
        return InvalidExpression(str(fault))
    except UnsupportedSql as fault:
        return UnsupportedExpression(str(fault))
    except RecursionError:  # the caller stands deep already
        return UnsupportedExpression("it is nested too deep")
    for node in walk(tree):
        why = unsupported_call_reason(node.name, len(node.arguments)) if isinstance(node, Call) else None
        if why:
            return UnsupportedExpression(why, tree)
    return SupportedExpression(tree)


def columns(tree: Expression) -> tuple[tuple[str, ...], ...]:
    """The names of columns that an expression speaks of, as it spells them, once each.

    `a.b` is one of two parts: whether `b` is a member of the column `a`, the schema tells (`find_missing_columns`).
    """
    found: dict[tuple[str, ...], None] = {}
    for node in walk(tree):
        if isinstance(node, Column):
            found.setdefault(node.parts)
    return tuple(found)


def find_missing_columns(tree: Expression, schema: Struct) -> list[str]:
    """Names that an expression speaks of and a schema lacks; letters count the same in both cases.

    A member of a map is a key, and one of an array of structs a member of each. Of types that no text tells the
    members of, everything is taken to be there.
    """
    return [".".join(parts) for parts in columns(tree) if not _has(schema, parts)]


def _has(kind: DataType, parts: tuple[str, ...]) -> bool:
    for name in parts:
        while isinstance(kind, Array):
            kind = kind.element
        match kind:
            case Struct(fields):
                named = [each for each in fields if each.name.casefold() == name.casefold()]
                if not named:
                    return False
                kind = named[0].type
            case Map(_, value):
                kind = value
            case Primitive(known):
                return known == "variant"
            case _:
                return True
    return True

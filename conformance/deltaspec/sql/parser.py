"""Parse the SQL in table metadata: CHECK constraints, column invariants, generation expressions, defaults.

The SQL is untrusted. sqlglot parses it as Spark SQL within limits and never sees names or constants (`tokens`); the
result is converted to a tree of the node types in `tree`. An expression is rejected if its meaning depends on an
operator precedence on which sqlglot and Spark differ.
"""

from functools import lru_cache

import msgspec

from deltaspec.protocol.schema.data_types import Array, DataType, Map, Primitive, Struct
from deltaspec.sql.function_allowlist import find_call_error
from deltaspec.sql.negative_literals import merge_minus_signs
from deltaspec.sql.tokens import InvalidSql, UnsupportedSql, tokenize_expression
from deltaspec.sql.translation import Translation
from deltaspec.sql.tree import Call, Cast, Column, Expression, Literal, Sign, walk

_CACHED_EXPRESSIONS = 1024


class SupportedExpression(msgspec.Struct, frozen=True):
    """An expression whose parts are all supported and deterministic."""

    tree: Expression


class UnsupportedExpression(msgspec.Struct, frozen=True):
    """An expression that may be valid Spark SQL, but is neither evaluated nor passed to an engine."""

    reason: str
    tree: Expression | None = None
    """Set if the columns are known, but a function is not known to be deterministic."""


class InvalidExpression(msgspec.Struct, frozen=True):
    """A string that is not SQL in any dialect."""

    reason: str


ParseResult = SupportedExpression | UnsupportedExpression | InvalidExpression


@lru_cache(_CACHED_EXPRESSIONS)
def parse_expression(text: str) -> ParseResult:
    """Parse an expression. Never raises, for any string."""
    try:
        tree = Translation(merge_minus_signs(tokenize_expression(text), text)).tree
    except InvalidSql as error:
        return InvalidExpression(str(error))
    except UnsupportedSql as error:
        return UnsupportedExpression(str(error))
    except RecursionError:  # the caller's stack is almost full
        return UnsupportedExpression("it is nested too deeply")
    for node in walk(tree):
        reason = find_call_error(node.name, len(node.arguments)) if isinstance(node, Call) else None
        if reason:
            return UnsupportedExpression(reason, tree)
    return SupportedExpression(tree)


def is_literal(text: str) -> bool | None:
    """Return whether a default is a literal, with or without a sign or a cast; None if unknown.

    A default has no columns, so a bare name is a function such as `current_date`.
    """
    parsed = parse_expression(text)
    tree = None if isinstance(parsed, InvalidExpression) else parsed.tree
    while isinstance(tree, Sign | Cast):
        tree = tree.operand
    if tree is None:
        return False if text.strip().isidentifier() else None
    return isinstance(tree, Literal)


def list_columns(tree: Expression) -> tuple[tuple[str, ...], ...]:
    """Return the distinct columns of an expression as the parts of their names, in the case of the expression.

    `a.b` has two parts; only the schema determines whether `b` is a member of `a` (`find_missing_columns`).
    """
    found: dict[tuple[str, ...], None] = {}
    for node in walk(tree):
        if isinstance(node, Column):
            found.setdefault(node.parts)
    return tuple(found)


def find_missing_columns(tree: Expression, schema: Struct) -> list[str]:
    """Return the columns of an expression that a schema does not have; names are case-insensitive.

    A member of a map is a key; a member of an array of structs is a member of each struct. Types whose members the
    protocol does not define have any member.
    """
    return [".".join(parts) for parts in list_columns(tree) if not _has_column(schema, parts)]


def _has_column(data_type: DataType, parts: tuple[str, ...]) -> bool:
    for name in parts:
        while isinstance(data_type, Array):
            data_type = data_type.element
        match data_type:
            case Struct(fields):
                found = [each for each in fields if each.name.casefold() == name.casefold()]
                if not found:
                    return False
                data_type = found[0].type
            case Map(_, value):
                data_type = value
            case Primitive(type_name):
                return type_name == "variant"
            case _:
                return True
    return True

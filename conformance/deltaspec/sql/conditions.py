"""Detect constraints whose expression cannot be a condition: it is not SQL, or its type is not boolean.

Sources: CHECK Constraints; Column Invariants. An expression that is not supported here may be a condition.
"""

from deltaspec.protocol.schema.data_types import Array, Decimal, Map, Primitive, Struct, get_type_name
from deltaspec.sql.parser import InvalidExpression, SupportedExpression, UnsupportedExpression, parse_expression
from deltaspec.sql.tree import Binary, Case, Cast, Column, Expression, Literal, Sign

_LOGICAL = frozenset({"and", "or", "=", "<>", "<", "<=", ">", ">=", "<=>"})
_MAY_BE_BOOLEAN = frozenset({"boolean", "void", "variant"})
"""Types that are boolean or that Spark may convert to boolean."""


def find_condition_error(text: str, schema: Struct | None = None) -> str | None:
    """Return why a string is not a boolean SQL expression; None if it is or may be one.

    Args:
        text: the expression of a CHECK constraint or an invariant.
        schema: of the table, for the types of columns; None if unknown.
    """
    match parse_expression(text):
        case InvalidExpression(reason):
            return reason
        case SupportedExpression(tree):
            return _find_type_error(tree, schema)
        case UnsupportedExpression(_, tree) if tree is not None:
            return _find_type_error(tree, schema)
    return None


def _find_type_error(tree: Expression, schema: Struct | None) -> str | None:
    kind = _get_evident_type(tree, schema)
    return None if kind is None or kind in _MAY_BE_BOOLEAN else f"it is {kind}, not boolean"


def _get_evident_type(tree: Expression, schema: Struct | None) -> str | None:
    """Return the type of an expression if it follows without the types of functions, as a noun phrase."""
    match tree:
        case Literal(_, kind):
            return kind
        case Sign():
            return "a number"
        case Binary(operator) if operator not in _LOGICAL:
            return "a string" if operator == "||" else "a number"
        case Cast(_, kind):
            return kind
        case Case(_, branches, otherwise):
            results = [*(result for _, result in branches), *([] if otherwise is None else [otherwise])]
            kinds = [_get_evident_type(each, schema) for each in results]
            return next((kind for kind in kinds if kind is not None and kind not in _MAY_BE_BOOLEAN), None)
        case Column((name,)) if schema is not None:
            return _get_column_type(name, schema)
    return None


def _get_column_type(name: str, schema: Struct) -> str | None:
    found = [field.type for field in schema.fields if field.name.casefold() == name.casefold()]
    if len(found) != 1 or not isinstance(found[0], Primitive | Decimal | Array | Map | Struct):
        return None
    return get_type_name(found[0])

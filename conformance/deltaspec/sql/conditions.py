"""Whether an SQL text can be a condition at all: what has plainly another type than boolean is none.

Sources: CHECK Constraints; Column Invariants. What is not read here may be one.
"""

from deltaspec.model.schema.data_types import Array, Decimal, Map, Primitive, Struct, get_type_name
from deltaspec.sql.parser import InvalidExpression, SupportedExpression, UnsupportedExpression, parse_expression
from deltaspec.sql.tree import Binary, Case, Cast, Column, Expression, Literal, Sign

_LOGICAL = frozenset({"and", "or", "=", "<>", "<", "<=", ">", ">=", "<=>"})
_MAY_BE_BOOLEAN = frozenset({"boolean", "void", "variant"})
"""Types of which Spark makes a boolean by itself, or may."""


def find_condition_error(text: str, schema: Struct | None = None) -> str | None:
    """Why a text is no SQL expression of type boolean; None where it is one, or may be.

    Args:
        text: of a CHECK constraint, or of an invariant.
        schema: of the table, for the types of its columns; None where it is not known.
    """
    match parse_expression(text):
        case InvalidExpression(why):
            return why
        case SupportedExpression(tree):
            return _fault(tree, schema)
        case UnsupportedExpression(_, tree) if tree is not None:
            return _fault(tree, schema)
    return None


def _fault(tree: Expression, schema: Struct | None) -> str | None:
    kind = _plain_type(tree, schema)
    return None if kind is None or kind in _MAY_BE_BOOLEAN else f"it is {kind}, not boolean"


def _plain_type(tree: Expression, schema: Struct | None) -> str | None:
    """The type of an expression, in words, where it is seen without knowing any function; None elsewhere."""
    match tree:
        case Literal(_, kind):
            return kind
        case Sign():
            return "a number"
        case Binary(operator) if operator not in _LOGICAL:
            return "a text" if operator == "||" else "a number"
        case Cast(_, kind):
            return kind
        case Case(_, branches, otherwise):
            results = [*(result for _, result in branches), *([] if otherwise is None else [otherwise])]
            kinds = [_plain_type(each, schema) for each in results]
            return next((kind for kind in kinds if kind is not None and kind not in _MAY_BE_BOOLEAN), None)
        case Column((name,)) if schema is not None:
            return _type_of_column(name, schema)
    return None


def _type_of_column(name: str, schema: Struct) -> str | None:
    found = [field.type for field in schema.fields if field.name.casefold() == name.casefold()]
    if len(found) != 1 or not isinstance(found[0], Primitive | Decimal | Array | Map | Struct):
        return None
    return get_type_name(found[0])

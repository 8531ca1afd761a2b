"""Translate the SQL predicates of imported specs into the tree form of the candidate protocol."""

from decimal import Decimal
from typing import Any

from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Struct, get_type_name
from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.tree import Binary, Column, Expression, In, Is, Literal, Not, Sign

_SIGNS = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class NotTranslatable(ValueError):
    """The predicate cannot be expressed in the tree form; the text completes "the predicate ..."."""


def build_predicate_tree(sql: str, schema: Struct) -> list[Any]:
    """Build the tree form of a predicate.

    Raises:
        NotTranslatable: It is not SQL, or has other parts than comparisons of columns with literals.
    """
    parsed = parse_expression(sql)
    if not isinstance(parsed, SupportedExpression):
        raise NotTranslatable(f"cannot be parsed ({parsed.reason})")
    return _translate(parsed.tree, schema)


def build_literal(sql: str, data_type: DataType) -> str | None:
    """Return the text of a SQL literal of a type as in partition values; None for NULL.

    Raises:
        NotTranslatable: It is not a literal, or has another type.
    """
    parsed = parse_expression(sql)
    if not isinstance(parsed, SupportedExpression):
        raise NotTranslatable(f"cannot be parsed ({parsed.reason})")
    return _write_literal(parsed.tree, data_type)


def _translate(tree: Expression, schema: Struct) -> list[Any]:
    match tree:
        case Binary("and" | "or" as sign, left, right):
            return [sign, _translate(left, schema), _translate(right, schema)]
        case Not(Is(Column() as column, None)):
            return ["is_not_null", _find_column(column, schema)[0]]
        case Not(operand):
            return ["not", _translate(operand, schema)]
        case Is(Column() as column, None):
            return ["is_null", _find_column(column, schema)[0]]
        case In(Column() as column, choices):
            found = [_compare("=", column, each, schema) for each in choices]
            joined = found[0]
            for each in found[1:]:
                joined = ["or", joined, each]
            return joined
        case Binary(sign, Column() as column, literal) if sign in _SIGNS:
            return _compare(_SIGNS[sign], column, literal, schema)
        case Binary(sign, literal, Column() as column) if sign in _SIGNS:
            return _compare(_MIRRORED.get(sign, _SIGNS[sign]), column, literal, schema)
    raise NotTranslatable("has other parts than comparisons of columns with literals")


def _compare(sign: str, column: Column, literal: Expression, schema: Struct) -> list[Any]:
    tree, kind = _find_column(column, schema)
    return [sign, tree, ["lit", get_type_name(kind), _write_literal(literal, kind)]]


def _find_column(column: Column, schema: Struct) -> tuple[list[Any], DataType]:
    """Return a column with the spelling of the schema, and its type."""
    kind: DataType = schema
    path = []
    for part in column.parts:
        fields = {each.name.lower(): each for each in kind.fields} if isinstance(kind, Struct) else {}
        found = fields.get(part.lower())
        if found is None:
            raise NotTranslatable(f"names {'.'.join(column.parts)}, which is not a column of the table")
        path.append(found.name)
        kind = found.type
    return ["col", *path], kind


def _write_literal(literal: Expression, data_type: DataType) -> str | None:
    """Return the text of a literal as in partition values, if a cast to the type of the column cannot change it."""
    name = get_type_name(data_type).partition("(")[0]
    match literal:
        case Sign("-", Literal(int() | float() | Decimal())):
            return f"-{_write_literal(literal.operand, data_type)}"
        case Literal(None):
            return None
        case Literal(bool() as value) if name == "boolean":
            return "true" if value else "false"
        case Literal(int() as value) if name in (*INTEGER_BITS, "float", "double", "decimal"):
            return str(value)
        case Literal(Decimal() as value) if name in ("double", "decimal"):
            return f"{value:f}"
        case Literal(float() as value) if name == "double":
            return str(value)
        case Literal(str() as value, "string" | "date" | "timestamp" | "timestamp_ntz" as type_name) if (
            name == type_name or (type_name == "string" and name in ("date", "timestamp", "timestamp_ntz"))
        ):
            return value
    raise NotTranslatable(f"compares a column of type {get_type_name(data_type)} with a literal of another type")

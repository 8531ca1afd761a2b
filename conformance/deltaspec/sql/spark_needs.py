"""Describe what an expression needs to be evaluated: Spark, or also the writers' time zone."""

from __future__ import annotations

from deltaspec.protocol.schema.data_types import Primitive, Struct
from deltaspec.sql.logical_row_reader import find_field
from deltaspec.sql.session_independence import ZoneDependent, check_session_independence
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Call, Cast, Column, Expression, Literal, walk

ZONE_OPTION = "--writer-time-zone"
_UNKNOWN = "unknown"
_SQL_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_TIMESTAMP_FUNCTIONS = ("to_timestamp", "date_trunc", "timestamp_seconds", "timestamp_millis", "timestamp_micros")


def describe_need(tree: Expression, schema: Struct, *, zone_is_known: bool) -> str:
    """Describe what an expression that this process cannot evaluate needs.

    Args:
        tree: the expression.
        schema: schema of the table.
        zone_is_known: the user named the time zone of the writers.

    Returns:
        `needs Spark`, `needs Spark and --writer-time-zone`, or `is not evaluated` if neither helps.
    """

    names = {field.name.casefold() for field in schema.fields}
    if any(isinstance(node, Column) and node.parts[0].casefold() not in names for node in walk(tree)):
        return "is not evaluated"  # Spark does not find the column either

    def get_type(node: Expression) -> str:
        kind = _find_type(node, schema)
        return _SQL_NAMES.get(kind, kind)

    try:
        check_session_independence(tree, get_type, zone_is_known=zone_is_known)
    except ZoneDependent as fault:
        return "needs Spark" if _UNKNOWN in str(fault) else f"needs Spark and {ZONE_OPTION}"
    except Undecided:
        return "is not evaluated"
    return "needs Spark"


def _find_type(node: Expression, schema: Struct) -> str:
    """Return the type of a part as far as it is certain without Spark."""
    match node:
        case Column(parts):
            try:
                kind = find_field(parts, schema).type
            except Undecided:
                return _UNKNOWN
            return kind.name if isinstance(kind, Primitive) else _UNKNOWN
        case Literal(_, kind) | Cast(_, kind, _):
            return kind
        case Call(name) if name in _TIMESTAMP_FUNCTIONS:
            return "timestamp"
    return _UNKNOWN

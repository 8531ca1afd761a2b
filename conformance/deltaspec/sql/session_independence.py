"""Reject expressions whose value depends on more than the row: the session time zone, the date or the runtime.

A table does not record the time zone in which its rows were written, so such expressions stay undecided. Types are
those that Spark derives for every part of an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from deltaspec.sql.terms import TIMES, Undecided, parse_time
from deltaspec.sql.tree import (
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    In,
    Is,
    Item,
    Like,
    Literal,
    Member,
    Not,
    Sign,
    Unit,
    children,
    walk,
)

TypeOf = Callable[[Expression], str]
"""Return the type of a part of an expression as Spark's `simpleString`: `timestamp`, `array<int>`."""
_ZONED = re.compile(r"\btimestamp\b")
_FLOATING = re.compile(r"\b(float|double)\b")
_NUMBER = re.compile(r"(tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\))")
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
_DAY_PATTERN = re.compile(r"(yyyy|MM|dd|[-/._ ,])+")
"""Date patterns that every pattern parser reads alike."""


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHOICES = _split("coalesce nvl ifnull greatest least array")
_COMPARING = _split("nullif equal_null")
_OF_ANY_TYPE = _split(
    """isnull isnotnull isnan hash xxhash64 struct size cardinality array_size array_max array_min array_distinct
    map_keys map_values unix_seconds unix_millis unix_micros"""
)
"""Functions whose result for a timestamp is the same in every time zone."""
_INTO_TIME = _split("timestamp_seconds timestamp_millis timestamp_micros")
_ZONE_DEPENDENT = _split("from_unixtime to_timestamp months_between date_trunc")
_NEEDS_TIME = _split("unix_seconds unix_millis unix_micros")
_OF_CLOCK = _split("hour minute second")
_ROUNDED = _split(
    """exp expm1 ln log log10 log2 log1p sin cos tan asin acos atan atan2 hypot cbrt degrees radians pow power"""
)
"""Functions whose last digit differs between runtimes and engines."""
_INTO_TEXT = _split("concat concat_ws length len char_length character_length upper lower ucase lcase hex base64 md5")


def check_session_independence(tree: Expression, type_of: TypeOf) -> None:
    """Raise `Undecided` if the value of an expression depends on more than its row."""
    for node in walk(tree):
        match node:
            case Literal(value, kind) if kind in TIMES:
                parse_time(str(value), kind)
            case Cast():
                _check_cast(node, type_of)
            case Binary(operator, left, right) if operator in _COMPARISONS:
                _check_comparison((left, right), type_of)
            case In():
                _check_common_type(children(node), type_of)
            case Case():
                _check_case(node, type_of)
            case Call():
                _check_call(node, type_of)
            case Item(base, key):
                _check_item(base, key, type_of)
            case Binary() | Like() | Sign() if any(map(_is_zoned, map(type_of, children(node)))):
                raise Undecided("a timestamp is converted to a string or number in the session time zone")
            case Binary("||", left, right):
                _reject_floats((left, right), type_of)
            case Literal() | Column() | Member() | Not() | Is() | Unit() | Binary() | Like() | Sign():
                pass


def _is_zoned(kind: str) -> bool:
    return _ZONED.search(kind) is not None


def _check_comparison(nodes: Iterable[Expression], type_of: TypeOf) -> None:
    """Check values that are compared. A string with a time zone becomes the same timestamp in every session."""
    _check_common_type((each for each in nodes if not _has_zone(each)), type_of)


def _check_common_type(nodes: Iterable[Expression], type_of: TypeOf) -> None:
    """Check values that are converted to one type. Without ANSI mode, a timestamp next to a string becomes a string."""
    kinds = {type_of(each) for each in nodes} - {"void"}
    if len(kinds) > 1 and any(map(_is_zoned, kinds)):
        raise Undecided(f"{' and '.join(sorted(kinds))} are converted to one type in the session time zone")


def _has_zone(node: Expression) -> bool:
    if not isinstance(node, Literal) or node.type != "string":
        return False
    try:
        parse_time(str(node.value), "timestamp")
    except Undecided:
        return False
    return True


def _check_cast(node: Cast, type_of: TypeOf) -> None:
    kind = type_of(node.operand)
    if node.type == "string":
        _reject_floats((node.operand,), type_of)
    if _is_zoned(kind):
        if node.type == "timestamp" or node.type.split("(")[0] in (
            *("byte", "short", "integer", "long", "float", "double", "decimal"),
        ):
            return
        raise Undecided(f"a timestamp is converted to {node.type} in the session time zone")
    if node.type == "timestamp" and not (
        _NUMBER.fullmatch(kind) or kind in ("void", "boolean") or _has_zone(node.operand)
    ):
        raise Undecided(f"{kind} is converted to timestamp in the session time zone")


def _check_case(node: Case, type_of: TypeOf) -> None:
    results = [result for _, result in node.branches]
    _check_common_type([*results, *([] if node.otherwise is None else [node.otherwise])], type_of)
    if node.operand is not None:
        _check_comparison([node.operand, *(when for when, _ in node.branches)], type_of)


def _check_item(base: Expression, key: Expression, type_of: TypeOf) -> None:
    if _is_zoned(type_of(key)) or type_of(base).startswith("map<timestamp,"):
        raise Undecided("a map is looked up by timestamp")


def _check_call(node: Call, type_of: TypeOf) -> None:
    name, kinds = node.name, [type_of(each) for each in node.arguments]
    if name in _ROUNDED:
        raise Undecided(f"engines differ in the last digits of {name}")
    if name in _ZONE_DEPENDENT:
        raise Undecided(f"{name} uses the session time zone")
    if name in _OF_CLOCK and kinds != ["timestamp_ntz"]:
        raise Undecided(f"{name} of a {kinds[0]} uses the session time zone")
    if name in _NEEDS_TIME and kinds != ["timestamp"]:
        raise Undecided(f"{kinds[0]} is converted to timestamp in the session time zone")
    if name == "date_format" or (name == "to_date" and len(kinds) > 1):
        _check_date_pattern(node, kinds)
    if name in _INTO_TEXT:
        _reject_floats(node.arguments, type_of)
    if name == "if" or name == "nvl2":
        _check_common_type(node.arguments[1:], type_of)
    elif name in _CHOICES:
        _check_common_type(node.arguments, type_of)
    elif name in _COMPARING:
        _check_comparison(node.arguments, type_of)
    elif name == "element_at":
        _check_item(node.arguments[0], node.arguments[1], type_of)
    elif name not in _OF_ANY_TYPE | _INTO_TIME and any(map(_is_zoned, (*kinds, type_of(node)))):
        raise Undecided(f"{name} reads or returns a timestamp in the session time zone")


def _check_date_pattern(node: Call, kinds: list[str]) -> None:
    pattern = node.arguments[1]
    is_date = kinds[0] == ("date" if node.name == "date_format" else "string")
    is_known = isinstance(pattern, Literal) and pattern.type == "string" and _DAY_PATTERN.fullmatch(str(pattern.value))
    if not is_date or not is_known:
        raise Undecided(f"{node.name} depends on the session: its time zone and its pattern parser")


def _reject_floats(nodes: Iterable[Expression], type_of: TypeOf) -> None:
    if any(_FLOATING.search(type_of(each)) for each in nodes):
        raise Undecided("runtimes format floating-point numbers differently")

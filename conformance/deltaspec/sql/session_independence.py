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

TypeLookup = Callable[[Expression], str]
"""Return the type of a part of an expression as Spark's `simpleString`: `timestamp`, `array<int>`."""
_TIMESTAMP = re.compile(r"\btimestamp\b")
_FLOATING = re.compile(r"\b(float|double)\b")
_NUMBER = re.compile(r"(tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\))")
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
_DAY_PATTERN = re.compile(r"(yyyy|MM|dd|[-/._ ,])+")
"""Date patterns that every pattern parser reads alike."""


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHOICES = _split("coalesce nvl ifnull greatest least array")
_COMPARING = _split("nullif equal_null")
_ZONE_INDEPENDENT = _split(
    """isnull isnotnull isnan hash xxhash64 struct size cardinality array_size array_max array_min array_distinct
    map_keys map_values unix_seconds unix_millis unix_micros"""
)
"""Functions whose result for a timestamp is the same in every time zone."""
_RETURNS_TIMESTAMP = _split("timestamp_seconds timestamp_millis timestamp_micros")
_ZONE_DEPENDENT = _split("from_unixtime to_timestamp months_between date_trunc")
_NEEDS_TIMESTAMP = _split("unix_seconds unix_millis unix_micros")
_CLOCK_PARTS = _split("hour minute second")
_INEXACT = _split(
    """exp expm1 ln log log10 log2 log1p sin cos tan asin acos atan atan2 hypot cbrt degrees radians pow power"""
)
"""Functions whose last digit differs between runtimes and engines."""
_CONVERTS_TO_STRING = _split(
    "concat concat_ws length len char_length character_length upper lower ucase lcase hex base64 md5"
)


def check_session_independence(tree: Expression, get_type: TypeLookup) -> None:
    """Raise `Undecided` if the value of an expression depends on more than its row."""
    for node in walk(tree):
        match node:
            case Literal(value, kind) if kind in TIMES:
                parse_time(str(value), kind)
            case Cast():
                _check_cast(node, get_type)
            case Binary(operator, left, right) if operator in _COMPARISONS:
                _check_comparison((left, right), get_type)
            case In():
                _check_common_type(children(node), get_type)
            case Case():
                _check_case(node, get_type)
            case Call():
                _check_call(node, get_type)
            case Item(base, key):
                _check_item(base, key, get_type)
            case Binary() | Like() | Sign() if any(map(_is_zoned, map(get_type, children(node)))):
                raise Undecided("a timestamp is converted to a string or number in the session time zone")
            case Binary("||", left, right):
                _reject_floats((left, right), get_type)
            case Literal() | Column() | Member() | Not() | Is() | Unit() | Binary() | Like() | Sign():
                pass


def _is_zoned(kind: str) -> bool:
    return _TIMESTAMP.search(kind) is not None


def _check_comparison(nodes: Iterable[Expression], get_type: TypeLookup) -> None:
    """Check values that are compared. A string with a time zone becomes the same timestamp in every session."""
    _check_common_type((each for each in nodes if not _has_zone(each)), get_type)


def _check_common_type(nodes: Iterable[Expression], get_type: TypeLookup) -> None:
    """Check values that are converted to one type. Without ANSI mode, a timestamp next to a string becomes a string."""
    kinds = {get_type(each) for each in nodes} - {"void"}
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


def _check_cast(node: Cast, get_type: TypeLookup) -> None:
    kind = get_type(node.operand)
    if node.type == "string":
        _reject_floats((node.operand,), get_type)
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


def _check_case(node: Case, get_type: TypeLookup) -> None:
    results = [result for _, result in node.branches]
    _check_common_type([*results, *([] if node.otherwise is None else [node.otherwise])], get_type)
    if node.operand is not None:
        _check_comparison([node.operand, *(when for when, _ in node.branches)], get_type)


def _check_item(base: Expression, key: Expression, get_type: TypeLookup) -> None:
    if _is_zoned(get_type(key)) or get_type(base).startswith("map<timestamp,"):
        raise Undecided("a map is looked up by timestamp")


def _check_call(node: Call, get_type: TypeLookup) -> None:
    name, kinds = node.name, [get_type(each) for each in node.arguments]
    if name in _INEXACT:
        raise Undecided(f"engines differ in the last digits of {name}")
    if name in _ZONE_DEPENDENT:
        raise Undecided(f"{name} uses the session time zone")
    if name in _CLOCK_PARTS and kinds != ["timestamp_ntz"]:
        raise Undecided(f"{name} of a {kinds[0]} uses the session time zone")
    if name in _NEEDS_TIMESTAMP and kinds != ["timestamp"]:
        raise Undecided(f"{kinds[0]} is converted to timestamp in the session time zone")
    if name == "date_format" or (name == "to_date" and len(kinds) > 1):
        _check_date_pattern(node, kinds)
    if name in _CONVERTS_TO_STRING:
        _reject_floats(node.arguments, get_type)
    if name == "if" or name == "nvl2":
        _check_common_type(node.arguments[1:], get_type)
    elif name in _CHOICES:
        _check_common_type(node.arguments, get_type)
    elif name in _COMPARING:
        _check_comparison(node.arguments, get_type)
    elif name == "element_at":
        _check_item(node.arguments[0], node.arguments[1], get_type)
    elif name not in _ZONE_INDEPENDENT | _RETURNS_TIMESTAMP and any(map(_is_zoned, (*kinds, get_type(node)))):
        raise Undecided(f"{name} reads or returns a timestamp in the session time zone")


def _check_date_pattern(node: Call, kinds: list[str]) -> None:
    pattern = node.arguments[1]
    is_date = kinds[0] == ("date" if node.name == "date_format" else "string")
    is_known = isinstance(pattern, Literal) and pattern.type == "string" and _DAY_PATTERN.fullmatch(str(pattern.value))
    if not is_date or not is_known:
        raise Undecided(f"{node.name} depends on the session: its time zone and its pattern parser")


def _reject_floats(nodes: Iterable[Expression], get_type: TypeLookup) -> None:
    if any(_FLOATING.search(get_type(each)) for each in nodes):
        raise Undecided("runtimes format floating-point numbers differently")

"""Expressions whose value depends on more than the row: on a session's time zone, on the day, on the runtime.

A table does not say in which zone its rows were written, so nothing that asks for one is judged. Types are those that
Spark gives to every part of an expression.
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
"""The type of a part of an expression as Spark spells it in short: `timestamp`, `timestamp_ntz`, `array<int>`."""
_ZONED = re.compile(r"\btimestamp\b")
_FLOATING = re.compile(r"\b(float|double)\b")
_NUMBER = re.compile(r"(tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\))")
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
_DAY_PATTERN = re.compile(r"(yyyy|MM|dd|[-/._ ,])+")
"""Of a date: what every parser of patterns takes alike."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHOSEN = _words("coalesce nvl ifnull greatest least array")
_COMPARED = _words("nullif equal_null")
_OF_ANY_TYPE = _words(
    """isnull isnotnull isnan hash xxhash64 struct size cardinality array_size array_max array_min array_distinct
    map_keys map_values unix_seconds unix_millis unix_micros"""
)
"""What they give of a time is the same in every zone."""
_INTO_TIME = _words("timestamp_seconds timestamp_millis timestamp_micros")
_ASK_FOR_ZONE = _words("from_unixtime to_timestamp months_between date_trunc")
_NEEDS_TIME = _words("unix_seconds unix_millis unix_micros")
_OF_CLOCK = _words("hour minute second")
_ROUNDED = _words(
    """exp expm1 ln log log10 log2 log1p sin cos tan asin acos atan atan2 hypot cbrt degrees radians pow power"""
)
"""Runtimes and engines differ in the last digit of what they give."""
_INTO_TEXT = _words("concat concat_ws length len char_length character_length upper lower ucase lcase hex base64 md5")


def check_session_independence(tree: Expression, type_of: TypeOf) -> None:
    """Raises `Undecided` where the value of an expression depends on more than its row."""
    for node in walk(tree):
        match node:
            case Literal(value, kind) if kind in TIMES:
                parse_time(str(value), kind)
            case Cast():
                _cast(node, type_of)
            case Binary(operator, left, right) if operator in _COMPARISONS:
                _compared((left, right), type_of)
            case In():
                _chosen(children(node), type_of)
            case Case():
                _case(node, type_of)
            case Call():
                _call(node, type_of)
            case Item(base, key):
                _item(base, key, type_of)
            case Binary() | Like() | Sign() if any(map(_is_zoned, map(type_of, children(node)))):
                raise Undecided("a time is made text or number, as the zone of a session says")
            case Binary("||", left, right):
                _no_floating((left, right), type_of)
            case Literal() | Column() | Member() | Not() | Is() | Unit() | Binary() | Like() | Sign():
                pass


def _is_zoned(kind: str) -> bool:
    return _ZONED.search(kind) is not None


def _compared(nodes: Iterable[Expression], type_of: TypeOf) -> None:
    """Two values: a string becomes a time in some zone, unless it names one."""
    _chosen((each for each in nodes if not _names_zone(each)), type_of)


def _chosen(nodes: Iterable[Expression], type_of: TypeOf) -> None:
    """Values that become one type together: beside a string, without ANSI mode, times become text in some zone."""
    kinds = {type_of(each) for each in nodes} - {"void"}
    if len(kinds) > 1 and any(map(_is_zoned, kinds)):
        raise Undecided(f"{' and '.join(sorted(kinds))} meet in the time zone of a session")


def _names_zone(node: Expression) -> bool:
    if not isinstance(node, Literal) or node.type != "string":
        return False
    try:
        parse_time(str(node.value), "timestamp")
    except Undecided:
        return False
    return True


def _cast(node: Cast, type_of: TypeOf) -> None:
    kind = type_of(node.operand)
    if node.type == "string":
        _no_floating((node.operand,), type_of)
    if _is_zoned(kind):
        if node.type == "timestamp" or node.type.split("(")[0] in (
            *("byte", "short", "integer", "long", "float", "double", "decimal"),
        ):
            return
        raise Undecided(f"a timestamp becomes {node.type} in the time zone of a session")
    if node.type == "timestamp" and not (
        _NUMBER.fullmatch(kind) or kind in ("void", "boolean") or _names_zone(node.operand)
    ):
        raise Undecided(f"{kind} becomes a timestamp in the time zone of a session")


def _case(node: Case, type_of: TypeOf) -> None:
    results = [result for _, result in node.branches]
    _chosen([*results, *([] if node.otherwise is None else [node.otherwise])], type_of)
    if node.operand is not None:
        _compared([node.operand, *(when for when, _ in node.branches)], type_of)


def _item(base: Expression, key: Expression, type_of: TypeOf) -> None:
    if _is_zoned(type_of(key)) or type_of(base).startswith("map<timestamp,"):
        raise Undecided("a time is looked up")


def _call(node: Call, type_of: TypeOf) -> None:
    name, kinds = node.name, [type_of(each) for each in node.arguments]
    if name in _ROUNDED:
        raise Undecided(f"engines differ in the last digits of what {name} gives")
    if name in _ASK_FOR_ZONE:
        raise Undecided(f"{name} asks for the time zone of a session")
    if name in _OF_CLOCK and kinds != ["timestamp_ntz"]:
        raise Undecided(f"the {name} of a {kinds[0]} asks for the time zone of a session")
    if name in _NEEDS_TIME and kinds != ["timestamp"]:
        raise Undecided(f"{kinds[0]} becomes a timestamp in the time zone of a session")
    if name == "date_format" or (name == "to_date" and len(kinds) > 1):
        _pattern(node, kinds)
    if name in _INTO_TEXT:
        _no_floating(node.arguments, type_of)
    if name == "if" or name == "nvl2":
        _chosen(node.arguments[1:], type_of)
    elif name in _CHOSEN:
        _chosen(node.arguments, type_of)
    elif name in _COMPARED:
        _compared(node.arguments, type_of)
    elif name == "element_at":
        _item(node.arguments[0], node.arguments[1], type_of)
    elif name not in _OF_ANY_TYPE | _INTO_TIME and any(map(_is_zoned, (*kinds, type_of(node)))):
        raise Undecided(f"{name} takes a timestamp in the time zone of a session")


def _pattern(node: Call, kinds: list[str]) -> None:
    pattern = node.arguments[1]
    fits = kinds[0] == ("date" if node.name == "date_format" else "string")
    known = isinstance(pattern, Literal) and pattern.type == "string" and _DAY_PATTERN.fullmatch(str(pattern.value))
    if not fits or not known:
        raise Undecided(f"what {node.name} gives depends on a session: its time zone, how it reads patterns")


def _no_floating(nodes: Iterable[Expression], type_of: TypeOf) -> None:
    if any(_FLOATING.search(type_of(each)) for each in nodes):
        raise Undecided("runtimes differ in the text of a number with a point")

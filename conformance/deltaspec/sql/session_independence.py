"""Reject expressions whose value depends on more than the row: the session time zone, the date or the runtime.

A table does not record the time zone in which its rows were written. Unless the user names it, expressions that depend
on it stay undecided. Types are those that Spark derives for every part of an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

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
_TIME_PATTERN = re.compile(r"(yyyy|MM|dd|HH|mm|ss|[-/._ ,:])+")
"""Patterns that every pattern parser reads alike: of dates, and of timestamps."""


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


class ZoneDependent(Undecided):
    """The value depends on the time zone of the session that wrote the rows."""


def check_session_independence(tree: Expression, get_type: TypeLookup, *, zone_is_known: bool = False) -> None:
    """Check that the value of an expression depends on its row alone.

    Args:
        tree: the expression.
        get_type: types of its parts.
        zone_is_known: the session has the time zone in which the rows were written.

    Raises:
        ZoneDependent: it depends on the time zone, which is not known.
        Undecided: it depends on something else.
    """
    checker = _Checker(get_type, zone_is_known)
    for node in walk(tree):
        checker.check(node)


class _Checker(msgspec.Struct, frozen=True):
    get_type: TypeLookup
    zone_is_known: bool

    def check(self, node: Expression) -> None:
        """Check one part of an expression without its children."""
        match node:
            case Literal(value, kind) if kind in TIMES:
                parse_time(str(value), kind)
            case Cast():
                self.check_cast(node)
            case Binary(operator, left, right) if operator in _COMPARISONS:
                self.check_comparison((left, right))
            case In():
                self.check_common_type(children(node))
            case Case():
                self.check_case(node)
            case Call():
                self.check_call(node)
            case Item(base, key):
                self.check_item(base, key)
            case Binary() | Like() | Sign() if any(map(_is_zoned, map(self.get_type, children(node)))):
                self.reject_zone("a timestamp is converted to a string or number in the session time zone")
            case Binary("||", left, right):
                self.reject_floats((left, right))
            case Literal() | Column() | Member() | Not() | Is() | Unit() | Binary() | Like() | Sign():
                pass

    def reject_zone(self, reason: str) -> None:
        """Raise `ZoneDependent` unless the time zone is known."""
        if not self.zone_is_known:
            raise ZoneDependent(reason)

    def check_comparison(self, nodes: Iterable[Expression]) -> None:
        """Check values that are compared. A string with a time zone becomes the same timestamp in every session."""
        self.check_common_type(each for each in nodes if not _has_zone(each))

    def check_common_type(self, nodes: Iterable[Expression]) -> None:
        """Check values that are converted to one type. Without ANSI mode, a timestamp next to a string becomes one."""
        kinds = {self.get_type(each) for each in nodes} - {"void"}
        if len(kinds) > 1 and any(map(_is_zoned, kinds)):
            self.reject_zone(f"{' and '.join(sorted(kinds))} are converted to one type in the session time zone")

    def check_cast(self, node: Cast) -> None:
        kind = self.get_type(node.operand)
        if node.type == "string":
            self.reject_floats((node.operand,))
        if _is_zoned(kind):
            if node.type == "timestamp" or node.type.split("(")[0] in (
                *("byte", "short", "integer", "long", "float", "double", "decimal"),
            ):
                return
            self.reject_zone(f"a timestamp is converted to {node.type} in the session time zone")
        elif node.type == "timestamp" and not (
            _NUMBER.fullmatch(kind) or kind in ("void", "boolean") or _has_zone(node.operand)
        ):
            self.reject_zone(f"{kind} is converted to timestamp in the session time zone")

    def check_case(self, node: Case) -> None:
        results = [result for _, result in node.branches]
        self.check_common_type([*results, *([] if node.otherwise is None else [node.otherwise])])
        if node.operand is not None:
            self.check_comparison([node.operand, *(when for when, _ in node.branches)])

    def check_item(self, base: Expression, key: Expression) -> None:
        if _is_zoned(self.get_type(key)) or self.get_type(base).startswith("map<timestamp,"):
            raise Undecided("a map is looked up by timestamp")

    def check_call(self, node: Call) -> None:
        name, kinds = node.name, [self.get_type(each) for each in node.arguments]
        if name in _INEXACT:
            raise Undecided(f"engines differ in the last digits of {name}")
        if name in _ZONE_DEPENDENT:
            self.reject_zone(f"{name} uses the session time zone")
        if name in _CLOCK_PARTS and kinds != ["timestamp_ntz"]:
            self.reject_zone(f"{name} of a {kinds[0]} uses the session time zone")
        if name in _NEEDS_TIMESTAMP and kinds != ["timestamp"]:
            self.reject_zone(f"{kinds[0]} is converted to timestamp in the session time zone")
        if name == "date_format" or (name in ("to_date", "to_timestamp", "from_unixtime") and len(kinds) > 1):
            self.check_pattern(node, kinds)
        if name in _CONVERTS_TO_STRING:
            self.reject_floats(node.arguments)
        if name == "if" or name == "nvl2":
            self.check_common_type(node.arguments[1:])
        elif name in _CHOICES:
            self.check_common_type(node.arguments)
        elif name in _COMPARING:
            self.check_comparison(node.arguments)
        elif name == "element_at":
            self.check_item(node.arguments[0], node.arguments[1])
        elif name not in _ZONE_INDEPENDENT | _RETURNS_TIMESTAMP and any(map(_is_zoned, (*kinds, self.get_type(node)))):
            self.reject_zone(f"{name} reads or returns a timestamp in the session time zone")

    def check_pattern(self, node: Call, kinds: list[str]) -> None:
        pattern = node.arguments[1]
        text = str(pattern.value) if isinstance(pattern, Literal) and pattern.type == "string" else ""
        of_dates = kinds[0] == ("date" if node.name == "date_format" else "string") and node.name != "to_timestamp"
        if of_dates and node.name != "from_unixtime" and _DAY_PATTERN.fullmatch(text):
            return
        if not _TIME_PATTERN.fullmatch(text):
            raise Undecided(f"{node.name} depends on the session: its time zone and its pattern parser")
        self.reject_zone(f"{node.name} uses the session time zone")

    def reject_floats(self, nodes: Iterable[Expression]) -> None:
        if any(_FLOATING.search(self.get_type(each)) for each in nodes):
            raise Undecided("runtimes format floating-point numbers differently")


def _is_zoned(kind: str) -> bool:
    return _TIMESTAMP.search(kind) is not None


def _has_zone(node: Expression) -> bool:
    if not isinstance(node, Literal) or node.type != "string":
        return False
    try:
        parse_time(str(node.value), "timestamp")
    except Undecided:
        return False
    return True

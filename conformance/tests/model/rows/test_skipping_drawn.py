"""Skipping compared with brute force: valid statistics of drawn rows, and predicates of all kinds.

The writer of this module knows the rows and writes any statistics that the protocol allows.
"""

import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal as Exact
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.model import can_skip
from deltaspec.model.rows.predicates import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    NanOrder,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    Predicate,
    StartsWith,
    filter_rows,
    get_value,
)
from deltaspec.protocol.actions import Add, DeletionVectorDescriptor
from deltaspec.protocol.schema.data_types import DataType, Decimal, Field, Primitive, Struct

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = "\U0010ffff"


def moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def shortest(value: float, of_32_bits: bool) -> str:
    """Return the shortest digits that read back; non-finite numbers are strings."""
    if not math.isfinite(value):
        return {math.inf: '"Infinity"', -math.inf: '"-Infinity"'}.get(value, '"NaN"')
    if of_32_bits:
        texts = [f"{value:.{digits}g}" for digits in range(1, 10)]
        return next(text for text in texts if single(float(text)) == value)
    return repr(value)


@dataclass(frozen=True)
class Kind:
    """A type with its values and the serialization of its bounds."""

    type: DataType
    values: st.SearchStrategy[Any]
    serialize: Callable[[Any], str]
    partition: Callable[[Any], str]


def whole(name: str, bits: int) -> Kind:
    edges = st.sampled_from([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1])
    return Kind(Primitive(name), st.integers(-3, 3) | edges, str, str)


FLOATS = [-math.inf, -1.5, -0.0, 0.0, 0.1, 3.4, 1e30, math.inf, math.nan]
TEXTS = st.text(alphabet="ab\x7fé\uffee😀" + LAST, max_size=4)
MOMENTS = st.integers(-3, 3).map(lambda n: n * 500) | st.sampled_from([-1, 1_999, 1_577_836_800_000_001])

KINDS = [
    whole("byte", 8),
    whole("short", 16),
    whole("integer", 32),
    whole("long", 64),
    Kind(
        Primitive("float"),
        st.sampled_from([single(each) for each in FLOATS]),
        lambda value: shortest(value, True),
        lambda value: shortest(value, True).strip('"'),
    ),
    Kind(
        Primitive("double"),
        st.sampled_from(FLOATS),
        lambda value: shortest(value, False),
        lambda value: shortest(value, False).strip('"'),
    ),
    Kind(Decimal(20, 2), st.sampled_from([Exact(n).scaleb(-2) for n in (-150, 0, 1, 10**19, 10**19 + 1)]), str, str),
    Kind(Primitive("boolean"), st.booleans(), lambda value: str(value).lower(), lambda value: str(value).lower()),
    Kind(Primitive("string"), TEXTS, json.dumps, str),
    Kind(
        Primitive("date"),
        st.integers(-2, 2) | st.just(18_262),
        lambda days: f'"{moment(days * 86_400_000_000).date()}"',
        lambda days: f"{moment(days * 86_400_000_000).date()}",
    ),
    Kind(
        Primitive("timestamp"),
        MOMENTS,
        lambda value: f'"{moment(value).replace(tzinfo=None).isoformat(timespec="microseconds")}Z"',
        lambda value: f"{moment(value).replace(tzinfo=None).isoformat(timespec='microseconds')}Z",
    ),
    Kind(
        Primitive("timestamp_ntz"),
        MOMENTS,
        lambda value: f'"{moment(value).replace(tzinfo=None).isoformat(timespec="microseconds")}"',
        lambda value: moment(value).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds"),
    ),
    Kind(Primitive("binary"), st.sampled_from([b"", b"\x01", b"ab", b"\xff"]), lambda value: '"ab"', bytes.decode),
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(getattr(kind.type, "name", "decimal")))
some = settings(max_examples=25, deadline=None)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


@st.composite
def bounds(draw: st.DrawFn, kind: Kind, valid: list[Any], physical: list[Any], tight: bool) -> tuple[Any, Any]:
    """Draw a serialized minimum and maximum at or around the bounds of the valid rows; None if there is none."""
    numbers = [value for value in valid if value is not None and not is_nan(value)]
    around = [value for value in physical if value is not None and not is_nan(value)]
    has_nan = any(is_nan(value) for value in valid)
    if not numbers:
        bound = draw(st.sampled_from([None, '"NaN"'])) if has_nan else None
        # if all valid rows are null, bounds may come from deleted rows
        if around and not has_nan and draw(st.booleans()):
            return kind.serialize(min(around)), kind.serialize(max(around))
        return bound, bound
    low, high = min(numbers), max(numbers)
    if not tight:
        more = draw(st.lists(kind.values.filter(lambda value: not is_nan(value)), max_size=2)) + around
        low, high = min(low, *more, low), max(high, *more, high)
    serialized = [kind.serialize(low), kind.serialize(high)]
    if kind.type == Primitive("string"):
        serialized = [json.dumps(draw(cut(low, raised=False))), json.dumps(draw(cut(high, raised=True)))]
    if isinstance(low, int) and kind.type in (Primitive("timestamp"), Primitive("timestamp_ntz")):
        serialized = [kind.serialize(draw(st.sampled_from([each, each // 1000 * 1000]))) for each in (low, high)]
    if has_nan and draw(st.booleans()):
        serialized[1] = '"NaN"'
    return serialized[0], serialized[1]


@st.composite
def cut(draw: st.DrawFn, text: str, *, raised: bool) -> str:
    """A string, or a prefix of it; of a maximum perhaps with a character behind it that is above what was cut off."""
    length = draw(st.integers(1, len(text))) if text else 0
    kept = text[:length]
    if raised and length < len(text) and text[length] != LAST and draw(st.booleans()):
        kept += LAST
    return kept


@st.composite
def null_counts(draw: st.DrawFn, valid: list[Any], physical: list[Any], tight: bool) -> int:
    """Exact for the valid rows or all rows if bounds are tight; otherwise only 0 and all rows are reliable."""
    nulls = valid.count(None)
    if tight:
        return draw(st.sampled_from([nulls, physical.count(None)]))
    allowed = list(range(1, len(physical)))
    allowed += [0] if nulls == 0 else []
    allowed += [len(physical)] if nulls == len(valid) else []
    return draw(st.sampled_from(allowed)) if allowed else physical.count(None)


@dataclass(frozen=True)
class Drawn:
    """A file with one column: its action and its real values."""

    add: Add
    schema: Struct
    column: tuple[str, ...]
    mapping: str | None
    partitioned_by: tuple[str, ...]
    rows: list[dict[str, Any]]
    """Those that the deletion vector leaves."""


@st.composite
def files(draw: st.DrawFn, kind: Kind) -> Drawn:
    mapping = draw(st.sampled_from([None, "name", "id"]))
    nested = draw(st.booleans())
    physical = draw(st.lists(st.none() | kind.values, max_size=5))
    gone = draw(st.sets(st.integers(0, len(physical) - 1))) if physical and draw(st.booleans()) else set()
    valid = [value for at, value in enumerate(physical) if at not in gone]
    tight = draw(st.booleans())
    low, high = draw(bounds(kind, valid, physical, tight))
    count = draw(null_counts(valid, physical, tight)) if physical else 0
    names = ("col-s", "col-a") if mapping else ("s", "a")

    def entry(text: Any) -> str:
        inner = f'{{"{names[1]}":{text}}}'
        return f'{{"{names[0]}":{inner}}}' if nested else inner

    statistics = {"minValues": low, "maxValues": high, "nullCount": count}
    kept = {name for name in statistics if draw(st.integers(0, 3))}
    parts = [f'"{name}":{entry(value)}' for name, value in statistics.items() if value is not None and name in kept]
    parts += [f'"numRecords":{len(physical)}'] if gone or draw(st.booleans()) else []
    parts += [f'"tightBounds":{str(tight).lower()}'] if not tight or draw(st.booleans()) else []
    leaf = Field("a", kind.type, True, {"delta.columnMapping.physicalName": "col-a"})
    above = Field("s", Struct((leaf,)), True, {"delta.columnMapping.physicalName": "col-s"})
    return Drawn(
        add=_add("{" + ",".join(draw(st.permutations(parts))) + "}", len(gone), {}),
        schema=Struct((above if nested else leaf,)),
        column=("s", "a") if nested else ("a",),
        mapping=mapping,
        partitioned_by=(),
        rows=[({"s": {"a": value}} if nested else {"a": value}) for value in valid],
    )


@st.composite
def partitions(draw: st.DrawFn, kind: Kind) -> Drawn:
    """Draw files of a partition whose column has one value or null."""
    value = draw(st.none() | kind.values)
    text: str | None = draw(st.sampled_from([None, ""]))
    if value is not None and not (kind.type == Primitive("binary") and value == b"\xff"):
        text = kind.partition(value)
    if text is None or text == "":
        value = None
    mapping = draw(st.sampled_from([None, "name", "id"]))
    leaf = Field("a", kind.type, True, {"delta.columnMapping.physicalName": "col-a"})
    add = _add(None, 0, {"col-a" if mapping else "a": text})
    return Drawn(add, Struct((leaf,)), ("a",), mapping, ("a",), [{"a": value}])


def _add(stats: str | None, gone: int, partition_values: dict[str, str | None]) -> Add:
    vector = DeletionVectorDescriptor(storage_type="i", path_or_inline_dv="", size_in_bytes=1, cardinality=gone)
    return Add(
        path="a",
        partition_values=partition_values,
        size=1,
        modification_time=0,
        data_change=True,
        stats=stats,
        deletion_vector=vector if gone else None,
    )


OPERATORS = st.sampled_from(list(Operator))
SHAPES = st.sampled_from(["compare", "compare", "compare", "null safe", "in", "is null", "is not null", "starts with"])
JOINTS = st.sampled_from(["", "", "and", "or"])


@st.composite
def predicates(draw: st.DrawFn, kind: Kind, column: tuple[str, ...], stored_values: list[Any]) -> Predicate:
    """Draw one predicate of a column or two combined; literals are often values of the rows."""
    first = draw(leaves(kind, column, stored_values))
    joint = draw(JOINTS)
    if joint:
        second = draw(leaves(kind, column, stored_values))
        first = And(first, second) if joint == "and" else Or(first, second)
    return Not(first) if draw(st.booleans()) else first


@st.composite
def leaves(draw: st.DrawFn, kind: Kind, column: tuple[str, ...], stored_values: list[Any]) -> Predicate:
    shape = draw(SHAPES)
    if shape == "is null":
        return IsNull(column)
    if shape == "is not null":
        return IsNotNull(column)
    literal = draw(st.sampled_from(stored_values) if stored_values and draw(st.booleans()) else kind.values)
    if shape == "in":
        return In(column, (literal, draw(kind.values)))
    if shape == "null safe":
        return NullSafeEqual(column, literal)
    if shape == "starts with" and kind.type == Primitive("string"):
        return StartsWith(column, literal)
    return Compare(column, draw(OPERATORS), literal)


def simple(kind: Kind, column: tuple[str, ...], literals: list[Any]) -> list[Predicate]:
    """Every predicate of one column and these literals, as it is and negated."""
    found: list[Predicate] = [IsNull(column), IsNotNull(column), NullSafeEqual(column, None)]
    for literal in literals:
        found += [Compare(column, operator, literal) for operator in Operator]
        found += [NullSafeEqual(column, literal), In(column, (literal, None))]
        if kind.type == Primitive("string"):
            found += [StartsWith(column, literal[:length]) for length in range(len(literal) + 1)]
    return [*found, *map(Not, found)]


def assert_no_row_is_lost(data: st.DataObject, kind: Kind, drawn: Drawn) -> None:
    stored_values = [get_value(row, drawn.column) for row in drawn.rows]
    literals = [value for value in stored_values[:3] if value is not None] + [data.draw(kind.values)]
    where = (drawn.add, drawn.schema, drawn.partitioned_by, drawn.mapping)
    for predicate in [*simple(kind, drawn.column, literals), data.draw(predicates(kind, drawn.column, stored_values))]:
        skipped = {order for order in NanOrder if can_skip(predicate, *where, nan_orders=[order])}
        for order in skipped:
            assert filter_rows(predicate, drawn.rows, order) == []
        assert can_skip(predicate, *where) is (len(skipped) == 2)


@each_kind
def test_no_row_is_lost_by_statistics(kind: Kind) -> None:
    @some
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        assert_no_row_is_lost(data, kind, data.draw(files(kind)))

    holds()


@each_kind
def test_no_row_is_lost_by_partition_values(kind: Kind) -> None:
    @some
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        assert_no_row_is_lost(data, kind, data.draw(partitions(kind)))

    holds()


@given(st.integers(-18 * 60, 18 * 60), st.integers(-2, 2).map(lambda n: n * 10**6), st.data())
@settings(max_examples=100, deadline=None)
def test_no_row_is_lost_in_a_partition_of_local_time(offset: int, value: int, data: st.DataObject) -> None:
    zone = timezone(timedelta(minutes=offset)) if abs(offset) < 18 * 60 else None
    local = moment(value) + timedelta(minutes=offset)
    text = local.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    schema = Struct((Field("a", Primitive("timestamp"), True),))
    literal = data.draw(st.sampled_from([value, value + 1, value - 3_600_000_000]))
    predicate = Compare(("a",), data.draw(st.sampled_from(Operator)), literal)
    for known in (zone, None):
        if can_skip(predicate, _add(None, 0, {"a": text}), schema, ["a"], writer_zone=known):
            assert filter_rows(predicate, [{"a": value}]) == [], f"{known=}"


@each_kind
def test_exact_statistics_let_files_be_skipped(kind: Kind) -> None:
    """No file contains the literal, and statistics of all types except binary show it."""
    skipped = kept = 0

    @settings(max_examples=30, deadline=None, database=None)
    @given(st.lists(kind.values.filter(lambda value: not is_nan(value)), min_size=1, max_size=3), kind.values)
    def count(values: list[Any], literal: Any) -> None:
        nonlocal skipped, kept
        stats = (
            f'{{"numRecords":{len(values)},"minValues":{{"a":{kind.serialize(min(values))}}},'
            f'"maxValues":{{"a":{kind.serialize(max(values))}}},"nullCount":{{"a":0}}}}'
        )
        schema = Struct((Field("a", kind.type, True),))
        if can_skip(Compare(("a",), Operator.EQUAL, literal), _add(stats, 0, {}), schema):
            assert literal not in values
            skipped += 1
        elif literal in values:
            kept += 1
        assert can_skip(IsNull(("a",)), _add(stats, 0, {}), schema)

    count()
    assert kept
    assert (skipped > 0) is (kind.type != Primitive("binary"))

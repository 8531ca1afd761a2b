"""Drawn statistics compared with column values: correct ones in every encoding, and arbitrary ones."""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from views.sample_file import (
    DOUBLE,
    LONG,
    NTZ,
    STRING,
    TIMESTAMP,
    SampleFile,
    build_leaf_values,
    build_schema,
    find_broken_rules,
)

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Primitive, Struct
from deltaspec.views.data.column_facts import build_column_fact_rows, column_facts
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec_generators.data_files.statistics import StatisticsStyle, compute_statistics
from deltaspec_generators.tables.strategies import non_null_values, statistics_styles
from deltaspec_generators.values.arrow_values import DECIMALS, build_array

KINDS: list[DataType] = [
    Primitive(name) for name in ("long", "integer", "byte", "double", "float", "string", "boolean", "date")
]
EVERY_KIND: list[DataType] = [*KINDS, TIMESTAMP, NTZ, Primitive("binary"), Array(LONG, True), *DECIMALS]
DIVERGENT = {"STA009", "STA010", "STA011", "STA012", "STA013", "STA016"}


def leaves_of(
    values: Sequence[Any], kind: DataType, deleted: Collection[int], path: tuple[str, ...]
) -> Iterator[LeafValues]:
    if isinstance(kind, Struct):
        for each in kind.fields:
            inner = [None if value is None else value[each.name] for value in values]
            yield from leaves_of(inner, each.type, deleted, (*path, each.name))
        return
    valid = build_leaf_values(*(value for index, value in enumerate(values) if index not in deleted), path=path)
    yield replace(valid, rows=len(values), nulls=sum(value is None for value in values))


@st.composite
def columns(draw: st.DrawFn) -> tuple[DataType, list[Any]]:
    kind = draw(st.sampled_from(EVERY_KIND))
    if draw(st.integers(0, 3)) == 0:
        kind = Struct((Field("a", kind, True), Field("b", LONG, True)))
    return kind, draw(st.lists(st.none() | non_null_values(kind), max_size=6))


@settings(deadline=None)
@given(columns(), st.data())
def test_correct_statistics_are_at_most_divergences(column: tuple[DataType, list[Any]], data: st.DataObject) -> None:
    kind, values = column
    schema = build_schema(c=kind)
    deleted = data.draw(st.sets(st.integers(0, max(len(values) - 1, 0)))) if values else set()
    style = data.draw(statistics_styles(non_conforming=True))
    if deleted and style.tightness == "unsaid":
        style = replace(style, tightness="tight")
    stats = compute_statistics(pa.table({"c": build_array(values, kind)}), schema, deleted, style)
    values = leaves_of(values, kind, deleted, ("c",))
    rows = build_column_fact_rows(SampleFile(stats, deleted or None), schema, None, [], values)
    assert find_broken_rules(rows) <= DIVERGENT


_NAN_STYLES: tuple[tuple[Any, set[str]], ...] = (("absent", set()), ("ignored", {"STA011"}), ("text", {"STA010"}))


def test_divergences_match_the_statistics_style() -> None:
    values = [1.0, math.nan]
    schema = build_schema(c=DOUBLE)
    for nan, expected in _NAN_STYLES:
        stats = compute_statistics(pa.table({"c": values}), schema, (), StatisticsStyle(nan=nan))
        assert (
            find_broken_rules(build_column_fact_rows(SampleFile(stats), schema, None, [], [build_leaf_values(*values)]))
            == expected
        )


# arbitrary statistics

HOSTILE_SCHEMA = build_schema(
    a=LONG, b=STRING, c=DOUBLE, d=Decimal(5, 2), e=TIMESTAMP, f=Primitive("variant"), s=Struct((Field("x", NTZ, True),))
)
VALUES = [
    build_leaf_values(1, 2, path=("a",)),
    build_leaf_values("a", "\U0010ffff", path=("b",)),
    build_leaf_values(1.0, math.nan, path=("c",)),
    build_leaf_values(Exact("1.5"), path=("d",)),
    build_leaf_values(0, 2**63 - 1, path=("e",)),
    build_leaf_values(None, path=("f",)),
    build_leaf_values(-(2**63), None, path=("s", "x")),
]
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["NaN", "9999-12-31T23:59:59.999Z", "00000", "\ud83d", "1e99999", "+999999999-01-01T00:00:00Z"])
)
members = st.recursive(
    scalars,
    lambda inner: st.dictionaries(st.sampled_from([*"abcdefsx"]), inner, max_size=8) | st.lists(inner, max_size=2),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {}, optional={"numRecords": scalars, "tightBounds": scalars, "nullCount": members, "minValues": members}
    ),
    members,
)
def test_arbitrary_statistics_give_rows(document: dict[str, Any], high: Any) -> None:
    stats = json.dumps({**document, "maxValues": high})
    rows = build_column_fact_rows(SampleFile(stats), HOSTILE_SCHEMA, None, [], VALUES, shredding_supported=True)
    assert {row["column"] for row in rows} <= {"a", "b", "c", "d", "e", "f", "s.x"}
    assert len(column_facts.frame(rows)) == len(rows)
    find_broken_rules(rows)

"""A file is skipped whenever its statistics exclude every matching row, not only for some predicates."""

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from model.file_statistics import file

from deltaspec.model import can_skip
from deltaspec.model.rows.predicates import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    Predicate,
    filter_rows,
)
from deltaspec.protocol.schema.data_types import Field, Primitive, Struct

COLUMNS = ("a", "b", "c")
SCHEMA = Struct(tuple(Field(name, Primitive("integer"), True) for name in COLUMNS))
VALUES = st.none() | st.integers(-1, 5)


@st.composite
def leaves(draw: st.DrawFn, name: str) -> Predicate:
    """Draw a predicate of one column."""
    literal = draw(VALUES)
    return draw(
        st.sampled_from(
            [
                *(Compare((name,), operator, literal) for operator in Operator),
                NullSafeEqual((name,), literal),
                In((name,), (literal, draw(VALUES))),
                IsNull((name,)),
                IsNotNull((name,)),
            ]
        )
    )


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    """Draw a predicate in which each column occurs once: columns are then independent."""
    first, second, third = (draw(leaves(name)) for name in COLUMNS)
    inner = draw(st.sampled_from([And(second, third), Or(second, third), Not(second), second]))
    return draw(st.sampled_from([And(first, inner), Or(first, inner), Not(And(first, inner)), first]))


@st.composite
def statistics(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, list[int | None]]]:
    """Draw exact statistics, and the values that each column may have."""
    low, high, counts = {}, {}, {}
    possible: dict[str, list[int | None]] = {}
    for name in COLUMNS:
        low[name] = draw(st.integers(0, 3))
        high[name] = draw(st.integers(low[name], 4))
        counts[name] = draw(st.sampled_from([0, 4, 10]))
        values: list[int | None] = [] if counts[name] == 10 else list(range(low[name], high[name] + 1))
        possible[name] = values + ([None] if counts[name] else [])
    return {"numRecords": 10, "minValues": low, "maxValues": high, "nullCount": counts}, possible


@settings(max_examples=150, deadline=None)
@given(predicates(), statistics())
def test_file_is_skipped_if_and_only_if_no_possible_row_matches(
    predicate: Predicate, drawn: tuple[dict[str, Any], dict[str, list[int | None]]]
) -> None:
    stats, possible = drawn
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in itertools.product(*(possible[name] for name in COLUMNS))]
    assert can_skip(predicate, file(stats), SCHEMA) == (not list(filter_rows(predicate, rows)))

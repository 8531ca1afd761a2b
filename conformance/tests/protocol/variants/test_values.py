"""Values of variants: paths in them, and when two values are equal."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.variants.values import Scalar, Value, find_at, get_kind, parse_steps, serialize_value

NUMBER, TEXT, NULL = Scalar("exact number", 5), Scalar("string", b"abc"), Scalar("null", None)
ARRAY: Value = [NULL, NUMBER]
NESTED: Value = {"a": NUMBER, "b": ARRAY, "n": NULL}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", ()),
        ("$['a']", ("a",)),
        ("$['a']['b c'][0]", ("a", "b c", 0)),
        (r"$['it\'s']['\\']", ("it's", "\\")),
        (r"$['\n\u000b']", ("\n\x0b",)),
        ("$['[0]'][12]", ("[0]", 12)),
    ],
)
def test_steps_of_a_path(path: str, expected: tuple[str | int, ...]) -> None:
    assert parse_steps(path) == expected


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        (NUMBER, (), NUMBER),
        (NULL, (), None),
        (NESTED, (), NESTED),
        (NESTED, ("a",), NUMBER),
        (NESTED, ("b",), ARRAY),
        (NESTED, ("b", 1), NUMBER),
        (NESTED, ("b", 0), None),
        (NESTED, ("b", 2), None),
        (NESTED, ("b", "a"), None),
        (NESTED, ("c",), None),
        (NESTED, (0,), None),
        (NUMBER, ("a",), None),
    ],
)
def test_value_at_a_path(value: Value, path: tuple[str | int, ...], expected: Value | None) -> None:
    assert find_at(value, path) == expected


def test_kinds() -> None:
    assert [get_kind(each) for each in (NUMBER, TEXT, NULL, ARRAY, NESTED)] == [
        "exact number",
        "string",
        "null",
        "array",
        "object",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Scalar("exact number", 1), Scalar("exact number", Decimal("1.00"))),
        (Scalar("exact number", 100), Scalar("exact number", Decimal("1E+2"))),
        (Scalar("exact number", 0), Scalar("exact number", Decimal("-0.0"))),
        (Scalar("double", 0.0), Scalar("double", -0.0)),
        (Scalar("double", math.nan), Scalar("double", -math.nan)),
        ({"a": NUMBER, "b": TEXT}, {"b": TEXT, "a": NUMBER}),
    ],
)
def test_equal_values(first: Value, second: Value) -> None:
    assert serialize_value(first) == serialize_value(second)


scalars = st.one_of(
    st.just(NULL),
    st.booleans().map(lambda value: Scalar("boolean", value)),
    st.integers(-12, 12).map(lambda value: Scalar("exact number", value)),
    st.sampled_from(["0.5", "-1.25", "12"]).map(lambda value: Scalar("exact number", Decimal(value))),
    st.sampled_from([1.0, 1.5]).flatmap(
        lambda value: st.sampled_from([Scalar("double", value), Scalar("float", value)])
    ),
    st.binary(max_size=2).flatmap(lambda value: st.sampled_from([Scalar("string", value), Scalar("binary", value)])),
    st.integers(0, 2).flatmap(
        lambda value: st.sampled_from([Scalar(kind, value) for kind in ("date", "timestamp", "time")])
    ),
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab:;", max_size=3), inner, max_size=3)
)


@given(values, values)
def test_serialized_values_are_equal_only_if_values_are(first: Value, second: Value) -> None:
    assert (serialize_value(first) == serialize_value(second)) == (first == second)

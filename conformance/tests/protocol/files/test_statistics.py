"""Statistics of data files. Source: Per-file Statistics."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.protocol.files.statistics import (
    Statistics,
    StatisticsError,
    find_null_count_faults,
    get_entry,
    iter_entries,
    list_leaf_columns,
    parse_integer,
    parse_statistics,
)
from deltaspec.protocol.json_values import Number
from deltaspec.protocol.property_names import PHYSICAL_NAME
from deltaspec.protocol.schema.schema_string import parse_schema

NESTED = """{"numRecords":3,"tightBounds":false,
    "minValues":{"a":{"b":{"c":-1.10}},"s":"x"},"maxValues":{"a":{"b":{"c":9223372036854775808}},"s":"y"},
    "nullCount":{"a":{"b":{"c":1}},"s":3}}"""


def test_nested_statistics_keep_number_lexemes() -> None:
    found = parse_statistics(NESTED)
    assert found.num_records == 3
    assert not found.has_tight_bounds
    assert dict(iter_entries(found.min_values)) == {("a", "b", "c"): "-1.10", ("s",): "x"}
    assert dict(iter_entries(found.max_values)) == {("a", "b", "c"): "9223372036854775808", ("s",): "y"}
    assert {path: parse_integer(value) for path, value in iter_entries(found.null_count)} == {
        ("a", "b", "c"): 1,
        ("s",): 3,
    }
    assert find_null_count_faults(found) == []


def test_everything_is_optional() -> None:
    for text in ("{}", '{"numRecords":null,"minValues":null,"future":[1]}'):
        found = parse_statistics(text)
        assert found == Statistics(), f"{text=}"
        assert found.has_tight_bounds, f"{text=}"


def test_numbers_and_strings_are_distinguished() -> None:
    bounds = parse_statistics('{"minValues":{"a":1,"b":"1","c":true,"d":null}}').min_values
    assert bounds is not None
    assert [type(value) for value in bounds.values()] == [Number, str, bool, type(None)]
    assert [path for path, _ in iter_entries(bounds)] == [("a",), ("b",), ("c",)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        "[" * 100_000,
        '{"minValues":{"x":NaN}}',
        '{"numRecords":1.0}',
        '{"numRecords":"1"}',
        '{"numRecords":true}',
        '{"numRecords":9223372036854775808}',
        '{"numRecords":' + "9" * 5000 + "}",
        '{"tightBounds":"true"}',
        '{"tightBounds":0}',
        '{"minValues":[1]}',
        '{"maxValues":"x"}',
        '{"nullCount":3}',
    ],
)
def test_malformed_statistics_are_refused(text: str) -> None:
    with pytest.raises(StatisticsError):
        parse_statistics(text)


@pytest.mark.parametrize(
    ("counts", "records", "expected"),
    [
        ({"a": 0, "b": {"c": 5}}, 5, []),
        ({"a": 6}, None, []),
        ({"a": None, "b": {}}, 5, []),
        ({"a": 6}, 5, ["nullCount of a is 6 of 5 records"]),
        ({"a": -1}, 5, ["nullCount of a is not a count"]),
        ({"a": "0"}, 5, ["nullCount of a is not a count"]),
        ({"a": 1.0}, 5, ["nullCount of a is not a count"]),
        ({"a": True, "s": {"b": [1], "c": 7}}, 5, [
            "nullCount of a is not a count", "nullCount of s.b is not a count", "nullCount of s.c is 7 of 5 records",
        ]),
    ],
)  # fmt: skip
def test_impossible_null_counts(counts: Any, records: int | None, expected: list[str]) -> None:
    text = json.dumps({"numRecords": records, "nullCount": counts})
    assert find_null_count_faults(parse_statistics(text)) == expected


def test_wide_null_counts_beyond_the_records_carry_no_information() -> None:
    wide = parse_statistics('{"numRecords":2,"tightBounds":false,"nullCount":{"a":3}}')
    assert find_null_count_faults(wide) == []


def test_erratum_null_counts_is_not_the_key() -> None:
    """E09: examples of earlier revisions use this name."""
    text = '{"numRecords":1,"nullCounts":{"a":5}}'
    assert parse_statistics(text).null_count is None


def test_erratum_variant_example_is_not_json() -> None:
    """E18: the chapter's example has no commas between its members."""
    text = '{"nullCount":{"varCol":2} "minValues":{"varCol":"0rJl95Hp"}}'
    with pytest.raises(StatisticsError):
        parse_statistics(text)


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["numRecords", "tightBounds", "minValues", "nullCount", "a"]), inner, max_size=4
            )
        ),
        max_leaves=10,
    ).map(json.dumps)
    | st.text(max_size=20)
)
def test_any_text_is_statistics_or_refused(text: str) -> None:
    try:
        found = parse_statistics(text)
    except StatisticsError:
        return
    document = json.loads(text)
    assert found.num_records == document.get("numRecords")
    assert found.tight_bounds == document.get("tightBounds")
    assert len(find_null_count_faults(found)) <= len(list(iter_entries(found.null_count)))


SCHEMA = parse_schema(
    json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {PHYSICAL_NAME: f"col-{name}"}}
                for name, kind in (
                    ("part", "string"),
                    ("id", "long"),
                    ("nothing", "void"),
                    ("list", {"type": "array", "elementType": "long", "containsNull": True}),
                    (
                        "s",
                        {
                            "type": "struct",
                            "fields": [
                                {"name": "x", "type": "long", "nullable": True, "metadata": {PHYSICAL_NAME: "col-x"}},
                                {"name": "gone", "type": "void", "nullable": True, "metadata": {}},
                            ],
                        },
                    ),
                )
            ],
        }
    )
)


def test_leaf_columns_by_physical_and_logical_names() -> None:
    found = list_leaf_columns(SCHEMA, "name", ["part"])
    assert [(each.path, each.name) for each in found] == [
        (("col-id",), ("id",)),
        (("col-list",), ("list",)),
        (("col-s", "col-x"), ("s", "x")),
    ]
    assert [each.path for each in list_leaf_columns(SCHEMA, None, [])] == [("part",), ("id",), ("list",), ("s", "x")]


@pytest.mark.parametrize(
    ("values", "column", "expected"),
    [
        ({"id": 1}, 0, 1),
        ({"id": None}, 0, None),
        ({"other": 1}, 0, None),
        (None, 0, None),
        ({"id": {}}, 0, None),
        ({"list": [1]}, 1, None),
        ({"list": {"element": 3}}, 1, None),
        ({"list": 2}, 1, 2),
        ({"s": {"x": 2}}, 2, 2),
        ({"s": {"y": 2}}, 2, None),
        ({"s": None}, 2, None),
        ({}, 2, None),
    ],
)
def test_entry_of_a_column(values: Any, column: int, expected: Any) -> None:
    assert get_entry(values, list_leaf_columns(SCHEMA, None, ["part"])[column]) == expected


@pytest.mark.parametrize(
    ("values", "column"), [({"id": {"x": 1}}, 0), ({"id": [1]}, 0), ({"s": 2}, 2), ({"s": [2]}, 2)]
)
def test_entry_that_does_not_mirror_the_schema(values: Any, column: int) -> None:
    with pytest.raises(StatisticsError, match=r"its entry (is not an object|has members)"):
        get_entry(values, list_leaf_columns(SCHEMA, None, ["part"])[column])

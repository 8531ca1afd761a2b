"""Predicates of imported specs get the tree form of the candidate protocol, or a reason why they cannot."""

from typing import Any

import pytest

from deltaspec.golden.importing.sql_predicates import NotTranslatable, build_predicate_tree
from deltaspec.model.rows.predicate_trees import parse_predicate
from deltaspec.protocol.schema.data_types import Field, Primitive, Struct

TYPES = ("long", "byte", "double", "string", "boolean", "date", "timestamp", "timestamp_ntz", "binary")
SCHEMA = Struct(
    (
        *(Field(f"a_{name}", Primitive(name), True) for name in TYPES),
        Field("odd name", Primitive("long"), True),
        Field("outer", Struct((Field("Inner", Primitive("long"), True),)), True),
    )
)


@pytest.mark.parametrize(
    ("sql", "tree"),
    [
        ("a_long > 5", [">", ["col", "a_long"], ["lit", "long", "5"]]),
        ("-5 <= a_byte", [">=", ["col", "a_byte"], ["lit", "byte", "-5"]]),
        ("A_LONG <> 5", ["!=", ["col", "a_long"], ["lit", "long", "5"]]),
        ("a_double = 1.50", ["=", ["col", "a_double"], ["lit", "double", "1.50"]]),
        ("a_string <=> NULL", ["<=>", ["col", "a_string"], ["lit", "string", None]]),
        ("a_boolean = true", ["=", ["col", "a_boolean"], ["lit", "boolean", "true"]]),
        ("a_date = DATE '2026-01-31'", ["=", ["col", "a_date"], ["lit", "date", "2026-01-31"]]),
        ("a_date = '2026-01-31'", ["=", ["col", "a_date"], ["lit", "date", "2026-01-31"]]),
        (
            "a_timestamp < TIMESTAMP '2026-01-31 01:02:03'",
            ["<", ["col", "a_timestamp"], ["lit", "timestamp", "2026-01-31 01:02:03"]],
        ),
        ("`odd name` IS NULL", ["is_null", ["col", "odd name"]]),
        ("outer.inner IS NOT NULL", ["is_not_null", ["col", "outer", "Inner"]]),
        (
            "NOT (a_long IN (1, 2))",
            [
                "not",
                [
                    "or",
                    ["=", ["col", "a_long"], ["lit", "long", "1"]],
                    ["=", ["col", "a_long"], ["lit", "long", "2"]],
                ],
            ],
        ),
        (
            "a_long BETWEEN 1 AND 2 OR a_string = 'x'",
            [
                "or",
                [
                    "and",
                    [">=", ["col", "a_long"], ["lit", "long", "1"]],
                    ["<=", ["col", "a_long"], ["lit", "long", "2"]],
                ],
                ["=", ["col", "a_string"], ["lit", "string", "x"]],
            ],
        ),
    ],
)
def test_predicate_becomes_a_tree(sql: str, tree: list[Any]) -> None:
    found = build_predicate_tree(sql, SCHEMA)
    assert found == tree
    parse_predicate(found, SCHEMA)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("a_string LIKE 'a%'", "has other parts than comparisons of columns with literals"),
        ("a_long + 1 = 2", "has other parts than comparisons of columns with literals"),
        ("a_long = a_byte", "compares a column of type long with a literal of another type"),
        ("a_long = 1.5", "compares a column of type long with a literal of another type"),
        ("a_string = 5", "compares a column of type string with a literal of another type"),
        ("a_long = '5'", "compares a column of type long with a literal of another type"),
        ("nothing = 5", "names nothing, which is not a column of the table"),
        ("a_long.x = 5", "names a_long.x, which is not a column of the table"),
        ("a_long >", "cannot be parsed"),
        ("(" * 5_000, "cannot be parsed"),
        ("a_long > 5; DROP TABLE t", "cannot be parsed"),
    ],
)
def test_other_predicates_have_a_reason(sql: str, reason: str) -> None:
    with pytest.raises(NotTranslatable) as error:
        build_predicate_tree(sql, SCHEMA)
    assert str(error.value).startswith(reason)

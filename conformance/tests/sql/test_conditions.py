"""Expressions that cannot be conditions, whatever their functions and names mean."""

import json

import pytest

from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.sql.conditions import find_condition_error

KINDS = {"id": "long", "name": "string", "done": "boolean", "nothing": "void", "any": "variant", "p": "decimal(9,2)"}
LIST = {"type": "array", "elementType": "boolean", "containsNull": True}
INNER = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]}
SCHEMA = parse_schema(
    json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in {**KINDS, "list": LIST, "s": INNER}.items()
            ],
        }
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "id > 0",
        "id IS NOT NULL",
        "NOT done",
        "done",
        "`done`",
        "true",
        "NULL",
        "nothing",
        "any",
        "id IN (1, 2) AND name LIKE 'a%'",
        "id <=> 1",
        "CASE WHEN id > 0 THEN done ELSE NULL END",
        "CAST(name AS BOOLEAN)",
        "length(name) BETWEEN 1 AND 3",
        "isnotnull(id)",
        "user_defined_function(id)",
        "length(name)",
        "s.x",
        "list[0]",
        "unknown",
        "rand() > 0.5",
        "EXISTS(list, each -> each)",
        "(done)",
    ],
)
def test_possible_condition_has_no_error(text: str) -> None:
    assert find_condition_error(text, SCHEMA) is None
    assert find_condition_error(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("id > 0)", "its brackets do not match"),
        ("(id > 0", "a bracket is not closed"),
        ("name = 'a", "a quote or comment is not closed"),
        ("id >", "it ends with >"),
        ("1", "it is integer, not boolean"),
        ("'yes'", "it is string, not boolean"),
        ("id + 1", "it is a number, not boolean"),
        ("(id % 2)", "it is a number, not boolean"),
        ("-id", "it is a number, not boolean"),
        ("name || 'x'", "it is a string, not boolean"),
        ("CAST(id AS STRING)", "it is string, not boolean"),
        ("CASE WHEN id > 0 THEN NULL ELSE 0 END", "it is integer, not boolean"),
    ],
)
def test_expression_is_not_a_condition_in_any_table(text: str, reason: str) -> None:
    assert find_condition_error(text) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("id", "it is long, not boolean"),
        ("ID", "it is long, not boolean"),
        ("`name`", "it is string, not boolean"),
        ("p", "it is decimal(9,2), not boolean"),
        ("list", "it is array, not boolean"),
        ("s", "it is struct, not boolean"),
        ("CASE WHEN done THEN id END", "it is long, not boolean"),
    ],
)
def test_column_has_the_type_in_the_schema(text: str, reason: str) -> None:
    assert find_condition_error(text, SCHEMA) == reason
    assert find_condition_error(text) is None

"""Variant columns with their other roles, and defaults that are null."""

import pytest
from helpers.scenario import field, schema

from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.table.variant_columns import find_variant_columns, is_null_default

V = field("v", "variant")


@pytest.mark.parametrize("column", [("s", "v"), ("s.v",), ("S", "v")])
def test_clustering_columns_are_resolved_from_the_domain(column: tuple[str, ...]) -> None:
    inner = {"type": "struct", "fields": [V]}
    found = find_variant_columns(parse_schema(schema(V, field("s", inner))), [], [column], None)
    assert [(each.path, each.is_clustering_column) for each in found] == [(("v",), False), (("s", "v"), True)]


@pytest.mark.parametrize(
    ("expression", "is_null"),
    [
        ("NULL", True),
        (" null ", True),
        ("(NULL)", True),
        ("CAST(NULL AS VARIANT)", True),
        ("cast( null  as  variant )", True),
        ("NULL::variant", True),
        ("1", False),
        ("-1.5e3", False),
        ("'null'", False),
        ("true", False),
        ("date '2024-01-02'", False),
        ("X'00'", False),
        ("CAST('a' AS VARIANT)", False),
        ("CAST((1) AS VARIANT)", False),
        ("parse_json('{\"a\": 1}')", False),
        ("PARSE_JSON('\"it''s\"')", False),
        ("parse_json('null')", None),
        ("parse_json('{')", None),
        ("parse_json(NULL)", None),
        ("try_parse_json('1')", None),
        ("nullif(1, 1)", None),
        ("CAST(nullif(1, 1) AS VARIANT)", None),
        ("'a' || NULL", None),
        ("(1) - (1)", None),
        ("", None),
        ("(" * 5000 + ")" * 5000, None),
        ("'" * 5001, None),
    ],
)
def test_is_null_default(expression: str, is_null: bool | None) -> None:
    assert is_null_default(expression) is is_null


def test_variant_columns_are_found_at_any_depth() -> None:
    inner = {"type": "struct", "fields": [field("v", {"type": "variant"}, CURRENT_DEFAULT="NULL")]}
    listed = {"type": "array", "elementType": "variant", "containsNull": True}
    found = list(
        find_variant_columns(parse_schema(schema(V, field("s", inner), field("l", listed))), ["v"], [("s", "v")], None)
    )
    assert [each.path for each in found] == [("v",), ("s", "v")]
    assert [each.is_partition_column for each in found] == [True, False]
    assert [each.is_clustering_column for each in found] == [False, True]
    assert [each.default for each in found] == [None, "NULL"]


def test_clustering_columns_use_physical_names() -> None:
    mapped = field("v", "variant", delta__columnMapping__id=1, delta__columnMapping__physicalName="col-1")
    (found,) = find_variant_columns(parse_schema(schema(mapped)), [], [("col-1",)], "name")
    assert found.is_clustering_column

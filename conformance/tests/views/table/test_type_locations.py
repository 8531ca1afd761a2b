"""Locations of types, and their recorded changes. Source: Type Widening (current)."""

from typing import Any

import pytest
from helpers.recorded_types import widened
from helpers.scenario import field, schema

from deltaspec.protocol.schema.data_types import (
    Primitive,
    get_type_name,
)
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.table.type_locations import find_gap, list_recorded_types, list_type_locations

BYTE, SHORT, INTEGER, LONG = (Primitive(name) for name in ("byte", "short", "integer", "long"))


def list_recorded(*fields: dict[str, Any]) -> dict[str, set[str] | None]:
    found = list_recorded_types(parse_schema(schema(*fields)))
    return {".".join(path): types and set(map(get_type_name, types)) for path, types in found.items()}


def test_recorded_types_are_those_before_each_change() -> None:
    assert list_recorded(field("a", "long"), widened("double", ("float", "double"))) == {"c": {"float"}}


def test_recorded_integers_cover_all_of_their_physical_type() -> None:
    assert list_recorded(widened("long", ("short", "long"))) == {"c": {"byte", "short", "integer"}}


def test_recorded_types_of_a_faulty_record_or_a_gap_are_unknown() -> None:
    assert list_recorded(field("c", "long", delta__typeChanges=3)) == {"c": None}
    assert list_recorded(widened("double", ("byte", "short"), ("integer", "double"))) == {"c": None}


def test_locations_include_nested_types_down_to_the_next_field() -> None:
    inner = {"type": "struct", "fields": [field("x", "byte")]}
    pairs = {"type": "map", "keyType": "short", "valueType": inner, "valueContainsNull": True}
    found = [(place.column, place.field_path) for place in list_type_locations(parse_schema(schema(field("m", pairs))))]
    assert found == [
        (("m",), ()),
        (("m",), ("key",)),
        (("m",), ("value",)),
        (("m", "value", "x"), ()),
    ]


@pytest.mark.parametrize(
    ("kind", "steps", "missing"),
    [
        ("long", [("short", "integer"), ("integer", "long")], None),
        ("long", [("short", "integer")], "integer is followed by long"),
        ("long", [("byte", "short"), ("integer", "long")], "short is followed by integer"),
        ("long", [], None),
    ],
)
def test_recorded_changes_connect_to_each_other_and_the_type(kind: str, steps: Any, missing: str | None) -> None:
    (place,) = list_type_locations(parse_schema(schema(widened(kind, *steps))))
    assert find_gap(place) == missing

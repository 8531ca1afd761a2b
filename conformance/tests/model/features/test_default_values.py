"""Rows that get a default."""

from helpers.scenario import field, schema

from deltaspec.model.features.default_values import OMITTED, apply_defaults
from deltaspec.protocol.features.constraints import read_defaults
from deltaspec.protocol.schema.schema_string import parse_schema


def test_omitted_columns_get_the_default() -> None:
    columns = parse_schema(
        schema(field("a", CURRENT_DEFAULT="7"), field("b"), field("c", CURRENT_DEFAULT="length('xy')"))
    )
    assert read_defaults(columns) == {"a": "7", "c": "length('xy')"}
    results = {"a": 7, "c": 2}
    assert apply_defaults({}, columns, results) == {"a": 7, "b": None, "c": 2}
    assert apply_defaults({"a": 1, "c": OMITTED}, columns, results) == {"a": 1, "b": None, "c": 2}


def test_an_explicit_null_is_a_value() -> None:
    columns = parse_schema(schema(field("a", CURRENT_DEFAULT="7")))
    assert apply_defaults({"a": None}, columns, {"a": 7}) == {"a": None}

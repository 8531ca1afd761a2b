"""How logical columns are named in files and in the log. Source: Column Mapping; Iceberg Compatibility V2."""

import json
from typing import Any

import pytest

from deltaspec.protocol.json_values import Number
from deltaspec.protocol.property_names import NESTED_IDS
from deltaspec.protocol.schema.column_mapping import (
    NESTED_IDS_R3,
    build_nested_names,
    column_id,
    find_max_column_id,
    get_mapping_mode,
    get_partition_types,
    list_physical_partition_columns,
    list_physical_paths,
    physical_name,
    read_nested_ids,
)
from deltaspec.protocol.schema.data_types import Array, Field, Map, Primitive, Struct, iter_fields
from deltaspec.protocol.schema.schema_string import parse_schema

LONG, STRING = Primitive("long"), Primitive("string")


def field(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def mapped(name: str, kind: Any, number: int, physical: str) -> dict[str, Any]:
    keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return field(name, kind, **keys)


CHECKPOINT_EXAMPLE = parse_schema(
    json.dumps(
        {
            "type": "struct",
            "fields": [
                mapped("asset", "string", 1, "col-b96921f0-2329-4cb3-8d79-184b2bdab23b"),
                mapped("quantity", "double", 2, "col-04ee4877-ee53-4cb9-b1fb-1a4eb74b508c"),
                mapped("date", "date", 3, "col-798f4abc-c63f-444c-9a04-e2cf1ecba115"),
                mapped("region", "string", 4, "col-19034dc3-8e3d-4156-82fc-8e05533c088e"),
            ],
        }
    )
)
"""The column-mapped table of the chapter Checkpoint Schema (V16)."""
_INNER = {
    "type": "struct",
    "fields": [mapped("d", "integer", 5, "col-a7f4159c-53be-4cb0-b81a-f7e5240cfc49")],
}
PATH_EXAMPLE = parse_schema(
    json.dumps(
        {
            "type": "struct",
            "fields": [
                mapped(
                    "e",
                    {"type": "array", "elementType": _INNER, "containsNull": True},
                    4,
                    "col-5f422f40-de70-45b2-88ab-1d5c90e94db1",
                )
            ],
        }
    )
)
"""The column of the chapter Column Mapping (V17)."""


@pytest.mark.parametrize(
    ("settings", "supported", "expected"),
    [
        ({}, True, None),
        ({"delta.columnMapping.mode": "none"}, True, None),
        ({"delta.columnMapping.mode": "id"}, True, "id"),
        ({"delta.columnMapping.mode": "name"}, True, "name"),
        ({"delta.columnMapping.mode": "name"}, False, None),
        ({"delta.columnMapping.mode": "position"}, True, None),
    ],
)
def test_mode_applies_only_if_the_protocol_supports_it(
    settings: dict[str, str], supported: bool, expected: str | None
) -> None:
    assert get_mapping_mode(settings, supported=supported) == expected


def test_checkpoint_example_uses_physical_names() -> None:
    assert list_physical_partition_columns(CHECKPOINT_EXAMPLE, ["date", "region"], "name") == [
        "col-798f4abc-c63f-444c-9a04-e2cf1ecba115",
        "col-19034dc3-8e3d-4156-82fc-8e05533c088e",
    ]
    assert get_partition_types(CHECKPOINT_EXAMPLE, ["date", "region"], "id") == {
        "col-798f4abc-c63f-444c-9a04-e2cf1ecba115": Primitive("date"),
        "col-19034dc3-8e3d-4156-82fc-8e05533c088e": STRING,
    }
    assert [physical_name(column, "id") for column in CHECKPOINT_EXAMPLE.fields[:2]] == [
        "col-b96921f0-2329-4cb3-8d79-184b2bdab23b",
        "col-04ee4877-ee53-4cb9-b1fb-1a4eb74b508c",
    ]
    assert find_max_column_id(CHECKPOINT_EXAMPLE) == 4


def test_without_mapping_logical_names_are_physical() -> None:
    assert list_physical_partition_columns(CHECKPOINT_EXAMPLE, ["date"], None) == ["date"]
    assert get_partition_types(CHECKPOINT_EXAMPLE, ["date"], None) == {"date": Primitive("date")}
    assert [path for path, _ in list_physical_paths(PATH_EXAMPLE, None)] == [
        path for path, _ in iter_fields(PATH_EXAMPLE)
    ]


def test_unknown_partition_column_keeps_its_name() -> None:
    assert list_physical_partition_columns(CHECKPOINT_EXAMPLE, ["region", "day"], "name")[1] == "day"
    assert get_partition_types(CHECKPOINT_EXAMPLE, ["day", "Date"], "name") == {}


def test_field_paths_of_the_protocol_example() -> None:
    assert [path for path, _ in iter_fields(PATH_EXAMPLE)] == [("e",), ("e", "element", "d")]
    assert [path for path, _ in list_physical_paths(PATH_EXAMPLE, "name")] == [
        ("col-5f422f40-de70-45b2-88ab-1d5c90e94db1",),
        ("col-5f422f40-de70-45b2-88ab-1d5c90e94db1", "element", "col-a7f4159c-53be-4cb0-b81a-f7e5240cfc49"),
    ]
    assert find_max_column_id(PATH_EXAMPLE) == 5


def test_column_without_physical_name_keeps_its_logical_one() -> None:
    assert physical_name(Field("x", LONG, True), "name") == "x"
    assert physical_name(Field("x", LONG, True, {"delta.columnMapping.physicalName": Number("5")}), None) == "x"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Number("7"), 7),
        (7, 7),
        (Number("-9223372036854775808"), -(2**63)),
        (Number("9223372036854775807"), 2**63 - 1),
        (Number("9223372036854775808"), None),
        (Number("9" * 5000), None),
        (Number("1.0"), None),
        (Number("1e2"), None),
        ("7", None),
        (True, None),
        (None, None),
    ],
)
def test_column_id_is_an_integer_of_64_bits(value: Any, expected: int | None) -> None:
    assert column_id(Field("x", LONG, True, {"delta.columnMapping.id": value})) == expected


def test_schema_without_ids_has_no_maximum() -> None:
    assert find_max_column_id(Struct((Field("x", LONG, True),))) is None


COL1 = Field(
    "col1",
    Array(Array(LONG, True), True),
    True,
    {NESTED_IDS_R3: {"col1.element": Number("100"), "col1.element.element": Number("101")}},
)
COL2 = Field(
    "col2",
    Map(LONG, Array(LONG, True), True),
    True,
    {NESTED_IDS_R3: {"col2.key": Number("102"), "col2.value": Number("103"), "col2.value.element": Number("104")}},
)
SUBCOL1 = Field("subcol1", Array(LONG, True), True, {NESTED_IDS_R3: {"subcol1.element": Number("107")}})
COL3 = Field(
    "col3",
    Map(LONG, Struct((SUBCOL1,)), True),
    True,
    {NESTED_IDS_R3: {"col3.key": Number("105"), "col3.value": Number("106")}},
)


def test_nested_ids_of_the_protocol_example() -> None:
    """V18, with `long` in place of `int`, which is not a type (E16)."""
    columns = (COL1, COL2, SUBCOL1, COL3)
    for column in columns:
        assert list(read_nested_ids(column, NESTED_IDS_R3)) == build_nested_names(column, column.name)
    ids = [number for column in columns for number in read_nested_ids(column, NESTED_IDS_R3).values()]
    assert sorted(filter(None, ids)) == list(range(100, 108))


def test_nested_names_begin_with_the_physical_name() -> None:
    assert build_nested_names(COL2, "col-2") == ["col-2.key", "col-2.value", "col-2.value.element"]
    assert build_nested_names(Field("x", LONG, True), "x") == []
    assert read_nested_ids(COL2) == {}


def test_malformed_nested_ids_are_none() -> None:
    assert read_nested_ids(Field("x", LONG, True, {NESTED_IDS: "none"})) == {}
    assert read_nested_ids(Field("x", LONG, True, {NESTED_IDS: {"x.element": "1", "x.key": Number("2")}})) == {
        "x.element": None,
        "x.key": 2,
    }

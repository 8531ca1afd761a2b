"""Records of type changes, and the changes that they may contain. Source: Type Widening (current)."""

import json
from typing import Any

import pytest
from helpers.recorded_types import changes
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.protocol.schema.data_types import (
    Array,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    is_widening,
)
from deltaspec.protocol.schema.schema_string import TypeChange
from deltaspec.protocol.schema.type_changes import (
    find_field_path_fault,
    is_supported_by_iceberg,
    read_type_change_record,
)

BYTE, SHORT, INTEGER, LONG = (Primitive(name) for name in ("byte", "short", "integer", "long"))


def recorded(kind: Any, record: Any) -> tuple[list[TypeChange], list[str]]:
    found, faults = read_type_change_record(Field("c", kind, True, {"delta.typeChanges": record}))
    return list(found), [fault.kind for fault in faults]


def test_record_of_a_column_that_changed_twice() -> None:
    record = changes(("short", "integer"), ("integer", "long"))
    assert recorded(LONG, record) == ([TypeChange(SHORT, INTEGER), TypeChange(INTEGER, LONG)], [])


def test_record_of_nested_types() -> None:
    kind = Array(Map(Primitive("string"), Decimal(10, 4), True), True)
    record = changes(("decimal(6, 2)", "decimal(10, 4)", "element.value"))
    assert recorded(kind, record) == ([TypeChange(Decimal(6, 2), Decimal(10, 4), ("element", "value"))], [])


def test_versions_recorded_by_previews_are_ignored() -> None:
    record = [{"fromType": "byte", "toType": "short", "tableVersion": 3, "fieldPath": None}]
    assert recorded(SHORT, record) == ([TypeChange(BYTE, SHORT)], [])


@pytest.mark.parametrize(
    ("record", "kinds"),
    [
        ("long", ["no list"]),
        ('{"fromType":"byte","toType":"short"}', ["no list"]),
        ({"fromType": "byte", "toType": "short"}, ["no list"]),
        (None, []),
        ([1, "byte"], ["no object", "no object"]),
        ([{"fromType": "byte"}], ["types"]),
        ([{"toType": "short"}], ["types"]),
        ([{"fromType": "byte", "toType": "int"}], ["types"]),
        ([{"fromType": 1, "toType": "short"}], ["types"]),
        ([{"fromType": "byte", "toType": "short", "fieldPath": 1}], ["place"]),
        ([{"fromType": "byte", "toType": "short", "fieldPath": "items"}], ["place"]),
        ([{"fromType": "byte", "toType": "short", "fieldPath": "element"}], ["place"]),
    ],
)
def test_malformed_records_are_reported(record: Any, kinds: list[str]) -> None:
    assert recorded(SHORT, record) == ([], kinds)


def test_list_in_a_string_is_read_and_reported() -> None:
    """E30: one chapter calls the value a list, another a string."""
    change = {"fromType": "byte", "toType": "short"}
    assert recorded(SHORT, json.dumps([change])) == (recorded(SHORT, [change])[0], ["text"])


@pytest.mark.parametrize(
    ("kind", "path", "fault"),
    [
        (SHORT, (), None),
        (Array(SHORT, True), ("element",), None),
        (Array(SHORT, True), (), "the column is of type array"),
        (Array(SHORT, True), ("value",), "array has no value"),
        (Map(SHORT, Array(SHORT, True), True), ("value", "element"), None),
        (Map(SHORT, Array(SHORT, True), True), ("value",), "value is of type array"),
        (Array(Struct((Field("x", SHORT, True),)), True), ("element",), "element is of type struct"),
        (Struct((Field("x", SHORT, True),)), ("x",), "struct has no x"),
    ],
)
def test_field_path_resolves_or_is_reported(kind: Any, path: tuple[str, ...], fault: str | None) -> None:
    assert find_field_path_fault(kind, path) == fault


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        (BYTE, LONG, True),
        (Primitive("float"), Primitive("double"), True),
        (INTEGER, Primitive("double"), False),
        (Primitive("date"), Primitive("timestamp_ntz"), False),
        (Decimal(6, 2), Decimal(10, 2), True),
        (Decimal(6, 2), Decimal(10, 3), False),
        (LONG, Decimal(20, 0), False),
    ],
)
def test_type_changes_supported_by_iceberg(before: Any, after: Any, known: bool) -> None:
    assert is_supported_by_iceberg(before, after) is known


NUMBERS = {"byte": 1, "short": 2, "integer": 4, "long": 8}


@settings(max_examples=60)
@given(st.sampled_from([*NUMBERS]), st.sampled_from([*NUMBERS]))
def test_integer_widens_to_types_with_all_its_values(old: str, new: str) -> None:
    assert is_widening(Primitive(old), Primitive(new)) is (NUMBERS[old] < NUMBERS[new])


@settings(max_examples=100)
@given(*[st.integers(1, 8)] * 2, *[st.integers(0, 8)] * 2)
def test_decimal_widens_to_types_with_all_its_values(p: int, q: int, s: int, t: int) -> None:
    """Digits before and after the decimal point are counted separately."""
    s, t = min(s, p), min(t, q)
    holds = p - s <= q - t and s <= t
    assert is_widening(Decimal(p, s), Decimal(q, t)) is (holds and (p, s) != (q, t))

"""Collations in the metadata of fields. Source: proposal Collated String Type."""

from typing import Any

import pytest

from deltaspec.protocol.features.collations import find_collation_fault
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive

STRING = Primitive("string")
NESTED = Array(Map(STRING, Primitive("long"), True), True)


def find(
    recorded: Any, kind: DataType = STRING, supported: tuple[str, ...] = ("collations",), **metadata: Any
) -> str | None:
    return find_collation_fault(Field("a.b", kind, True, {"__COLLATIONS": recorded, **metadata}), supported)


@pytest.mark.parametrize(
    ("recorded", "kind"),
    [
        ({"a.b": "ICU.de_DE"}, STRING),
        ({"a.b.element.key": "spark.UTF8_LCASE"}, NESTED),
        ({}, Primitive("long")),
        (None, STRING),
    ],
)
def test_valid_collations_have_no_fault(recorded: Any, kind: DataType) -> None:
    assert find(recorded, kind) is None
    assert find(recorded, kind, ("collations-preview",)) is None


def test_path_may_begin_with_the_physical_name() -> None:
    assert find({"col-1": "ICU.de"}, **{"delta.columnMapping.physicalName": "col-1"}) is None


@pytest.mark.parametrize(
    ("recorded", "kind", "fault"),
    [
        ("ICU.de", STRING, "is not an object"),
        ({"a": "ICU.de"}, STRING, "a is not a string of the field"),
        ({"a.b": "ICU.de"}, Primitive("long"), "a.b is not a string of the field"),
        ({"a.b.element.value": "ICU.de"}, NESTED, "a.b.element.value is not a string of the field"),
        ({"a.b": "ICU.de.72"}, STRING, "a.b has no identifier of the form provider.name"),
        ({"a.b": 5}, STRING, "a.b has no identifier of the form provider.name"),
        ({"a.b": "spark.UTF8_BINARY"}, STRING, "a.b has the default collation"),
    ],
)
def test_malformed_collations_have_a_fault(recorded: Any, kind: DataType, fault: str) -> None:
    assert find(recorded, kind) == fault


def test_collations_need_the_feature() -> None:
    assert find({"a.b": "ICU.de"}, supported=()) == "collations is not supported"

"""Values of an older schema become values of the current one."""

from decimal import Decimal as Exact
from typing import Any

import pytest

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct
from deltaspec_generators.schemas.value_conversion import build_converter, build_renamer, convert_all

INTEGER, LONG, DOUBLE = Primitive("integer"), Primitive("long"), Primitive("double")


def build_struct(**types: DataType) -> Struct:
    return Struct(tuple(Field(name, kind, True) for name, kind in types.items()))


@pytest.mark.parametrize(
    ("before", "after", "value", "expected"),
    [
        (INTEGER, INTEGER, 1, 1),
        (INTEGER, LONG, 1, 1),
        (INTEGER, DOUBLE, 1, 1.0),
        (INTEGER, DOUBLE, None, None),
        (INTEGER, Decimal(12, 2), 1, Exact(1)),
        (Primitive("date"), Primitive("timestamp_ntz"), 2, 172_800_000_000),
        (Array(INTEGER, True), Array(DOUBLE, True), [1, None], [1.0, None]),
        (Map(INTEGER, INTEGER, True), Map(DOUBLE, INTEGER, True), [(1, 2)], [(1.0, 2)]),
        (build_struct(a=INTEGER, b=LONG), build_struct(c=LONG, b=LONG), {"a": 1, "b": 2}, {"c": None, "b": 2}),
        (build_struct(a=INTEGER), build_struct(a=DOUBLE), None, None),
    ],
)
def test_value_becomes_a_value_of_the_later_type(before: DataType, after: DataType, value: Any, expected: Any) -> None:
    (found,) = convert_all(build_converter(before, after), [value])
    assert (found, type(found)) == (expected, type(expected))


def test_row_without_a_field_of_its_schema_is_an_error() -> None:
    convert = build_converter(build_struct(a=INTEGER, b=LONG), build_struct(a=INTEGER))
    with pytest.raises(KeyError, match="a"):
        convert_all(convert, [{"b": 1}])


def test_renamed_row_has_the_logical_fields_only() -> None:
    mapped = Field("name", build_struct(x=Primitive("void")), True, {"delta.columnMapping.physicalName": "col-1"})
    rename = build_renamer(Struct((mapped, Field("later", LONG, True))), "name")
    assert convert_all(rename, [{"col-1": {"x": 7}, "dropped": 1}]) == [{"name": {"x": None}, "later": None}]


def test_converted_values_are_a_new_list() -> None:
    values = [1, 2]
    assert convert_all(build_converter(INTEGER, LONG), values) is not values

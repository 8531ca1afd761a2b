"""Data types as values. Source: Schema Serialization Format; Type Widening."""

import pytest

from deltaspec.protocol.schema.data_types import (
    PRIMITIVES,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    UndefinedType,
    get_type_name,
    is_widening,
    iter_fields,
    iter_leaf_types,
)

LONG = Primitive("long")
NESTED = Struct(
    (
        Field("a", Array(Struct((Field("b", LONG, True),)), True), True),
        Field(
            "m",
            Map(
                Struct((Field("k", Decimal(5, 2), False),)),
                Array(Map(LONG, Struct((Field("v", LONG, True),)), True), True),
                True,
            ),
            True,
        ),
    )
)


def test_primitives_equal_those_of_the_protocol() -> None:
    assert set(PRIMITIVES) == {
        "string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date", "timestamp",
        "timestamp_ntz", "void", "variant",
    }  # fmt: skip


def test_types_name_their_feature() -> None:
    assert {name: feature for name, feature in PRIMITIVES.items() if feature} == {
        "timestamp_ntz": "timestampNtz",
        "variant": "variantType",
    }


def test_fields_include_elements_keys_and_values() -> None:
    assert [path for path, _ in iter_fields(NESTED)] == [
        ("a",),
        ("a", "element", "b"),
        ("m",),
        ("m", "key", "k"),
        ("m", "value", "element", "value", "v"),
    ]


def test_leaf_types_are_not_nested() -> None:
    assert list(iter_leaf_types(NESTED)) == [LONG, Decimal(5, 2), LONG, LONG]
    assert list(iter_leaf_types(UndefinedType("interval year"))) == [UndefinedType("interval year")]


def test_metadata_is_not_part_of_equality() -> None:
    assert Field("a", LONG, True, {"comment": "x"}) == Field("a", LONG, True)
    assert hash(Field("a", LONG, True, {"comment": "x"})) == hash(Field("a", LONG, True))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (LONG, "long"),
        (Decimal(10, 0), "decimal(10,0)"),
        (NESTED, "struct"),
        (Array(LONG, True), "array"),
        (Map(LONG, LONG, True), "map"),
        (UndefinedType("char(3)"), "char(3)"),
    ],
)
def test_type_name_is_spelled_like_in_schemas(kind: DataType, name: str) -> None:
    assert get_type_name(kind) == name


def _type(name: str) -> DataType:
    if name.startswith("decimal"):
        precision, scale = name[8:-1].split(",")
        return Decimal(int(precision), int(scale))
    return Primitive(name)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("byte", "short"),
        ("byte", "long"),
        ("short", "integer"),
        ("integer", "long"),
        ("float", "double"),
        ("integer", "double"),
        ("byte", "double"),
        ("date", "timestamp_ntz"),
        ("decimal(6,2)", "decimal(10,4)"),
        ("decimal(6,2)", "decimal(7,2)"),
        ("decimal(6,2)", "decimal(8,4)"),
        ("integer", "decimal(10,0)"),
        ("byte", "decimal(12,2)"),
        ("long", "decimal(20,0)"),
        ("long", "decimal(25,5)"),
    ],
)
def test_widening_is_allowed(before: str, after: str) -> None:
    assert is_widening(_type(before), _type(after))
    assert not is_widening(_type(after), _type(before))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("long", "long"),
        ("long", "double"),
        ("integer", "float"),
        ("long", "integer"),
        ("date", "timestamp"),
        ("string", "binary"),
        ("decimal(6,2)", "decimal(6,2)"),
        ("decimal(6,2)", "decimal(7,4)"),
        ("decimal(6,2)", "decimal(8,1)"),
        ("integer", "decimal(9,0)"),
        ("integer", "decimal(10,1)"),
        ("long", "decimal(10,0)"),
        ("long", "decimal(19,0)"),
        ("decimal(5,0)", "long"),
    ],
)
def test_widening_is_not_allowed(before: str, after: str) -> None:
    assert not is_widening(_type(before), _type(after))

"""Parquet forms of Delta types: listed, unlisted but readable, and unreadable ones."""

import pytest

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct, UndefinedType
from deltaspec.protocol.schema.parquet_types import (
    SOUND,
    Annotation,
    Node,
    find_type,
    get_element_nodes,
    get_map_nodes,
    get_stored_type,
    is_shredded,
)


def leaf(physical: str, annotation: Annotation | None = None, length: int | None = None) -> Node:
    return Node("c", "optional", physical, annotation, length=length)


def group(*children: Node, annotation: str | None = None, name: str = "c", repeated: bool = False) -> Node:
    return Node(
        name,
        "repeated" if repeated else "optional",
        None,
        Annotation(annotation) if annotation else None,
        children=children,
    )


def integer(bits: int, *, signed: bool = True) -> Annotation:
    return Annotation("INTEGER", bits=bits, signed=signed)


def timestamp(unit: str = "MICROS", *, utc: bool = True, converted: bool = False) -> Annotation:
    return Annotation("TIMESTAMP", unit=unit, utc=utc, converted=converted)


def decimal(precision: int, scale: int) -> Annotation:
    return Annotation("DECIMAL", precision=precision, scale=scale)


BYTE, SHORT, INTEGER, LONG = map(Primitive, ("byte", "short", "integer", "long"))
FLOAT, DOUBLE, BOOLEAN, STRING, BINARY = map(Primitive, ("float", "double", "boolean", "string", "binary"))
DATE, TIMESTAMP, NTZ, VARIANT, VOID = map(Primitive, ("date", "timestamp", "timestamp_ntz", "variant", "void"))
TEXT, DAYS = Annotation("STRING"), Annotation("DATE")
FIXED = "FIXED_LEN_BYTE_ARRAY"


@pytest.mark.parametrize(
    ("kind", "node"),
    [
        (BOOLEAN, leaf("BOOLEAN")),
        (BYTE, leaf("INT32", integer(8))),
        (SHORT, leaf("INT32", integer(16))),
        (INTEGER, leaf("INT32", integer(32))),
        (INTEGER, leaf("INT32")),
        (LONG, leaf("INT64", integer(64))),
        (LONG, leaf("INT64")),
        (DATE, leaf("INT32", DAYS)),
        (TIMESTAMP, leaf("INT96")),
        (TIMESTAMP, leaf("INT64", timestamp())),
        (TIMESTAMP, leaf("INT64", timestamp(converted=True))),
        (NTZ, leaf("INT96")),
        (NTZ, leaf("INT64", timestamp(utc=False))),
        (FLOAT, leaf("FLOAT")),
        (DOUBLE, leaf("DOUBLE")),
        (Decimal(9, 2), leaf("INT32", decimal(9, 2))),
        (Decimal(18, 0), leaf("INT64", decimal(18, 0))),
        (Decimal(38, 10), leaf(FIXED, decimal(38, 10), 16)),
        (STRING, leaf("BYTE_ARRAY", TEXT)),
        (BINARY, leaf("BYTE_ARRAY")),
        (Struct(()), group(leaf("INT32"))),
        (UndefinedType("geometry"), leaf("BYTE_ARRAY")),
        (VOID, leaf("INT32", Annotation("UNKNOWN"))),
    ],
)
def test_listed_form_is_valid(kind: DataType, node: Node) -> None:
    assert get_stored_type(kind, node) == SOUND


@pytest.mark.parametrize(("kind", "bits"), [(SHORT, 8), (INTEGER, 8), (INTEGER, 16)])
def test_narrower_integer_with_the_same_bytes_is_valid(kind: DataType, bits: int) -> None:
    assert get_stored_type(kind, leaf("INT32", integer(bits))) == SOUND


@pytest.mark.parametrize(
    ("kind", "node"),
    [
        (BYTE, leaf("INT32")),
        (BYTE, leaf("INT32", integer(16))),
        (SHORT, leaf("INT32", integer(32))),
        (STRING, leaf("BYTE_ARRAY")),
        (STRING, leaf("BYTE_ARRAY", Annotation("ENUM"))),
        (STRING, leaf("BYTE_ARRAY", Annotation("JSON"))),
        (BINARY, leaf("BYTE_ARRAY", TEXT)),
        (BINARY, leaf("BYTE_ARRAY", Annotation("BSON"))),
        (BINARY, leaf(FIXED, None, 4)),
        (BINARY, leaf(FIXED, Annotation("UUID"), 16)),
        (TIMESTAMP, leaf("INT64", timestamp("MILLIS"))),
        (TIMESTAMP, leaf("INT64", timestamp("NANOS"))),
        (NTZ, leaf("INT64", timestamp("NANOS", utc=False))),
        (NTZ, leaf("INT64", timestamp(converted=True))),
        (Decimal(20, 2), leaf("BYTE_ARRAY", decimal(20, 2))),
        (Array(LONG, True), Node("c", "repeated", "INT64")),
    ],
)
def test_unlisted_readable_form_is_a_warning(kind: DataType, node: Node) -> None:
    found = get_stored_type(kind, node)
    assert found.warning is not None
    assert found.fault is None
    assert found.narrower_type is None


@pytest.mark.parametrize(
    ("kind", "node"),
    [
        (BOOLEAN, leaf("INT32")),
        (BYTE, leaf("INT64")),
        (SHORT, leaf("INT32", integer(8, signed=False))),
        (INTEGER, leaf("INT32", integer(32, signed=False))),
        (INTEGER, leaf("INT64")),
        (LONG, leaf("INT64", integer(64, signed=False))),
        (LONG, leaf("INT32", integer(32, signed=False))),
        (LONG, leaf("INT32", DAYS)),
        (LONG, leaf("INT64", timestamp())),
        (LONG, leaf("INT96")),
        (LONG, leaf("INT64", Annotation("TIME", unit="MICROS", utc=True))),
        (LONG, leaf("BYTE_ARRAY", TEXT)),
        (LONG, leaf("INT64", integer(32))),
        (DATE, leaf("INT32")),
        (DATE, leaf("INT64", timestamp())),
        (TIMESTAMP, leaf("INT64")),
        (TIMESTAMP, leaf("INT64", timestamp(utc=False))),
        (TIMESTAMP, leaf("INT32", DAYS)),
        (NTZ, leaf("INT64", timestamp(utc=True))),
        (FLOAT, leaf("DOUBLE")),
        (FLOAT, leaf(FIXED, Annotation("FLOAT16"), 2)),
        (DOUBLE, leaf("INT64")),
        (STRING, leaf(FIXED, Annotation("UUID"), 16)),
        (STRING, leaf("INT32")),
        (BINARY, leaf(FIXED, Annotation("INTERVAL"), 12)),
        (Decimal(9, 2), leaf("INT32")),
        (Decimal(9, 2), leaf("INT32", decimal(9, 3))),
        (Decimal(9, 2), leaf("INT64", decimal(10, 2))),
        (Decimal(9, 2), leaf("FLOAT")),
        (Decimal(9, 2), leaf("INT32", Annotation("DECIMAL"))),
        (LONG, Node("c", "repeated", "INT64")),
        (LONG, group(leaf("INT64"))),
        (Struct(()), leaf("INT64")),
        (Struct(()), group(leaf("INT64"), annotation="MAP")),
        (Struct(()), group(leaf("INT64"), repeated=True)),
    ],
)
def test_other_form_is_a_fault(kind: DataType, node: Node) -> None:
    assert get_stored_type(kind, node).fault is not None


@pytest.mark.parametrize(
    ("kind", "node", "narrower"),
    [
        (LONG, leaf("INT32"), INTEGER),
        (LONG, leaf("INT32", integer(8)), BYTE),
        (DOUBLE, leaf("FLOAT"), FLOAT),
        (DOUBLE, leaf("INT32", integer(16)), SHORT),
        (NTZ, leaf("INT32", DAYS), DATE),
        (Decimal(10, 2), leaf("INT32", decimal(5, 2)), Decimal(5, 2)),
        (Decimal(10, 4), leaf("INT32", decimal(6, 2)), Decimal(6, 2)),
        (Decimal(12, 2), leaf("INT32"), INTEGER),
        (Decimal(20, 0), leaf("INT64"), LONG),
    ],
)
def test_narrower_type_needs_widening(kind: DataType, node: Node, narrower: DataType) -> None:
    found = get_stored_type(kind, node)
    assert (found.fault, found.warning, found.narrower_type) == (None, None, narrower)


def test_form_without_delta_type() -> None:
    assert find_type(leaf("INT96")) is None
    assert find_type(leaf("INT64", integer(8))) is None
    assert find_type(leaf(FIXED, Annotation("UUID"), 16)) is None


# lists

ELEMENT = Node("element", "optional", "INT64")


def a_list(inner: Node, name: str = "c") -> Node:
    return group(inner, annotation="LIST", name=name)


@pytest.mark.parametrize(
    "node",
    [
        a_list(group(ELEMENT, name="list", repeated=True)),
        a_list(group(Node("item", "optional", "INT64"), name="list", repeated=True)),
        a_list(group(Node("array", "optional", "INT64"), name="bag", repeated=True)),
        a_list(Node("array", "repeated", "INT64")),
    ],
    ids=["three levels", "item", "bag", "two levels"],
)
def test_layouts_of_lists(node: Node) -> None:
    assert get_stored_type(Array(LONG, True), node) == SOUND
    assert get_element_nodes(node)[0].physical == "INT64"


@pytest.mark.parametrize(
    "node",
    [
        group(group(ELEMENT, name="list", repeated=True)),
        a_list(group(ELEMENT, name="list")),
        a_list(leaf("INT64")),
        group(ELEMENT, ELEMENT, annotation="LIST"),
        group(group(ELEMENT, name="list", repeated=True), annotation="MAP"),
        leaf("INT64"),
    ],
)
def test_invalid_lists(node: Node) -> None:
    assert get_stored_type(Array(LONG, True), node).fault is not None


def test_element_of_two_levels_that_is_a_struct() -> None:
    pair = group(leaf("INT32"), Node("d", "optional", "INT32"), name="element", repeated=True)
    assert [each.children for each in get_element_nodes(a_list(pair))] == [pair.children]


@pytest.mark.parametrize("name", ["array", "c_tuple"])
def test_repeated_group_of_one_field_named_as_an_element(name: str) -> None:
    one = group(ELEMENT, name=name, repeated=True)
    first, second = get_element_nodes(a_list(one))
    assert (first.name, first.physical, first.repetition) == (name, None, "required")
    assert second == ELEMENT


def test_repeated_group_of_one_repeated_field_is_the_element() -> None:
    inner = group(Node("x", "repeated", "INT64"), name="list", repeated=True)
    assert [each.name for each in get_element_nodes(a_list(inner))] == ["list"]


# maps

KEY, VALUE = Node("key", "required", "BYTE_ARRAY", TEXT), Node("value", "optional", "INT64")


@pytest.mark.parametrize("outer", ["MAP", "MAP_KEY_VALUE"])
@pytest.mark.parametrize("inner", ["key_value", "map"])
def test_layouts_of_maps(outer: str, inner: str) -> None:
    node = group(group(KEY, VALUE, name=inner, repeated=True), annotation=outer)
    assert get_stored_type(Map(STRING, LONG, True), node) == SOUND
    assert get_map_nodes(node) == (KEY, VALUE)


def test_nullable_map_key_is_a_warning() -> None:
    key = Node("key", "optional", "BYTE_ARRAY", TEXT)
    found = get_stored_type(Map(STRING, LONG, True), group(group(key, VALUE, repeated=True), annotation="MAP"))
    assert (found.fault, found.warning) == (None, "the map key is nullable: optional BYTE_ARRAY STRING")


@pytest.mark.parametrize(
    "node",
    [
        group(group(KEY, VALUE, name="key_value", repeated=True)),
        group(group(KEY, VALUE, name="key_value"), annotation="MAP"),
        group(group(KEY, name="key_value", repeated=True), annotation="MAP"),
        group(Node("key_value", "repeated", "INT64"), annotation="MAP"),
        group(annotation="MAP"),
        leaf("INT64"),
    ],
)
def test_invalid_maps(node: Node) -> None:
    assert get_stored_type(Map(STRING, LONG, True), node).fault is not None


# variants

META = Node("metadata", "required", "BYTE_ARRAY")
VAL = Node("value", "optional", "BYTE_ARRAY")
TYPED = Node("typed_value", "optional", "INT64")


@pytest.mark.parametrize("annotation", [None, "VARIANT"])
@pytest.mark.parametrize("parts", [(META, VAL), (VAL, META), (META, VAL, TYPED), (TYPED, META), (META,)])
def test_forms_of_variants(parts: tuple[Node, ...], annotation: str | None) -> None:
    node = group(*parts, annotation=annotation)
    assert get_stored_type(VARIANT, node) == SOUND
    assert is_shredded(node) == (TYPED in parts or VAL not in parts)


@pytest.mark.parametrize(
    "node",
    [
        group(VAL),
        group(META, META, VAL),
        group(META, VAL, Node("more", "optional", "INT64")),
        group(META, Node("value", "optional", "BYTE_ARRAY", TEXT)),
        group(META, group(VAL, name="value")),
        group(META, VAL, annotation="MAP"),
        leaf("BYTE_ARRAY"),
    ],
)
def test_invalid_variants(node: Node) -> None:
    assert get_stored_type(VARIANT, node).fault is not None


@pytest.mark.parametrize(
    "member",
    [
        group(VAL, name="x"),
        group(VAL, TYPED, name="x"),
        group(TYPED, name="x"),
    ],
)
def test_shredded_members(member: Node) -> None:
    assert get_stored_type(VARIANT, group(META, VAL, group(member, name="typed_value"))) == SOUND


@pytest.mark.parametrize(
    "member",
    [
        group(name="x"),
        group(VAL, VAL, name="x"),
        group(VAL, TYPED, Node("more", "optional", "INT64"), name="x"),
        group(VAL, TYPED, name="x", repeated=True),
        group(VAL, TYPED, name="x", annotation="LIST"),
        Node("x", "optional", "INT64", children=(VAL,)),
        Node("x", "optional", "INT64"),
        group(Node("value", "optional", "BYTE_ARRAY", TEXT), TYPED, name="x"),
    ],
)
def test_invalid_shredded_members(member: Node) -> None:
    found = get_stored_type(VARIANT, group(META, VAL, group(member, name="typed_value")))
    assert found.fault is not None
    assert found.fault.startswith(("x of a shredded value must be a group", "value of x is BYTE_ARRAY STRING"))


def test_node_as_text() -> None:
    assert str(leaf(FIXED, decimal(10, 2), 5)) == "FIXED_LEN_BYTE_ARRAY(5) DECIMAL(10, 2)"
    assert str(leaf("INT32", integer(8, signed=False))) == "INT32 INT(8, unsigned)"
    assert str(leaf("INT64", timestamp(utc=False))) == "INT64 TIMESTAMP(MICROS, no zone)"
    assert str(Node("c", "repeated", "INT64")) == "INT64, repeated"
    assert str(group(annotation="LIST")) == "group LIST"


def test_nullability_is_not_checked() -> None:
    required = Struct((Field("x", LONG, nullable=False),))
    assert get_stored_type(required, group(Node("x", "optional", "INT64"))) == SOUND

"""Schema strings: parsing, validation and serialization. Source: Schema Serialization Format."""

import json
from typing import Any

import pytest

from deltaspec.protocol.json_values import Number
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct, UndefinedType
from deltaspec.protocol.schema.schema_string import (
    KINDS,
    SchemaError,
    SchemaTooDeep,
    TypeChange,
    find_repeated_names,
    find_schema_faults,
    find_void_fault,
    parse_schema,
    read_type_changes,
    render_tree,
    serialize_schema,
    to_json,
)

INTEGER = Primitive("integer")
D = {"name": "d", "type": "integer", "nullable": False, "metadata": {}}


def field(name: str, kind: Any, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def schema_of(*fields: Any) -> str:
    return json.dumps({"type": "struct", "fields": fields})


ARRAY = {"type": "array", "elementType": "long", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}
EXAMPLE = schema_of(
    field("a", "integer", False),
    field("b", {"type": "struct", "fields": [D]}),
    field("c", {"type": "array", "elementType": "integer", "containsNull": False}),
    field("e", {"type": "array", "elementType": {"type": "struct", "fields": [D]}, "containsNull": True}),
    field("f", {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}),
)
"""The example schema of the chapter (V15)."""
EXAMPLE_TREE = """\
|-- a: integer (nullable = false)
|-- b: struct (nullable = true)
|    |-- d: integer (nullable = false)
|-- c: array (nullable = true)
|    |-- element: integer (containsNull = false)
|-- e: array (nullable = true)
|    |-- element: struct (containsNull = true)
|    |    |-- d: integer (nullable = false)
|-- f: map (nullable = true)
|    |-- key: string
|    |-- value: string (valueContainsNull = true)"""


def test_protocol_example_renders_as_its_tree() -> None:
    assert render_tree(parse_schema(EXAMPLE)) == EXAMPLE_TREE


def test_example_as_values() -> None:
    inner = Struct((Field("d", INTEGER, False),))
    assert parse_schema(EXAMPLE) == Struct(
        (
            Field("a", INTEGER, False),
            Field("b", inner, True),
            Field("c", Array(INTEGER, False), True),
            Field("e", Array(inner, True), True),
            Field("f", Map(Primitive("string"), Primitive("string"), True), True),
        )
    )


def test_example_round_trips_as_text() -> None:
    assert json.loads(serialize_schema(parse_schema(EXAMPLE))) == json.loads(EXAMPLE)


def test_whitespace_and_key_order_do_not_matter() -> None:
    spaced = (
        '{ "fields" : [ { "metadata" : { }, "nullable" : true, "type" : "long", "name" : "x" } ], "type" : "struct" }'
    )
    assert parse_schema(spaced) == Struct((Field("x", Primitive("long"), True),))


@pytest.mark.parametrize("name", ["string", "byte", "double", "binary", "timestamp_ntz", "void", "variant"])
def test_primitive_types(name: str) -> None:
    assert parse_schema(schema_of(field("x", name))).fields[0].type == Primitive(name)


@pytest.mark.parametrize(
    ("name", "precision", "scale"),
    [
        ("decimal(5,2)", 5, 2),
        ("decimal( 5 , 2 )", 5, 2),
        ("decimal", 10, 0),
        ("decimal(38,38)", 38, 38),
        ("decimal(1,0)", 1, 0),
    ],
)
def test_decimal_spellings(name: str, precision: int, scale: int) -> None:
    assert parse_schema(schema_of(field("x", name))).fields[0].type == Decimal(precision, scale)


@pytest.mark.parametrize(
    "name",
    [
        "interval day to second",
        "timestamp_nanos",
        "char(3)",
        "varchar(20)",
        "geometry(4326)",
        "string collate UNICODE",
        "null",
    ],
)
def test_undefined_types_are_accepted(name: str) -> None:
    assert parse_schema(schema_of(field("x", name))).fields[0].type == UndefinedType(name)


def test_user_defined_type_is_valid_and_round_trips() -> None:
    vectors = {"type": "udt", "class": "org.example.VectorUDT", "sqlType": "string"}
    schema = parse_schema(schema_of(field("x", vectors)))
    assert schema.fields[0].type == UndefinedType("udt", Primitive("string"))
    assert parse_schema(serialize_schema(schema)) == schema


@pytest.mark.parametrize(
    "members", [{}, {"sqlType": "string", "class": 1}, {"sqlType": "string", "pyClass": {"a": None}}]
)
def test_malformed_user_defined_type_is_undefined(members: dict[str, Any]) -> None:
    schema = parse_schema(schema_of(field("x", {"type": "udt", **members})))
    assert schema.fields[0].type == UndefinedType("udt")


def test_stored_type_of_a_user_defined_type_is_validated() -> None:
    with pytest.raises(SchemaError, match="'text' is not a type"):
        parse_schema(schema_of(field("x", {"type": "udt", "class": None, "sqlType": "text"})))


def test_variant_may_be_written_as_an_object() -> None:
    array = {"type": "array", "elementType": {"type": "variant"}, "containsNull": True}
    schema = parse_schema(schema_of(field("v", array)))
    assert schema.fields[0].type == Array(Primitive("variant"), True)
    assert '"elementType":"variant"' in serialize_schema(schema)


def test_field_without_metadata_is_accepted() -> None:
    assert find_schema_faults('{"type":"struct","fields":[{"name":"x","type":"long","nullable":true}]}') == []


def test_empty_struct_is_a_schema() -> None:
    assert parse_schema('{"type":"struct","fields":[]}') == Struct(())


@pytest.mark.parametrize(
    ("text", "kind", "pointer"),
    [
        ("", "not JSON", ""),
        ("{", "not JSON", ""),
        ('{"type":"struct","fields":[NaN]}', "not JSON", ""),
        ('{"type":"struct","fields":[{"name":"\\ud800"}]}', "lone surrogate", ""),
        ("[]", "not a struct", ""),
        ('"struct"', "not a struct", ""),
        ('{"type":"array","elementType":"long","containsNull":true}', "not a struct", ""),
        ('{"type":"struct"}', "malformed", ""),
        ('{"type":"struct","fields":{}}', "malformed", "/fields"),
        ('{"type":"struct","fields":[1]}', "malformed", "/fields/0"),
        (schema_of({"type": "long", "nullable": True, "metadata": {}}), "malformed", "/fields/0"),
        (schema_of(field(3, "long")), "malformed", "/fields/0/name"),
        (schema_of(field("x", None)), "malformed", "/fields/0/type"),
        (schema_of(field("x", 5)), "malformed", "/fields/0/type"),
        (schema_of(field("x", "long", "yes")), "malformed", "/fields/0/nullable"),
        (schema_of({**D, "metadata": None}), "malformed", "/fields/0/metadata"),
        (schema_of(field("x", {"type": "integer"})), "malformed", "/fields/0/type"),
        (schema_of(field("x", {"type": "array", "elementType": "long"})), "malformed", "/fields/0/type"),
        (schema_of(field("x", {"type": "map", "keyType": "long", "valueType": "long"})), "malformed", "/fields/0/type"),
        (schema_of(field("x", "bigint")), "unknown type", "/fields/0/type"),
        (schema_of(field("x", "Long")), "unknown type", "/fields/0/type"),
        (schema_of(field("x", "decimal(٣,٢)")), "unknown type", "/fields/0/type"),
        (schema_of(field("x", "decimal(39,2)")), "decimal out of range", "/fields/0/type"),
        (schema_of(field("x", "decimal(5,6)")), "decimal out of range", "/fields/0/type"),
        (schema_of(field("x", "decimal(0,0)")), "decimal out of range", "/fields/0/type"),
        (schema_of(field("x", "decimal(5,-2)")), "decimal out of range", "/fields/0/type"),
        (schema_of(field("x", f"decimal({'9' * 50},2)")), "decimal out of range", "/fields/0/type"),
        (
            schema_of(D, field("m", {**MAP, "valueType": {**ARRAY, "elementType": "int"}})),
            "unknown type",
            "/fields/1/type/valueType/elementType",
        ),
    ],
)  # fmt: skip
def test_fault_has_kind_and_pointer(text: str, kind: str, pointer: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert (caught.value.kind, caught.value.pointer) == (kind, pointer)
    assert kind in KINDS


def test_all_faults_are_reported_in_order() -> None:
    text = schema_of(
        field("x", "int"),
        7,
        field("y", {"type": "array", "elementType": "decimal(40,1)"}),
        {"name": "z", "type": "long", "metadata": {}},
    )
    assert [(fault.kind, fault.pointer) for fault in find_schema_faults(text)] == [
        ("unknown type", "/fields/0/type"),
        ("malformed", "/fields/1"),
        ("decimal out of range", "/fields/2/type/elementType"),
        ("malformed", "/fields/2/type"),
        ("malformed", "/fields/3"),
    ]


def test_erratum_nested_id_examples_are_invalid_schemas() -> None:
    """E16: the example writes `int`, and leaves out `containsNull` and `nullable`."""
    col1 = {"type": "array", "elementType": {"type": "array", "elementType": "int"}}
    found = find_schema_faults(schema_of({"name": "col1", "type": col1, "metadata": {}}))
    assert [(fault.kind, fault.pointer) for fault in found] == [
        ("unknown type", "/fields/0/type/elementType/elementType"),
        ("malformed", "/fields/0/type/elementType"),
        ("malformed", "/fields/0/type"),
        ("malformed", "/fields/0"),
    ]


def _array_of_depth(depth: int) -> str:
    opening = '{"type":"array","containsNull":true,"elementType":' * depth
    return (
        '{"type":"struct","fields":[{"name":"x","nullable":true,"metadata":{},"type":'
        + opening
        + '"long"'
        + "}" * depth
        + "}]}"
    )


def test_deep_schema_is_read() -> None:
    kind: DataType = parse_schema(_array_of_depth(150)).fields[0].type
    depth = 0
    while isinstance(kind, Array):
        kind, depth = kind.element, depth + 1
    assert (kind, depth) == (Primitive("long"), 150)


@pytest.mark.parametrize("text", [_array_of_depth(201), _array_of_depth(100_000), "[" * 1_000_000])
def test_schema_beyond_our_limit_is_only_too_deep(text: str) -> None:
    with pytest.raises(SchemaTooDeep) as caught:
        parse_schema(text)
    assert caught.value.kind == "too deep"


def test_brackets_in_names_do_not_nest() -> None:
    assert parse_schema(schema_of(field("[" * 5000 + '\\"', "long"))).fields[0].name == "[" * 5000 + '\\"'


def test_metadata_numbers_keep_their_lexeme() -> None:
    text = (
        '{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{"a":1.10,"b":[1e400,-0],"c":'
        + "9" * 5000
        + "}}]}"
    )
    schema = parse_schema(text)
    assert serialize_schema(schema) == text
    assert to_json(schema)["fields"][0]["metadata"] == {"a": 1.1, "b": ["1e400", 0], "c": "9" * 5000}


def test_metadata_of_spark_and_delta_is_kept() -> None:
    metadata = {
        "comment": 'say "hi"\n',
        "__CHAR_VARCHAR_TYPE_STRING": "varchar(5)",
        "delta.identity.start": 1,
        "none": None,
    }
    schema = parse_schema(schema_of(field("x", "string", **metadata)))
    assert schema.fields[0].metadata == {**metadata, "delta.identity.start": Number("1")}
    assert json.loads(serialize_schema(schema))["fields"][0]["metadata"] == metadata


def test_protocol_invariant_is_an_expression_within_json() -> None:
    """V21: the value is itself a JSON string."""
    text = r"""{"type":"struct","fields":[{"name":"x","type":"integer","nullable":true,
        "metadata":{"delta.invariants":"{\"expression\": { \"expression\": \"x > 3\"} }"}}]}"""
    invariant = parse_schema(text).fields[0].metadata["delta.invariants"]
    assert json.loads(invariant) == {"expression": {"expression": "x > 3"}}


VOID, LONG = Primitive("void"), Primitive("long")


def columns(**types: DataType) -> Struct:
    return Struct(tuple(Field(name, kind, True) for name, kind in types.items()))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (columns(a=VOID, b=VOID), "all columns are void"),
        (columns(a=LONG, s=columns(x=VOID)), "all fields of s are void"),
        (columns(a=LONG, s=columns(x=LONG, t=columns(y=VOID, z=VOID))), "all fields of s.t are void"),
        (columns(a=LONG, c=Array(VOID, True)), "c.element is void inside an array or a map"),
        (columns(a=LONG, c=Map(LONG, VOID, True)), "c.value is void inside an array or a map"),
        (columns(a=LONG, c=Map(VOID, LONG, True)), "c.key is void inside an array or a map"),
        (columns(a=LONG, c=Array(columns(x=LONG, y=VOID), True)), "c.element.y is void inside an array or a map"),
    ],
)
def test_void_that_prevents_adding_files(schema: Struct, why: str) -> None:
    fault = find_void_fault(schema)
    assert fault is not None
    assert fault[1] == why


@pytest.mark.parametrize(
    "schema",
    [
        columns(),
        columns(a=LONG, b=VOID),
        columns(a=LONG, s=columns(x=VOID, y=LONG)),
        columns(a=LONG, s=columns()),
        columns(a=VOID, s=columns(x=LONG)),
        columns(a=LONG, c=Array(LONG, True)),
    ],
)
def test_void_that_is_omitted_from_files(schema: Struct) -> None:
    assert find_void_fault(schema) is None


def test_repeated_names_ignore_case_within_a_struct_only() -> None:
    inner = {"type": "struct", "fields": [field("X", "long"), field("x", "long"), field("y", "long")]}
    array = {"type": "array", "elementType": inner, "containsNull": True}
    mapped = {"type": "map", "keyType": inner, "valueType": inner, "valueContainsNull": True}
    schema = parse_schema(schema_of(field("x", array), field("y", "long"), field("Y", mapped)))
    assert find_repeated_names(schema) == ["x.element.x", "Y", "Y.key.x", "Y.value.x"]


def test_type_changes_of_the_protocol_example() -> None:
    """V26: a decimal that grew, a map's value that changed twice; a space after the comma (E31)."""
    column = Field(
        "c",
        Decimal(10, 4),
        True,
        {"delta.typeChanges": [{"fromType": "decimal(6, 2)", "toType": "decimal(10, 4)", "tableVersion": Number("5")}]},
    )
    assert read_type_changes(column) == [TypeChange(Decimal(6, 2), Decimal(10, 4))]
    below = {"fromType": "short", "toType": "integer", "fieldPath": "element.value"}
    assert read_type_changes(Field("c", INTEGER, True, {"delta.typeChanges": [below]})) == [
        TypeChange(Primitive("short"), INTEGER, ("element", "value"))
    ]
    assert read_type_changes(Field("c", INTEGER, True)) == []


@pytest.mark.parametrize(
    "changes",
    [
        "long",
        [1],
        [{"fromType": "short"}],
        [{"fromType": "short", "toType": "int"}],
        [{"fromType": "short", "toType": "long", "fieldPath": "items"}],
        [{"fromType": "short", "toType": "long", "fieldPath": 3}],
    ],
)
def test_malformed_type_changes_are_a_fault(changes: Any) -> None:
    with pytest.raises(SchemaError):
        read_type_changes(Field("c", Primitive("long"), True, {"delta.typeChanges": changes}))

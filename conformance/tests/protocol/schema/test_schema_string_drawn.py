"""Round trips of drawn schemas, and parsing of arbitrary text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct
from deltaspec.protocol.schema.schema_string import (
    KINDS,
    SchemaError,
    find_schema_faults,
    parse_schema,
    render_tree,
    serialize_schema,
    to_json,
)

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
metadata_values = st.dictionaries(
    names, st.recursive(st.none() | st.booleans() | names, st.lists, max_leaves=3), max_size=2
)
plain_types = st.sampled_from(["string", "long", "variant", "void", "timestamp_ntz"]).map(Primitive) | st.integers(
    1, 38
).flatmap(lambda precision: st.builds(Decimal, st.just(precision), st.integers(0, precision)))


def structs(kinds: st.SearchStrategy[DataType]) -> st.SearchStrategy[Struct]:
    fields = st.builds(Field, names, kinds, st.booleans(), metadata_values)
    return st.builds(Struct, st.lists(fields, max_size=3).map(tuple))


data_types = st.recursive(
    plain_types,
    lambda kinds: st.builds(Array, kinds, st.booleans()) | st.builds(Map, kinds, kinds, st.booleans()) | structs(kinds),
    max_leaves=8,
)


@settings(deadline=None)
@given(structs(data_types))
def test_schemas_round_trip(schema: Struct) -> None:
    text = serialize_schema(schema)
    again = parse_schema(text)
    assert again == schema
    assert [field.metadata for field in again.fields] == [field.metadata for field in schema.fields]
    assert json.loads(text) == to_json(schema)
    assert render_tree(schema).count("|-- ") >= len(schema.fields)


json_documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["struct", "array", "map", "long", "decimal(9,9)", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "fields",
                    "name",
                    "nullable",
                    "metadata",
                    "elementType",
                    "containsNull",
                    "keyType",
                    "valueType",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(json_documents.map(json.dumps) | st.text(max_size=30))
def test_any_text_is_a_schema_or_has_faults(text: str) -> None:
    found = find_schema_faults(text)
    if found:
        with pytest.raises(SchemaError) as caught:
            parse_schema(text)
        assert str(caught.value) == str(found[0])
        assert {fault.kind for fault in found} <= set(KINDS)
    else:
        assert find_schema_faults(serialize_schema(parse_schema(text))) == []

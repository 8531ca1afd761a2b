"""Tests of `deltaspec.views.table.schema_columns`."""

import json
import pickle
from typing import Any

import pytest

from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import SchemaError, parse_schema
from deltaspec.views.table.schema_columns import ColumnCache, SchemaReader, select_special_columns


def _encode(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def _field(name: str, kind: Any = "long", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


_ARRAY = {"type": "array", "elementType": "long", "containsNull": True}
_NESTED = {"type": "struct", "fields": [_field("inner", _ARRAY)]}
_A, _B = _field("a"), _field("b", _NESTED, **{"delta.columnMapping.id": 2})
_FIRST = _encode(_A, _B)
TEXTS = {
    "a column more": _encode(_A, _B, _field("c")),
    "another order": _encode(_B, _A),
    "no column": _encode(),
    "other metadata": _encode(_A, _field("b", _NESTED, **{"delta.columnMapping.id": 3})),
    "the same column twice": _encode(_A, _A, _B),
    "spaces": json.dumps({"type": "struct", "fields": [_A, _B]}),
    "another order of keys": json.dumps({"fields": [_A, _B], "type": "struct"}, separators=(",", ":")),
    "a key more": _FIRST[:-1] + ',"more":1}',
    "a repeated key": _FIRST[:-1] + ',"fields":[]}',
    "numbers keep their lexeme": _FIRST.replace('mapping.id":2', 'mapping.id":2.0'),
    "unknown type": _encode(_A, _field("c", "nonsense")),
    "new column is malformed": _encode(_A, {"name": "c"}),
    "new column is not an object": _encode(_A, _B)[:-2] + ",1]}",
    "lone surrogate": _encode(_A, _field("\ud800")),
    "control character in a string": _FIRST.replace('"b"', '"b\n"'),
    "too deep": _FIRST[:-2] + "," + "[" * 300 + "]" * 300 + "]}",
    "cut": _FIRST[:-1],
    "text after the end": _FIRST + "]}",
    "not a struct": '{"type":"array","fields":[]}',
}


def _parse(parse: Any, text: str) -> str:
    """Return the result with column metadata, which `==` ignores, or the error."""
    try:
        return repr(parse(text))
    except SchemaError as error:
        return f"{error.kind}: {error}"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_reader_returns_what_the_parser_returns(text: str) -> None:
    reader = SchemaReader()
    for each in (_FIRST, text, text, _FIRST, text):
        assert _parse(reader.parse, each) == _parse(parse_schema, each)


def test_reader_keeps_columns_whose_text_did_not_change() -> None:
    reader = SchemaReader()
    first, second = reader.parse(_FIRST), reader.parse(_encode(_field("c"), _B))
    assert second.fields[1] is first.fields[1]
    assert second.fields[0] not in first.fields


def test_cache_computes_only_columns_that_changed() -> None:
    computed = []

    def compute(schema: Struct, suffix: str) -> str:
        (column,) = schema.fields
        computed.append(column.name)
        return column.name + suffix

    reader, cache = SchemaReader(), ColumnCache(compute)
    columns = [_field(f"c{number}") for number in range(100)]
    for count in range(1, 101):
        names = [f"c{number}!" for number in range(count)]
        assert cache.collect(reader.parse(_encode(*columns[:count])), "!") == names
    assert len(computed) == 100
    assert cache.collect(reader.parse(_encode(*columns[50:], *columns[:10])), "!") == [*names[50:], *names[:10]]
    assert len(computed) == 100
    other = _field("c50", "string")
    assert cache.collect(reader.parse(_encode(*columns[51:], other)), "!") == [*names[51:], "c50!"]
    assert len(computed) == 101
    assert cache.collect(reader.parse(_encode(columns[51])), "?") == ["c51?"]
    assert len(computed) == 102


def test_cache_does_not_confuse_columns_after_unpickling() -> None:
    cache = ColumnCache(repr)
    cache.collect(parse_schema(_FIRST))
    copy = pickle.loads(pickle.dumps(cache))
    for text in (_FIRST, *(each for name, each in TEXTS.items() if name in ("a column more", "another order"))):
        schema = parse_schema(text)
        assert copy.collect(schema) == [repr(Struct((each,))) for each in schema.fields], f"{text=}"


def test_columns_of_common_types_without_metadata_are_not_special() -> None:
    kinds = ["long", "void", "variant", "timestamp_ntz", _NESTED, "string", "decimal(3,1)", "interval year"]
    schema = parse_schema(_encode(*(_field(str(each)[:9], each) for each in kinds), _field("m", comment="")))
    special = [each.name for each in select_special_columns(schema).fields]
    assert special == ["void", "variant", "timestamp", str(_NESTED)[:9], "decimal(3", "interval ", "m"]


def test_special_columns_of_equal_schemas_with_other_metadata_differ() -> None:
    with_comment, plain = parse_schema(_encode(_field("m", comment="x"))), parse_schema(_encode(_field("m")))
    assert with_comment == plain
    for schema, special in ((with_comment, 1), (plain, 0), (plain, 0), (with_comment, 1)):
        assert len(select_special_columns(schema).fields) == special

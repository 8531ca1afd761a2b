"""Shredded variants: locations of values, with Parquet's own example and others."""

from collections.abc import Iterable

import pytest

from deltaspec.model.rows.variant_encoding import read_metadata
from deltaspec.model.rows.variant_shredding import (
    Pair,
    Typed,
    find_encoding_faults,
    find_shredded_type,
    find_values_stored_twice,
)
from deltaspec.model.schema.data_types import Primitive
from deltaspec.model.schema.parquet_types import Annotation, Node, get_stored_type

METADATA = b"\x01\x03\x00\x0a\x12\x17event_typeevent_tsemail"
NAMES = read_metadata(METADATA)
NUMBER, TEXT, NULL = b"\x0c\x05", b"\x0dabc", b"\x00"
EMAIL = bytes([2, 1, 2, 0, 4]) + TEXT
"""{"email": "abc"}"""
LATE = bytes([2, 1, 1, 0, 4]) + TEXT
"""{"event_ts": "abc"}"""
NOTHING = Pair(None, None)


def scalar(kind: str) -> Pair:
    return Pair(None, kind)


@pytest.mark.parametrize(
    ("pair", "twice"),
    [
        (Pair(None, {"event_type": scalar("string"), "event_ts": scalar("timestamp")}), []),
        (Pair(EMAIL, {"event_type": scalar("string")}), []),
        (Pair(EMAIL, {}), []),
        (Pair(TEXT, None), []),
        (Pair(None, {"event_ts": Pair(TEXT, None)}), []),
        (Pair(None, {"event_type": Pair(NULL, None)}), []),
        (Pair(LATE, {"event_ts": scalar("timestamp")}), ["field event_ts"]),
        (Pair(LATE, {"event_ts": Pair(TEXT, None)}), ["field event_ts"]),
        (Pair(NUMBER, "exact number"), ["a value"]),
        (Pair(TEXT, {"event_type": scalar("string")}), ["a value"]),
        (Pair(EMAIL, [scalar("string")]), ["a value"]),
        (Pair(None, [scalar("string"), Pair(NUMBER, "exact number")]), ["a value"]),
        (Pair(None, {"email": Pair(NUMBER, "string")}), ["a value"]),
    ],
)
def test_values_stored_twice_are_found(pair: Pair, twice: list[str]) -> None:
    assert list(find_values_stored_twice(pair, NAMES)) == twice


def test_every_encoded_value_is_checked() -> None:
    pair = Pair(EMAIL, {"event_type": Pair(b"\x05\xff", None), "event_ts": Pair(None, [Pair(b"", None)])})
    assert len(list(find_encoding_faults(pair, NAMES))) == 2
    assert list(find_encoding_faults(Pair(EMAIL, {"event_ts": Pair(NUMBER, None)}), NAMES)) == []


@pytest.mark.parametrize(
    ("pair", "path", "expected"),
    [
        (scalar("double"), (), "double"),
        (Pair(NUMBER, None), (), "exact number"),
        (NOTHING, (), None),
        (Pair(NULL, None), (), None),
        (Pair(None, {}), (), "object"),
        (Pair(None, []), (), "array"),
        (Pair(EMAIL, {"event_ts": scalar("timestamp")}), ("event_ts",), "timestamp"),
        (Pair(EMAIL, {"event_ts": scalar("timestamp")}), ("email",), "string"),
        (Pair(EMAIL, {"event_ts": Pair(EMAIL, None)}), ("event_ts", "email"), "string"),
        (Pair(EMAIL, {"event_ts": scalar("timestamp")}), ("event_ts", "email"), None),
        (Pair(None, [scalar("string"), Pair(NUMBER, None)]), (1,), "exact number"),
        (Pair(None, [scalar("string")]), (1,), None),
        (Pair(None, {"event_ts": scalar("timestamp")}), ("email",), None),
    ],
)
def test_type_at_a_path(pair: Pair, path: tuple[str | int, ...], expected: str | None) -> None:
    assert find_shredded_type(METADATA, pair, path) == expected


def node(name: str, physical: str | None = None, children: Iterable[Node] = (), annotation: str | None = None) -> Node:
    logical_type = Annotation(annotation) if annotation else None
    return Node(name, "optional", physical, logical_type, children=tuple(children))


def variant(typed: Node) -> Node:
    return node("v", None, [node("metadata", "BYTE_ARRAY"), node("value", "BYTE_ARRAY"), typed])


def pair(name: str, typed: Node | None = None) -> Node:
    return node(name, None, [node("value", "BYTE_ARRAY"), *([typed] if typed else [])])


def listed(element: Node) -> Node:
    return node("typed_value", None, [Node("list", "repeated", children=(element,))], "LIST")


LONG = node("typed_value", "INT64")


@pytest.mark.parametrize(
    "typed",
    [
        LONG,
        node("typed_value", "FIXED_LEN_BYTE_ARRAY", annotation="UUID"),
        node("typed_value", "INT64", annotation="TIME"),
        node("typed_value", None, [pair("a", LONG), pair("b")]),
        node("typed_value", None, [pair("a", node("typed_value", None, [pair("b", LONG)]))]),
        listed(pair("element", LONG)),
        listed(pair("element", listed(pair("element")))),
    ],
)
def test_forms_of_shredded_values(typed: Node) -> None:
    assert get_stored_type(Primitive("variant"), variant(typed)).fault is None


@pytest.mark.parametrize(
    "typed",
    [
        node("typed_value", "INT96"),
        node("typed_value", "INT32", annotation="INTERVAL"),
        node("typed_value", None, [node("a", "INT64")]),
        node("typed_value", None, [node("a", None, [node("value", "BYTE_ARRAY"), node("more", "INT64")])]),
        node("typed_value", None, [pair("a", node("typed_value", "INT96"))]),
        node("typed_value", None, [pair("a")], "MAP"),
        node("typed_value", None, [pair("a")], "LIST"),
        listed(node("element", "INT64")),
    ],
)
def test_invalid_forms_of_shredded_values(typed: Node) -> None:
    assert get_stored_type(Primitive("variant"), variant(typed)).fault is not None


def test_values_in_one_location_are_not_stored_twice() -> None:
    forms: list[Typed] = ["string", {"a": NOTHING}, [NOTHING], None]
    assert [list(find_values_stored_twice(Pair(None, each), NAMES)) for each in forms] == [[], [], [], []]

"""Shredded variants: the rules of their columns, with Parquet's own examples and others, and their values."""

from collections.abc import Iterable
from typing import Any

import pytest

from deltaspec.protocol.schema.data_types import Primitive
from deltaspec.protocol.schema.parquet_types import Annotation, Node, get_stored_type
from deltaspec.protocol.variants.encoding import VariantError, read_metadata, read_value
from deltaspec.protocol.variants.shredding import (
    CHECKS,
    STORED_ONCE,
    Pair,
    Shape,
    find_encoding_faults,
    find_shredding_faults,
    read_shredded_value,
)
from deltaspec.protocol.variants.values import Scalar

METADATA = b"\x01\x03\x00\x0a\x12\x17event_typeevent_tsemail"
NAMES = read_metadata(METADATA)
NUMBER, TEXT, NULL = b"\x0c\x05", b"\x0dabc", b"\x00"
EMAIL = bytes([2, 1, 2, 0, 4]) + TEXT
"""{"email": "abc"}"""
LATE = bytes([2, 1, 1, 0, 4]) + TEXT
"""{"event_ts": "abc"}"""
EMPTY_OBJECT, EMPTY_ARRAY = bytes([2, 0, 0]), bytes([3, 0, 0])
NOTHING = Pair(None, None)
EVENT = Shape("object", frozenset({"event_type", "event_ts"}))
SCALAR, LIST = Shape("scalar"), Shape("array")


def scalar(value: Any = "x", kind: str = "string") -> Pair:
    return Pair(None, Scalar(kind, value.encode() if kind == "string" else value), SCALAR)


def event(value: bytes | None = None, **fields: Pair) -> Pair:
    return Pair(value, {name: fields.get(name, NOTHING) for name in sorted(EVENT.names)}, EVENT)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (event(event_type=scalar(), event_ts=scalar(7, "timestamp")), {}),
        (event(EMAIL, event_type=scalar()), {}),
        (event(EMAIL), {}),
        (event(), {}),
        (Pair(TEXT, None, EVENT), {}),
        (Pair(NULL, None, EVENT), {}),
        (Pair(EMPTY_ARRAY, None, EVENT), {}),
        (Pair(EMPTY_OBJECT, None, LIST), {}),
        (Pair(NUMBER, None, SCALAR), {}),
        (Pair(EMAIL, None), {}),
        (event(event_type=Pair(NULL, None, SCALAR)), {}),
        (Pair(None, [scalar(), Pair(NULL, None, SCALAR)], LIST), {}),
        (event(LATE, event_ts=scalar(7, "timestamp")), {STORED_ONCE: "field event_ts"}),
        (event(LATE), {STORED_ONCE: "field event_ts"}),
        (event(TEXT), {STORED_ONCE: "the value"}),
        (Pair(NUMBER, Scalar("exact number", 5), SCALAR), {STORED_ONCE: "the value"}),
        (Pair(EMAIL, [scalar()], LIST), {STORED_ONCE: "the value"}),
        (Pair(None, [scalar(), Pair(NUMBER, Scalar("exact number", 5), SCALAR)], LIST), {STORED_ONCE: "an element"}),
        (event(event_ts=Pair(NUMBER, Scalar("string", b""), SCALAR)), {STORED_ONCE: "field event_ts"}),
        (
            Pair(EMPTY_OBJECT, None, EVENT),
            {"variant-shredding.objects-typed": "the value is an object, and typed_value is null"},
        ),
        (
            event(event_ts=Pair(EMAIL, None, EVENT)),
            {"variant-shredding.objects-typed": "field event_ts is an object, and typed_value is null"},
        ),
        (
            Pair(EMPTY_ARRAY, None, LIST),
            {"variant-shredding.arrays-typed": "the value is an array, and typed_value is null"},
        ),
        (Pair(None, None, SCALAR), {"variant-shredding.present": "value and typed_value of the value are null"}),
        (
            Pair(None, [scalar(), Pair(None, None, SCALAR)], LIST),
            {"variant-shredding.present": "value and typed_value of an element are null"},
        ),
        (
            Pair(None, {"other": scalar(), "another": NOTHING}, Shape("object", frozenset({"other", "another"}))),
            {"variant-shredding.names-in-metadata": "field other is not in the metadata"},
        ),
    ],
)
def test_rules_of_rows(pair: Pair, expected: dict[str, str]) -> None:
    assert dict(find_shredding_faults(pair, NAMES)) == expected


def test_every_rule_has_a_row_that_breaks_it() -> None:
    (parameters,) = (each for each in test_rules_of_rows.pytestmark if each.name == "parametrize")  # type: ignore[attr-defined]
    assert {requirement for _, expected in parameters.args[1] for requirement in expected} == set(CHECKS)


def test_every_encoded_value_is_checked() -> None:
    pair = event(EMAIL, event_type=Pair(b"\x05\xff", None), event_ts=Pair(None, [Pair(b"", None)], LIST))
    assert len(list(find_encoding_faults(pair, NAMES))) == 2
    assert list(find_encoding_faults(event(EMAIL, event_ts=Pair(NUMBER, None)), NAMES)) == []


def test_shredded_strings_are_utf_8() -> None:
    broken = Pair(None, Scalar("string", b"\xff"), SCALAR)
    assert list(find_encoding_faults(event(event_type=broken), NAMES)) == ["a string in a typed column is not UTF-8"]


@pytest.mark.parametrize(
    ("pair", "encoded"),
    [
        (scalar("abc"), TEXT),
        (Pair(TEXT, None, SCALAR), TEXT),
        (event(EMAIL), EMAIL),
        (event(event_ts=scalar("abc")), LATE),
        (event(event_ts=Pair(TEXT, None, SCALAR)), LATE),
        (event(), EMPTY_OBJECT),
        (Pair(None, [], LIST), EMPTY_ARRAY),
        (Pair(None, [scalar("abc"), Pair(NULL, None, SCALAR)], LIST), bytes([3, 2, 0, 4, 5]) + TEXT + NULL),
    ],
)
def test_shredded_values_equal_encoded_ones(pair: Pair, encoded: bytes) -> None:
    assert read_shredded_value(pair, NAMES) == read_value(encoded, NAMES)


def test_missing_value() -> None:
    assert read_shredded_value(Pair(None, None, SCALAR), NAMES) is None


@pytest.mark.parametrize(
    "pair",
    [
        Pair(NUMBER, Scalar("exact number", 5), SCALAR),
        event(TEXT),
        event(LATE),
        Pair(EMAIL, [scalar()], LIST),
        Pair(None, [NOTHING], LIST),
    ],
)
def test_contradicting_columns_have_no_value(pair: Pair) -> None:
    with pytest.raises(VariantError):
        read_shredded_value(pair, NAMES)


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
        Node("typed_value", "optional", "FIXED_LEN_BYTE_ARRAY", Annotation("UUID"), length=16),
        Node("typed_value", "optional", "INT64", Annotation("TIME", unit="MICROS", utc=False)),
        Node("typed_value", "optional", "INT64", Annotation("TIMESTAMP", unit="NANOS", utc=True)),
        Node("typed_value", "optional", "INT32", Annotation("INTEGER", bits=8, signed=True)),
        Node("typed_value", "optional", "BYTE_ARRAY", Annotation("DECIMAL", precision=38, scale=38)),
        Node("typed_value", "optional", "INT32", Annotation("DECIMAL", precision=9, scale=0)),
        *(node("typed_value", each) for each in ("BOOLEAN", "FLOAT", "DOUBLE", "BYTE_ARRAY")),
        *(node("typed_value", each, annotation=name) for each, name in (("BYTE_ARRAY", "STRING"), ("INT32", "DATE"))),
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
        node("typed_value", None, [Node("list", "repeated", children=pair("element", LONG).children)], "LIST"),
        node("typed_value", None, [pair("a", LONG), pair("a")]),
        node("typed_value", None, [node("a", None, [node("value", "INT64")])]),
        Node("typed_value", "repeated", "INT64"),
        node("typed_value", "FIXED_LEN_BYTE_ARRAY"),
        node("typed_value", "BYTE_ARRAY", annotation="JSON"),
        Node("typed_value", "optional", "INT64", Annotation("TIMESTAMP", unit="MILLIS", utc=True)),
        Node("typed_value", "optional", "INT64", Annotation("TIME", unit="NANOS", utc=False)),
        Node("typed_value", "optional", "INT32", Annotation("TIME", unit="MILLIS", utc=False)),
        Node("typed_value", "optional", "INT32", Annotation("INTEGER", bits=8, signed=False)),
        Node("typed_value", "optional", "INT32", Annotation("DECIMAL", precision=10, scale=0)),
        Node("typed_value", "optional", "BYTE_ARRAY", Annotation("DECIMAL", precision=39, scale=0)),
        Node("typed_value", "optional", "FIXED_LEN_BYTE_ARRAY", Annotation("FLOAT16"), length=2),
        Node("typed_value", "optional", "FIXED_LEN_BYTE_ARRAY", Annotation("UUID"), length=15),
    ],
)
def test_invalid_forms_of_shredded_values(typed: Node) -> None:
    assert get_stored_type(Primitive("variant"), variant(typed)).fault is not None

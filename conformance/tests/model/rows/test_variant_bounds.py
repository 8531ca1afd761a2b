"""Bounds of variant columns. Source: Statistics for Variant Columns (current)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.model.rows import z85
from deltaspec.model.rows.variant_bounds import (
    AmbiguousVariantBound,
    VariantBoundError,
    find_type_mismatches,
    read_variant_bound,
)


def metadata(*names: str) -> bytes:
    """Version 1, offsets of one byte."""
    ends = [sum(len(name.encode()) for name in names[:count]) for count in range(len(names) + 1)]
    return bytes([1, len(names), *ends]) + "".join(names).encode()


def an_object(*values: bytes, ids: tuple[int, ...] | None = None) -> bytes:
    """Ids and offsets of one byte."""
    ends = [sum(map(len, values[:count])) for count in range(len(values) + 1)]
    return bytes([2, len(values), *(ids or range(len(values))), *ends]) + b"".join(values)


def text_of(data: bytes) -> str:
    return z85.encode(data + b"\0" * (-len(data) % 4))


A, B = "$['a']", "$['b']['c']"
STRING, INT8, INT64 = b"\x0dabc", b"\x0c\x05", b"\x18" + (2**40).to_bytes(8, "little")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0rJl95HpNdvjbtatpi(cu0wW^cTu=P0096c4jMddzy]{KA+PA73&{td", {A: "string", B: "exact number"}),
        ("0rJl95HpNdvjbtatpi(cu0wW^cTu=P009693lsp#A+O%1BpqWW", {A: "string", B: "exact number"}),
        (text_of(metadata() + an_object()), {}),
        (text_of(metadata("$") + an_object(INT64)), {"$": "exact number"}),
        (text_of(metadata("$['x'][3]['y']") + an_object(b"\x1c" + bytes(8))), {"$['x'][3]['y']": "double"}),
        (text_of(metadata(r"$['it\'s']") + an_object(b"\x04")), {r"$['it\'s']": "boolean"}),
        (text_of(metadata("$['é']") + an_object(b"\x40\x02\0\0\0ab")), {"$['é']": "string"}),
        (text_of(metadata("unused", A) + an_object(b"\x2c" + bytes(4), ids=(1,))), {A: "date"}),
    ],
)
def test_types_of_the_bounds_by_path(text: str, expected: dict[str, str]) -> None:
    assert read_variant_bound(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (5, "not a string"),
        ({"$['a']": 1}, "not a string"),
        ("", "is truncated"),
        ("00000", "metadata of version 0"),
        (text_of(metadata(A) + INT8), "not an object but exact number"),
        (text_of(metadata(A) + b"\x03\x00\x00"), "not an object but array"),
        (text_of(metadata("a") + an_object(INT8)), "'a' is not a normalized path"),
        (text_of(metadata("$.a") + an_object(INT8)), "not a normalized path"),
        (text_of(metadata('$["a"]') + an_object(INT8)), "not a normalized path"),
        (text_of(metadata("$['a'][01]") + an_object(INT8)), "not a normalized path"),
        (text_of(metadata(A) + an_object(an_object(INT8))), "has object as a bound"),
        (text_of(metadata(A) + an_object(b"\x03\x00\x00")), "has array as a bound"),
        (text_of(metadata(A) + an_object(b"\xfc" + bytes(20))), "type 63"),
        (text_of(metadata(A) + an_object(INT8, ids=(7,))), "beyond the field names"),
        (text_of(metadata(A)), "is not an object but null"),
        (text_of(b"\x01\xff\x00\x00"), "is truncated"),
        (text_of(b"\x01\x01\x00\x02\xff\xfe\x02\x00"), "not UTF-8"),
    ],
)
def test_invalid_bounds_are_refused(text: Any, reason: str) -> None:
    with pytest.raises(VariantBoundError, match=reason) as caught:
        read_variant_bound(text)
    assert not isinstance(caught.value, AmbiguousVariantBound)


@pytest.mark.parametrize("text", ["0" * 53, "0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu", "\x00" * 5])
def test_erratum_example_is_not_z85(text: str) -> None:
    """E18: the bounds printed in the protocol have 53 and 49 characters."""
    with pytest.raises(AmbiguousVariantBound):
        read_variant_bound(text)


def test_erratum_example_has_the_value_first() -> None:
    """E18: the decoded characters, padded to a multiple of five."""
    with pytest.raises(AmbiguousVariantBound, match="value before the metadata"):
        read_variant_bound(text_of(an_object(INT8) + metadata(A)))


def test_number_widths_are_one_type() -> None:
    low = read_variant_bound(text_of(metadata(A) + an_object(INT8)))
    high = read_variant_bound(text_of(metadata(A, B) + an_object(INT64, STRING)))
    assert find_type_mismatches(low, high) == []
    assert find_type_mismatches(low, {A: "string", B: "double"}) == [
        "$['a']: minimum is exact number, maximum is string"
    ]


@given(st.binary(max_size=60))
def test_any_bytes_are_a_bound_or_refused(data: bytes) -> None:
    for text in (text_of(data), text_of(metadata(A) + data), text_of(metadata(A) + b"\x02" + data)):
        try:
            found = read_variant_bound(text)
        except VariantBoundError:
            continue
        assert all(path.startswith("$") for path in found)

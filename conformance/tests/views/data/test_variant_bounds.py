"""Bounds of variant columns. Source: Statistics for Variant Columns (current)."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.files import z85
from deltaspec.protocol.variants.values import Scalar, Value
from deltaspec.views.data.variant_bounds import (
    AmbiguousVariantBound,
    PathValues,
    VariantBoundError,
    find_contradiction,
    find_loose_bound,
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
    assert {path: bound.kind for path, bound in read_variant_bound(text).items()} == expected


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
    assert find_type_mismatches(low, {A: Scalar("string", b""), B: Scalar("double", 1.0)}) == [
        "$['a']: minimum is exact number, maximum is string"
    ]


@given(st.binary(max_size=60))
def test_any_bytes_are_a_bound_or_refused(data: bytes) -> None:
    for text in (text_of(data), text_of(metadata(A) + data), text_of(metadata(A) + b"\x02" + data)):
        try:
            found = read_variant_bound(text)
        except VariantBoundError:
            continue
        assert [path for path in found if not path.startswith("$")] == [], f"{text=}"


# bounds and values


def collect(*values: Value | None) -> PathValues:
    found = PathValues()
    for value in values:
        found.add(value, valid=True)
    return found


def number(value: Any) -> Scalar:
    return Scalar("exact number", value)


def text(value: str) -> Scalar:
    return Scalar("string", value.encode())


SECOND = 10**9
NAN = Scalar("double", math.nan)


@pytest.mark.parametrize(
    ("minimum", "maximum", "values", "contradiction"),
    [
        (number(1), number(3), [number(3), None, number(1)], None),
        (number(2), None, [number(3), number(1)], "minimum 2, smallest value 1"),
        (None, number(2), [number(3), number(1)], "maximum 2, largest value 3"),
        (number(Decimal("1.1")), None, [number(1)], "minimum 1.1, smallest value 1"),
        (number(Decimal("1.0")), number(Decimal("1.00")), [number(1)], None),
        (text("a"), text("b"), [text("a"), text("b")], None),
        (text("b"), None, [text("a")], "minimum 'b', smallest value 'a'"),
        (None, text("ab"), [text("abc")], None),
        (None, text("ab"), [text("ac")], "maximum 'ab', largest value 'ac'"),
        (None, Scalar("timestamp", SECOND), [Scalar("timestamp", SECOND + 999_999)], None),
        (None, Scalar("timestamp", SECOND), [Scalar("timestamp", SECOND + 10**6)], "maximum 1000000000, largest value"),
        (None, Scalar("date", 1), [Scalar("date", 2)], "maximum 1, largest value 2"),
        (None, Scalar("boolean", False), [Scalar("boolean", True)], "maximum false, largest value true"),
        (Scalar("double", 1.0), Scalar("double", 1.0), [NAN, Scalar("double", 1.0)], None),
        (NAN, NAN, [Scalar("double", 1.0)], None),
        (number(1), number(1), [text("a")], "minimum is exact number, the values are string"),
        (None, number(1), [{}], "maximum is exact number, the values are object"),
        (number(1), text("a"), [number(0)], None),
        (number(1), None, [number(0), text("a")], None),
        (number(1), number(0), [], None),
    ],
)
def test_bounds_that_exclude_values(
    minimum: Scalar | None, maximum: Scalar | None, values: list[Value | None], contradiction: str | None
) -> None:
    found = find_contradiction(minimum, maximum, collect(*values))
    assert found == contradiction or (contradiction is not None and str(found).startswith(contradiction))


@pytest.mark.parametrize(
    ("minimum", "maximum", "values", "is_loose"),
    [
        (number(1), number(3), [number(3), number(1)], False),
        (number(0), None, [number(1)], True),
        (None, number(4), [number(3)], True),
        (text("a"), text("abd"), [text("abc")], False),
        (text(""), None, [text("abc")], True),
        (None, Scalar("double", 9.0), [NAN, Scalar("double", 1.0)], False),
        (Scalar("timestamp", SECOND), Scalar("timestamp", SECOND), [Scalar("timestamp", SECOND + 7)], False),
        (number(0), number(9), [number(1), text("a")], False),
    ],
)
def test_loose_bounds(
    minimum: Scalar | None, maximum: Scalar | None, values: list[Value | None], is_loose: bool
) -> None:
    assert (find_loose_bound(minimum, maximum, collect(*values)) is not None) == is_loose


def test_deleted_values_have_a_type_but_no_bounds() -> None:
    found = collect(number(5))
    found.add(number(1), valid=False)
    assert find_contradiction(number(5), number(5), found) is None
    found.add(text("a"), valid=False)
    assert found.kinds == {"exact number", "string"}

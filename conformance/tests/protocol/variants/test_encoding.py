"""Variant encoding, on handwritten bytes and on values from a simple encoder."""

import struct
from collections.abc import Callable
from contextlib import nullcontext, suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.protocol.variants.encoding import (
    FieldNames,
    VariantError,
    VariantUndecided,
    check_value,
    find_end,
    read_members,
    read_metadata,
    read_value,
)
from deltaspec.protocol.variants.values import Scalar, Value
from deltaspec_generators.values.variant_encoder import encode_variant

METADATA = b"\x11\x02\x00\x01\x02ab"
"""Sorted: the names a and b."""
NAMES = read_metadata(METADATA)
NUMBER, TEXT, NULL = b"\x0c\x05", b"\x0dabc", b"\x00"
OBJECT = bytes([2, 2, 0, 1, 0, 2, 6]) + NUMBER + TEXT
"""{"a": 5, "b": "abc"}"""
ARRAY = bytes([3, 2, 0, 1, 3]) + NULL + NUMBER
"""[null, 5]"""


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"\x01\x00\x00", ()),
        (METADATA, ("a", "b")),
        (b"\x01\x02\x00\x01\x02ba", ("b", "a")),
        (b"\x01\x02\x00\x01\x02aa", ("a", "a")),
        (b"\x41\x01\x00\x00\x00\x01\x00x", ("x",)),
        (b"\xc1\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\xc3\xa9", ("é",)),
        (b"\x11\x02\x00\x00\x01a", ("", "a")),
    ],
)
def test_metadata(data: bytes, names: tuple[str, ...]) -> None:
    assert read_metadata(data).names == names


def test_names_are_sorted_by_code_points_or_utf_16_units() -> None:
    """U+FF5E sorts before U+10000 in one order and after it in the other."""
    low, high = "\uff5e".encode(), "\U00010000".encode()
    for first, second in ((low, high), (high, low)):
        offsets = bytes([0, len(first), len(first + second)])
        assert read_metadata(b"\x11\x02" + offsets + first + second).names == (first.decode(), second.decode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        b"\x01\x01\x00",
        b"\x01\x01\x00\x02x",
        b"\x01\x01\x01\x02xy",
        b"\x01\x02\x00\x02\x01xy",
        b"\x01\x01\x00\x01xy",
        b"\x01\x01\x00\x01\xff",
        b"\x11\x02\x00\x01\x02ba",
        b"\x11\x02\x00\x01\x02aa",
        b"\xc1\xff\xff\xff\xff\x00\x00\x00\x00",
        b"\x00\x00\x00",
        b"\x02\x00\x00",
        b"\x21\x00\x00",
    ],
)
def test_invalid_metadata_is_refused(data: bytes) -> None:
    with pytest.raises(VariantError):
        read_metadata(data)


PRIMITIVES = {0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8, 7: 8, 8: 5, 9: 9, 10: 17, 11: 4, 12: 8, 13: 8, 14: 4}
PRIMITIVES |= {17: 8, 18: 8, 19: 8, 20: 16}


@pytest.mark.parametrize(("kind", "width"), PRIMITIVES.items())
def test_primitives_of_fixed_width(kind: int, width: int) -> None:
    check_value(bytes([kind << 2]) + bytes(width), NAMES)
    for other in {max(width - 1, 0), width + 1} - {width}:
        with pytest.raises(VariantError):
            check_value(bytes([kind << 2]) + bytes(other), NAMES)


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",
        TEXT,
        b"\x40\x03\x00\x00\x00abc",
        b"\x3c\x02\x00\x00\x00\xff\x00",
        b"\x20\x26" + bytes(4),
        OBJECT,
        ARRAY,
        bytes([2, 0, 0]),
        bytes([3, 0, 0]),
        bytes([2, 2, 0, 1, 4, 0, 6]) + TEXT + NUMBER,
        bytes([2 | 1 << 6, 1, 0, 0, 0, 1, 0, 2]) + NUMBER,
        bytes([3 | 1 << 4, 1, 0, 0, 0, 0, 2]) + NUMBER,
        bytes([2, 1, 1, 0, len(ARRAY)]) + ARRAY,
    ],
)
def test_values(data: bytes) -> None:
    check_value(data, NAMES)
    assert find_end(NULL + data + TEXT, 1) == 1 + len(data)
    for length in range(len(data)):
        with pytest.raises(VariantError):
            find_end(data[:length], 0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        TEXT[:3],
        TEXT + b"\x00",
        b"\x05\xff",
        b"\x40\x04\x00\x00\x00abc",
        b"\x40\x02\x00\x00\x00\xff\xff",
        b"\x3c\xff\xff\xff\xff",
        b"\x20\x27" + bytes(4),
        OBJECT[:4],
        OBJECT[:-1],
        bytes([2, 1, 2, 0, 2]) + NUMBER,
        bytes([2, 2, 1, 0, 0, 2, 6]) + NUMBER + TEXT,
        bytes([2, 2, 0, 0, 0, 2, 6]) + NUMBER + TEXT,
        bytes([3, 1, 2, 2]) + NUMBER,
        bytes([3, 1, 0, 1]) + NUMBER,
        bytes([3, 2, 0, 2, 4]) + NUMBER + TEXT[:2],
        b"\x43\xff\xff\xff\xff",
        b"\x42\xff\xff\xff\xff",
        b"\x20\x00" + (10**9).to_bytes(4, "little"),
        b"\x24\x00" + (10**18).to_bytes(8, "little"),
        b"\x28\x00" + (10**38).to_bytes(16, "little"),
        bytes([3, 2, 0, 0, 2]) + NUMBER,
        bytes([3, 1, 0, 4]) + NUMBER + NUMBER,
        bytes([3, 1, 2, 4]) + NUMBER + NUMBER,
        bytes([3, 2, 0, 1, 4]) + TEXT,
        bytes([3 | 1 << 5, 0, 0]),
        bytes([2 | 1 << 7, 0, 0]),
    ],
)
def test_invalid_values_are_refused(data: bytes) -> None:
    with pytest.raises(VariantError):
        check_value(data, NAMES)


@pytest.mark.parametrize("kind", [21, 40, 63])
def test_primitive_type_of_a_newer_encoding_is_undecided(kind: int) -> None:
    with pytest.raises(VariantUndecided):
        check_value(bytes([kind << 2, 1, 2]), NAMES)


def test_fields_of_an_object() -> None:
    assert read_members(OBJECT, NAMES) == {"a", "b"}
    assert read_members(bytes([2, 0, 0]), NAMES) == set()
    assert read_members(NUMBER, NAMES) is None
    assert read_members(ARRAY, NAMES) is None


def test_lists_with_shared_elements_are_refused() -> None:
    """Every array element refers to the next array: following all of them would be 200^30 steps."""
    data = NUMBER
    for _ in range(30):
        data = bytes([3 | 1 << 2, 200]) + struct.pack("<200H", *[0] * 200) + struct.pack("<H", len(data)) + data
    with pytest.raises(VariantError, match="belongs to no part"):
        check_value(data, NAMES)


def test_objects_are_sorted_by_bytes() -> None:
    """U+FF5E sorts before U+10000 by bytes, and after it by UTF-16 units."""
    for names, is_valid in ((("\uff5e", "\U00010000"), True), (("\U00010000", "\uff5e"), False)):
        value = bytes([2, 2, 0, 1, 0, 2, 4]) + NUMBER + NUMBER
        with nullcontext() if is_valid else pytest.raises(VariantError, match="order of their names"):
            check_value(value, FieldNames(names))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (NULL, Scalar("null", None)),
        (b"\x04", Scalar("boolean", True)),
        (b"\x08", Scalar("boolean", False)),
        (b"\x0c\xff", Scalar("exact number", -1)),
        (b"\x10\x00\x80", Scalar("exact number", -(2**15))),
        (b"\x14" + bytes([1, 0, 0, 0]), Scalar("exact number", 1)),
        (b"\x18" + bytes(7) + b"\x80", Scalar("exact number", -(2**63))),
        (b"\x1c" + struct.pack("<d", 1.5), Scalar("double", 1.5)),
        (b"\x20\x02" + (-123).to_bytes(4, "little", signed=True), Scalar("exact number", Decimal("-1.23"))),
        (b"\x24\x12" + (1).to_bytes(8, "little"), Scalar("exact number", Decimal("1e-18"))),
        (b"\x28\x00" + (10**38 - 1).to_bytes(16, "little"), Scalar("exact number", 10**38 - 1)),
        (b"\x2c" + (-1).to_bytes(4, "little", signed=True), Scalar("date", -1)),
        (b"\x30" + (7).to_bytes(8, "little"), Scalar("timestamp", 7000)),
        (b"\x34" + (7).to_bytes(8, "little"), Scalar("timestamp_ntz", 7000)),
        (b"\x38" + struct.pack("<f", 0.5), Scalar("float", 0.5)),
        (b"\x3c\x01\x00\x00\x00\xff", Scalar("binary", b"\xff")),
        (b"\x40\x03\x00\x00\x00abc", Scalar("string", b"abc")),
        (TEXT, Scalar("string", b"abc")),
        (b"\x44" + (7).to_bytes(8, "little"), Scalar("time", 7)),
        (b"\x48" + (7).to_bytes(8, "little"), Scalar("timestamp", 7)),
        (b"\x4c" + (7).to_bytes(8, "little"), Scalar("timestamp_ntz", 7)),
        (b"\x50" + bytes(range(16)), Scalar("uuid", bytes(range(16)))),
        (OBJECT, {"a": Scalar("exact number", 5), "b": Scalar("string", b"abc")}),
        (ARRAY, [Scalar("null", None), Scalar("exact number", 5)]),
    ],
)
def test_decoded_values(data: bytes, expected: Value) -> None:
    check_value(data, NAMES)
    assert read_value(data, NAMES) == expected


def test_deep_values_are_checked() -> None:
    data = NUMBER
    for _ in range(3000):
        data = bytes([3 | 2 << 2, 1, 0, 0, 0]) + len(data).to_bytes(3, "little") + data
    check_value(data, NAMES)
    with pytest.raises(VariantUndecided, match="levels deep"):
        read_value(data, NAMES)


scalars = st.one_of(st.none(), st.booleans(), st.integers(-128, 127), st.text("ab é", max_size=5))
variants = st.recursive(scalars, lambda inner: st.dictionaries(st.text("abc", max_size=2), inner, max_size=3))


@settings(max_examples=50)
@given(variants, st.data())
def test_encoded_value_is_valid_and_its_truncations_are_not(value: Any, data: st.DataObject) -> None:
    metadata, encoded = encode_variant(value)
    check_value(encoded, read_metadata(metadata))
    with pytest.raises(VariantError):
        check_value(encoded[: data.draw(st.integers(0, len(encoded) - 1))], read_metadata(metadata))
    with pytest.raises(VariantError):
        read_metadata(metadata[: data.draw(st.integers(0, len(metadata) - 1))])


@settings(max_examples=100)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_are_decided(metadata: bytes, value: bytes) -> None:
    reads: list[Callable[[], object]] = [lambda: read_metadata(metadata), lambda: check_value(value, NAMES)]
    for read in reads:
        with suppress(VariantError, VariantUndecided):
            read()

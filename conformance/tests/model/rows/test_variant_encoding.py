"""Variant encoding, on handwritten bytes and on values from a simple encoder."""

import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.model.rows.variant_encoding import (
    VariantError,
    VariantUndecided,
    check_value,
    read_members,
    read_metadata,
)
from deltaspec_generators.bases.variant_encoder import encode_variant

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
    ],
)
def test_invalid_metadata_is_refused(data: bytes) -> None:
    with pytest.raises(VariantError):
        read_metadata(data)


def test_metadata_of_another_version_is_undecided() -> None:
    with pytest.raises(VariantUndecided):
        read_metadata(b"\x02\x00\x00")


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


def test_lists_with_shared_elements_are_cheap() -> None:
    """Every array element refers to the next array: without deduplication there would be 200^30 of them."""
    data = NUMBER
    for _ in range(30):
        data = bytes([3 | 1 << 2, 200]) + struct.pack("<200H", *[0] * 200) + struct.pack("<H", len(data)) + data
    check_value(data, NAMES)


def test_deep_values_are_checked() -> None:
    data = NUMBER
    for _ in range(3000):
        data = bytes([3 | 2 << 2, 1, 0, 0, 0]) + len(data).to_bytes(3, "little") + data
    check_value(data, NAMES)


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

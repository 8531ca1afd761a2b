"""Types at paths of variants, on bytes laid out by hand from the variant encoding."""

import pytest

from deltaspec.model.rows.variant_bounds import VariantBoundError
from deltaspec.model.rows.variant_values import find_type_at, parse_steps

NAMES = b"\x11\x02\x00\x01\x02ab"
"""Metadata with the names a and b."""
NUMBER, TEXT, NULL, TRUE = b"\x0c\x05", b"\x0dabc", b"\x00", b"\x04"
OBJECT = bytes([2, 2, 0, 1, 0, 2, 6]) + NUMBER + TEXT
"""{"a": 5, "b": "abc"}"""
ARRAY = bytes([3, 2, 0, 1, 3]) + NULL + NUMBER
"""[null, 5]"""
NESTED = bytes([2, 1, 1, 0, len(ARRAY)]) + ARRAY
"""{"b": [null, 5]}"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", ()),
        ("$['a']", ("a",)),
        ("$['a']['b c'][0]", ("a", "b c", 0)),
        (r"$['it\'s']['\\']", ("it's", "\\")),
        (r"$['\n\u000b']", ("\n\x0b",)),
        ("$['[0]'][12]", ("[0]", 12)),
    ],
)
def test_steps_of_a_path(path: str, expected: tuple[str | int, ...]) -> None:
    assert parse_steps(path) == expected


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        (NUMBER, (), "exact number"),
        (TEXT, (), "string"),
        (NULL, (), None),
        (TRUE, (), "boolean"),
        (OBJECT, (), "object"),
        (OBJECT, ("a",), "exact number"),
        (OBJECT, ("b",), "string"),
        (OBJECT, ("c",), None),
        (OBJECT, (0,), None),
        (ARRAY, (0,), None),
        (ARRAY, (1,), "exact number"),
        (ARRAY, (2,), None),
        (ARRAY, ("a",), None),
        (NESTED, ("b",), "array"),
        (NESTED, ("b", 1), "exact number"),
        (NUMBER, ("a",), None),
    ],
)
def test_type_at_a_path(value: bytes, path: tuple[str | int, ...], expected: str | None) -> None:
    assert find_type_at(NAMES, value, path) == expected


@pytest.mark.parametrize("value", [b"", OBJECT[:5], b"\x02\x02", TEXT[:2], b"\xfc"])
def test_invalid_variants_are_refused(value: bytes) -> None:
    with pytest.raises(VariantBoundError):
        find_type_at(NAMES, value, ("a",) if value[:1] == b"\x02" else ())

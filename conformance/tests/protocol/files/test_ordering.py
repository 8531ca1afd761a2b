"""Order keys compare as Python compares the decoded values, for every type. Source: Per-file Statistics."""

import math
import struct
from decimal import Decimal as Exact
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deltaspec.protocol.files.ordering import LexemeError, compute_order_key, format_lexeme, parse_lexeme
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Primitive, Struct, UndefinedType

BYTE, SHORT, INTEGER, LONG = map(Primitive, ("byte", "short", "integer", "long"))
FLOAT, DOUBLE, BOOLEAN, STRING, BINARY = map(Primitive, ("float", "double", "boolean", "string", "binary"))
DATE, TIMESTAMP, NTZ = map(Primitive, ("date", "timestamp", "timestamp_ntz"))


def integers(bits: int) -> st.SearchStrategy[int]:
    ends = st.sampled_from([-(2 ** (bits - 1)), -1, 0, 1, 2 ** (bits - 1) - 1])
    return ends | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(scale: int) -> st.SearchStrategy[Exact]:
    unscaled = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-30, 30)
    return unscaled.map(lambda number: Exact(f"{number}e-{scale}"))


VALUES: list[tuple[DataType, st.SearchStrategy[Any]]] = [
    (BYTE, integers(8)),
    (SHORT, integers(16)),
    (INTEGER, integers(32)),
    (LONG, integers(64)),
    (FLOAT, st.floats(width=32, allow_nan=False)),
    (DOUBLE, st.floats(allow_nan=False)),
    (Decimal(38, 0), decimals(0)),
    (Decimal(38, 10), decimals(10)),
    (Decimal(38, 38), decimals(38)),
    (BOOLEAN, st.booleans()),
    (STRING, st.text()),
    (BINARY, st.binary()),
    (DATE, integers(32)),
    (TIMESTAMP, integers(64)),
    (NTZ, integers(64)),
]
each_type = pytest.mark.parametrize(("kind", "values"), VALUES, ids=[str(kind) for kind, _ in VALUES])


def build_order_key(lexeme: str, kind: DataType) -> bytes | None:
    return compute_order_key(parse_lexeme(lexeme, kind), kind)


@each_type
def test_keys_compare_like_values(kind: DataType, values: st.SearchStrategy[Any]) -> None:
    @settings(deadline=None)
    @given(values, values)
    def check(one: Any, other: Any) -> None:
        first, second = (
            build_order_key(format_lexeme(one, kind), kind),
            build_order_key(format_lexeme(other, kind), kind),
        )
        assert first is not None
        assert second is not None
        assert (first < second) == (one < other)
        assert (first == second) == (one == other)

    check()


@each_type
def test_lexeme_of_a_value_parses_back(kind: DataType, values: st.SearchStrategy[Any]) -> None:
    @settings(deadline=None)
    @given(values)
    def check(value: Any) -> None:
        found = parse_lexeme(format_lexeme(value, kind), kind)
        assert found == value
        assert type(found) is type(value)

    check()


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        (LONG, ["-9223372036854775808", "-1", "0", "9007199254740992", "9007199254740993", "9223372036854775807"]),
        (FLOAT, ["-Infinity", "-1e38", "-1e-45", "0.0", "3.4", "3.4000003", "Infinity"]),
        (DOUBLE, ["-Infinity", "-1.7976931348623157e308", "-5e-324", "0", "5e-324", "0.1", "1e308", "Infinity"]),
        (Decimal(38, 4), ["-1e33", "-12.3456", "-12.3455", "-0.0001", "0", "0.0001", "0.001", "1", "1.0001", "10"]),
        (Decimal(38, 38), ["-0." + "9" * 38, "-0." + "9" * 37 + "8", "0." + "0" * 37 + "1", "0." + "9" * 38]),
        (STRING, ["", "\0", "a", "a\0", "aa", "a\x7f", "é", "\uffff", "\U00010000", "\U0010ffff"]),
        (BINARY, ["", "\0", "\x7f", "\udc80", "é", "\udcff", "\udcff\0"]),
        (BOOLEAN, ["false", "true"]),
        (DATE, ["-0001-12-31", "0001-01-01", "1582-10-04", "1582-10-05", "1969-12-31", "9999-12-31", "+10000-01-01"]),
        (
            TIMESTAMP,
            [
                "-0044-03-15T12:00:00Z",
                "1582-10-04T23:59:59.999999Z",
                "1969-12-31T23:59:59.999998Z",
                "1969-12-31T23:59:59.999999Z",
                "1970-01-01T00:00:00Z",
                "1970-01-01T00:00:00-00:01",
                "9999-12-31T23:59:59.999999Z",
                "+48690-07-02T22:50:38.211Z",
            ],
        ),
    ],
)
def test_edge_values_ascend(kind: DataType, ascending: list[str]) -> None:
    keys = [build_order_key(lexeme, kind) or b"" for lexeme in ascending]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("kind", "same"),
    [
        (LONG, ["1", "1.0", "+1", "1e0", "10e-1"]),
        (LONG, ["0", "-0", "0e99999"]),
        (DOUBLE, ["0.0", "-0.0", "0", "-0"]),
        (DOUBLE, ["Infinity", "inf", "+Infinity"]),
        (FLOAT, ["3.4", "3.4000000953674316", "3.4e0"]),
        (FLOAT, ["1e39", "Infinity"]),
        (Decimal(10, 2), ["1.5", "1.50", "15e-1", "0.15E1"]),
        (Decimal(10, 2), ["0", "0.00", "-0", "0e3"]),
        (BOOLEAN, ["true", "TRUE"]),
        (TIMESTAMP, ["2024-01-01T00:00:00Z", "2023-12-31T16:00:00.000-08:00", "2024-01-01 00:00:00+00:00"]),
        (TIMESTAMP, ["1883-11-18T20:00:00Z", "1883-11-18T12:07:02-07:52:58"]),
        (TIMESTAMP, ["1883-11-18T12:00:00Z", "1883-11-18T19:52:58+07:52:58"]),
        (NTZ, ["2024-01-02", "2024-01-02T00:00:00", "2024-01-02 00:00:00.000"]),
    ],
)
def test_spellings_of_one_value_have_one_key(kind: DataType, same: list[str]) -> None:
    assert len({build_order_key(lexeme, kind) for lexeme in same}) == 1


@pytest.mark.parametrize("kind", [FLOAT, DOUBLE])
def test_nan_has_no_key(kind: DataType) -> None:
    assert build_order_key("NaN", kind) is None
    assert math.isnan(parse_lexeme("NaN", kind))
    assert format_lexeme(math.nan, kind) == "NaN"


def test_decimals_of_38_digits_differ_in_the_last() -> None:
    kind = Decimal(38, 18)
    digits = "9" * 20 + "." + "9" * 18
    assert (build_order_key(digits[:-1] + "8", kind) or b"") < (build_order_key(digits, kind) or b"")


def test_float_is_compared_as_32_bits() -> None:
    """A writer prints the shortest digits of a float, or those of the double it becomes."""
    single = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert build_order_key(repr(single), FLOAT) == build_order_key("0.1", FLOAT)
    assert build_order_key(repr(single), DOUBLE) != build_order_key("0.1", DOUBLE)


@pytest.mark.parametrize(
    ("lexeme", "kind"),
    [
        ("", LONG),
        ("x", LONG),
        ("1.5", LONG),
        ("128", BYTE),
        ("-32769", SHORT),
        ("2147483648", INTEGER),
        ("9223372036854775808", LONG),
        ("1e99999", LONG),
        ("1" * 500, LONG),
        ("NaN", LONG),
        ("", DOUBLE),
        ("one", DOUBLE),
        ("1,5", Decimal(5, 2)),
        ("NaN", Decimal(5, 2)),
        ("Infinity", Decimal(5, 2)),
        ("1e999999999", Decimal(5, 2)),
        ("", BOOLEAN),
        ("1", BOOLEAN),
        ("\ud83d", STRING),
        ("\ud83d", BINARY),
        ("", DATE),
        ("2024-02-30", DATE),
        ("999999999-01-01", DATE),
        ("2024-01-01T25:00:00Z", TIMESTAMP),
        ("999999999-01-01T00:00:00Z", TIMESTAMP),
        ("", NTZ),
        ("1", Primitive("void")),
        ("1", Primitive("variant")),
        ("1", UndefinedType("time(6)")),
        ("1", Array(LONG, True)),
        ("1", Struct(())),
    ],
)
def test_invalid_lexeme_is_refused(lexeme: str, kind: DataType) -> None:
    with pytest.raises(LexemeError):
        build_order_key(lexeme, kind)


@settings(deadline=None)
@given(st.text(max_size=30), st.sampled_from([kind for kind, _ in VALUES]))
@example("0001-01-01T00:00:00+18:00", TIMESTAMP)
@example("-9999999-1-1", DATE)
@example("1e99999", Decimal(38, 0))
def test_any_text_has_a_key_or_is_refused(lexeme: str, kind: DataType) -> None:
    try:
        key = build_order_key(lexeme, kind)
    except LexemeError:
        return
    assert key is None or build_order_key(format_lexeme(parse_lexeme(lexeme, kind), kind), kind) == key


@pytest.mark.parametrize("kind", [Primitive("void"), Primitive("variant"), Array(LONG, True), UndefinedType("x")])
def test_values_without_order_have_no_lexeme(kind: DataType) -> None:
    with pytest.raises(LexemeError):
        format_lexeme(1, kind)

"""Serialized partition values. Source: Partition Value Serialization."""

import math
import struct
from decimal import Decimal as Exact
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.protocol.files.partition_values import (
    PartitionValueError,
    canonicalize_partition_value,
    find_changed_value,
    is_canonical,
    parse_partition_value,
    serialize_partition_value,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Primitive, Struct, UndefinedType

DAY_US = 86_400_000_000
TIMESTAMP, NTZ = Primitive("timestamp"), Primitive("timestamp_ntz")
NAMES = ["string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date"]
TYPES: list[DataType] = [*map(Primitive, NAMES), TIMESTAMP, NTZ, Decimal(5, 2)]


@pytest.mark.parametrize("kind", [*TYPES, Primitive("void"), Primitive("variant"), UndefinedType("geometry")])
def test_null_and_the_empty_string_are_null(kind: DataType) -> None:
    assert parse_partition_value(None, kind) is None
    assert parse_partition_value("", kind) is None
    assert canonicalize_partition_value("", kind) is None
    assert serialize_partition_value(None, kind) is None
    assert is_canonical("", kind)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("string", "null", "null"),
        ("string", " x ", " x "),
        ("string", "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"),
        ("byte", "-128", -128),
        ("short", "32767", 32767),
        ("integer", "+7", 7),
        ("long", "-9223372036854775808", -(2**63)),
        ("long", "007", 7),
        ("double", "1.5E10", 1.5e10),
        ("double", "-.5", -0.5),
        ("double", "2.", 2.0),
        ("double", "Infinity", math.inf),
        ("float", "-Infinity", -math.inf),
        ("double", "-inf", -math.inf),
        ("double", "Inf", math.inf),
        ("float", "3.4", 3.4000000953674316),
        ("float", "1e39", math.inf),
        ("boolean", "true", True),
        ("boolean", "FALSE", False),
        ("binary", "\u0001\u0002\u0003", b"\x01\x02\x03"),
        ("binary", "é", b"\xc3\xa9"),
        ("date", "1970-01-01", 0),
        ("date", "2024-02-29", 19782),
        ("date", "1969-12-31", -1),
        ("date", "0001-01-01", -719162),
        ("date", "0000-12-31", -719163),
        ("date", "9999-12-31", 2932896),
        ("date", "+10000-01-01", 2932897),
        ("date", "10000-01-01", 2932897),
        ("date", "-0001-01-01", -719893),
        ("date", "2024-2-9", 19762),
        ("timestamp", "1970-01-01 00:00:00", 0),
        ("timestamp", "1970-01-01 00:00:00.123456", 123456),
        ("timestamp", "1970-01-01 00:00:00.5", 500000),
        ("timestamp", "1970-01-01T00:00:00.123456Z", 123456),
        ("timestamp", "1970-01-02T00:00:00+01:00", DAY_US - 3_600_000_000),
        ("timestamp", "1970-01-01T00:00:00-0530", 5 * 3_600_000_000 + 1_800_000_000),
        ("timestamp", "1970-01-01T18:59:00+18:59", 0),
        ("timestamp", "1969-12-31T05:01:00-18:59", 0),
        ("timestamp", "1969-12-31 23:59:59.999999", -1),
        ("timestamp", "1970-01-02", DAY_US),
        ("timestamp_ntz", "1970-01-02 00:00:00.000001", DAY_US + 1),
    ],
)
def test_value_is_parsed(name: str, text: str, value: Any) -> None:
    found = parse_partition_value(text, Primitive(name))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["1.25", "+1.25", "125e-2", "001.250", "1.25000000000000000000000000000000000000000000000"]
)
def test_decimal_is_its_digits(text: str) -> None:
    assert parse_partition_value(text, Decimal(5, 2)) == Exact("1.25")
    assert canonicalize_partition_value(text, Decimal(5, 2)) == "1.25"


def test_zero_of_a_long_scale_is_written_with_an_exponent_by_java() -> None:
    assert parse_partition_value("0E-18", Decimal(38, 18)) == 0
    assert (
        canonicalize_partition_value("0E-18", Decimal(38, 18))
        == canonicalize_partition_value("0.000", Decimal(38, 18))
        == canonicalize_partition_value("-0", Decimal(38, 18))
    )


def test_nan_is_parsed() -> None:
    assert math.isnan(parse_partition_value("NaN", Primitive("double")))
    assert (
        canonicalize_partition_value("NaN", Primitive("double"))
        == canonicalize_partition_value("NaN", Primitive("float"))
        != canonicalize_partition_value("0", Primitive("double"))
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("byte", "128"),
        ("short", "-32769"),
        ("integer", "2147483648"),
        ("long", "9223372036854775808"),
        ("long", "9" * 100_000),
        ("integer", "1.0"),
        ("integer", "1e3"),
        ("integer", "1_000"),
        ("integer", "١"),
        ("integer", "abc"),
        ("integer", "__HIVE_DEFAULT_PARTITION__"),
        ("double", "1,5"),
        ("double", "1" * 200_000 + "x"),
        ("boolean", "1"),
        ("boolean", "yes"),
        ("date", "2023-02-29"),
        ("date", "2024-13-01"),
        ("date", "20240101"),
        ("date", "2024-01-01 00:00:00"),
        ("date", "19724"),
        ("date", "99999999999-01-01"),
        ("timestamp", "2024-01-01 24:00:00"),
        ("timestamp", "2024-01-01 23:60:00"),
        ("timestamp", "2024-01-01 23:59:60"),
        ("timestamp", "2024-01-01T00:00:00+99:00"),
        ("timestamp", "2024-02-30 00:00:00"),
        ("timestamp", "2024-01-01Z"),
        ("timestamp", "1704067200000"),
        ("timestamp", "2024-01-01 00:00"),
        ("timestamp_ntz", "noon"),
        ("void", "x"),
    ],
)
def test_invalid_values_are_refused(name: str, text: str) -> None:
    with pytest.raises(PartitionValueError):
        parse_partition_value(text, Primitive(name))
    assert canonicalize_partition_value(text, Primitive(name)) == text


@pytest.mark.parametrize(
    "text",
    [
        "1000",
        "1.234",
        "NaN",
        "Infinity",
        "1_0",
        " 1",
        "1e9999999999",
        "1e99999",
        "1e-99999",
        "1." + "0" * 90 + "1",
        "x",
    ],
)
def test_decimal_beyond_five_digits_is_refused(text: str) -> None:
    with pytest.raises(PartitionValueError):
        parse_partition_value(text, Decimal(5, 2))


def test_types_without_serialization_are_unchanged() -> None:
    for kind in (Struct(()), Array(Primitive("long"), True), Primitive("variant"), UndefinedType("interval")):
        assert parse_partition_value("x", kind) == canonicalize_partition_value("x", kind) == "x"


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (TIMESTAMP, "2024-01-02 03:04:05", "2024-01-02T03:04:05.000000Z"),
        (TIMESTAMP, "2024-01-02 03:04:05.1", "2024-01-02 03:04:05.100000"),
        (NTZ, "2024-01-02 03:04:05", "2024-01-02 03:04:05.000000"),
        (Primitive("date"), "2024-1-2", "2024-01-02"),
        (Primitive("integer"), "01", "1"),
        (Primitive("integer"), "-0", "0"),
        (Primitive("double"), "1E3", "1000.0"),
        (Primitive("double"), "-0.0", "0"),
        (Primitive("float"), "3.4", "3.4000000953674316"),
        (Primitive("boolean"), "True", "true"),
        (Decimal(5, 2), "1.5", "1.50"),
        (Decimal(5, 0), "100", "1e2"),
    ],
)
def test_canonical_is_equal_for_equal_values(kind: DataType, one: str, other: str) -> None:
    assert canonicalize_partition_value(one, kind) == canonicalize_partition_value(other, kind) is not None


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (TIMESTAMP, "2024-01-02 03:04:05", "2024-01-02 03:04:05.000001"),
        (Primitive("date"), "2024-01-02", "-2024-01-02"),
        (Primitive("string"), "1", "01"),
        (Primitive("string"), "A", "a"),
        (Primitive("double"), "3.4", "3.4000000953674316"),
        (Primitive("double"), "NaN", "Infinity"),
        (Decimal(5, 2), "1.5", "1.51"),
        (Primitive("long"), "9007199254740993", "9007199254740992"),
        (Primitive("binary"), "a", "A"),
    ],
)
def test_canonical_differs_for_different_values(kind: DataType, one: str, other: str) -> None:
    assert canonicalize_partition_value(one, kind) != canonicalize_partition_value(other, kind)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TIMESTAMP, "1970-01-01 00:00:00"),
        (TIMESTAMP, "1970-01-01 00:00:00.123456"),
        (TIMESTAMP, "1970-01-01T00:00:00.123456Z"),
        (NTZ, "1970-01-01 00:00:00.123456"),
        (Primitive("date"), "1970-01-01"),
        (Primitive("date"), "+10000-01-01"),
        (Primitive("date"), "-0044-03-15"),
        (Primitive("long"), "-5"),
        (Primitive("double"), "1.0E10"),
        (Primitive("float"), "NaN"),
        (Decimal(38, 18), "0E-18"),
        (Primitive("boolean"), "true"),
        (Primitive("string"), "\n"),
        (Primitive("binary"), "\u0000"),
    ],
)
def test_form_of_the_protocol_is_canonical(kind: DataType, text: str) -> None:
    assert is_canonical(text, kind)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Primitive("double"), "inf"),
        (Primitive("float"), "nan"),
        (TIMESTAMP, "1970-01-01"),
        (TIMESTAMP, "1970-01-01T00:00:00"),
        (TIMESTAMP, "1970-01-01T00:00:00+00:00"),
        (TIMESTAMP, "1970-01-01 00:00:00.123456789"),
        (TIMESTAMP, "1970-1-1 0:00:00"),
        (NTZ, "1970-01-01T00:00:00"),
        (NTZ, "1970-01-01 00:00:00Z"),
        (Primitive("date"), "1970-1-1"),
        (Primitive("long"), "+5"),
        (Primitive("long"), "05"),
        (Primitive("long"), "-0"),
        (Primitive("boolean"), "TRUE"),
    ],
)
def test_other_readable_forms_are_not_canonical(kind: DataType, text: str) -> None:
    parse_partition_value(text, kind)
    assert not is_canonical(text, kind)


def test_iso_8601_is_canonical_since_the_current_revision() -> None:
    text = "2024-01-02T03:04:05.123456Z"
    assert [each for each in Revision if is_canonical(text, TIMESTAMP, each)] == [Revision.CURRENT]
    assert not is_canonical(text, NTZ)
    assert [revision for revision in Revision if not is_canonical("2024-01-02 03:04:05", TIMESTAMP, revision)] == []


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Primitive("date"), 0, "1970-01-01"),
        (Primitive("date"), 2932897, "+10000-01-01"),
        (Primitive("date"), -719163, "0000-12-31"),
        (Primitive("date"), -719893, "-0001-01-01"),
        (TIMESTAMP, 123456, "1970-01-01T00:00:00.123456Z"),
        (TIMESTAMP, -1, "1969-12-31T23:59:59.999999Z"),
        (NTZ, DAY_US, "1970-01-02 00:00:00.000000"),
        (Primitive("boolean"), True, "true"),
        (Primitive("binary"), b"\x01\x02\x03", "\u0001\u0002\u0003"),
        (Primitive("float"), 3.4000000953674316, "3.4"),
        (Primitive("float"), -math.inf, "-Infinity"),
        (Primitive("double"), math.nan, "NaN"),
        (Primitive("double"), 0.1, "0.1"),
        (Decimal(5, 2), Exact("1.5"), "1.50"),
        (Decimal(38, 0), Exact("9" * 38), "9" * 38),
        (Decimal(38, 38), Exact("-1E-38"), "-0." + "0" * 37 + "1"),
        (Primitive("long"), -5, "-5"),
    ],
)
def test_value_is_serialized(kind: DataType, value: Any, text: str) -> None:
    assert serialize_partition_value(value, kind) == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Primitive("binary"), b"\xff"),
        (Decimal(5, 2), Exact("1.234")),
        (Decimal(5, 2), Exact("1000")),
        (Decimal(5, 2), Exact("1e5000")),
        (Decimal(5, 2), Exact("NaN")),
    ],
)
def test_value_without_serialization_is_refused(kind: DataType, value: Any) -> None:
    with pytest.raises(PartitionValueError):
        serialize_partition_value(value, kind)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    Primitive("byte"): _integers(8),
    Primitive("short"): _integers(16),
    Primitive("integer"): _integers(32),
    Primitive("long"): _integers(64),
    Primitive("float"): st.floats(width=32, allow_nan=False),
    Primitive("double"): st.floats(allow_nan=False),
    Primitive("boolean"): st.booleans(),
    Primitive("date"): _integers(32),
    TIMESTAMP: _integers(64),
    NTZ: _integers(64),
    Primitive("string"): st.text(min_size=1),
    Primitive("binary"): st.text(min_size=1).map(str.encode),
    Decimal(38, 10): st.decimals(
        allow_nan=False, allow_infinity=False, places=10, min_value=-(10**27), max_value=10**27
    ),
}


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(list(VALUES)).flatmap(lambda kind: st.tuples(st.just(kind), VALUES[kind])))
def test_values_round_trip(typed: tuple[DataType, Any]) -> None:
    kind, value = typed
    text = serialize_partition_value(value, kind)
    assert parse_partition_value(text, kind) == value
    assert is_canonical(text, kind)


@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_has_the_shortest_unique_digits(value: float) -> None:
    text = serialize_partition_value(value, Primitive("float"))
    assert text is not None
    assert struct.pack("<f", float(text)) == struct.pack("<f", value)
    assert len(text.split("e")[0].strip("-").replace(".", "").strip("0")) <= 9


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(TYPES),
    st.text(st.sampled_from("0123456789-+:. TZeEftrualsNIniy_"), max_size=25) | st.text(max_size=10),
)
def test_any_text_is_parsed_or_refused(kind: DataType, text: str) -> None:
    try:
        value = parse_partition_value(text, kind)
    except PartitionValueError:
        return
    again = serialize_partition_value(value, kind)
    assert canonicalize_partition_value(again, kind) == canonicalize_partition_value(text, kind)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x", "X"),
        ("1", "2"),
        ("9007199254740992", "9007199254740993"),
        ("1", None),
        ("2024-01-02", None),
        ("", "x"),
        ("1.5", "1.25"),
        ("true", "false"),
        ("2024-01-02", "2024-01-03"),
        ("2024-01-02 00:00:00", "2024-01-02 00:00:01"),
        ("2024-01-02T00:00:00Z", "2024-01-02T00:00:01Z"),
    ],
)
def test_other_values_are_changed(before: str | None, after: str | None) -> None:
    assert find_changed_value({"p": before}, {"p": after}) == "p"
    assert find_changed_value({"p": after}, {"p": before}) == "p"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x", "x"),
        (None, ""),
        ("1", "01"),
        ("99999999999999999999", "099999999999999999999"),
        ("1.50", "1.5"),
        ("1", "1.0"),
        ("nan", "NaN"),
        ("TRUE", "true"),
        ("2024-1-2", "2024-01-02"),
        ("2024-01-02 00:00:00", "2024-01-02 00:00:00.000000"),
        ("2024-01-02T01:00:00+01:00", "2024-01-02T00:00:00.000000Z"),
        ("2024-01-02 00:00:00", "2024-01-02T05:00:00Z"),
    ],
)
def test_other_spellings_are_not_changed(before: str | None, after: str | None) -> None:
    assert find_changed_value({"p": before}, {"p": after}) is None
    assert find_changed_value({"p": after}, {"p": before}) is None


def test_first_column_that_both_name_is_changed() -> None:
    assert find_changed_value({"b": "1", "c": "1", "a": "1"}, {"c": "2", "b": "2", "d": "2"}) == "b"
    assert find_changed_value({"a": "1"}, {}) is None
    assert find_changed_value({"a": "1"}, {"b": "2"}) is None


@given(st.text(), st.sampled_from(["x", "1", "2024-01-02", "2024-01-02 00:00:00Z", "true", "1e400", "9" * 50]))
def test_any_texts_can_be_compared(first: str, second: str) -> None:
    assert (find_changed_value({"p": first}, {"p": second}) is None) == (
        find_changed_value({"p": second}, {"p": first}) is None
    )

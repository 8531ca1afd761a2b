"""Bounds of a column in statistics, and truncated values. Source: Per-file Statistics."""

import json
import math
from decimal import Decimal as Exact
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.files.bounds import (
    compute_upper_limit,
    is_finer_than_milliseconds,
    is_incremented_truncation,
    is_tight_maximum,
    is_tight_minimum,
    is_truncated,
    read_bound,
)
from deltaspec.protocol.json_values import parse_lossless
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Primitive, UndefinedType

LONG, DOUBLE, FLOAT, STRING = map(Primitive, ("long", "double", "float", "string"))
TIMESTAMP, NTZ, DATE = map(Primitive, ("timestamp", "timestamp_ntz", "date"))
MOMENT = 1_704_164_645_123_000
"""2024-01-02T03:04:05.123Z."""


def bound(text: str, kind: DataType) -> Any:
    return read_bound(parse_lossless(text).value, kind)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("5", LONG, 5),
        ("5.0", LONG, 5),
        ("-0.0", DOUBLE, 0.0),
        ('"Infinity"', DOUBLE, math.inf),
        ('"-Infinity"', FLOAT, -math.inf),
        ("3.4", FLOAT, 3.4000000953674316),
        ("12345678901234567890.12345678901234567", Decimal(38, 18), Exact("12345678901234567890.12345678901234567")),
        ('"1.50"', Decimal(3, 2), Exact("1.5")),
        ("0E-18", Decimal(38, 18), Exact(0)),
        ('"a"', STRING, "a"),
        ('""', STRING, ""),
        ('"1"', STRING, "1"),
        ("true", Primitive("boolean"), True),
        ('"0001-01-01"', DATE, -719162),
        ('"2024-01-02T03:04:05.123Z"', TIMESTAMP, MOMENT),
        ('"2024-01-02T03:04:05.123+00:00"', TIMESTAMP, MOMENT),
        ('"2024-01-01T19:04:05.123-08:00"', TIMESTAMP, MOMENT),
        ('"2024-01-02 03:04:05.123Z"', TIMESTAMP, MOMENT),
        ('"2024-01-02T03:04:05.123"', NTZ, MOMENT),
        ('"2024-01-02 03:04:05.123"', NTZ, MOMENT),
        ('"1970-01-02"', NTZ, 86_400_000_000),
        ('"+10000-01-01T00:00:00.000Z"', TIMESTAMP, 253_402_300_800_000_000),
    ],
)
def test_bound_is_read(text: str, kind: DataType, value: Any) -> None:
    found = bound(text, kind)
    assert (found.value, found.fault, found.warning) == (value, None, None)
    assert type(found.value) is type(value)
    assert not found.is_nan


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('"x"', LONG),
        ("1.5", LONG),
        ("true", LONG),
        ("9223372036854775808", LONG),
        ("300", Primitive("byte")),
        ('"NaN"', LONG),
        ('"one"', DOUBLE),
        ("false", DOUBLE),
        ('"NaN"', Decimal(3, 2)),
        ('"1,5"', Decimal(3, 2)),
        ("1", STRING),
        ("true", STRING),
        ('"\\ud83d"', STRING),
    ],
)
def test_bound_of_another_type_is_a_fault(text: str, kind: DataType) -> None:
    found = bound(text, kind)
    assert found.fault is not None
    assert found.value is None


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ('"5"', LONG, 5),
        ('"1.5"', DOUBLE, 1.5),
        ('"inf"', DOUBLE, math.inf),
        ('"true"', Primitive("boolean"), True),
        ("1", Primitive("boolean"), None),
        ('"2024-13-01"', DATE, None),
        ('"2024-01-02T00:00:00Z"', DATE, None),
        ("19724", DATE, None),
        ('"2024-01-02T03:04:05.123"', TIMESTAMP, None),
        ('"2024-01-02"', TIMESTAMP, None),
        ("1704164645123", TIMESTAMP, None),
        ('"now"', TIMESTAMP, None),
        ('"2024-01-02T03:04:05.123Z"', NTZ, MOMENT),
        ('"2024-01-02T03:04:05.123+00:00"', NTZ, MOMENT),
        ('"2024-01-02T03:04:05.123+01:00"', NTZ, None),
        ('"abc"', Primitive("binary"), None),
    ],
)
def test_undefined_form_is_a_warning(text: str, kind: DataType, value: Any) -> None:
    """S12: ambiguous bounds have no value."""
    found = bound(text, kind)
    assert found.warning is not None
    assert (found.value, found.fault) == (value, None)


@pytest.mark.parametrize("kind", [FLOAT, DOUBLE])
def test_nan_is_a_bound_without_order(kind: DataType) -> None:
    found = bound('"NaN"', kind)
    assert found.is_nan
    assert (found.fault, found.warning) == (None, None)


@pytest.mark.parametrize("kind", [Array(LONG, True), UndefinedType("time(6)"), UndefinedType("string collate x")])
def test_types_without_order_have_no_value(kind: DataType) -> None:
    found = bound('"x"', kind)
    assert (found.value, found.fault, found.warning) == (None, None, None)


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20))
def test_any_value_is_read_or_reported(value: Any) -> None:
    if value is None or (isinstance(value, float) and math.isinf(value)):
        return
    for kind in (LONG, DOUBLE, Decimal(5, 2), STRING, DATE, TIMESTAMP, NTZ, Primitive("boolean"), Primitive("binary")):
        found = bound(json.dumps(value), kind)
        assert (found.value is not None) + (found.fault is not None) + (found.warning is not None) >= 1, f"{kind=}"


@pytest.mark.parametrize(
    ("bound", "value", "cut", "raised"),
    [
        ("aa", "aab", True, False),
        ("", "aab", False, False),
        ("aab", "aab", False, False),
        ("aa\x7f", "aab", False, True),
        ("aa\U0010ffff", "aa\x7f", False, True),
        ("aa\x7f", "aaé", False, False),
        ("ac", "abz", False, True),
        ("b", "abz", False, True),
        ("c", "abz", False, False),
        ("\x7f", "abz", False, False),
        ("aab\x7f", "aab", False, False),
        ("aac", "aa", False, False),
        ("a\ue000", "a\ud7ff" + "b", False, True),
        ("éê", "ééé", False, True),
        ("x\U0010ffff", "x\uffffy", False, True),
    ],
)
def test_truncated_strings(bound: str, value: str, cut: bool, raised: bool) -> None:
    assert is_truncated(bound, value) == cut
    assert is_incremented_truncation(bound, value) == raised


@given(st.text(min_size=1), st.integers(1, 40))
def test_truncation_of_delta_spark_is_recognized(value: str, length: int) -> None:
    if len(value) > length:
        assert is_tight_minimum(value[:length], value, STRING)
        for end in ("\x7f", "\U0010ffff"):
            if value[length] < end:
                assert is_tight_maximum(value[:length] + end, value, STRING)
                assert value[:length] + end > value


@pytest.mark.parametrize(("slack", "tight"), [(0, True), (1, True), (999, True), (1000, False)])
@pytest.mark.parametrize("kind", [TIMESTAMP, NTZ])
def test_timestamps_of_one_millisecond_are_one_bound(kind: DataType, slack: int, tight: bool) -> None:
    assert is_tight_minimum(MOMENT, MOMENT + slack, kind) == tight
    assert is_tight_maximum(MOMENT, MOMENT + slack, kind) == tight


def test_whole_milliseconds_include_their_last_microsecond() -> None:
    assert compute_upper_limit(MOMENT, TIMESTAMP) == MOMENT + 999
    assert compute_upper_limit(-1000, NTZ) == -1
    assert compute_upper_limit(MOMENT + 1, TIMESTAMP) == MOMENT + 1
    assert compute_upper_limit(2**63 - 808, TIMESTAMP) == 2**63 - 1
    assert compute_upper_limit(1000, LONG) == 1000


def test_other_values_are_tight_when_equal() -> None:
    assert is_tight_minimum(0.0, -0.0, DOUBLE)
    assert not is_tight_maximum(2, 1, LONG)
    assert is_tight_maximum(Exact("1.50"), Exact("1.5"), Decimal(3, 2))


def test_digits_beyond_milliseconds() -> None:
    assert is_finer_than_milliseconds(bound('"2024-01-02T03:04:05.298677Z"', TIMESTAMP), TIMESTAMP)
    assert not is_finer_than_milliseconds(bound('"2024-01-02T03:04:05.298000Z"', TIMESTAMP), TIMESTAMP)
    assert not is_finer_than_milliseconds(bound('"now"', TIMESTAMP), TIMESTAMP)
    assert not is_finer_than_milliseconds(bound("5", LONG), LONG)

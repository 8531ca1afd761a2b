"""Files that may be skipped for a predicate of a partition column: handwritten cases by type."""

from datetime import timedelta, timezone
from decimal import Decimal as Exact
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from model.file_statistics import NAN, SECOND, Y2020, A, comparison, file, schema

from deltaspec.model import can_skip
from deltaspec.model.rows.predicates import (
    Compare,
    IsNotNull,
    IsNull,
    NanOrder,
    Operator,
)
from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive

PARTITIONS: list[tuple[DataType, str, Any, Any]] = [
    (Primitive("integer"), "5", 5, 6),
    (Primitive("long"), "-7", -7, 7),
    (Primitive("float"), "3.4", 3.4000000953674316, 3.4),
    (Primitive("double"), "-0.0", 0.0, 1.0),
    (Decimal(5, 2), "1.50", Exact("1.5"), Exact("1.51")),
    (Primitive("boolean"), "true", True, False),
    (Primitive("string"), "null", "null", "NULL"),
    (Primitive("string"), "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__", "x"),
    (Primitive("date"), "2020-01-01", 18_262, 18_263),
    (Primitive("timestamp"), "2020-01-01T00:00:00.000001Z", Y2020 + 1, Y2020),
    (Primitive("timestamp"), "2020-01-01 02:00:00+02:00", Y2020, Y2020 + 7200 * SECOND),
    (Primitive("timestamp_ntz"), "2020-01-01 00:00:00.000001", Y2020 + 1, Y2020),
    (Primitive("binary"), "\x01\x02", b"\x01\x02", b"\x01"),
]


@pytest.mark.parametrize(("kind", "text", "value", "other"), PARTITIONS)
def test_partition_values_are_exact(kind: DataType, text: str, value: Any, other: Any) -> None:
    add, table = file(a=text), schema(kind)
    assert not can_skip(comparison("=", value), add, table, ["a"])
    assert can_skip(comparison("<>", value), add, table, ["a"])
    assert can_skip(comparison("=", other), add, table, ["a"])
    assert not can_skip(comparison("<>", other), add, table, ["a"])
    assert can_skip(IsNull(A), add, table, ["a"])
    assert not can_skip(IsNotNull(A), add, table, ["a"])


@pytest.mark.parametrize("kind", ["string", "long", "timestamp", "binary", "double"])
@pytest.mark.parametrize("text", [None, ""])
def test_null_and_the_empty_string_are_null(kind: str, text: str | None) -> None:
    add, table = file(a=text), schema(kind)
    assert can_skip(IsNotNull(A), add, table, ["a"])
    assert not can_skip(IsNull(A), add, table, ["a"])
    assert can_skip(Compare(A, Operator.NOT_EQUAL, {"string": "x", "binary": b"x"}.get(kind, 1)), add, table, ["a"])


def test_empty_string_is_in_no_partition() -> None:
    assert can_skip(comparison("=", ""), file(a=""), schema("string"), ["a"])


def test_partition_values_take_precedence_over_statistics() -> None:
    add = file({"minValues": {"a": 5}, "maxValues": {"a": 6}, "nullCount": {"a": 0}}, a="7")
    assert not can_skip(comparison("=", 7), add, schema("long"), ["a"])
    assert can_skip(comparison("=", 5), add, schema("long"), ["a"])


@pytest.mark.parametrize(
    ("kind", "text", "literal"),
    [("long", "x", 1), ("date", "x", 1), ("binary", "\u00e9", b"x"), ("timestamp_ntz", "2020-01-01T00:00:00Z", 1)],
)
def test_ambiguous_partition_values_are_ignored(kind: str, text: str, literal: Any) -> None:
    assert not can_skip(comparison("=", literal), file(a=text), schema(kind), ["a"])


def test_missing_partition_value_is_ignored() -> None:
    for predicate in (comparison("=", 1), IsNull(A), IsNotNull(A)):
        assert not can_skip(predicate, file(), schema("long"), ["a"])


def test_partition_of_nan() -> None:
    add, table = file(a="NaN"), schema("double")
    assert can_skip(comparison("<", 5.0), add, table, ["a"])
    assert not can_skip(comparison("=", NAN), add, table, ["a"])
    assert can_skip(comparison("=", NAN), add, table, ["a"], nan_orders=[NanOrder.UNORDERED])
    assert can_skip(IsNull(A), add, table, ["a"])


def test_float_partition_of_a_widened_double_column() -> None:
    table = schema("double", {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]})
    for value in (3.4, 3.4000000953674316):
        assert not can_skip(comparison("=", value), file(a="3.4"), table, ["a"])
    for value in (3.3999999, 3.4000002):
        assert can_skip(comparison("=", value), file(a="3.4"), table, ["a"])
    assert can_skip(comparison("=", 3.4000000953674316), file(a="3.4"), schema("double"), ["a"])


def test_partition_timestamp_without_zone_may_have_any_zone() -> None:
    add, table = file(a="2020-01-01 00:00:00"), schema("timestamp")
    hour = 3600 * SECOND
    for hours in (-18, -14, 0, 12, 18):
        assert not can_skip(comparison("=", Y2020 + hours * hour), add, table, ["a"])
    for hours in (-19, 19):
        assert can_skip(comparison("=", Y2020 + hours * hour), add, table, ["a"])
    east = timezone(timedelta(hours=2))
    assert not can_skip(comparison("=", Y2020 - 2 * hour), add, table, ["a"], writer_zone=east)
    assert can_skip(comparison("=", Y2020), add, table, ["a"], writer_zone=east)


def test_repeated_hour_means_two_instants() -> None:
    add, table = file(a="2020-10-25 02:30:00"), schema("timestamp")
    first = 1_603_585_800 * SECOND
    berlin = ZoneInfo("Europe/Berlin")
    for moment in (first, first + 3600 * SECOND):
        assert not can_skip(comparison("=", moment), add, table, ["a"], writer_zone=berlin)
    assert can_skip(comparison("=", first - 3600 * SECOND), add, table, ["a"], writer_zone=berlin)


def test_years_beyond_the_range_of_python() -> None:
    add, table = file(a="12020-01-01 00:00:00"), schema("timestamp")
    assert not can_skip(comparison(">", Y2020), add, table, ["a"], writer_zone=ZoneInfo("Europe/Berlin"))
    assert can_skip(comparison("<", Y2020), add, table, ["a"], writer_zone=ZoneInfo("Europe/Berlin"))

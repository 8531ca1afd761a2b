"""Made-up values have the type and the order of the original ones."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from deltaspec.extraction.pseudonyms import Pseudonyms


def replace_all(values: list[Any]) -> list[Any]:
    """Replace values of one column."""
    pseudonyms = Pseudonyms()
    assert [pseudonyms.replace_value(value) for value in values] == values
    pseudonyms.end_collecting()
    return [pseudonyms.replace_value(value) for value in values]


@pytest.mark.parametrize(
    ("values", "made_up"),
    [
        ([-70, -5, 0, 12, 1999], [-2, -1, 0, 1, 2]),
        ([0.25, 1e9], [1.0, 2.0]),
        ([Decimal("-1.50"), Decimal("7.25")], [Decimal("-1.00"), Decimal("1.00")]),
        (["Berlin", "Zürich"], ["s0001", "s0002"]),
        (["7", "12.50", "-3"], ["1", "2.00", "-1"]),
        ([b"ab", b""], [b"b0001", b""]),
        ([date(1987, 6, 5), date(2026, 1, 31)], [date(2000, 1, 1), date(2000, 1, 2)]),
        (["1987-06-05", "2026-01-31"], ["2000-01-01", "2000-01-02"]),
        (["1987-06-05", "2026-13-31"], ["2000-01-01", "s0001"]),
        ([None, True, float("inf")], [None, True, float("inf")]),
        (["11111111-2222-4333-8444-555555555555"], ["00000000-0000-4000-8000-000000000001"]),
    ],
    ids=lambda values: str(values[0]),
)
def test_values_keep_type_and_order(values: list[Any], made_up: list[Any]) -> None:
    assert replace_all(values) == made_up


def test_timestamps_keep_small_distances_and_their_form() -> None:
    moment = datetime(2026, 1, 31, 10, 0, 0, 123_456, UTC)
    values = ["2026-01-31T10:00:00.123Z", moment, "2026-01-31 11:00:00"]
    assert replace_all(values) == [
        "2000-01-01T00:00:00.000Z",
        datetime(2000, 1, 1, 0, 0, 0, 456, UTC),
        "2000-01-01 00:00:00",
    ]

"""Bounds of a double column in two copies, of which one may keep the text of a float."""

import pytest

from deltaspec.protocol.files.statistics import LeafColumn
from deltaspec.protocol.json_values import Number
from deltaspec.protocol.schema.data_types import Primitive
from deltaspec.views.files.copy_differences import is_same_partition_value, iter_differences

DOUBLE = LeafColumn("c", ("c",), Primitive("double"))


@pytest.mark.parametrize(
    ("text", "typed", "is_same"),
    [
        ("3.4", "3.4", True),
        ("3.4", "3.4000000953674316", True),  # the float 3.4 as a double
        ("3.4", "3.4000000000000004", False),
        ("3.4", "3.5", False),
        ("1e300", "2e300", False),
    ],
)
def test_bound_of_a_double(text: str, typed: str, is_same: bool) -> None:
    copies = ({"minValues": {"c": Number(text)}}, {"minValues": {"c": Number(typed)}})
    assert (list(iter_differences(*copies, [DOUBLE])) == []) is is_same


STRING = LeafColumn("c", ("c",), Primitive("string"))


@pytest.mark.parametrize(
    ("name", "text", "typed", "is_same"),
    [
        ("minValues", "abcd", "abcd", True),
        ("minValues", "abcd", "ab", True),
        ("minValues", "ab", "abcd", True),
        ("minValues", "abcd", "ac", False),  # only a maximum is incremented
        ("maxValues", "abcd", "ac", True),
        ("maxValues", "ac", "abcd", True),
        ("maxValues", "abcd", "ab", True),
        ("maxValues", "abcd", "abce", False),  # an increment without truncation
        ("maxValues", "abcd", "zz", False),
        ("maxValues", "abcd", "b\ud7ff", False),
    ],
)
def test_bound_of_a_string(name: str, text: str, typed: str, is_same: bool) -> None:
    assert (list(iter_differences({name: {"c": text}}, {name: {"c": typed}}, [STRING])) == []) is is_same


@pytest.mark.parametrize(
    ("text", "typed", "is_same"),
    [
        ("2024-01-01 00:00:00", "2024-01-01 00:00:00", True),
        ("2024-01-01 16:00:00", "2024-01-01 00:00:00", True),
        ("2024-01-01 16:15:00", "2024-01-01 00:00:00", False),
        ("2024-01-01 00:00:00", "2024-01-01 16:00:00", True),
        ("2024-01-01 00:00:00", "2024-01-01 16:15:00", False),
        ("2024-01-01 00:07:00", "2024-01-01 00:00:00", False),
        ("1972-01-01 00:07:00", "1972-01-01 00:00:00", False),
        ("1971-12-31 23:52:28", "1971-12-31 23:00:00", True),  # offsets of local mean time have seconds
        ("1971-12-31 23:52:28.5", "1971-12-31 23:00:00", False),
        ("2024-01-01T01:00:00.000000Z", "2024-01-01 00:00:00", False),  # it has a time zone
    ],
)
def test_partition_value_of_a_timestamp(text: str, typed: str, is_same: bool) -> None:
    assert is_same_partition_value(text, typed, Primitive("timestamp")) is is_same

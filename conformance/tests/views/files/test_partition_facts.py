"""Partition columns of `file_actions`: keys and values compared with the partition columns of the table."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from deltaspec.protocol.schema.data_types import DataType, Primitive
from deltaspec.views.files.partition_facts import columns, parse_partition_text

INTEGER, DATE, TIMESTAMP = Primitive("integer"), Primitive("date"), Primitive("timestamp")
NTZ = Primitive("timestamp_ntz")
LISTS = (
    "missing_partition_columns",
    "extra_partition_columns",
    "logical_partition_keys",
    "invalid_partition_values",
    "non_canonical_partition_values",
    "ambiguous_partition_values",
    "high_byte_partition_values",
    "undefined_partition_values",
)
Values = Sequence[dict[str, str | None] | None]


def build(
    values: Values,
    types: dict[str, DataType] | None,
    logical: Mapping[str, str] | None = None,
    earlier: Mapping[str, Sequence[DataType]] | None = None,
) -> dict[str, list[Any]]:
    """Return the columns that are built of the partition values of some files, as lists by name."""
    maps = pa.array(
        [None if each is None else list(each.items()) for each in values], pa.map_(pa.string(), pa.string())
    )
    built = columns(pa.chunked_array([maps]), types, logical or {}, earlier or {})
    return {each.name: each.to_list() for each in built}


def collect_faults(values: Values, types: dict[str, DataType], **options: Any) -> list[dict[str, list[str]]]:
    """Return the lists of each file that are not empty."""
    built = build(values, types, **options)
    return [{name: built[name][row] for name in LISTS if built[name][row]} for row in range(len(values))]


# Maps with equal keys in equal order, maps with other keys, and a missing map are read in different ways.
REST: list[Values] = [[], [{"a": "1"}], [{"a": None}], [{"b": "1", "a": "2"}], [None]]


def test_nothing_is_known_without_metadata() -> None:
    built = build([{"a": "x"}, {}, None], None)
    assert {name: built[name] for name in LISTS} == {name: [None] * 3 for name in LISTS}
    assert built["partition_text"] == ["a\x1ex", "", None]


def test_nothing_is_known_of_an_action_without_partition_values() -> None:
    built = build([{"a": "1"}, None], {"a": INTEGER})
    assert {name: built[name] for name in LISTS} == {name: [[], None] for name in LISTS}


@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize(
    ("values", "faults"),
    [
        ({"a": "1"}, {}),
        ({"a": None}, {}),
        ({"a": ""}, {}),
        ({}, {"missing_partition_columns": ["a"]}),
        ({"b": "1"}, {"missing_partition_columns": ["a"], "extra_partition_columns": ["b"]}),
        ({"a": "1", "b": "x", "c": None}, {"extra_partition_columns": ["b", "c"]}),
        ({"a": "x"}, {"invalid_partition_values": ["a=x"]}),
        ({"a": "007"}, {"non_canonical_partition_values": ["a=007"]}),
    ],
)
def test_faults_do_not_depend_on_other_files(
    values: dict[str, str | None], faults: dict[str, list[str]], rest: Values
) -> None:
    assert collect_faults([values, *rest], {"a": INTEGER})[0] == faults
    assert collect_faults([*rest, values], {"a": INTEGER})[-1] == faults


def test_every_column_and_every_file_is_compared() -> None:
    types: dict[str, DataType] = {"a": INTEGER, "b": DATE}
    assert collect_faults(
        [{"a": "1", "b": "x"}, {"a": "y", "b": "2024-1-2"}, {"a": "2", "b": "2024-01-02"}], types
    ) == [
        {"invalid_partition_values": ["b=x"]},
        {"invalid_partition_values": ["a=y"], "ambiguous_partition_values": ["b=2024-1-2"]},
        {},
    ]
    assert collect_faults([{}, {"b": None}], types) == [
        {"missing_partition_columns": ["a", "b"]},
        {"missing_partition_columns": ["a"]},
    ]


def test_key_with_the_logical_name_of_a_column_is_one_fault() -> None:
    types: dict[str, DataType] = {"col-1": INTEGER, "col-2": INTEGER}
    logical = {"a": "col-1", "b": "col-2"}
    values: Values = [{"a": "1", "col-2": "2"}, {"a": "1", "x": "2"}, {"col-1": "1", "col-2": "2"}]
    assert collect_faults(values, types, logical=logical) == [
        {"logical_partition_keys": ["a"]},
        {"logical_partition_keys": ["a"], "extra_partition_columns": ["x"], "missing_partition_columns": ["col-2"]},
        {},
    ]


def test_values_may_have_the_text_of_an_earlier_type() -> None:
    values: Values = [{"a": "2024-01-02"}, {"a": "2024-01-02 00:00:00"}, {"a": "x"}]
    of_date, other = {"undefined_partition_values": ["a=2024-01-02"]}, {"invalid_partition_values": ["a=x"]}
    assert collect_faults(values, {"a": NTZ}) == [of_date, {}, other]
    assert collect_faults(values, {"a": NTZ}, earlier={"a": [DATE]}) == [{}, {}, other]
    assert collect_faults(values, {"a": NTZ}, earlier={"b": [DATE]})[0] != {}


def test_forms_of_timestamps_are_told_apart() -> None:
    values: Values = [
        {"a": "2024-01-02T03:04:05.000000Z", "b": None},
        {"a": "2024-01-02 03:04:05", "b": "2024-01-02T03:04:05.000000Z"},
        {"a": None, "b": "2024-01-02 03:04:05"},
        {"a": "x", "b": ""},
    ]
    built = build(values, {"a": TIMESTAMP, "b": TIMESTAMP})
    utc, zoneless = "2024-01-02T03:04:05.000000Z", "2024-01-02 03:04:05"
    assert built["utc_partition_value"] == [f"a={utc}", f"b={utc}", None, None]
    assert built["zoneless_partition_value"] == [None, f"a={zoneless}", f"b={zoneless}", None]
    assert set(build(values, {"a": NTZ, "b": NTZ})["utc_partition_value"]) == {None}


@pytest.mark.parametrize(
    "values",
    [
        [{"a": "1", "b": "2"}, {"a": "3", "b": "2"}, {"a": "1", "b": "4"}, {"a": "3", "b": "4"}],
        [{"a": "1", "b": "1", "c": "2"}, {"a": "2", "b": "3", "c": "1"}, {"a": "1", "b": "1", "c": "1"}],
        [{"b": "2", "a": "1"}, {"b": "2", "a": "3"}],
        [{"a": "1", "b": "2"}, {"b": "2", "a": "3"}],
        [{"a": "1", "b": "2"}, {}],
        [{"a": None}, {"a": ""}, {"a": "x\x1fy"}],
        [{}, {}],
        [{"a-": "1", "a": "2"}, {"a": "2", "a-": "1"}],
        [{"a": str(number), "b": str(number % 7)} for number in range(2000)],
    ],
)
def test_partition_text_identifies_the_values(values: list[dict[str, str | None]]) -> None:
    texts = build(values, {"a": INTEGER})["partition_text"]
    assert [parse_partition_text(text) for text in texts] == [
        {key: value or "" for key, value in each.items()} for each in values
    ]
    others = [build([each, {}], {"a": INTEGER})["partition_text"] for each in values[:9]]
    assert others == [[text, ""] for text in texts[:9]]
    reversed_texts = build([dict(reversed(each.items())) for each in values], {"a": INTEGER})["partition_text"]
    assert reversed_texts == texts

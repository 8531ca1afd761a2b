"""Sizes of column values in bytes."""

import pyarrow as pa
import pytest

from deltaspec.sql.value_sizes import compute_value_sizes

NUMBER = 16
ROWS = [None, {"a": "xy", "b": [b"z", None, b"zzz"]}, {"a": None, "b": None}, {"a": "ü", "b": []}]
STRUCT = pa.struct([("a", pa.string()), ("b", pa.list_(pa.binary()))])
MAPS = [[("k", "value"), ("key", None)], None, [], [("", "xyz")]]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(["", None, "ü€", "abc"]), [0, 0, 5, 3]),
        (pa.array([1, None], pa.int64()), [NUMBER, NUMBER]),
        (pa.array([["a", "bc"], None, [], ["d"]], pa.list_(pa.string())), [3, 0, 0, 1]),
        (pa.array(ROWS, STRUCT), [NUMBER, NUMBER + 6, NUMBER, NUMBER + 2]),
        (pa.array(MAPS, pa.map_(pa.string(), pa.string())), [9, 0, 0, 3]),
        (pa.array([[["a"], ["bc", "d"]], [[]]], pa.list_(pa.list_(pa.string()))), [4, 0]),
        (pa.array([], pa.list_(pa.string())), []),
    ],
)
def test_sizes_include_nested_values(array: pa.Array, expected: list[int]) -> None:
    assert compute_value_sizes(array).to_pylist() == expected
    assert compute_value_sizes(array[1:]).to_pylist() == expected[1:]

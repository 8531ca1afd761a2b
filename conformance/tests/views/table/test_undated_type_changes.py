"""Illegal type changes of columns that files of the base may store with another type."""

from typing import Any

import polars as pl
import pytest

from deltaspec.views.table.type_widening import find_undated_changes

CHANGE: dict[str, Any] = {"version": 5, "is_undated": True, "is_legal": False}
LIVE: dict[str, Any] = {"kind": "add", "source": "checkpoint", "num_records": 1, "until": None}
SCHEMA = {"kind": pl.String, "source": pl.String, "num_records": pl.Int64, "until": pl.Int64}


def find(files: list[dict[str, Any]], **change: Any) -> set[int]:
    return find_undated_changes([(CHANGE | change, 0)], pl.DataFrame(files, SCHEMA))


@pytest.mark.parametrize(
    ("file", "is_found"),
    [
        ({}, True),
        ({"until": 6}, True),
        ({"until": 5}, False),  # the change comes with the removal, or after it
        ({"until": 4}, False),
        ({"num_records": None}, True),
        ({"num_records": 0}, False),
        ({"kind": "remove"}, False),
        ({"source": "commit"}, False),
    ],
)
def test_file_of_the_base_that_has_rows_when_the_type_changes(file: dict[str, Any], is_found: bool) -> None:
    assert find([LIVE | file]) == ({5} if is_found else set())
    assert find([LIVE | {"until": 1}, LIVE | file]) == ({5} if is_found else set())


def test_any_file_of_the_base_is_enough() -> None:
    assert find([LIVE, LIVE | {"until": 4}]) == {5}
    assert find([LIVE | {"until": 9}, LIVE | {"until": 4}]) == {5}
    assert find([]) == set()


@pytest.mark.parametrize("change", [{"is_undated": False}, {"is_legal": True}])
def test_other_changes_are_left_out(change: dict[str, Any]) -> None:
    assert find([LIVE], **change) == set()

"""Partition columns and timestamps in data files of a table with Iceberg compatibility."""

import pytest

from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.protocol.schema.parquet_types import Node
from deltaspec.views.data.iceberg_files import (
    find_int96_timestamps,
    find_misplaced_partition_columns,
    find_missing_partition_columns,
)


def column(name: str, kind: str, number: int) -> Field:
    described = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return Field(name, Primitive(kind), True, described)


SCHEMA = Struct(
    (column("id", "long", 1), column("at", "timestamp", 2), column("day", "long", 3), column("nothing", "void", 4))
)
PARTITIONED_BY = ["day", "nothing"]


def file(*columns: str, at: str = "INT64", numbered: bool = True) -> Node:
    """Build a file with these columns; each field id is the last digit of the name."""
    return Node(
        "schema",
        "required",
        children=tuple(
            Node(name, "optional", at if name == "col-2" else "INT64", field_id=int(name[-1]) if numbered else None)
            for name in columns
        ),
    )


@pytest.mark.parametrize("mapping", ["name", "id"])
@pytest.mark.parametrize(
    ("columns", "absent", "misplaced"),
    [
        (["col-1", "col-2", "col-3"], [], []),
        (["col-3", "col-1", "col-2"], [], ["day"]),
        (["col-1", "col-3", "col-2"], [], ["day"]),
        (["col-1", "col-2"], ["day"], []),
        (["col-3"], [], []),
        (["col-3", "col-9"], [], []),
        ([], ["day"], []),
    ],
)
def test_partition_columns_of_a_file(mapping: str, columns: list[str], absent: list[str], misplaced: list[str]) -> None:
    assert find_missing_partition_columns(SCHEMA, PARTITIONED_BY, file(*columns), mapping) == absent
    assert find_misplaced_partition_columns(SCHEMA, PARTITIONED_BY, file(*columns), mapping) == misplaced


def test_column_matched_only_by_name_is_stored() -> None:
    assert find_missing_partition_columns(SCHEMA, PARTITIONED_BY, file("col-3", numbered=False), "id") == []


@pytest.mark.parametrize(("at", "found"), [("INT96", [("at",)]), ("INT64", [])])
def test_int96_timestamps(at: str, found: list[tuple[str, ...]]) -> None:
    assert find_int96_timestamps(SCHEMA, file("col-1", "col-2", at=at), "name") == found

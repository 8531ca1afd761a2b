"""Rows of `row_checks`: all checks of a data file, passed and failed."""

from typing import Any

import pyarrow as pa
from helpers.recording_run import RecordingRun

from deltaspec_generators.small_tables import build_table_with_stored_vectors
from deltaspec_generators.table_files import TableFiles
from planted_tables.bases.nested_types import struct_type
from planted_tables.bases.single_file import (
    FILE_PATH,
    build_required_field,
    build_single_file_table,
    build_string_array,
)


def checks(files: TableFiles, *columns: str) -> list[tuple[Any, ...]]:
    """Return the rows of the view, sorted by column and check, without passed page checks."""
    rows = RecordingRun(files, level="rows").recorded.rows("row_checks")
    found = [row for row in rows if row["check"] != "pages" or row["page_fault"]]
    names = ("column", "check", *columns)
    return sorted((tuple(row[name] for name in names) for row in found), key=str)


def test_valid_rows_pass_all_checks() -> None:
    kind = struct_type(build_required_field("d", "decimal(5,2)"), ("b", "byte"))
    values = pa.array([{"d": 1, "b": 2}, None], pa.struct([("d", pa.decimal128(5, 2)), ("b", pa.int32())]))
    table = pa.table({"id": [1, 2], "s": values, "t": ["a", None], "p": pa.array([7, 7], pa.int32())})
    fields = [build_required_field("id", "long"), ("s", kind), ("t", "string"), ("p", "integer")]
    assert checks(
        build_single_file_table(table, fields, partition={"p": "7"}), "type", "violating_rows", "rows", "expected"
    ) == [
        ("id", "not null", "long", 0, 2, None),
        ("id", "range", "long", 0, 2, "long"),
        ("p", "partition value", "integer", 0, 2, "7"),
        ("p", "range", "integer", 0, 2, "integer"),
        ("s.b", "range", "byte", 0, 2, "byte"),
        ("s.d", "not null", "decimal(5,2)", 0, 2, None),
        ("s.d", "range", "decimal(5,2)", 0, 2, "decimal(5,2)"),
        ("t", "UTF-8", "string", 0, 2, None),
    ]


def test_failed_check_has_first_row_and_value() -> None:
    table = pa.table(
        {"id": pa.array([1, None, None]), "s": build_string_array(b"a", b"\xff\xfe", b"b"), "p": ["x", "x", "y"]}
    )
    fields = [build_required_field("id", "long"), ("s", "string"), ("p", "string")]
    found = checks(
        build_single_file_table(table, fields, partition={"p": "x"}), "violating_rows", "first_row", "found", "expected"
    )
    assert [each for each in found if each[2]] == [
        ("id", "not null", 2, 1, "null", None),
        ("p", "partition value", 1, 2, "y", "x"),
        ("s", "UTF-8", 1, 1, "b'\\xff\\xfe'", None),
    ]


def test_checks_below_arrays_are_marked() -> None:
    kind = {"type": "array", "elementType": "long", "containsNull": False}
    lists = pa.array([[None, None], [1]], pa.list_(pa.int64()))
    found = checks(
        build_single_file_table(pa.table({"l": lists}), [build_required_field("l", kind)]),
        "below_container",
        "violating_rows",
    )
    assert found == [("l", "not null", False, 0), ("l.element", "not null", True, 1)]


def test_every_column_has_a_page_check() -> None:
    rows = RecordingRun(
        build_single_file_table(pa.table({"a": [1], "b": ["x"], "extra": [1]}), [("a", "long"), ("b", "string")])
    ).recorded
    assert rows.rows("row_checks") == []  # level `log`
    files = build_single_file_table(
        pa.table({"a": [1], "b": ["x"], "extra": [1]}), [("a", "long"), ("b", "string"), ("c", "long")]
    )
    rows = RecordingRun(files, level="rows").recorded
    pages = [row for row in rows.rows("row_checks") if row["check"] == "pages"]
    assert sorted((row["column"], row["page_fault"], row["path"], row["line"]) for row in pages) == [
        ("a", None, FILE_PATH, 2),
        ("b", None, FILE_PATH, 2),
    ]


def test_deleted_rows_are_not_counted() -> None:
    run = RecordingRun(build_table_with_stored_vectors(((1, 3), (2,))), level="rows")
    assert sorted({(row["path"], row["rows"]) for row in run.recorded.rows("row_checks")}) == [
        ("b.parquet", 8),
        ("c.parquet", 9),
    ]

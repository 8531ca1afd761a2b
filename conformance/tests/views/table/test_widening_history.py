"""Since when a column has its type, which decides the files that a later type change must be legal for."""

from typing import Any

import pytest

from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.table.type_widening import WideningHistory
from deltaspec_generators.table_files import schema_string
from planted_tables.bases.type_widening import ENABLED

COMMIT, CHECKPOINT = "_delta_log/commit.json", "_delta_log/00000000000000000000.checkpoint.parquet"


def apply_type(history: WideningHistory, version: int, kind: str, file: str = COMMIT) -> None:
    schema = parse_schema(schema_string([("n", kind)]))
    location = {"version": version, "file": file, "line": 1}
    history.apply(location, schema, ENABLED, {"typeWidening"}, mapped=False)


def find_change(history: WideningHistory) -> tuple[dict[str, Any], int]:
    (change,) = history.changes
    return change


@pytest.mark.parametrize(
    ("version", "file", "is_undated"),
    [(0, COMMIT, False), (0, CHECKPOINT, True), (3, COMMIT, True), (3, CHECKPOINT, True)],
)
def test_first_known_type_has_a_date_only_in_the_first_commit(version: int, file: str, is_undated: bool) -> None:
    history = WideningHistory()
    apply_type(history, version, "long", file)
    apply_type(history, 5, "string")
    row, _ = find_change(history)
    assert row["is_undated"] is is_undated


def test_type_after_unknown_versions_has_no_date() -> None:
    history = WideningHistory()
    apply_type(history, 0, "long")
    history.forget()
    apply_type(history, 3, "long")
    apply_type(history, 5, "string")
    row, _ = find_change(history)
    assert row["is_undated"] is True

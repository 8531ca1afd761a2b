"""Nulls that partition values and null counts show in columns that must not be null, version by version."""

import json
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases.nested_types import struct_type
from planted_tables.bases.single_file import build_required_field

NEEDED = build_required_field("x", "long")
FIELDS: list[Any] = [("x", "long"), ("p", "string")]
X, P = [NEEDED, ("p", "string")], [("x", "long"), build_required_field("p", "string")]
OPTIONAL_STRUCT = [("s", struct_type(NEEDED))]
REQUIRED_STRUCT = [build_required_field("s", struct_type(("x", "long")))]
ARRAY = [build_required_field("a", {"type": "array", "elementType": "long", "containsNull": False})]
VECTOR = {"storageType": "p", "pathOrInlineDv": "file:/v.bin", "offset": 1, "sizeInBytes": 36, "cardinality": 4}


def metadata(fields: list[Any]) -> dict[str, Any]:
    partition_columns = ["p"] if ("p", "string") in fields or fields == P else []
    return metadata_action(fields, partition_columns, {"delta.enableDeletionVectors": "true"})


def add(counts: dict[str, Any] | None = None, *, value: str | None = "a", **more: Any) -> dict[str, Any]:
    action = add_action("a.parquet", rows=10, partition={"p": value})
    stats = {"numRecords": more.pop("rows", 10), "nullCount": counts or {}}
    wide = {"tightBounds": False} if more.pop("wide", False) else {}
    action["add"] |= {"stats": json.dumps({**stats, **wide}), **more}
    return action


def build(first: list[Any], *actions: dict[str, Any] | list[Any]) -> TableFiles:
    """Build a table with one action for each version from 1 on; a list is a new schema."""
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"])]
    for version, action in enumerate([first, *actions]):
        line = metadata(action) if isinstance(action, list) else action
        files.commits.setdefault(version, [commit_info_action(version)]).append(line)
    if metadata(first)["metaData"]["partitionColumns"] == []:
        for version in range(1, len(files.commits)):
            for line in files.commits[version][1:]:
                if "add" in line:
                    get_action(files, version, "add")["partitionValues"] = {}
    return files


def validate(files: TableFiles, path: Path) -> list[tuple[Any, ...]]:
    write_table(files, path / "table")
    report = deltaspec.validate(str(path / "table"), level="log", history="all")
    assert report.checked.not_checked == []
    return [(each.rule, each.version, each.evidence.get("last_legal_version")) for each in report.findings]


FIXED = add({"x": 0})
ILLEGAL = {
    "null count": (build(X, add({"x": 1})), ("STA019", 1, None)),
    "more nulls than deleted rows": (build(X, add({"x": 5}, deletionVector=VECTOR)), ("STA019", 1, None)),
    "all nulls with wide bounds": (build(X, add({"x": 10}, wide=True, deletionVector=VECTOR)), ("STA019", 1, None)),
    "required later": (build(FIELDS, add({"x": 1}), X), ("STA019", 2, 1)),
    "required for a while": (build(FIELDS, add({"x": 1}), X, FIELDS, X), ("STA019", 2, 1)),
    "repaired later": (build(FIELDS, add({"x": 1}), X, FIXED), ("STA019", 2, 1)),
    "added again unchanged": (build(X, add({"x": 1}), add({"x": 1})), ("STA019", 1, None)),
    "required between equal adds": (build(FIELDS, add({"x": 1}), X, add({"x": 1})), ("STA019", 2, 1)),
    "partition value": (build(P, add(value=None)), ("FIL063", 1, None)),
    "empty partition value later": (build(FIELDS, add(value=""), P), ("FIL063", 2, 1)),
    "null count of a partition column": (build(P, add({"p": 10})), ("FIL026", 1, None)),
}
LEGAL = {
    "wide count of some rows": build(X, add({"x": 9}, wide=True)),
    "nulls may be deleted": build(X, add({"x": 4}, deletionVector=VECTOR)),
    "all rows are deleted": build(X, add({"x": 4}, rows=4, wide=True, deletionVector=VECTOR)),
    "null struct": build(OPTIONAL_STRUCT, add({"s": {"x": 10}})),
    "nullable field of a struct": build(REQUIRED_STRUCT, add({"s": {"x": 10}})),
    "count below an array": build(ARRAY, add({"a": {"element": 3}})),
    "column added later": build([("p", "string")], add({}), X),
    "removed before": build(FIELDS, add({"x": 1}, value=None), remove_action(add(value=None)), X, P),
    "required before": build(X, FIELDS, add({"x": 1})),
    "partition of no rows": build(P, add(value=None, rows=0)),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_null_is_found_at_the_version_that_forbids_it(tmp_path: Path, name: str) -> None:
    files, expected = ILLEGAL[name]
    assert validate(files, tmp_path) == [expected]


@pytest.mark.parametrize("name", LEGAL)
def test_legal_nulls_are_not_found(tmp_path: Path, name: str) -> None:
    assert validate(LEGAL[name], tmp_path) == []

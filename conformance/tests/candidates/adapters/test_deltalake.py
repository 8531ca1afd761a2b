"""What only the adapter of delta-rs answers: snapshots, timestamps and changes."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from helpers.every_type_table import write_every_type_table

from deltaspec.candidates.adapters.deltalake import Engine
from deltaspec.candidates.serve import EngineError
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, txn_action, write_table


def read_snapshot(table: Path | str, **request: Any) -> dict[str, Any]:
    return Engine().snapshot(str(table), **{"at": None, "want": [], "app_ids": [], **request})


def test_snapshot_describes_protocol_and_metadata(tmp_path: Path) -> None:
    write_every_type_table(tmp_path)
    found = read_snapshot(tmp_path)
    assert found["version"] == 1
    assert found["protocol"] == {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["timestampNtz"],
        "writerFeatures": ["timestampNtz"],
    }
    assert found["metadata"]["partitionColumns"] == []
    assert '"name":"timestamp_ntz"' in found["metadata"]["schemaString"]


def test_snapshot_lists_files_and_transactions(tmp_path: Path) -> None:
    write_every_type_table(tmp_path)
    found = read_snapshot(tmp_path, want=["files", "transactions"], app_ids=["job"])
    assert [file["path"] for file in found["files"]] == ["rows.parquet"]
    assert found["transactions"] == {}


def test_snapshot_shows_transactions(tmp_path: Path) -> None:
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")]), txn_action("job", 9)]
    write_table(files, tmp_path)
    found = read_snapshot(tmp_path, want=["transactions"], app_ids=["job", "other"])
    assert found["transactions"] == {"job": 9}


@pytest.fixture(scope="module")
def changed_table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Versions 0 and 1 append the ids 1 and 2, version 2 deletes id 1."""
    path = str(tmp_path_factory.mktemp("changed"))
    write_deltalake(path, pa.table({"id": [1], "a": ["x"]}), configuration={"delta.enableChangeDataFeed": "true"})
    write_deltalake(path, pa.table({"id": [2], "a": ["y"]}), mode="append")
    DeltaTable(path).delete("id = 1")
    return path


def read_changes(table: str, start: int, end: int | None, **request: Any) -> list[tuple[Any, ...]]:
    arguments = {"columns": None, "predicate": None, "predicate_tree": None, **request}
    rows = Engine().changes(table, start=start, end=end, **arguments)
    keys = [name for name in ("_commit_version", "_change_type", "id", "a") if name in rows.column_names]
    return sorted(zip(*(rows[name].to_pylist() for name in keys), strict=True))


def test_changes_of_versions_are_read(changed_table: str) -> None:
    assert read_changes(changed_table, 1, None) == [(1, "insert", 2, "y"), (2, "delete", 1, "x")]
    assert read_changes(changed_table, 0, 1) == [(0, "insert", 1, "x"), (1, "insert", 2, "y")]


def test_changes_are_filtered_and_projected(changed_table: str) -> None:
    tree = ["=", ["col", "id"], ["lit", "long", "1"]]
    rows = read_changes(changed_table, 0, 2, predicate_tree=tree, columns=[["id"]])
    assert rows == [(0, "insert", 1), (2, "delete", 1)]


def test_timestamps_select_versions(changed_table: str) -> None:
    for version, seconds in enumerate((1_700_000_000, 1_700_000_010, 1_700_000_020)):
        os.utime(f"{changed_table}/_delta_log/{version:020}.json", (seconds, seconds))
    assert read_snapshot(changed_table, at={"timestamp_ms": 1_700_000_010_000})["version"] == 1
    assert read_snapshot(changed_table, at={"timestamp_ms": 1_700_000_019_999})["version"] == 1
    assert read_snapshot(changed_table, at={"timestamp_ms": 1_700_000_021_000})["version"] == 2


def test_row_ids_are_not_offered(changed_table: str) -> None:
    with pytest.raises(EngineError, match="row ids") as caught:
        Engine().scan(changed_table, at=None, columns=None, predicate=None, predicate_tree=None, row_ids=True)
    assert (caught.value.category, caught.value.code) == ("unsupported", "operation")

"""Tables are found in an object store without listing their data or their logs."""

import json
from pathlib import Path

import pytest
from helpers.cli import run
from helpers.faulty_s3 import Fault, FaultyS3

from deltaspec.commands import table_workers
from deltaspec.commands.table_workers import run_tables
from deltaspec.wire.storage.folders import ArrowFolders
from deltaspec_generators.table_files import metadata_action, protocol_action

COMMIT = "\n".join(map(json.dumps, (protocol_action(1, 2), metadata_action([("id", "long")])))).encode()
TABLES = ("eu/orders", "us/orders", "us/odd %20 ü*", "us/items")


@pytest.fixture
def lake(s3: FaultyS3) -> FaultyS3:
    """A bucket with `TABLES`, other folders and files."""
    for name in (*TABLES, "us/_hidden/t", "us/items/in a table"):
        s3.put(f"{name}/_delta_log/{0:020}.json", COMMIT)
        s3.put(f"{name}/day=1/a.parquet", b"1")
    s3.put("readme.md", b"1")
    s3.put("raw/landing/file.json", b"1")
    return s3


def test_discovered_tables_can_be_validated(lake: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_workers, "run_in_workers", lambda tasks, _, outages: run_tables(tasks, outages))
    found = run("discover", "s3://lake").stdout.splitlines()
    assert found == [
        f"s3://lake/{name}" for name in ("eu/orders", "us/items", "us/odd%20%2520%20%C3%BC%2A", "us/orders")
    ]
    result = run("validate", *found, "--format", "json", "--level", "log")
    summary = json.loads(result.stdout)
    assert [each["table"] for each in summary["tables"]] == found
    assert {each["verdict"] for each in summary["tables"]} == {"conforms"}
    globs = run("validate", "s3://lake/*/orders", "s3://lake/us/odd*%2A", "-q", "--level", "log").stdout.splitlines()
    assert [row.split()[-1] for row in globs[1:-1]] == [found[0], found[3], found[2]]


def test_neither_data_nor_logs_are_listed(lake: FaultyS3) -> None:
    for number in range(1, 2500):
        lake.put(f"us/items/_delta_log/{number:020}.json", b"1")
    lake.requests.clear()
    assert run("discover", "s3://lake/us").exit_code == 0
    listed = [each.key for each in lake.requests]
    assert [each for each in lake.requests if each.kind != "list"] == []
    assert listed.count("us/items/_delta_log/") == 1, "one page"
    assert not [key for key in listed if key.startswith("us/items/") and key != "us/items/_delta_log/"]


def test_folder_that_cannot_be_listed_is_named(lake: FaultyS3) -> None:
    lake.faults.append(Fault("403", ("list",), lambda key: key == "raw/"))
    result = run("discover", "s3://lake")
    assert (result.exit_code, len(result.stdout.splitlines())) == (3, 4)
    assert result.stderr.startswith("deltaspec: s3://lake/raw: not searched: ")


def test_file_systems_of_arrow_are_searched(tmp_path: Path) -> None:
    for name in ("eu/orders", "us/a b", "us/orders/in a table", "us/orders"):
        (tmp_path / name / "_delta_log").mkdir(parents=True)
    (tmp_path / "file").touch()
    folders = ArrowFolders(tmp_path.as_uri())
    assert [each.name for each in folders.list_folders("")] == ["eu", "us"]
    assert folders.list_folders("gone") == []
    assert [each for each in ("", "eu", "eu/orders", "gone", "file") if folders.is_table(each)] == ["eu/orders"]
    assert folders.get_location("us/a b") == f"{tmp_path.as_uri()}/us/a%20b"
    assert ArrowFolders(folders.get_location("us/a b")).is_table("")

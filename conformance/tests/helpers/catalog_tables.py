"""Hand-written tables that a catalog manages, commit by commit."""

import json
from pathlib import Path
from typing import Any

from deltaspec.protocol.log.file_names import commit_name, staged_commit_name

Action = dict[str, Any]
DATA = b"rows"
"""Content of every data file; level `files` does not open it."""
FEATURES = ["catalogManaged", "inCommitTimestamp"]
SCHEMA = '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
BEGAN_MS = 1_790_000_000_000


def uuid(number: int) -> str:
    """Return a UUID for a staged commit."""
    return f"3a0d65cd-4056-49b8-937b-{number:012x}"


def info(version: int, transaction: str | None = None, **fields: Any) -> Action:
    """Return the commitInfo of a version; its transaction is `t-VERSION` by default."""
    stamp = BEGAN_MS + 1000 * version
    return {
        "commitInfo": {
            "inCommitTimestamp": stamp,
            "timestamp": stamp,
            "operation": "WRITE",
            "operationParameters": {},
            "txnId": transaction or f"t-{version}",
            **fields,
        }
    }


def protocol(reader: list[str] | None = None, writer: list[str] | None = None) -> Action:
    """Return a protocol with table features; by default those of a catalog-managed table."""
    reader = ["catalogManaged"] if reader is None else reader
    features = {"readerFeatures": reader, "writerFeatures": FEATURES if writer is None else writer}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}


def metadata(**configuration: str) -> Action:
    """Return metadata with in-commit timestamps enabled."""
    return {
        "metaData": {
            "id": "7d2d5b8e-0a3b-4d3e-9a55-0c1d2e3f4a5b",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": SCHEMA,
            "partitionColumns": [],
            "configuration": {"delta.enableInCommitTimestamps": "true", **configuration},
            "createdTime": BEGAN_MS,
        }
    }


def add(path: str, **fields: Any) -> Action:
    """Return the add of a data file with the content `DATA`."""
    facts = {"size": len(DATA), "modificationTime": BEGAN_MS, "dataChange": True, "stats": '{"numRecords":2}'}
    return {"add": {"path": path, "partitionValues": {}, **facts, **fields}}


def remove(path: str) -> Action:
    """Return the remove of a data file."""
    return {"remove": {"path": path, "deletionTimestamp": BEGAN_MS, "dataChange": True}}


def encode(actions: list[Action]) -> bytes:
    """Return the lines of a commit."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in actions)


def commit(version: int) -> list[Action]:
    """Return the commit of a version, which adds `f<version>.parquet`; version 0 also creates the table."""
    created = [protocol(), metadata()] if version == 0 else []
    return [info(version), *created, add(f"f{version}.parquet")]


class CatalogTable:
    """A directory that receives published and staged commits, and data files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "_delta_log"
        (self.log / "_staged_commits").mkdir(parents=True)

    def publish(self, version: int, actions: list[Action] | None = None) -> bytes:
        """Write a published commit."""
        return self._write(commit_name(version), version, actions)

    def stage(self, version: int, number: int | None = None, actions: list[Action] | None = None) -> str:
        """Write a staged commit; return its name without the directory."""
        name = staged_commit_name(version, uuid(version if number is None else number))
        self._write(name, version, actions)
        return name.rpartition("/")[2]

    def write(self, name: str, content: bytes) -> None:
        """Write another file of the log."""
        (self.log / name).write_bytes(content)

    def _write(self, name: str, version: int, actions: list[Action] | None) -> bytes:
        actions = commit(version) if actions is None else actions
        content = encode(actions)
        (self.log / name).write_bytes(content)
        for each in actions:
            if "add" in each:
                (self.root / each["add"]["path"]).write_bytes(DATA)
        return content


def build_tail(root: Path, *, published: int = 2, staged: int = 2) -> CatalogTable:
    """Build a table with published versions from 0 on, and then staged ones; the last published one is staged too."""
    table = CatalogTable(root)
    for version in range(published):
        table.publish(version)
    for version in range(max(published - 1, 0), published + staged):
        table.stage(version)
    return table


def build_example(root: Path) -> CatalogTable:
    """Build the example of the protocol, without its checkpoint and compaction.

    Versions 0 to 7 are published; 7 to 10 are staged, 8 and 10 twice, and one file of version 10 is incomplete. Version
    9 is inline: only the catalog has it. Source: Reading Catalog-managed Tables (current).
    """
    table = CatalogTable(root)
    for version in range(8):
        table.publish(version)
    table.stage(7)
    table.stage(8)
    table.stage(8, 0xB9, [info(8, "rejected"), add("rejected.parquet")])
    table.stage(10, 0x0F, [info(10, "late"), add("late.parquet")])
    table.stage(10, 0x7A, [info(10, "partial"), add("partial.parquet")])
    partial = table.log / "_staged_commits" / f"{10:020d}.{uuid(0x7A)}.json"
    partial.write_bytes(partial.read_bytes()[:-40])
    (table.root / "f9.parquet").write_bytes(DATA)
    return table

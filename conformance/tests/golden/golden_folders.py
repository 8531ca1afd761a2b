"""Small folders of golden cases, written without the builders."""

import hashlib
import json
from pathlib import Path
from typing import Any

OLD_STATE = {
    "protocol": {"minReaderVersion": 1, "minWriterVersion": 2},
    "metadata": {"configuration": {"delta.appendOnly": "true"}},
}
GOLDEN = Path(__file__).parents[3] / "golden-tables"


def write_case(
    root: Path, identity: str, files: dict[str, bytes], kind: str = "rows", *, portability: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Write a case and return its entry of the manifest."""
    document = {
        "id": identity,
        "meaning": 1,
        "title": f"The case {identity}.",
        "requirements": ["log.versions-contiguous"],
        "spec": {"since": "r1"},
        "anchors": [{"section": "Delta Log Entries", "revision": "current"}],
        "authority": "protocol",
        "features": {"reader": ["deletionVectors"], "writer": ["deletionVectors", "rowTracking"]},
        "ops": ["scan"],
        "expect": {"kind": kind, "version": 0},
        "origin": {"writer": "test", "command": "test"},
        "portability": portability,
    }
    path = f"{identity.partition('.')[0]}/{identity}"
    content = {"case.json": json.dumps(document).encode(), **files}
    for name, data in content.items():
        (root / path / name).parent.mkdir(parents=True, exist_ok=True)
        (root / path / name).write_bytes(data)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    listed = {"id": identity, "meaning": 1, "path": path, "title": document["title"], "expectation": ""}
    return {**listed, "sha256": hashes}


def write_manifest(root: Path, *cases: dict[str, Any]) -> None:
    (root / "manifest.json").write_text(json.dumps({"format": 2, "pyarrow": "1", "cases": cases}))
    for name in ("README.md", "case.schema.json"):
        (root / name).write_text(name)


def write_two_cases(root: Path) -> Path:
    """Write a case that a reader reads and one that it refuses, with the questions of acceptance workloads."""
    rows = {
        "test_case_info.json": b"{}",
        "delta/_delta_log/00000000000000000000.json": b"log",
        "specs/all.json": b'{"type": "read", "expected": {"rowCount": 1}}',
        "specs/old.json": b'{"type": "read", "version": 1, "expected": {"rowCount": 1}}',
        "specs/old-part.json": b'{"type": "read", "version": 2, "columns": ["a"], "expected": {"rowCount": 1}}',
        "specs/old-state.json": json.dumps({"type": "snapshot", "version": 1, "expected": OLD_STATE}).encode(),
        "specs-x/changes.json": b"{}",
        "expected/all/expected_data/rows.parquet": b"rows",
        "expected/latest/table_content/rows.parquet": b"rows",
        "expected/old/expected_data/rows.parquet": b"old rows",
    }
    refused = {"delta/_delta_log/00000000000000000000.json": b"broken", "specs/refused.json": b"{}"}
    write_manifest(
        root,
        write_case(root, "log.rows", rows),
        write_case(root, "checkpoints.refused", refused, "refuse"),
        write_case(root, "checkpoints.violated", {"delta/a": b""}, "violation"),
    )
    return root

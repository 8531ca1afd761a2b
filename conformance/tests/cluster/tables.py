"""Tables for the cluster checks: a valid one, and a copy with faults."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

COMMITS = 24
ROWS = 400
CHECK = "id >= 0 AND length(concat(text, part)) > 0"
"""An expression that delta-rs cannot write and that the kit leaves to Spark."""


def write_valid_table(root: Path) -> Path:
    """Write a partitioned table with a CHECK constraint, a checkpoint in the middle of its log, and a delete."""
    for commit in range(COMMITS):
        first = commit * ROWS
        rows = pa.table(
            {
                "id": pa.array(range(first, first + ROWS), pa.int64()),
                "part": pa.array([f"p{number % 3}" for number in range(ROWS)], pa.string()),
                "text": pa.array([f"row {number}" for number in range(ROWS)], pa.string()),
            }
        )
        write_deltalake(str(root), rows, mode="append", partition_by=["part"])
        if commit == 0:
            DeltaTable(str(root)).alter.add_constraint({"known": "id >= 0"})
            _replace_in_file(root / "_delta_log" / f"{1:020}.json", "id >= 0", CHECK)
        if commit == COMMITS // 2:
            DeltaTable(str(root)).create_checkpoint()
    DeltaTable(str(root)).delete("id = 7")
    return root


def write_faulty_copy(source: Path, root: Path) -> Path:
    """Copy a table, then falsify record counts of its newest appends and delete a data file."""
    shutil.copytree(source, root)
    commits = sorted((root / "_delta_log").glob("*.json"))[-6:-1]
    paths = []
    for commit in commits:
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                stats = json.loads(action["add"]["stats"])
                stats["numRecords"] += 1
                stats["minValues"]["id"] += 1
                action["add"]["stats"] = json.dumps(stats)
                paths.append(action["add"]["path"])
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    (root / paths[0]).unlink()
    return root


def _replace_in_file(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))

"""A file that two actions name by different encodings of its path."""

import json
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake


def add_file_under_another_encoding(table: Path, kind: str) -> None:
    """Write a table of one file with four rows, and name the file again in another encoding."""
    write_deltalake(table, pa.table({"id": range(4)}))
    commits = sorted((table / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for commit in commits for line in commit.read_text("utf-8").splitlines()]
    (add,) = (line["add"] for line in lines if "add" in line)
    path = f"%{ord(add['path'][0]):02X}{add['path'][1:]}"
    action = {**add, "path": path} if kind == "add" else {"path": path, "dataChange": True, "deletionTimestamp": 1}
    commit = table / "_delta_log" / f"{len(commits):020}.json"
    commit.write_text(json.dumps({kind: action}) + "\n", "utf-8")

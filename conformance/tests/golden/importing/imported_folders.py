"""Folders of cases in the formats of others, written as their tools write them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TABLE = Path(__file__).parents[4] / "golden-tables/log/log.append-remove/delta"
"""Version 1 adds rows 1 to 3, version 2 row 4, version 3 removes the file with rows 1 to 3."""
ROWS = {
    1: pa.table({"id": [1, 2, 3], "item": ["apple", "pear", None]}),
    3: pa.table({"id": [4], "item": ["fig"]}),
}


def copy_table(directory: Path) -> Path:
    return Path(shutil.copytree(TABLE, directory))


def write_rows(directory: Path, rows: pa.Table) -> None:
    directory.mkdir(parents=True)
    pq.write_table(rows, directory / "part-00000.snappy.parquet")
    (directory / "_SUCCESS").touch()


def read_actions() -> dict[str, Any]:
    lines = (TABLE / "_delta_log/00000000000000000000.json").read_text("utf-8").splitlines()
    return {name: body for line in lines for name, body in json.loads(line).items()}


def write_dat_case(root: Path, name: str = "basic_append") -> Path:
    """Write a case as release 0.0.3 of DAT has it."""
    case = root / "out/reader_tests/generated" / name
    copy_table(case / "delta")
    (case / "test_case_info.json").write_text(json.dumps({"name": name, "description": "A basic table."}))
    for folder, version in (("v1", 1), ("latest", 3)):
        write_rows(case / "expected" / folder / "table_content", ROWS[version])
        metadata = {"version": version, "properties": {}, "min_reader_version": 1, "min_writer_version": 2}
        (case / "expected" / folder / "table_version_metadata.json").write_text(json.dumps(metadata))
    return case


def write_workload(root: Path, specs: dict[str, Any], rows: dict[str, pa.Table], name: str = "basic") -> Path:
    """Write an acceptance workload with these specs and expected rows."""
    case = root / name
    copy_table(case / "delta")
    (case / "specs").mkdir()
    for spec, content in specs.items():
        (case / "specs" / f"{spec}.json").write_text(json.dumps(content))
    for spec, expected in rows.items():
        write_rows(case / "expected" / spec / "expected_data", expected)
    return case

"""The golden tables equal their definitions, and expected results match the tables."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2] / "golden-tables"
CASES = sorted(path.parent for path in ROOT.glob("*/*/case.json"))


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_build_changes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "build.py", "--check"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_manifest_lists_every_file() -> None:
    manifest = read_json(ROOT / "manifest.json")
    listed = {case["path"]: case["sha256"] for case in manifest["cases"]}
    assert {case.relative_to(ROOT).as_posix() for case in CASES} == set(listed)
    for folder, hashes in listed.items():
        found = {
            path.relative_to(ROOT / folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (ROOT / folder).rglob("*")
            if path.is_file()
        }
        assert found == hashes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_matches_its_json_schema(case: Path) -> None:
    content = read_json(case / "case.json")
    jsonschema.validate(content, read_json(ROOT / "case.schema.json"))
    assert content["id"] == case.name
    assert content["id"].partition(".")[0] == case.parent.name
    if "twin" in content:
        good = content["twin"]["id"]
        assert read_json(ROOT / good.partition(".")[0] / good / "case.json")["expect"]["kind"] == "rows"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sizes_and_row_counts_equal_the_adds(case: Path) -> None:
    for log in sorted((case / "delta" / "_delta_log").glob("*.json")):
        for line in log.read_text().splitlines():
            add = json.loads(line).get("add")
            if add is None:
                continue
            data = case / "delta" / add["path"].replace("%20", " ").replace("%25", "%")
            assert data.stat().st_size == add["size"]
            assert pq.read_metadata(data).num_rows == json.loads(add["stats"])["numRecords"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_expected_row_count_equals_the_case(case: Path) -> None:
    expect = read_json(case / "case.json")["expect"]
    if expect["kind"] == "rows":
        assert pq.read_metadata(case / expect["rows"]).num_rows == expect["num_rows"]
    else:
        assert not (case / "expected").exists()

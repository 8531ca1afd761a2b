"""The reader in Python that client authors can copy."""

import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from golden.golden_folders import GOLDEN

CASES = ["log.append-remove", "log.commit-gap", "deletion-vectors.inline-and-stored", "partition-values.key-missing"]
ROWS = "expected/latest/table_content/rows.parquet"


@pytest.fixture(scope="module")
def reader() -> dict[str, Any]:
    return runpy.run_path(str(GOLDEN / "read_golden.py"))


def test_reader_passes_golden_tables(reader: dict[str, Any]) -> None:
    assert reader["main"](GOLDEN, CASES) == dict.fromkeys(CASES[:3], "ok")


def test_wrong_answers_are_reported(reader: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "log", tmp_path / "log")
    shutil.copy(GOLDEN / "manifest.json", tmp_path)
    rows = tmp_path / "log/log.append-remove" / ROWS
    shutil.copy(GOLDEN / "partition-values/partition-values.null" / ROWS, rows)
    shutil.copytree(tmp_path / "log/log.append-remove/delta", tmp_path / "log/log.commit-gap/delta", dirs_exist_ok=True)
    outcomes = reader["main"](tmp_path, CASES[:2])
    assert outcomes["log.append-remove"].startswith("wrong rows: [")
    assert outcomes["log.commit-gap"] == "was read, but must be refused"


def test_table_with_an_unsupported_feature_must_be_refused(reader: dict[str, Any]) -> None:
    reader["ask"].__globals__["SUPPORTED"] = set()
    assert reader["main"](GOLDEN, CASES[2:3]) == {CASES[2]: "was read, but must be refused"}

"""The reader of cases in the README of the golden tables, with the reference reader in place of a client."""

import re
import subprocess
import sys
from pathlib import Path

from deltaspec.golden.definition import ROOT

MAX_LINES = 50
SCAN = """
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.serve import EngineError


def scan(table, version, columns, predicate):
    at = None if version is None else {"version": version}
    columns = None if columns is None else [[name] for name in columns]
    tree = ["is_null", ["col", "id"]] if predicate == "id IS NULL" else None
    try:
        rows = Engine().scan(
            str(table), at=at, columns=columns, predicate=predicate, predicate_tree=tree, row_ids=False
        )["rows"]
        return rows.slice(0, 1) if predicate and not tree else rows
    except EngineError as error:
        raise Refused(str(error)) from error


for case in"""


def run_reader(folder: Path, tmp_path: Path) -> list[str]:
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert code is not None
    assert len([line for line in code.group(1).splitlines() if line]) <= MAX_LINES
    program = tmp_path / "reader.py"
    program.write_text(code.group(1).replace("\nfor case in", SCAN, 1))
    done = subprocess.run([sys.executable, program, folder], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_reader_finds_right_and_wrong_answers(tmp_path: Path) -> None:
    lines = run_reader(ROOT / "log/log.append-remove", tmp_path)
    assert "log.append-remove all passed" in lines
    assert "log.append-remove version-1 passed" in lines
    assert "log.append-remove columns-1 passed" in lines
    assert "log.append-remove where-2 other rows" in lines


def test_refusals_are_expected(tmp_path: Path) -> None:
    assert run_reader(ROOT / "refusals/refusals.file-missing", tmp_path) == ["refusals.file-missing refused passed"]

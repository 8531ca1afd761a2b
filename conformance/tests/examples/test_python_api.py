"""The functions of `conformance/examples/python_api.py` on a sound and a faulty table."""

import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.selection import ROOT

EXAMPLE = ROOT / "conformance/examples/python_api.py"
SOUND = ROOT / "golden-tables/log/log.append-remove/delta"
FAULTY = ROOT / "golden-tables/partition-values/partition-values.key-missing/delta"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def test_verdict_and_findings(example: dict[str, Any]) -> None:
    found = example["check_table"](str(FAULTY))
    assert found == {"table": str(FAULTY), "version": 1, "verdict": "violations", "totals": {"FIL007": 1}}
    assert example["stop_on_violations"](str(SOUND)) == ""
    assert "FIL007" in example["stop_on_violations"](str(FAULTY))
    rows = example["list_findings"]([str(SOUND), str(FAULTY)]).rows()
    assert [(row[0], row[1]) for row in rows] == [(str(FAULTY), "FIL007")]


def test_next_report_continues_the_last_one(example: dict[str, Any], tmp_path: Path) -> None:
    report = tmp_path / "last.json"
    verdicts = [example["check_new_files"](str(SOUND), report) for _ in range(2)]
    assert verdicts == ["CONFORMS  nothing found · exit 0"] * 2
    assert '"since"' in report.read_text("utf-8")


def test_engines_and_repairs(example: dict[str, Any], tmp_path: Path) -> None:
    table = tmp_path / "t"
    shutil.copytree(SOUND, table)
    assert example["find_unsafe_engines"](str(table), ["deltalake"]) == {}
    assert example["list_repairs"](str(table)) == []
    (table / "part 1.parquet").unlink()  # the only live file
    assert example["list_repairs"](str(table)) == ["Remove a data file that is missing, and lose 1 row."]


def test_script_prints_each_result(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["python_api.py", str(FAULTY)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "VIOLATIONS  1 violation" in capsys.readouterr().out

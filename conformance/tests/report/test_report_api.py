"""What Python users do with reports: convert, save and print."""

import json
import pickle
import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from helpers.cli import run
from helpers.reports import make_finding, not_checked, report
from helpers.selection import ROOT

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.report import conversions
from deltaspec.report.report_types import Report
from deltaspec.spark import SparkReport

FAULTY = ROOT / "golden-tables/log/log.commit-gap/delta"
SOUND = ROOT / "golden-tables/log/log.append-remove/delta"
METHODS = ("to_json", "to_dict", "to_pandas", "to_polars", "to_arrow", "save", "show")


def build_report() -> Report:
    return report(
        make_finding(evidence={"path_fault": "holds a space"}),
        verdict="violations",
        not_checked=[not_checked()],
    )


def test_frames_have_a_row_for_each_finding_and_entry_of_the_ledger() -> None:
    found = build_report()
    rows = found.to_arrow().to_pylist()
    assert [(each["kind"], each["rule"]) for each in rows] == [("finding", "FIL001"), ("not checked", "CRC001")]
    assert json.loads(rows[0]["evidence"]) == {"path_fault": "holds a space"}
    assert found.to_polars().to_dicts() == rows
    pandas = found.to_pandas()
    assert isinstance(pandas, pd.DataFrame)
    assert list(pandas["message"]) == [each["message"] for each in rows]


def test_dictionary_is_what_the_command_prints() -> None:
    found = deltaspec.validate(str(FAULTY), level="log")
    printed = json.loads(run("validate", FAULTY, "--level", "log", "--format", "json").stdout)
    assert found.to_dict() == json.loads(found.to_json()) == printed


def test_saved_report_is_the_start_of_the_next_run(tmp_path: Path) -> None:
    deltaspec.validate(str(SOUND)).save(tmp_path / "earlier.json")
    later = deltaspec.validate(str(SOUND), since=str(tmp_path / "earlier.json"))
    assert later.since is not None
    assert later.since.reason is None
    with pytest.raises(InvalidUsage, match="cannot be written"):
        later.save(tmp_path / "missing" / "x.json")


def test_names_that_are_not_utf_8_can_be_saved(tmp_path: Path) -> None:
    found = report(make_finding(path="\udce9.parquet"))
    found.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text("utf-8"))["findings"][0]["path"] == "\\xe9.parquet"
    assert found.to_arrow().num_rows == 1


def test_show_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    build_report().show(samples=1)
    assert "VIOLATION FIL001" in capsys.readouterr().out


def test_report_of_several_tables_has_a_row_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = deltaspec.validate_many([str(SOUND), str(FAULTY), str(tmp_path / "gone")], level="log")
    rows = found.to_arrow().to_pylist()
    assert [(each["verdict"], each["violations"]) for each in rows] == [
        *(("conforms", 0), ("violations", 1), ("unreadable", 0))
    ]
    assert found.to_polars().to_dicts() == rows
    assert len(found.to_pandas()) == 3
    assert found.to_dict() == json.loads(found.to_json())
    found.save(tmp_path / "tables.json")
    assert json.loads((tmp_path / "tables.json").read_bytes()) == found.to_dict()
    found.show()
    assert "3 tables" in capsys.readouterr().out


def test_report_of_spark_has_the_same_methods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = build_report()
    on_spark = SparkReport(SimpleNamespace(), found)  # type: ignore[arg-type]
    assert [name for name in METHODS if not callable(getattr(on_spark, name, None))] == []
    assert (on_spark.to_json(), on_spark.to_dict()) == (found.to_json(), found.to_dict())
    assert on_spark.to_arrow() == found.to_arrow()
    assert on_spark.to_polars().equals(found.to_polars())
    assert on_spark.to_pandas().equals(found.to_pandas())
    on_spark.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_bytes()) == found.to_dict()
    on_spark.show()
    assert "FIL001" in capsys.readouterr().out


def test_missing_pandas_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversions, "find_spec", lambda name: None if name == "pandas" else find_spec(name))
    with pytest.raises(InvalidUsage, match="to_pandas needs pandas"):
        build_report().to_pandas()


def test_reports_are_values() -> None:
    found = build_report()
    assert pickle.loads(pickle.dumps(found)) == found


def test_example_of_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "conformance/site/pages/api.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    values: dict[str, Any] = {}
    exec(code.replace("/data/sales", str(SOUND)), values)
    assert values["later"].since.version == values["report"].version
    assert values["violations"].height == 0

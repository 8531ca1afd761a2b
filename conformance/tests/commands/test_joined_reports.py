"""One SARIF or JUnit document for several tables."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.cli import run
from helpers.raw_logs import RawLog
from helpers.sarif import build_sarif_validator


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    """A sound table, one with a missing commit, and a location without a table."""
    broken = RawLog("plain")
    broken.drop(1)
    return [RawLog("plain").write(tmp_path / "sound"), broken.write(tmp_path / "broken"), tmp_path / "gone"]


def test_both_documents_have_every_table(tables: list[Path], tmp_path: Path) -> None:
    sarif, junit = tmp_path / "out" / "all.sarif", tmp_path / "out" / "all.xml"
    result = run("validate", *tables, "--level", "log", "--report", f"sarif:{sarif}", "--report", f"junit:{junit}")
    assert result.exit_code == 2
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["all.sarif", "all.xml"]
    document = json.loads(sarif.read_text("utf-8"))
    build_sarif_validator().validate(document)
    runs = document["runs"]
    assert [each["automationDetails"]["id"] for each in runs] == [f"deltaspec/{table}/" for table in tables]
    assert [[each["ruleId"] for each in one["results"]] for one in runs] == [[], ["LOG001"], []]
    assert [one["invocations"][0]["executionSuccessful"] for one in runs] == [True, False, False]
    assert "no such file" in runs[2]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    suites = ElementTree.parse(junit).getroot().findall("testsuite")
    assert [str(suite.get("name")).split()[0] for suite in suites] == list(map(str, tables))
    assert [(suite.get("failures"), suite.get("errors")) for suite in suites][::2] == [("0", "0"), ("0", "1")]
    assert suites[1].get("failures") == "1"


def test_other_formats_need_a_file_for_each_table(tables: list[Path], tmp_path: Path) -> None:
    result = run("validate", *tables, "--report", f"json:{tmp_path / 'all.json'}")
    assert result.exit_code == 2
    assert "names one file for several tables" in result.stderr


def test_two_joined_reports_need_two_files(tables: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "all"
    result = run("validate", *tables, "--report", f"sarif:{path}", "--report", f"junit:{path}")
    assert (result.exit_code, path.exists()) == (2, False)

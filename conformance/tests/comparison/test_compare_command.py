"""`deltaspec compare`: output, exit codes, schema and known findings."""

import json
import re
from pathlib import Path

import pytest
from comparison import tables
from helpers.cli import run
from jsonschema import Draft202012Validator

from deltaspec.candidates.registry import ADAPTERS
from deltaspec.comparison.known_findings import load_findings
from deltaspec.comparison.results import render_compare_schema

ROOT = Path(__file__).parents[3]
WRONG = "py:comparison.comparison_engines:ChangesAValue"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tables.write_days(tmp_path_factory.mktemp("days") / "table")


def test_text_names_columns_partition_file_and_row(days: Path) -> None:
    found = run("compare", str(days), "--with", f"reference,{WRONG}")
    assert found.exit_code == 1
    lines = [line.strip() for line in found.stdout.splitlines()]
    assert lines[0].startswith(f"table     {days} · version 0 · 20 rows, 4 files (")
    assert "columns: amount" in lines
    assert "1 partition: day='2026-01-04'" in lines
    assert "- id=19, day='2026-01-04', name='secret 19', amount=190" in lines
    assert "+ id=19, day='2026-01-04', name='secret 19', amount=191" in lines
    assert lines[-1].startswith(f"DIFFERS: {WRONG} must not read this table; reference returned what the protocol says")


def test_json_has_the_published_schema(days: Path) -> None:
    published = (ROOT / "reports" / "compare.schema.json").read_text("utf-8")
    assert published == render_compare_schema() == run("schema", "compare").stdout
    found = run("compare", str(days), str(days), "--with", f"reference,{WRONG}", "--format", "json")
    document = json.loads(found.stdout)
    Draft202012Validator(json.loads(published)).validate(document)
    assert (found.exit_code, document["exit_code"]) == (1, 1)
    assert [each["verdict"] for each in document["tables"]] == ["differs", "differs"]
    assert [each["verdict"] for each in document["tables"][0]["engines"]] == ["equal", "differs"]


def test_equal_engine_ends_with_zero(days: Path) -> None:
    found = run("compare", str(days), "--with", "reference", "--sample", "50%", "--columns", "id,amount")
    assert found.exit_code == 0
    assert "\nsample    " in found.stdout
    assert found.stdout.splitlines()[-1] == "EQUAL: reference returned what the protocol says"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--with", "delta_rs"], "unknown candidate 'delta_rs'"),
        (["--with", "reference", "--sample", "0%"], "Invalid value for '--sample': expected a percentage above 0"),
        (["--with", "reference", "--sample", "101"], "Invalid value for '--sample': expected a percentage above 0"),
        (["--with", "reference", "--changes", "3-4"], "Invalid value for '--changes': expected two versions"),
        (["--with", "reference", "--at", "9"], "version 9 is not readable"),
        (["--with", ","], "Invalid value for '--with': expected at least one name"),
    ],
)
def test_wrong_usage(days: Path, words: list[str], message: str) -> None:
    found = run("compare", str(days), *words)
    assert found.exit_code == 2
    assert message in found.stderr


def test_known_findings_are_those_of_the_repository() -> None:
    entries = load_findings()
    folders = {path.parent.name: path for path in (ROOT / "reports" / "findings").glob("*/README.md")}
    assert [each.id for each in entries if each.id not in folders] == []
    titles = {name: path.read_text("utf-8").partition("\n")[0].removeprefix("# ") for name, path in folders.items()}
    assert [(each.id, each.title) for each in entries if titles[each.id] != each.title] == []
    assert [each.id for each in entries if not set(each.candidates) <= set(ADAPTERS)] == []
    for each in entries:
        for pattern in each.evidence:
            re.compile(pattern)

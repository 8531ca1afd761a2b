"""`deltaspec schema`: the published schemas."""

import json
from pathlib import Path

import pytest
from helpers.cli import run, single_error_line
from jsonschema import Draft202012Validator

from deltaspec.candidates.publish_schemas import SCHEMAS

ROOT = Path(__file__).parents[3]


def test_schema_of_reports_is_the_published_one() -> None:
    assert run("schema", "report").stdout == (ROOT / "reports" / "report.schema.json").read_text("utf-8")


def test_schema_of_cases_is_the_published_one() -> None:
    (published,) = (ROOT / "golden-tables").rglob("case.schema.json")
    assert json.loads(run("schema", "case").stdout) == json.loads(published.read_text("utf-8"))


@pytest.mark.parametrize("name", ["report", "case"])
def test_schema_does_not_depend_on_the_release_of_msgspec(name: str) -> None:
    """Older releases keep the indentation of docstrings with several lines."""
    definitions = json.loads(run("schema", name).stdout)["$defs"]
    assert [key for key, each in definitions.items() if "\n" in each.get("description", "")] == []


def test_schemas_of_the_candidate_protocol_are_the_published_ones() -> None:
    shown = json.loads(run("schema", "candidate").stdout)
    assert shown == {file.stem: json.loads(file.read_text("utf-8")) for file in SCHEMAS.glob("*.json")}
    for each in shown.values():
        Draft202012Validator.check_schema(each)
    assert json.loads(run("schema", "candidate", "scan.request").stdout) == shown["scan.request"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["candidate", "scan.requst"], "unknown message 'scan.requst' (did you mean scan.request?)"),
        (["candidate", "x"], "unknown message 'x' (choose from hello.request, "),
        (["report", "x"], "the schema of a report has no messages; leave out 'x'"),
    ],
)
def test_unknown_message(words: list[str], message: str) -> None:
    result = run("schema", *words)
    assert result.exit_code == 2
    assert single_error_line(result).startswith(f"deltaspec: {message}")

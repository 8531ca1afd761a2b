"""Rows are validated against every requirement that applied while their file was live, also if it ended later."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.validation.data import earlier_requirement_checks
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases.expressions import build_invariant_metadata
from planted_tables.bases.single_file import build_required_field, build_single_file_table

ROWS = pa.table({"id": pa.array([1, None], pa.int64())})
OPTIONAL: list[Any] = [("id", "long")]
REQUIRED: list[Any] = [build_required_field("id", "long")]
NEW_REQUIRED: list[Any] = [*OPTIONAL, build_required_field("new", "long")]
POSITIVE = {"delta.constraints.positive": "id > 0"}
GONE = "the rows are not known, because removed files or change data no longer exist"
FILE = "_delta_log/00000000000000000002.json"


def metadata(fields: list[Any], configuration: dict[str, str] | None = None) -> dict[str, Any]:
    return metadata_action(fields, (), configuration)


def build_history(*changes: Any, rows: pa.Table = ROWS, first: dict[str, Any] | None = None) -> TableFiles:
    """Build a table of one file, added by version 1, with a commit for each change from version 2 on."""
    files = build_single_file_table(rows, OPTIONAL, protocol=protocol_action(1, 3))
    if first is not None:
        files.commits[0][2] = first
    for version, change in enumerate(changes, start=2):
        action = remove_action({"add": get_action(files, 1, "add")}) if change == "remove" else change
        files.commits[version] = [commit_info_action(version), action]
    return files


RULES = ["ROW", "PQT018"]
"""Evaluating only these rules takes half of the time."""


def write_and_validate(
    files: TableFiles, path: Path, history: str = "latest", select: list[str] | None = RULES
) -> Report:
    write_table(files, path / "table")
    return deltaspec.validate(str(path / "table"), level="rows", history=history, select=select)


def list_findings(report: Report) -> list[tuple[Any, ...]]:
    return [(each.rule, each.version, each.evidence.get("last_legal_version")) for each in report.findings]


ENDED = [
    ("ROW002", [metadata(REQUIRED), metadata(OPTIONAL)]),
    ("ROW002", [metadata(NEW_REQUIRED), metadata(OPTIONAL)]),
    ("ROW040", [metadata(OPTIONAL, POSITIVE), metadata(OPTIONAL)]),
    ("ROW040", [metadata(OPTIONAL, POSITIVE), metadata(OPTIONAL), metadata(OPTIONAL, POSITIVE)]),
]


@pytest.mark.parametrize("history", ["latest", "all"])
@pytest.mark.parametrize(("rule", "changes"), ENDED)
def test_requirement_that_ended_is_evaluated(tmp_path: Path, rule: str, changes: list[Any], history: str) -> None:
    report = write_and_validate(build_history(*changes), tmp_path, history)
    assert list_findings(report) == [(rule, 2, 1)]
    assert (report.findings[0].file, report.findings[0].line, report.findings[0].path) == (FILE, 2, "a.parquet")


@pytest.mark.parametrize(("rule", "change"), [("ROW002", metadata(REQUIRED)), ("ROW040", metadata(OPTIONAL, POSITIVE))])
def test_finding_is_at_the_change_that_made_rows_illegal(tmp_path: Path, rule: str, change: dict[str, Any]) -> None:
    assert list_findings(write_and_validate(build_history(change), tmp_path / "later")) == [(rule, 2, 1)]
    from_start = build_history(first=change)
    assert list_findings(write_and_validate(from_start, tmp_path / "from start")) == [(rule, 1, None)]


@pytest.mark.parametrize("change", [metadata(REQUIRED), metadata(OPTIONAL, POSITIVE)])
def test_longer_history_reads_files_that_were_removed(tmp_path: Path, change: dict[str, Any]) -> None:
    files = build_history(change, "remove")
    assert list_findings(write_and_validate(files, tmp_path / "latest")) == []
    ((_, version, last_legal),) = list_findings(write_and_validate(files, tmp_path / "all", "all"))
    assert (version, last_legal) == (2, 1)
    (tmp_path / "all" / "table" / "a.parquet").unlink()
    report = deltaspec.validate(str(tmp_path / "all" / "table"), level="rows", history="all", select=RULES)
    assert (report.verdict, report.checked.not_checked) == ("conforms", [])
    (gone,) = report.checked.rows_not_compared
    assert (gone.reason, gone.count) == (GONE, 1)


INVARIANT = [{"name": "id", "type": "long", "nullable": True, "metadata": build_invariant_metadata("id > 0")}]
SOUND = {
    "required only later": build_history("remove", metadata(REQUIRED), metadata(OPTIONAL)),
    "constrained only later": build_history("remove", metadata(OPTIONAL, POSITIVE), metadata(OPTIONAL)),
    "no null": build_history(metadata(REQUIRED), metadata(OPTIONAL), rows=ROWS.slice(0, 1)),
    "valid rows": build_history(metadata(OPTIONAL, POSITIVE), metadata(OPTIONAL), "remove", rows=ROWS.slice(0, 1)),
    "written before an invariant": build_history(metadata(INVARIANT), metadata(OPTIONAL)),
}


@pytest.mark.parametrize("history", ["latest", "all"])
@pytest.mark.parametrize("name", SOUND)
def test_legal_history_has_no_findings(tmp_path: Path, name: str, history: str) -> None:
    report = write_and_validate(SOUND[name], tmp_path, history, select=None)
    assert (report.verdict, report.findings, report.checked.not_checked) == ("conforms", [], [])


@pytest.mark.parametrize("first", [OPTIONAL, REQUIRED])
def test_file_that_is_added_again_unchanged_is_reported_once(tmp_path: Path, first: list[Any]) -> None:
    again = {"add": get_action(build_history(), 1, "add")}
    files = build_history(metadata(REQUIRED), again, "remove", first=metadata(first))
    expected = [("ROW002", 3, None)] if first == REQUIRED else [("ROW002", 2, 1)]
    assert list_findings(write_and_validate(files, tmp_path, "all")) == expected


def test_column_that_a_file_does_not_store_is_found_at_the_change(tmp_path: Path) -> None:
    files = build_history(metadata(OPTIONAL), metadata(NEW_REQUIRED))
    assert list_findings(write_and_validate(files, tmp_path)) == [("PQT018", 3, 2)]


def test_row_written_under_an_invariant_is_validated_after_its_end(tmp_path: Path) -> None:
    report = write_and_validate(build_history(metadata(OPTIONAL), first=metadata(INVARIANT)), tmp_path)
    assert list_findings(report) == [("ROW043", 1, None)]


def test_ended_constraint_that_needs_spark_is_undecided(tmp_path: Path) -> None:
    files = build_history(metadata(OPTIONAL, {"delta.constraints.c": "hash(id) > 0"}), metadata(OPTIONAL))
    report = write_and_validate(files, tmp_path)
    (found,) = report.checked.not_checked
    assert (report.verdict, found.rule) == ("incomplete", "ROW040")
    assert found.reason == "CHECK constraint c needs Spark: it calls hash"


def test_schemas_beyond_the_limit_are_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_requirement_checks, "MAX_SCHEMAS", 1)
    changes = [metadata(OPTIONAL, {f"delta.constraints.c{number}": f"id < {number}"}) for number in (8, 9)]
    report = write_and_validate(build_history(*changes, metadata(OPTIONAL)), tmp_path)
    assert list_findings(report) == [("ROW040", 2, 1)]
    unchecked = {each.rule: each.reason for each in report.checked.not_checked}
    assert unchecked["ROW040"] == "rows are validated against at most 1 schemas of earlier versions"


def test_frequent_changes_of_requirements_are_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_requirement_checks, "MAX_COMPARISONS", 1)
    report = write_and_validate(build_history(metadata(NEW_REQUIRED, POSITIVE), metadata(OPTIONAL)), tmp_path)
    unchecked = {each.rule: each.reason for each in report.checked.not_checked}
    reason = "requirements of rows change too often to evaluate them for all versions"
    assert (unchecked["ROW002"], unchecked["ROW040"]) == (reason, reason)


def test_limits_themselves_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_requirement_checks, "MAX_SCHEMAS", 2)
    monkeypatch.setattr(earlier_requirement_checks, "MAX_COMPARISONS", 2)
    changes = [metadata(OPTIONAL, {f"delta.constraints.c{number}": f"id < {number}"}) for number in (8, 9)]
    report = write_and_validate(build_history(*changes, metadata(OPTIONAL)), tmp_path)
    assert report.checked.not_checked == []


BROKEN = {
    "undecodable": (lambda data: data.replace(b"\x02id\x15\x02\x16", b"\x02id\x15\x06\x16"), "LZO"),
    "damaged": (lambda data: data[:-1] + b"X", "magic bytes"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize(("rule", "change"), [("ROW002", metadata(REQUIRED)), ("ROW040", metadata(OPTIONAL, POSITIVE))])
def test_removed_file_that_cannot_be_read_is_undecided(
    name: str, rule: str, change: dict[str, Any], tmp_path: Path
) -> None:
    files = build_history(change, "remove")
    damage, reason = BROKEN[name]
    sound, files.data["a.parquet"] = files.data["a.parquet"], damage(files.data["a.parquet"])
    assert sound != files.data["a.parquet"]
    report = write_and_validate(files, tmp_path, "all")
    (found,) = [each for each in report.checked.not_checked if each.rule == rule]
    assert found.file == "a.parquet"
    assert reason in found.reason


def test_missing_live_file_is_named(tmp_path: Path) -> None:
    files = build_history(metadata(REQUIRED), metadata(OPTIONAL))
    files.missing.add("a.parquet")
    entries = write_and_validate(files, tmp_path).checked.not_checked
    assert {(each.reason, each.file) for each in entries if each.rule == "ROW002"} == {
        ("a.parquet: does not exist", "a.parquet")
    }

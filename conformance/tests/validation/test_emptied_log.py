"""A log that was emptied: the directory exists, but has neither a commit nor a complete checkpoint."""

import json
from pathlib import Path

import pytest
from helpers.cli import run, single_error_line
from helpers.raw_logs import RawLog, commit_name

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation.plan import EMPTIED

CHECKPOINT = "00000000000000000002.checkpoint"
COMPACTION = "00000000000000000000.00000000000000000002.compacted.json"
STAGED = "_staged_commits/00000000000000000001.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
STRAY = {
    "nothing": [],
    "checksum": ["00000000000000000002.crc"],
    "hint": ["_last_checkpoint"],
    "hint and staged commit": ["_last_checkpoint", STAGED],
    "compaction and staged commit": [COMPACTION, STAGED],
    "part of a checkpoint and staged commit": [f"{CHECKPOINT}.0000000001.0000000002.parquet", STAGED],
    "part of a checkpoint": [f"{CHECKPOINT}.0000000001.0000000002.parquet"],
    "compaction": [COMPACTION],
    "misspelled commit": ["0000000000000000002.json"],
    "sidecar": ["_sidecars/3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet"],
    "unknown files": ["x.tmp", ".00000000000000000000.json.crc"],
}
HINT = b'{"version":2,"size":3}'


def write_emptied(root: Path, names: list[str]) -> str:
    (root / "_delta_log").mkdir(parents=True)
    for name in names:
        path = root / "_delta_log" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(HINT if name == "_last_checkpoint" else b"{}")
    (root / "part-0.parquet").write_bytes(b"rows")
    return str(root)


def check_emptied(report: Report) -> None:
    (finding,) = (each for each in report.findings if each.rule == "LOG001")
    assert (report.verdict, report.version) == ("violations", None)
    assert finding.file == "_delta_log"
    assert finding.evidence["missing_commits"].startswith("commit 0 is missing")
    others = {each.rule for each in report.findings if each is not finding}
    assert others <= {"LCP001", "LCP002", "LCP003", "LCP004", "LOG008"}


@pytest.mark.parametrize("names", STRAY.values(), ids=list(STRAY))
@pytest.mark.parametrize("level", ["log", "rows"])
def test_commits_are_missing_whatever_else_is_in_the_log(tmp_path: Path, names: list[str], level: str) -> None:
    report = deltaspec.validate(write_emptied(tmp_path, names), level=level, history="all")
    check_emptied(report)
    assert ("LCP004" in report.totals) == ("_last_checkpoint" in names)
    assert not [each for each in report.checked.not_checked if each.rule.startswith("LCP")]


@pytest.mark.parametrize("name", ["checksum", "compaction", "hint", "nothing"])
def test_files_that_are_left_are_listed_as_not_read(tmp_path: Path, name: str) -> None:
    report = deltaspec.validate(write_emptied(tmp_path, STRAY[name]))
    reason = "the log has neither a commit nor a complete checkpoint"
    unread = [file for each in report.checked.files_not_read if each.reason == reason for file in each.files]
    assert unread == [f"_delta_log/{each}" for each in STRAY[name] if each != "_last_checkpoint"]


@pytest.mark.parametrize("level", ["log", "rows"])
def test_rules_over_the_history_are_not_checked(tmp_path: Path, level: str) -> None:
    checked = deltaspec.validate(write_emptied(tmp_path, []), level=level, clock="now").checked
    assert {each.reason for each in checked.not_checked} == {EMPTIED}
    assert {"PRO001", "COM001", "FIL001", "CKP001", "CRC001"} <= {each.rule for each in checked.not_checked}
    without_rows = {RULES[code].view.name for code in checked.not_applicable}
    assert without_rows == {"last_checkpoint", "staged_commits"}
    assert {RULES[code].view.name for code in checked.run} == {"listing"}


@pytest.mark.parametrize("revision", ["r1", "r2", "r3"])
def test_emptied_log_in_older_revisions(tmp_path: Path, revision: str) -> None:
    check_emptied(deltaspec.validate(write_emptied(tmp_path, STRAY["checksum"]), revision=revision))


def test_emptied_log_after_an_earlier_report(tmp_path: Path) -> None:
    table = tmp_path / "table"
    RawLog("plain").write(table)
    report = tmp_path / "report.json"
    assert run("validate", table, "--report", f"json:{report}", "--level", "log").exit_code == 0
    for path in (table / "_delta_log").iterdir():
        path.unlink()
    result = run("validate", table, "--since", report, "--level", "log")
    assert result.exit_code == 1
    assert "LOG001" in result.stdout


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "junit", "github", "markdown"])
def test_exit_code_and_finding_in_every_format(tmp_path: Path, output_format: str) -> None:
    result = run("validate", write_emptied(tmp_path, []), "--format", output_format)
    assert result.exit_code == 1
    assert "LOG001" in result.stdout
    assert "version -1" not in result.stdout
    assert '"version": -1' not in result.stdout


def test_several_tables(tmp_path: Path) -> None:
    RawLog("plain").write(tmp_path / "sound")
    write_emptied(tmp_path / "emptied", [])
    result = run("validate", tmp_path / "sound", tmp_path / "emptied", "--level", "log")
    assert result.exit_code == 1
    assert "1 conforms, 1 with violations" in result.stdout


@pytest.mark.parametrize("at", ["0", "2026-01-31T00:00:00Z"])
def test_named_version_is_wrong_usage(tmp_path: Path, at: str) -> None:
    result = run("validate", write_emptied(tmp_path, []), "--at", at)
    assert result.exit_code == 2
    assert single_error_line(result).startswith(f"deltaspec: {tmp_path}: ")


def test_directory_without_log_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").write_bytes(b"rows")
    result = run("validate", tmp_path)
    assert (result.exit_code, "has no _delta_log directory" in single_error_line(result)) == (2, True)


def test_first_commit_after_the_listing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer creates the directory before its first commit."""
    from deltaspec.wire.storage.local import LocalStore

    source = RawLog("plain")
    table = write_emptied(tmp_path, [])
    list_log = LocalStore.list_log

    def write_after_listing(store: LocalStore) -> object:
        listed = list_log(store)
        if not listed:
            for version in range(3):
                (tmp_path / "_delta_log" / commit_name(version)).write_bytes(source.files[commit_name(version)])
        return listed

    monkeypatch.setattr(LocalStore, "list_log", write_after_listing)
    assert json.loads(run("validate", table, "--level", "log", "--format", "json").stdout)["version"] == 2

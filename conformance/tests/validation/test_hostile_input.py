"""Malformed input never causes a traceback, a hang, unbounded memory use or a write to the table."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from helpers.raw_logs import (
    RICH_CHECKPOINT_ROWS,
    RawLog,
    compute_fingerprint,
    count_findings_by_rule,
    validate_unchanged,
    write_sidecar_checkpoint,
)

import deltaspec
from deltaspec.cli import main
from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.wire.storage import local
from deltaspec.wire.storage.local import LocalStore

COMMIT_2 = "00000000000000000002.json"


def run(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, list(arguments))


def assert_refused(result: Result, *words: str) -> None:
    """Assert exit code 2 and no output except one line on stderr that contains the words."""
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("deltaspec: ")
    assert [word for word in words if word not in line] == []


# not a table


def test_missing_directory_is_refused(tmp_path: Path) -> None:
    assert_refused(run("validate", str(tmp_path / "sales")), "sales", "no such file or directory")


def test_similar_table_name_is_suggested(tmp_path: Path) -> None:
    RawLog("plain").write(tmp_path / "sales")
    assert_refused(run("validate", str(tmp_path / "sale")), f"did you mean {tmp_path / 'sales'}?")


def test_empty_directory_is_refused(tmp_path: Path) -> None:
    assert_refused(run("validate", str(tmp_path)), "has no _delta_log")
    assert list(tmp_path.iterdir()) == []


def test_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table").write_text("no table")
    assert_refused(run("validate", str(tmp_path / "table")), "is a file")


def test_log_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").write_text("no directory")
    assert_refused(run("validate", str(tmp_path)), "has no _delta_log directory")


def test_symbolic_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table").symlink_to(tmp_path / "table")
    result = run("validate", str(tmp_path / "table"))
    assert_refused(result, str(tmp_path / "table"))


def test_unknown_scheme_is_refused() -> None:
    assert_refused(run("validate", "gopher://host/table"), "no storage for scheme 'gopher'", "s3")
    for uri in ("s3://", "s3:///sales"):
        assert_refused(run("validate", uri), "names no bucket; write s3://bucket/path")


@pytest.mark.parametrize("name", ["", "\0", "a\0b", "a" * 5000])
def test_invalid_path_is_refused(name: str) -> None:
    with pytest.raises((InvalidUsage, TableUnreadable)):
        deltaspec.validate(name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything; the next test covers this case")
def test_log_without_permission_is_refused(tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path / "table")
    (root / "_delta_log").chmod(0)
    try:
        assert_refused(run("validate", str(root)), "no permission to read", "ask its owner")
    finally:
        (root / "_delta_log").chmod(0o755)


def test_unlistable_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(folder))

    root = RawLog("plain").write(tmp_path / "table")
    monkeypatch.setattr(local.os, "scandir", refuse)
    assert_refused(run("validate", str(root)), "no permission to read", "ask its owner")


def test_unreadable_commit_makes_the_run_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *more: int) -> int:
        if path.endswith(COMMIT_2):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, *more)

    root, opened = RawLog("plain").write(tmp_path / "table"), os.open
    monkeypatch.setattr(local.os, "open", refuse)
    result = run("validate", str(root))
    assert result.exit_code == 3
    assert "no permission to read" in result.stdout


@pytest.mark.parametrize("version", [3, 2**31, 10**30])
def test_missing_version_is_refused(version: int, tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path)
    assert_refused(run("validate", str(root), "--at", str(version)), str(version), "0 to 2")


def test_unknown_rule_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path)
    for option in ("--select", "--ignore", "--accept-unchecked"):
        assert_refused(run("validate", str(root), option, "FIL0001"), "FIL0001", "did you mean FIL001?")


# irregular files in the log


def assert_incomplete(root: Path, *words: str) -> None:
    """Assert no findings, a ledger reason that contains the words, and exit code 3."""
    report = validate_unchanged(root)
    assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})
    reasons = [each.reason for each in report.checked.not_checked]
    assert any(all(word in each for word in words) for each in reasons), f"expected {words} in one of {reasons}"
    assert run("validate", str(root)).exit_code == 3


def test_fifo_named_like_a_commit_does_not_block(tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path)
    os.mkfifo(root / "_delta_log" / "00000000000000000003.json")
    assert_incomplete(root, "is not a regular file")


def test_device_named_like_a_commit_is_not_read(tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path)
    (root / "_delta_log" / "00000000000000000003.json").symlink_to("/dev/zero")
    assert_incomplete(root, "is not a regular file")


def test_directory_named_like_a_commit_cannot_be_read(tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path)
    (root / "_delta_log" / "00000000000000000003.json").mkdir()
    report = validate_unchanged(root)
    assert (report.verdict, report.version, count_findings_by_rule(report)) == ("incomplete", 3, {})


def test_link_cycles_are_not_followed(tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path)
    log = root / "_delta_log"
    (log / "00000000000000000003.json").symlink_to(log / "00000000000000000003.json")
    (log / "_sidecars").symlink_to(log)
    (log / "_staged_commits").symlink_to(log / "_staged_commits")
    report = validate_unchanged(root)
    assert (report.verdict, report.version, count_findings_by_rule(report)) == ("incomplete", 3, {})


def run_before_open(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Path], object]) -> None:
    """Call a function on a file of the log after it was listed and before it is opened."""
    opened = LocalStore.open_with_size

    def open_late(self: LocalStore, path: str) -> tuple[int, int]:
        if path.endswith(name):
            change(Path(self.uri) / path)
        return opened(self, path)

    monkeypatch.setattr(LocalStore, "open_with_size", open_late)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_commit_removed_during_the_run_is_not_checked(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = RawLog("plain").write(tmp_path)
    run_before_open(monkeypatch, f"{version:020d}.json", lambda path: path.unlink(missing_ok=True))
    report = deltaspec.validate(str(root), level="log", history="all")
    assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})
    assert {each.file for each in report.checked.not_checked if each.rule == "LIN010"} == {
        f"_delta_log/{version:020d}.json"
    }


def test_command_exits_with_3_if_a_commit_is_removed_during_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = RawLog("plain").write(tmp_path)
    run_before_open(monkeypatch, COMMIT_2, lambda path: path.unlink(missing_ok=True))
    result = run("validate", str(root))
    assert result.exit_code == 3
    assert "does not exist" in result.stdout


def test_commit_truncated_after_listing_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = RawLog("plain").write(tmp_path)
    run_before_open(monkeypatch, COMMIT_2, lambda path: os.truncate(path, 50))
    assert count_findings_by_rule(deltaspec.validate(str(root), level="log")) == {"LIN001": 1}


@pytest.mark.parametrize("name", ["checkpoint.parquet", "_last_checkpoint", ".crc", "compacted.json"])
@pytest.mark.parametrize("opening", [1, 2])
def test_derived_file_removed_during_the_run_is_not_checked(
    name: str, opening: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RawLog("rich")
    log.checkpoint(3, log.rows(*RICH_CHECKPOINT_ROWS))
    log.hint('{"version":3,"size":9}')
    log.checksum(3, "{}")
    log.compaction(1, 3, "".join(log.files[f"{each:020d}.json"].decode() for each in (1, 2, 3)))
    root = log.write(tmp_path)
    openings = []

    def remove(path: Path) -> None:
        openings.append(path)
        if len(openings) == opening:
            path.unlink()

    run_before_open(monkeypatch, name, remove)
    report = deltaspec.validate(str(root), level="log", history="all")
    if len(openings) >= opening:  # only a checkpoint is opened twice
        assert any("does not exist" in each.reason for each in report.checked.not_checked), report.checked.not_checked


def test_paths_out_of_the_table_are_found_and_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside.parquet"
    log = RawLog("rich")
    write_sidecar_checkpoint(
        log,
        lambda checkpoint: checkpoint.rows.extend(
            {"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 0}}
            for path in ("../../../outside.parquet", str(outside), outside.as_uri(), "/etc/passwd")
        ),
    )
    log.edit(1, '"path":"b.parquet"', '"path":"../outside.parquet"')
    log.edit(3, "ab^-aqEH.-t@S}K{vb[*k^", "../../ab^-aqEH.-t@S}K{vb[*k^")
    root = log.write(tmp_path / "table")
    outside.write_bytes(b"not to be read")
    opened: list[str] = []
    system_open, arrow_open = os.open, pa.OSFile

    def record(path: Any, *more: Any) -> int:
        opened.append(os.fsdecode(os.path.realpath(path)))
        return system_open(path, *more)

    def record_arrow(path: str, *more: Any) -> Any:
        opened.append(os.fsdecode(os.path.realpath(path)))
        return arrow_open(path, *more)

    monkeypatch.setattr(local.os, "open", record)
    monkeypatch.setattr(pa, "OSFile", record_arrow)
    found = count_findings_by_rule(deltaspec.validate(str(root), level="log", history="all"))
    assert {"FIL003", "CKP020", "DVX002"} & found.keys() >= {"FIL003", "CKP020"}
    assert opened
    assert all(path.startswith(f"{os.path.realpath(root)}/_delta_log/") for path in opened), opened


@pytest.mark.parametrize("command", [["validate"], ["validate", "--history", "all"], ["show"]])
def test_commands_do_not_change_the_table(command: list[str], tmp_path: Path) -> None:
    log = RawLog("rich")
    write_sidecar_checkpoint(log)
    log.append(3, "{", DEEP_LINE)
    root = log.write(tmp_path)
    before = compute_fingerprint(root)
    assert run(*command, str(root)).exit_code in (0, 1, 2)
    assert compute_fingerprint(root) == before


DEEP_LINE = "[" * 1000

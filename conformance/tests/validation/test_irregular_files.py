"""A FIFO, a directory or a broken link with a log name is listed like an empty file, and neither backend reads it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers.backends import InProcessJobs, compare_reports, list_backend
from helpers.raw_logs import RawLog, validate_unchanged

from deltaspec.validation.options import Options
from deltaspec.validation.spark.table_access import find_table_access

CHECKPOINT = "00000000000000000000.checkpoint.parquet"
BACKENDS = {readable: list_backend(2, 1, executors_can_read=readable) for readable in (True, False)}


def write_log_with_fifo(root: Path, name: str) -> str:
    """Write the plain log with one file replaced by a FIFO; return the path of the table."""
    table = RawLog("plain").write(root)
    (table / "_delta_log" / name).unlink(missing_ok=True)
    os.mkfifo(table / "_delta_log" / name)
    return str(table)


@pytest.mark.parametrize("executors_can_read", BACKENDS)
@pytest.mark.parametrize("name", [CHECKPOINT, "00000000000000000001.json", "00000000000000000001.crc"])
def test_fifo_in_the_log_is_not_checked_by_either_backend(name: str, executors_can_read: bool, tmp_path: Path) -> None:
    table = write_log_with_fifo(tmp_path, name)
    assert compare_reports(table, {"spark": BACKENDS[executors_can_read]}) == []
    report = BACKENDS[executors_can_read](table, Options.create(level="log"))
    assert report.totals == {}
    assert any("is not a regular file" in each.reason for each in report.checked.not_checked), report.checked


@pytest.mark.parametrize("executors_can_read", BACKENDS)
@pytest.mark.parametrize("kind", ["directory", "broken link"])
@pytest.mark.parametrize("name", [CHECKPOINT, "00000000000000000002.json", "00000000000000000001.crc"])
def test_directory_or_broken_link_with_a_log_name_never_conforms(
    name: str, kind: str, executors_can_read: bool, tmp_path: Path
) -> None:
    table = RawLog("plain").write(tmp_path)
    file = table / "_delta_log" / name
    file.unlink(missing_ok=True)
    if kind == "directory":
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "nothing")
    assert compare_reports(str(table), {"spark": BACKENDS[executors_can_read]}) == []
    for history in ("latest", "all"):
        report = BACKENDS[executors_can_read](str(table), Options.create(level="log", history=history))
        assert report.verdict == "incomplete", f"{history=}"
        assert any(kind in each.reason and str(each.file).endswith(name) for each in report.checked.not_checked), (
            f"{history=}"
        )


@pytest.mark.parametrize("executors_can_read", BACKENDS)
def test_backends_report_a_fifo_data_file_alike(executors_can_read: bool, tmp_path: Path) -> None:
    table = RawLog("plain").write(tmp_path)
    commit = (table / "_delta_log" / "00000000000000000002.json").read_text()
    data_file = (
        table / json.loads(next(line for line in commit.splitlines() if line.startswith('{"add"')))["add"]["path"]
    )
    data_file.parent.mkdir(exist_ok=True)
    os.mkfifo(data_file)
    assert compare_reports(str(table), {"spark": BACKENDS[executors_can_read]}, level="rows") == []
    checked = validate_unchanged(table, level="rows").checked
    assert any("is not a regular file" in each.reason for each in checked.not_checked), checked


def test_access_is_not_probed_with_a_fifo(tmp_path: Path) -> None:
    jobs: Any = InProcessJobs(1)
    access = find_table_access(jobs, write_log_with_fifo(tmp_path, CHECKPOINT))
    assert access.listing[0].name == CHECKPOINT
    assert access.executors_can_read


def test_executors_cannot_read_a_log_of_fifos(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    os.mkfifo(tmp_path / "_delta_log" / CHECKPOINT)
    jobs: Any = InProcessJobs(1)
    access = find_table_access(jobs, str(tmp_path))
    assert "is not a regular file" in str(access.executors_blocked_reason)

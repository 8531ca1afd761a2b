"""A FIFO is listed like an empty file, and is none: both engines leave it unread, however Spark reaches the table."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers.engines import InProcessJobs, compare_reports, list_engine
from helpers.raw_logs import RawLog, validate_unchanged

from deltaspec.validation.options import Options
from deltaspec.validation.spark.table_access import find_table_access

CHECKPOINT = "00000000000000000000.checkpoint.parquet"
ENGINES = {reached: list_engine(2, 1, executors_can_read=reached) for reached in (True, False)}


def with_fifo(root: Path, name: str) -> str:
    """The plain log with a FIFO in the place of one of its files."""
    table = RawLog("plain").write(root)
    (table / "_delta_log" / name).unlink(missing_ok=True)
    os.mkfifo(table / "_delta_log" / name)
    return str(table)


@pytest.mark.parametrize("reached", ENGINES)
@pytest.mark.parametrize("name", [CHECKPOINT, "00000000000000000001.json", "00000000000000000001.crc"])
def test_fifo_of_the_log_is_not_checked_by_either_engine(name: str, reached: bool, tmp_path: Path) -> None:
    table = with_fifo(tmp_path, name)
    assert compare_reports(table, {"spark": ENGINES[reached]}) == []
    report = ENGINES[reached](table, Options.create(level="log"))
    assert report.totals == {}
    assert any("is not a regular file" in each.reason for each in report.checked.not_checked)


@pytest.mark.parametrize("reached", ENGINES)
def test_data_file_that_is_a_fifo_is_told_alike(reached: bool, tmp_path: Path) -> None:
    table = RawLog("plain").write(tmp_path)
    written = (table / "_delta_log" / "00000000000000000002.json").read_text()
    data = table / json.loads(next(line for line in written.splitlines() if line.startswith('{"add"')))["add"]["path"]
    data.parent.mkdir(exist_ok=True)
    os.mkfifo(data)
    assert compare_reports(str(table), {"spark": ENGINES[reached]}, level="rows") == []
    assert any(
        "is not a regular file" in each.reason for each in validate_unchanged(table, level="rows").checked.not_checked
    )


def test_fifo_does_not_tell_whether_executors_reach_the_log(tmp_path: Path) -> None:
    jobs: Any = InProcessJobs(1)
    reach = find_table_access(jobs, with_fifo(tmp_path, CHECKPOINT))
    assert reach.listing[0].name == CHECKPOINT
    assert reach.executors_can_read


def test_log_of_nothing_but_fifos_is_not_reached(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    os.mkfifo(tmp_path / "_delta_log" / CHECKPOINT)
    jobs: Any = InProcessJobs(1)
    reach = find_table_access(jobs, str(tmp_path))
    assert "is not a regular file" in str(reach.executors_blocked_reason)

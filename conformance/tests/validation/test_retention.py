"""What has gone too early, where a table shows it, and what may be gone."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.model.log.file_names import commit_name
from deltaspec.report.report_types import Report
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.bases.retention import (
    DAY_MS,
    HOUR_MS,
    REMOVED_MS,
    add_live_files,
    build_table_cleaned_up_at_2,
    build_table_with_replaced_vector,
)
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import LOG, TableFiles, add_action, protocol_action, remove_action, write_table

LONG, SHORT = ({"delta.deletedFileRetentionDuration": text} for text in ("interval 30 days", "interval 1 hour"))


def write_and_validate(files: TableFiles, directory: Path, **options: Any) -> Report:
    write_table(files, directory)
    return deltaspec.validate(str(directory), clock=files.clock_ms, select=["VAC"], **options)


def vacuumed(age: int, **more: Any) -> TableFiles:
    files = add_live_files(log_only.build_table(**more), "a.parquet")
    files.clock_ms = REMOVED_MS + age
    return files


@pytest.mark.parametrize(
    ("settings", "age", "expected"),
    [
        ({}, 7 * DAY_MS, {"VAC001": 1}),
        ({}, 7 * DAY_MS + 1, {}),
        (LONG, 30 * DAY_MS, {"VAC001": 1}),
        (LONG, 30 * DAY_MS + 1, {}),
        (SHORT, HOUR_MS, {"VAC001": 1}),
        (SHORT, HOUR_MS + 1, {}),
        ({"delta.deletedFileRetentionDuration": "soon"}, 0, {}),
        ({"delta.deletedFileRetentionDuration": "interval 999999999999999 weeks"}, 0, {"VAC001": 1}),
    ],
)
def test_file_of_a_tombstone_stays_for_the_retention(
    settings: dict[str, str], age: int, expected: dict[str, int], tmp_path: Path
) -> None:
    assert write_and_validate(vacuumed(age, configuration=settings), tmp_path).totals == expected


def test_no_rule_is_asked_without_a_clock(tmp_path: Path) -> None:
    files = vacuumed(HOUR_MS)
    files.clock_ms = None
    report = write_and_validate(files, tmp_path)
    assert report.totals == {}
    assert report.checked.reasons["VAC001"] == "needs --clock"


def test_retention_that_was_shorter_for_a_while_may_have_been_gone_by(tmp_path: Path) -> None:
    files = vacuumed(2 * HOUR_MS, configuration=SHORT)
    files.commits[2].append({"metaData": {**get_action(files, 0, "metaData"), "configuration": LONG}})
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_whose_removal_has_no_time_may_be_gone(tmp_path: Path) -> None:
    files = vacuumed(HOUR_MS)
    del get_action(files, 2, "remove")["deletionTimestamp"]
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_that_a_repair_removed_was_gone_before(tmp_path: Path) -> None:
    files = vacuumed(HOUR_MS)
    files.commits[2][0] = log_only.commit_info_action(2, operation="FSCK")
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_elsewhere_is_not_looked_for(tmp_path: Path) -> None:
    files = log_only.build_table(last_remove=False)
    source = add_action("s3://elsewhere/x.parquet", rows=1)
    files.commits[1].append(source)
    files.commits[2].append(remove_action(source))
    files.clock_ms = REMOVED_MS
    assert write_and_validate(add_live_files(files), tmp_path).totals == {}


def test_older_version_is_not_asked_what_is_gone(tmp_path: Path) -> None:
    files = vacuumed(HOUR_MS)
    files.commits[3] = [log_only.commit_info_action(3)]
    report = write_and_validate(files, tmp_path / "gone", at=2)
    assert report.totals == {}
    assert {(entry.rule, entry.file) for entry in report.checked.not_checked} == {
        ("VAC001", "a.parquet"),
        ("VAC002", "a.parquet"),
    }
    files.extra["a.parquet"] = bytes(1000)
    assert write_and_validate(files, tmp_path / "there", at=2).verdict == "conforms"


def test_vector_of_a_tombstone_stays_and_the_file_that_is_live_is_not_told(tmp_path: Path) -> None:
    files, path, data = build_table_with_replaced_vector()
    files.clock_ms = REMOVED_MS
    (finding,) = write_and_validate(files, tmp_path / "gone").findings
    assert (finding.rule, finding.path, finding.version) == ("VAC002", "d.parquet", 2)
    files.extra[path] = data
    assert write_and_validate(files, tmp_path / "there").totals == {}


KEPT = {"delta.logRetentionDuration": "interval 30 days"}


def cut_off(age: int, **more: Any) -> TableFiles:
    files = build_table_cleaned_up_at_2(log_only.build_table(last_remove=False, **more))
    files.clock_ms = REMOVED_MS + 2 + age
    return files


@pytest.mark.parametrize(
    ("settings", "age", "expected"),
    [
        (KEPT, 30 * DAY_MS, {}),
        (KEPT, 30 * DAY_MS - 1, {"VAC003": 1}),
        ({}, 0, {}),
        ({"delta.logRetentionDuration": "a month"}, 0, {}),
    ],
)
def test_history_stays_for_the_retention_that_is_set(
    settings: dict[str, str], age: int, expected: dict[str, int], tmp_path: Path
) -> None:
    assert write_and_validate(cut_off(age, configuration=settings), tmp_path, level="log").totals == expected


def test_dropping_a_feature_may_cut_history_off(tmp_path: Path) -> None:
    files = cut_off(0, protocol=protocol_action(1, 7, None, ["domainMetadata", "appendOnly"]), configuration=KEPT)
    files.commits[3] = [log_only.commit_info_action(3), protocol_action(1, 7, None, ["appendOnly"])]
    assert write_and_validate(files, tmp_path, level="log").totals == {}


def test_commit_is_as_old_as_its_file_or_its_word(tmp_path: Path) -> None:
    """Cleanups go by the times of files; a copy has later ones."""
    files = cut_off(30 * DAY_MS - 1, configuration=KEPT)
    files.written_ms[LOG + commit_name(2)] = REMOVED_MS + 1
    assert write_and_validate(files, tmp_path / "older", level="log").totals == {}
    files.written_ms[LOG + commit_name(2)] = REMOVED_MS + DAY_MS
    assert write_and_validate(files, tmp_path / "copied", level="log").totals == {"VAC003": 1}


def test_commit_that_tells_no_time_is_not_judged(tmp_path: Path) -> None:
    files = cut_off(0, configuration=KEPT)
    files.commits[2][0] = {"commitInfo": {"operation": "WRITE", "timestamp": "noon"}}
    assert write_and_validate(files, tmp_path, level="log").totals == {}


def test_history_that_was_judged_from_later_on_only(tmp_path: Path) -> None:
    files = cut_off(0, configuration=KEPT)
    files.commits[3] = [log_only.commit_info_action(3)]
    files.checkpoints.append(CheckpointFiles(3, rows=files.checkpoints[0].rows))
    files.commits[4] = [log_only.commit_info_action(4)]
    files.checkpoints.append(CheckpointFiles(4, rows=files.checkpoints[0].rows))
    report = write_and_validate(files, tmp_path / "latest", level="log")
    assert (report.totals, report.verdict) == ({}, "conforms")
    assert write_and_validate(files, tmp_path / "all", level="log", history="all").totals == {"VAC003": 1}

"""Files and history that were deleted before their retention ended, and those that may be missing."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.time_units import DAY_MS, HOUR_MS
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.retention import (
    REMOVED_MS,
    add_live_files,
    build_table_cleaned_up_at_2,
    build_table_with_replaced_vector,
)

LONG, SHORT = ({"delta.deletedFileRetentionDuration": text} for text in ("interval 30 days", "interval 1 hour"))


def write_and_validate(files: TableFiles, directory: Path, **options: Any) -> Report:
    write_table(files, directory)
    return deltaspec.validate(str(directory), clock=files.clock_ms, select=["VAC"], **options)


def build_vacuumed_table(age: int, **more: Any) -> TableFiles:
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
def test_file_of_a_tombstone_is_kept_for_the_retention(
    settings: dict[str, str], age: int, expected: dict[str, int], tmp_path: Path
) -> None:
    assert write_and_validate(build_vacuumed_table(age, configuration=settings), tmp_path).totals == expected


def test_rules_need_a_clock(tmp_path: Path) -> None:
    files = build_vacuumed_table(HOUR_MS)
    files.clock_ms = None
    with pytest.raises(InvalidUsage, match="need --clock"):
        write_and_validate(files, tmp_path)
    report = deltaspec.validate(str(tmp_path))
    assert report.checked.reasons["VAC001"] == "needs --clock"


def test_earlier_shorter_retention_may_apply(tmp_path: Path) -> None:
    files = build_vacuumed_table(2 * HOUR_MS, configuration=SHORT)
    files.commits[2].append({"metaData": {**get_action(files, 0, "metaData"), "configuration": LONG}})
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_removed_without_timestamp_may_be_missing(tmp_path: Path) -> None:
    files = build_vacuumed_table(HOUR_MS)
    del get_action(files, 2, "remove")["deletionTimestamp"]
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_removed_by_a_repair_may_be_missing(tmp_path: Path) -> None:
    files = build_vacuumed_table(HOUR_MS)
    files.commits[2][0] = commit_info_action(2, operation="FSCK")
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_outside_the_table_is_not_checked(tmp_path: Path) -> None:
    files = log_only.build_table(last_remove=False)
    source = add_action("s3://elsewhere/x.parquet", rows=1)
    files.commits[1].append(source)
    files.commits[2].append(remove_action(source))
    files.clock_ms = REMOVED_MS
    assert write_and_validate(add_live_files(files), tmp_path).totals == {}


def test_missing_files_of_an_older_version_are_not_checked(tmp_path: Path) -> None:
    files = build_vacuumed_table(HOUR_MS)
    files.commits[3] = [commit_info_action(3)]
    report = write_and_validate(files, tmp_path / "missing", at=2)
    assert report.totals == {}
    assert {(entry.rule, entry.file) for entry in report.checked.not_checked} == {
        ("VAC001", "a.parquet"),
        ("VAC002", "a.parquet"),
    }
    files.extra["a.parquet"] = bytes(1000)
    assert write_and_validate(files, tmp_path / "present", at=2).verdict == "conforms"


def test_vector_of_a_tombstone_is_kept_for_the_retention(tmp_path: Path) -> None:
    files, path, data = build_table_with_replaced_vector()
    files.clock_ms = REMOVED_MS
    (finding,) = write_and_validate(files, tmp_path / "missing").findings
    assert (finding.rule, finding.path, finding.version) == ("VAC002", "d.parquet", 2)
    files.extra[path] = data
    assert write_and_validate(files, tmp_path / "present").totals == {}


LOG_RETENTION = {"delta.logRetentionDuration": "interval 30 days"}


def build_cleaned_up_table(age: int, **more: Any) -> TableFiles:
    files = build_table_cleaned_up_at_2(log_only.build_table(last_remove=False, **more))
    files.clock_ms = REMOVED_MS + 2 + age
    return files


@pytest.mark.parametrize(
    ("settings", "age", "expected"),
    [
        (LOG_RETENTION, 30 * DAY_MS, {}),
        (LOG_RETENTION, 30 * DAY_MS - 1, {"VAC003": 1}),
        ({}, 0, {}),
        ({"delta.logRetentionDuration": "a month"}, 0, {}),
    ],
)
def test_history_is_kept_for_the_configured_retention(
    settings: dict[str, str], age: int, expected: dict[str, int], tmp_path: Path
) -> None:
    assert (
        write_and_validate(build_cleaned_up_table(age, configuration=settings), tmp_path, level="log").totals
        == expected
    )


def test_dropping_a_feature_may_remove_history(tmp_path: Path) -> None:
    files = build_cleaned_up_table(
        0, protocol=protocol_action(1, 7, None, ["domainMetadata", "appendOnly"]), configuration=LOG_RETENTION
    )
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["appendOnly"])]
    assert write_and_validate(files, tmp_path, level="log").totals == {}


def test_age_of_a_commit_is_that_of_its_file_or_its_timestamp(tmp_path: Path) -> None:
    """Cleanups use file times, but the files of a copied table have later ones."""
    files = build_cleaned_up_table(30 * DAY_MS - 1, configuration=LOG_RETENTION)
    files.written_ms[LOG + commit_name(2)] = REMOVED_MS + 1
    assert write_and_validate(files, tmp_path / "older", level="log").totals == {}
    files.written_ms[LOG + commit_name(2)] = REMOVED_MS + DAY_MS
    assert write_and_validate(files, tmp_path / "copied", level="log").totals == {"VAC003": 1}


def test_commit_without_timestamp_is_not_checked(tmp_path: Path) -> None:
    files = build_cleaned_up_table(0, configuration=LOG_RETENTION)
    files.commits[2][0] = {"commitInfo": {"operation": "WRITE", "timestamp": "noon"}}
    assert write_and_validate(files, tmp_path, level="log").totals == {}


def test_removed_history_is_found_only_with_complete_history(tmp_path: Path) -> None:
    files = build_cleaned_up_table(0, configuration=LOG_RETENTION)
    files.commits[3] = [commit_info_action(3)]
    files.checkpoints.append(CheckpointFiles(3, rows=files.checkpoints[0].rows))
    files.commits[4] = [commit_info_action(4)]
    files.checkpoints.append(CheckpointFiles(4, rows=files.checkpoints[0].rows))
    report = write_and_validate(files, tmp_path / "latest", level="log")
    assert report.totals == {}
    assert {each.reason for each in report.checked.not_checked} == {"needs --level files"}
    assert write_and_validate(files, tmp_path / "all", level="log", history="all").totals == {"VAC003": 1}

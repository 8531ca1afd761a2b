"""Findings of staged commits, and legal differences from published ones."""

from pathlib import Path
from typing import Any

import pytest
from helpers.catalog import list_unchecked

import deltaspec
from deltaspec.protocol.log.file_names import commit_name
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.table_files import LOG, TableFiles, add_action, write_table
from planted_tables.bases import log_only
from planted_tables.bases.catalog_managed import (
    FIRST_UUID,
    SECOND_UUID,
    add_staged_commit,
    build_managed_table,
    transaction_commit_info,
)
from planted_tables.bases.in_commit_timestamps import ENABLED_AT_MS, build_table_enabled_by_version_2

ADDED = add_action("d.parquet", rows=1)


def count_findings(files: TableFiles, directory: Path, **options: Any) -> dict[str, int]:
    write_table(files, directory)
    report = deltaspec.validate(str(directory), level="log", **options)
    assert list_unchecked(report) == []
    return report.totals


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"commitInfo":{"txnId":"t',
        encode_lines([transaction_commit_info(3), ADDED])[:-9],
        encode_lines([transaction_commit_info(3), ADDED]).rstrip(),
        encode_lines([transaction_commit_info(3), {"madeUp": {}}, ADDED]),
        b"\n" + encode_lines([transaction_commit_info(3), ADDED]),
    ],
)
def test_attempts_may_be_incomplete_and_have_unknown_actions(content: bytes, tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(files, 3, FIRST_UUID, content)
    add_staged_commit(files, 3, SECOND_UUID, [transaction_commit_info(3), ADDED])
    assert count_findings(files, tmp_path) == {}


def test_first_illegal_line_is_reported(tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(
        files, 3, FIRST_UUID, [transaction_commit_info(3), ADDED, {"sidecar": {"path": "x", "sizeInBytes": 1}}, "{"]
    )
    write_table(files, tmp_path)
    (finding,) = deltaspec.validate(str(tmp_path), level="log").findings
    assert (finding.rule, finding.version, finding.line) == ("CAT001", 3, 3)
    assert finding.file == f"{LOG}_staged_commits/{3:020d}.{FIRST_UUID}.json"


def test_last_line_with_a_line_break_is_not_truncated(tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(files, 3, FIRST_UUID, encode_lines([transaction_commit_info(3), ADDED]) + b"garbage\n")
    write_table(files, tmp_path)
    (finding,) = deltaspec.validate(str(tmp_path), level="log").findings
    assert (finding.rule, finding.line) == ("CAT001", 3)


def test_published_commit_may_be_serialized_differently(tmp_path: Path) -> None:
    files = build_managed_table()
    first, add, remove = files.commits[2]
    assert isinstance(add, dict)
    reordered = {"add": {"tags": None, **dict(reversed(add["add"].items()))}}
    add_staged_commit(files, 2, FIRST_UUID, [transaction_commit_info(2, retried=5), remove, reordered])
    add_staged_commit(files, 2, SECOND_UUID, [first, add])
    assert count_findings(files, tmp_path) == {}


def test_attempt_of_another_transaction_may_differ(tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(files, 2, FIRST_UUID, [transaction_commit_info(9), ADDED])
    assert count_findings(files, tmp_path) == {}


def test_staged_commits_of_an_unmanaged_table_are_ignored(tmp_path: Path) -> None:
    files = log_only.build_table()
    for version in (1, 2):
        add_staged_commit(files, version, FIRST_UUID, b"not json\nat all\n")
    assert count_findings(files, tmp_path) == {}


def test_unreadable_staged_commit_is_not_checked(tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(files, 3, FIRST_UUID, [transaction_commit_info(3), ADDED])
    write_table(files, tmp_path)
    path = tmp_path / LOG / "_staged_commits" / f"{3:020d}.{FIRST_UUID}.json"
    path.write_bytes(b"")
    with path.open("r+b") as file:
        file.truncate((64 << 20) + 1)
    report = deltaspec.validate(str(tmp_path), level="log", select=["CAT"])
    assert {entry.rule for entry in list_unchecked(report)} == {"CAT001", "CAT002", "CAT003"}
    assert report.verdict == "incomplete"


@pytest.mark.parametrize("depth", [400, 900, 5000, 200_000])
def test_deeply_nested_staged_commit_does_not_crash(depth: int, tmp_path: Path) -> None:
    files = build_managed_table()
    nested = b'{"madeUp":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"
    add_staged_commit(files, 2, FIRST_UUID, encode_lines([transaction_commit_info(2)]) + nested)
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", select=["CAT"])
    assert report.totals in ({}, {"CAT003": 1})


# in-commit timestamps compared with file times


def set_file_times(files: TableFiles, *times: int) -> TableFiles:
    files.written_ms = {LOG + commit_name(version): time for version, time in enumerate(times)}
    return files


def test_file_times_of_a_copied_log_are_ignored(tmp_path: Path) -> None:
    assert (
        count_findings(
            set_file_times(
                build_table_enabled_by_version_2(),
                ENABLED_AT_MS,
                ENABLED_AT_MS + 5,
                ENABLED_AT_MS + 6,
                ENABLED_AT_MS + 7,
            ),
            tmp_path,
        )
        == {}
    )


def test_first_timestamp_after_the_last_file_time_is_valid(tmp_path: Path) -> None:
    assert (
        count_findings(
            set_file_times(
                build_table_enabled_by_version_2(),
                ENABLED_AT_MS - 9,
                ENABLED_AT_MS - 1,
                ENABLED_AT_MS,
                ENABLED_AT_MS + 1,
            ),
            tmp_path,
        )
        == {}
    )


def test_only_the_enabling_commit_is_compared(tmp_path: Path) -> None:
    assert (
        count_findings(
            set_file_times(
                build_table_enabled_by_version_2(),
                ENABLED_AT_MS + 9,
                ENABLED_AT_MS - 1,
                ENABLED_AT_MS + 9,
                ENABLED_AT_MS + 9,
            ),
            tmp_path,
        )
        == {}
    )


def test_first_timestamp_equal_to_the_last_file_time_is_found(tmp_path: Path) -> None:
    assert count_findings(
        set_file_times(
            build_table_enabled_by_version_2(), ENABLED_AT_MS - 9, ENABLED_AT_MS, ENABLED_AT_MS + 1, ENABLED_AT_MS + 1
        ),
        tmp_path,
    ) == {"ICT001": 1}

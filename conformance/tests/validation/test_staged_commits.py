"""What staged commits show, and what they leave open."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.model.log.file_names import commit_name
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.catalog_managed import (
    FIRST_UUID,
    SECOND_UUID,
    add_staged_commit,
    build_managed_table,
    transaction_commit_info,
)
from deltaspec_generators.bases.in_commit_timestamps import ENABLED_AT_MS, build_table_enabled_by_version_2
from deltaspec_generators.table_files import LOG, TableFiles, add_action, write_table

ADDED = add_action("d.parquet", rows=1)


def found(files: TableFiles, directory: Path, **options: Any) -> dict[str, int]:
    write_table(files, directory)
    report = deltaspec.validate(str(directory), level="log", **options)
    assert report.checked.not_checked == []
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
def test_attempts_may_break_off_and_hold_what_nobody_knows(content: bytes, tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(files, 3, FIRST_UUID, content)
    add_staged_commit(files, 3, SECOND_UUID, [transaction_commit_info(3), ADDED])
    assert found(files, tmp_path) == {}


def test_first_line_of_another_kind_is_told(tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(
        files, 3, FIRST_UUID, [transaction_commit_info(3), ADDED, {"sidecar": {"path": "x", "sizeInBytes": 1}}, "{"]
    )
    write_table(files, tmp_path)
    (finding,) = deltaspec.validate(str(tmp_path), level="log").findings
    assert (finding.rule, finding.version, finding.line) == ("CAT001", 3, 3)
    assert finding.file == f"{LOG}_staged_commits/{3:020d}.{FIRST_UUID}.json"


def test_published_commit_is_the_staged_one_however_it_is_written(tmp_path: Path) -> None:
    files = build_managed_table()
    first, add, remove = files.commits[2]
    assert isinstance(add, dict)
    spelled = {"add": {"tags": None, **dict(reversed(add["add"].items()))}}
    add_staged_commit(files, 2, FIRST_UUID, [transaction_commit_info(2, retried=5), remove, spelled])
    add_staged_commit(files, 2, SECOND_UUID, [first, add])
    assert found(files, tmp_path) == {}


def test_attempt_of_another_transaction_may_do_something_else(tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(files, 2, FIRST_UUID, [transaction_commit_info(9), ADDED])
    assert found(files, tmp_path) == {}


def test_staged_commits_say_nothing_where_no_catalog_manages(tmp_path: Path) -> None:
    files = log_only.build_table()
    for version in (1, 2):
        add_staged_commit(files, version, FIRST_UUID, b"not json\nat all\n")
    assert found(files, tmp_path) == {}


def test_unreadable_staged_commit_is_not_checked(tmp_path: Path) -> None:
    files = build_managed_table()
    add_staged_commit(files, 3, FIRST_UUID, [transaction_commit_info(3), ADDED])
    write_table(files, tmp_path)
    path = tmp_path / LOG / "_staged_commits" / f"{3:020d}.{FIRST_UUID}.json"
    path.write_bytes(b"")
    with path.open("r+b") as file:
        file.truncate((64 << 20) + 1)
    report = deltaspec.validate(str(tmp_path), level="log", select=["CAT"])
    assert {entry.rule for entry in report.checked.not_checked} == {"CAT001", "CAT002", "CAT003"}
    assert report.verdict == "incomplete"


@pytest.mark.parametrize("depth", [400, 900, 5000, 200_000])
def test_deeply_nested_staged_commits_are_survived(depth: int, tmp_path: Path) -> None:
    files = build_managed_table()
    deep = b'{"madeUp":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"
    add_staged_commit(files, 2, FIRST_UUID, encode_lines([transaction_commit_info(2)]) + deep)
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", select=["CAT"])
    assert report.totals in ({}, {"CAT003": 1})


# In-commit timestamps beside the times of files.


def written(files: TableFiles, *times: int) -> TableFiles:
    files.written_ms = {LOG + commit_name(version): time for version, time in enumerate(times)}
    return files


def test_log_that_was_copied_has_no_file_times_to_go_by(tmp_path: Path) -> None:
    assert (
        found(
            written(
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


def test_timestamps_that_begin_after_the_last_file(tmp_path: Path) -> None:
    assert (
        found(
            written(
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
        found(
            written(
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


def test_timestamps_that_begin_with_the_last_file(tmp_path: Path) -> None:
    assert found(
        written(
            build_table_enabled_by_version_2(), ENABLED_AT_MS - 9, ENABLED_AT_MS, ENABLED_AT_MS + 1, ENABLED_AT_MS + 1
        ),
        tmp_path,
    ) == {"ICT001": 1}

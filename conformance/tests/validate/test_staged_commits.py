"""What staged commits show, and what they leave open."""

from pathlib import Path
from typing import Any

import pytest

from deltaspec.model.file_names import commit_name
from deltaspec.validate import validate_table
from deltaspec_generators import bases
from deltaspec_generators.builder import LOG, TableFiles, add_action, write_table
from deltaspec_generators.json_lines import json_lines
from deltaspec_generators.mutations_catalog_managed import FIRST, SECOND, managed, of_transaction, stage
from deltaspec_generators.mutations_times import BEGAN, enabled_by_version_2

ADDED = add_action("d.parquet", rows=1)


def found(files: TableFiles, directory: Path, **options: Any) -> dict[str, int]:
    write_table(files, directory)
    report = validate_table(str(directory), level="log", **options)
    assert report.checked.not_checked == []
    return report.totals


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"commitInfo":{"txnId":"t',
        json_lines([of_transaction(3), ADDED])[:-9],
        json_lines([of_transaction(3), ADDED]).rstrip(),
        json_lines([of_transaction(3), {"madeUp": {}}, ADDED]),
        b"\n" + json_lines([of_transaction(3), ADDED]),
    ],
)
def test_attempts_may_break_off_and_hold_what_nobody_knows(content: bytes, tmp_path: Path) -> None:
    files = managed()
    stage(files, 3, FIRST, content)
    stage(files, 3, SECOND, [of_transaction(3), ADDED])
    assert found(files, tmp_path) == {}


def test_first_line_of_another_kind_is_told(tmp_path: Path) -> None:
    files = managed()
    stage(files, 3, FIRST, [of_transaction(3), ADDED, {"sidecar": {"path": "x", "sizeInBytes": 1}}, "{"])
    write_table(files, tmp_path)
    (finding,) = validate_table(str(tmp_path), level="log").findings
    assert (finding.rule, finding.version, finding.line) == ("CAT001", 3, 3)
    assert finding.file == f"{LOG}_staged_commits/{3:020d}.{FIRST}.json"


def test_published_commit_is_the_staged_one_however_it_is_written(tmp_path: Path) -> None:
    files = managed()
    first, add, remove = files.commits[2]
    assert isinstance(add, dict)
    spelled = {"add": {"tags": None, **dict(reversed(add["add"].items()))}}
    stage(files, 2, FIRST, [of_transaction(2, retried=5), remove, spelled])
    stage(files, 2, SECOND, [first, add])
    assert found(files, tmp_path) == {}


def test_attempt_of_another_transaction_may_do_something_else(tmp_path: Path) -> None:
    files = managed()
    stage(files, 2, FIRST, [of_transaction(9), ADDED])
    assert found(files, tmp_path) == {}


def test_staged_commits_say_nothing_where_no_catalog_manages(tmp_path: Path) -> None:
    files = bases.plain()
    for version in (1, 2):
        stage(files, version, FIRST, b"not json\nat all\n")
    assert found(files, tmp_path) == {}


def test_unreadable_staged_commit_is_not_checked(tmp_path: Path) -> None:
    files = managed()
    stage(files, 3, FIRST, [of_transaction(3), ADDED])
    write_table(files, tmp_path)
    path = tmp_path / LOG / "_staged_commits" / f"{3:020d}.{FIRST}.json"
    path.write_bytes(b"")
    with path.open("r+b") as file:
        file.truncate((64 << 20) + 1)
    report = validate_table(str(tmp_path), level="log", select=["CAT"])
    assert {entry.rule for entry in report.checked.not_checked} == {"CAT001", "CAT002", "CAT003"}
    assert report.verdict == "incomplete"


@pytest.mark.parametrize("depth", [400, 900, 5000, 200_000])
def test_deeply_nested_staged_commits_are_survived(depth: int, tmp_path: Path) -> None:
    files = managed()
    deep = b'{"madeUp":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"
    stage(files, 2, FIRST, json_lines([of_transaction(2)]) + deep)
    write_table(files, tmp_path)
    report = validate_table(str(tmp_path), level="log", select=["CAT"])
    assert report.totals in ({}, {"CAT003": 1})


# In-commit timestamps beside the times of files.


def written(files: TableFiles, *times: int) -> TableFiles:
    files.written_ms = {LOG + commit_name(version): time for version, time in enumerate(times)}
    return files


def test_log_that_was_copied_has_no_file_times_to_go_by(tmp_path: Path) -> None:
    assert found(written(enabled_by_version_2(), BEGAN, BEGAN + 5, BEGAN + 6, BEGAN + 7), tmp_path) == {}


def test_timestamps_that_begin_after_the_last_file(tmp_path: Path) -> None:
    assert found(written(enabled_by_version_2(), BEGAN - 9, BEGAN - 1, BEGAN, BEGAN + 1), tmp_path) == {}


def test_only_the_enabling_commit_is_compared(tmp_path: Path) -> None:
    assert found(written(enabled_by_version_2(), BEGAN + 9, BEGAN - 1, BEGAN + 9, BEGAN + 9), tmp_path) == {}


def test_timestamps_that_begin_with_the_last_file(tmp_path: Path) -> None:
    assert found(written(enabled_by_version_2(), BEGAN - 9, BEGAN, BEGAN + 1, BEGAN + 1), tmp_path) == {"ICT001": 1}

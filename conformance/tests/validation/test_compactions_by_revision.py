"""Log compactions judged by each text: r1 and r2 know none, r3 says less of them than the newest."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.bases import log_only
from deltaspec_generators.table_files import TableFiles, add_action, write_table


def rules_by_text(files: TableFiles, place: Path) -> dict[str, dict[str, int]]:
    """What each text says of a table: revision to rule to number of findings."""
    write_table(files, place)
    texts = ("r1", "r2", "r3", "current")
    return {
        each: dict(deltaspec.validate(str(place), level="log", history="all", revision=each).totals) for each in texts
    }


def build_table_with_compaction(start: int, end: int, lines: list[Any]) -> TableFiles:
    files = log_only.build_table()
    files.compactions[start, end] = lines
    return files


def test_range_of_one_version_is_one_to_r3_alone(tmp_path: Path) -> None:
    files = build_table_with_compaction(2, 2, log_only.build_table().commits[2][1:])
    assert rules_by_text(files, tmp_path) == {"r1": {}, "r2": {}, "r3": {}, "current": {"LOG002": 1}}


def test_range_of_one_version_holds_what_its_commit_holds(tmp_path: Path) -> None:
    files = build_table_with_compaction(2, 2, log_only.build_table().commits[2][1:2])
    assert rules_by_text(files, tmp_path) == {
        "r1": {},
        "r2": {},
        "r3": {"COP001": 1},
        "current": {"COP001": 1, "LOG002": 1},
    }


def test_commit_info_in_a_compaction_is_forbidden_by_the_newest_text_and_silent_in_r3(tmp_path: Path) -> None:
    files = log_only.build_table_with_compaction()
    files.compactions[1, 2].insert(0, log_only.commit_info_action(2))
    assert rules_by_text(files, tmp_path) == {"r1": {}, "r2": {}, "r3": {"COP005": 1}, "current": {"COP004": 1}}


@pytest.mark.parametrize("line", [add_action("never.parquet", rows=1), "no JSON", {"add": {"path": "%"}}])
def test_what_a_compaction_holds_is_no_business_of_texts_that_know_none(line: Any, tmp_path: Path) -> None:
    files = log_only.build_table_with_compaction()
    files.compactions[1, 2].append(line)
    said = rules_by_text(files, tmp_path)
    assert (said["r1"], said["r2"]) == ({}, {})
    assert said["r3"] == said["current"] != {}


def test_version_checksums_are_no_business_of_texts_that_know_none(tmp_path: Path) -> None:
    files = log_only.build_table_with_checksum()
    body = files.checksums[2]
    assert isinstance(body, dict)
    files.checksums[2] = {**body, "numFiles": 7}
    assert rules_by_text(files, tmp_path) == {"r1": {}, "r2": {}, "r3": {}, "current": {"CRC003": 1}}

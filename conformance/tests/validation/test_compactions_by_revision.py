"""Log compactions in each revision: r1 and r2 do not define them, and r3 has fewer requirements than current."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.table_files import TableFiles, add_action, commit_info_action, write_table
from planted_tables.bases import log_only


def count_findings_by_revision(files: TableFiles, root: Path) -> dict[str, dict[str, int]]:
    """Return the number of findings by revision and rule."""
    write_table(files, root)
    revisions = ("r1", "r2", "r3", "current")
    return {
        revision: dict(deltaspec.validate(str(root), level="log", history="all", revision=revision).totals)
        for revision in revisions
    }


def build_table_with_compaction(start: int, end: int, lines: list[Any]) -> TableFiles:
    files = log_only.build_table()
    files.compactions[start, end] = lines
    return files


def test_compaction_of_one_version_is_a_finding_only_in_current(tmp_path: Path) -> None:
    files = build_table_with_compaction(2, 2, log_only.build_table().commits[2][1:])
    assert count_findings_by_revision(files, tmp_path) == {"r1": {}, "r2": {}, "r3": {}, "current": {"LOG002": 1}}


def test_compaction_of_one_version_must_equal_its_commit_in_r3_and_current(tmp_path: Path) -> None:
    files = build_table_with_compaction(2, 2, log_only.build_table().commits[2][1:2])
    assert count_findings_by_revision(files, tmp_path) == {
        "r1": {},
        "r2": {},
        "r3": {"COP001": 1},
        "current": {"COP001": 1, "LOG002": 1},
    }


def test_commit_info_in_compaction_violates_another_rule_in_r3_than_in_current(tmp_path: Path) -> None:
    files = log_only.build_table_with_compaction()
    files.compactions[1, 2].insert(0, commit_info_action(2))
    assert count_findings_by_revision(files, tmp_path) == {
        "r1": {},
        "r2": {},
        "r3": {"COP005": 1},
        "current": {"COP004": 1},
    }


@pytest.mark.parametrize("line", [add_action("never.parquet", rows=1), "no JSON", {"add": {"path": "%"}}])
def test_compactions_are_ignored_by_revisions_without_them(line: Any, tmp_path: Path) -> None:
    files = log_only.build_table_with_compaction()
    files.compactions[1, 2].append(line)
    counts = count_findings_by_revision(files, tmp_path)
    assert (counts["r1"], counts["r2"]) == ({}, {})
    assert counts["r3"] == counts["current"] != {}


def test_version_checksums_are_ignored_by_revisions_without_them(tmp_path: Path) -> None:
    files = log_only.build_table_with_checksum()
    body = files.checksums[2]
    assert isinstance(body, dict)
    files.checksums[2] = {**body, "numFiles": 7}
    assert count_findings_by_revision(files, tmp_path) == {"r1": {}, "r2": {}, "r3": {}, "current": {"CRC003": 1}}

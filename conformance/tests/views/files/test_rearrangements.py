"""Rows that a commit says it only moves, counted by the log: where they are known, and what a live file adds again."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.actions import build_rearranged_table
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import TableFiles, add_action, remove_action, write_table

QUIET: dict[str, Any] = {"dataChange": False}


def totals(files: TableFiles, revision: str = "current") -> dict[str, int]:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        report = deltaspec.validate(str(Path(directory) / "table"), level="log", revision=revision)
    assert not report.checked.not_checked
    return dict(report.totals)


@pytest.mark.parametrize(
    ("removed", "added", "kept", "found"),
    [
        ([4, 6], [10], False, {}),
        ([4, 6], [11], False, {"COM020": 1}),
        ([4, 6], [3], False, {}),
        ([10], [4, 6], True, {}),
        ([10], [4, 5], True, {"COM021": 1}),
        ([10], [20], True, {}),
        ([], [0], False, {}),
        ([], [1], False, {"COM020": 1}),
    ],
)
def test_rows_said_unchanged_are_counted(
    removed: list[int], added: list[int], kept: bool, found: dict[str, int]
) -> None:
    assert totals(build_rearranged_table(removed, added, kept=kept)) == found


def test_live_file_added_again_brings_no_rows() -> None:
    files = log_only.build_table()
    files.commits[3] = [commit_info_action(3), add_action("b.parquet", rows=10, **QUIET)]
    assert totals(files) == {}


def test_file_added_again_after_its_removal_brings_rows() -> None:
    files = log_only.build_table()  # removes a.parquet in version 2
    files.commits[3] = [commit_info_action(3), add_action("a.parquet", rows=10, **QUIET)]
    assert totals(files) == {"COM020": 1}


def _with_vectors(before: tuple[int, ...], after: tuple[int, ...]) -> TableFiles:
    """A table whose last commit says that it only gives a file another vector."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    first = add_action("d.parquet", rows=10, deletionVector=log_only.inline_vector_descriptor(before))
    second = add_action("d.parquet", rows=10, deletionVector=log_only.inline_vector_descriptor(after), **QUIET)
    files.commits[3] = [commit_info_action(3), first]
    files.commits[4] = [commit_info_action(4), remove_action(first, **QUIET), second]
    return files


def test_rows_that_a_vector_takes_away_are_no_rows() -> None:
    assert totals(_with_vectors((1, 2), (2, 3))) == {}
    assert totals(_with_vectors((1,), (1, 2))) == {"COM021": 1}
    assert totals(_with_vectors((1, 2), (1,))) == {"COM020": 1}


@pytest.mark.parametrize("unknown", ["add", "remove"])
def test_nothing_is_said_where_a_count_is_not_known(unknown: str) -> None:
    files = build_rearranged_table([4], [9], kept=False)
    if unknown == "add":
        files.commits[3][-1] = add_action("new-0.parquet", **QUIET)
    else:
        files.commits[3].append(remove_action(add_action("never.parquet"), **QUIET))
    assert totals(files) == {}


def test_rows_that_change_beside_those_that_move_count_as_well() -> None:
    files = build_rearranged_table([4, 6], [10], kept=True)
    files.commits[3].append(add_action("more.parquet", rows=5))
    assert totals(files) == {}

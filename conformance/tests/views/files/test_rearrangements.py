"""Row counts of commits with dataChange false: known and unknown counts, and files that are added again."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    inline_vector_descriptor,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.actions import build_rearranged_table

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
def test_unchanged_rows_are_counted(removed: list[int], added: list[int], kept: bool, found: dict[str, int]) -> None:
    assert totals(build_rearranged_table(removed, added, stated_by_removes=kept)) == found


def test_live_file_added_again_adds_no_rows() -> None:
    files = log_only.build_table()
    files.commits[3] = [commit_info_action(3), add_action("b.parquet", rows=10, **QUIET)]
    assert totals(files) == {}


def test_removed_file_added_again_adds_rows() -> None:
    files = log_only.build_table()  # removes a.parquet in version 2
    files.commits[3] = [commit_info_action(3), add_action("a.parquet", rows=10, **QUIET)]
    assert totals(files) == {"COM020": 1}


def _with_vectors(before: tuple[int, ...], after: tuple[int, ...]) -> TableFiles:
    """Build a table whose last commit replaces the vector of a file with dataChange false."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    first = add_action("d.parquet", rows=10, deletionVector=inline_vector_descriptor(before))
    second = add_action("d.parquet", rows=10, deletionVector=inline_vector_descriptor(after), **QUIET)
    files.commits[3] = [commit_info_action(3), first]
    files.commits[4] = [commit_info_action(4), remove_action(first, **QUIET), second]
    return files


def test_rows_deleted_by_a_vector_are_not_counted() -> None:
    assert totals(_with_vectors((1, 2), (2, 3))) == {}
    assert totals(_with_vectors((1,), (1, 2))) == {"COM021": 1}
    assert totals(_with_vectors((1, 2), (1,))) == {"COM020": 1}


def test_commit_with_unknown_row_count_has_no_finding() -> None:
    files = build_rearranged_table([4], [9], stated_by_removes=False)
    files.commits[3][-1] = add_action("new-0.parquet", **QUIET)
    assert totals(files) == {}


def test_files_without_a_count_leave_the_others_decided() -> None:
    files = build_rearranged_table([4], [9], stated_by_removes=False)
    files.commits[3].append(add_action("more.parquet", **QUIET))
    assert totals(files) == {"COM020": 1}


def test_changed_rows_count_in_addition_to_unchanged_rows() -> None:
    files = build_rearranged_table([4, 6], [10], stated_by_removes=True)
    files.commits[3].append(add_action("more.parquet", rows=5))
    assert totals(files) == {}

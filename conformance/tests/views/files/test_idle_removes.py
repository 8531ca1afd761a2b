"""Removes of files that are not live: they end nothing (FIL053), and the rows that their commit writes are counted."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    inline_vector_descriptor,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only

ENABLED = {"delta.enableDeletionVectors": "true"}
QUIET: dict[str, Any] = {"dataChange": False}
BASES = ("commits", "checkpoint", "cleaned up")


def totals(files: TableFiles, **options: Any) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        report = deltaspec.validate(str(Path(directory) / "table"), level="log", **options)
    assert not report.checked.not_checked
    return dict(report.totals)


def build_table(base: str) -> TableFiles:
    """Build a table whose version 1 adds a.parquet and b.parquet, and whose version 2 compacts them into c.parquet.

    Args:
        base: with a checkpoint of version 2 unless it is `commits`; `cleaned up` has no earlier commits.
    """
    files = log_only.build_table_with_features("deletionVectors", configuration=ENABLED, last_remove=False)
    old = [add_action(f"{name}.parquet", rows=10) for name in ("a", "b")]
    files.commits[1] = [commit_info_action(1), *old]
    removes = [remove_action(each, **QUIET) for each in old]
    files.commits[2] = [commit_info_action(2), *removes, add_action("c.parquet", rows=20, **QUIET)]
    if base != "commits":
        state = [*files.commits[0][1:], *removes, files.commits[2][-1]]
        files.checkpoints.append(CheckpointFiles(2, rows=state))
    if base == "cleaned up":
        files.commits = {2: files.commits[2]}
    return files


def compact(files: TableFiles, *removed: str, rows: int = 20, **remove: Any) -> TableFiles:
    """Add a commit that removes files, and adds as many rows without `dataChange`."""
    removes = [remove_action(add_action(path, rows=10), **QUIET, **remove) for path in removed]
    files.commits[3] = [commit_info_action(3), *removes, add_action("d.parquet", rows=rows, **QUIET)]
    return files


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("removed", "rows", "found"),
    [
        (["a.parquet", "b.parquet"], 20, {"COM020": 1, "FIL053": 2}),  # compacted twice
        (["c%2Eparquet"], 20, {"FIL035": 1}),  # the same path
        (["c%252Eparquet"], 20, {"COM020": 1, "FIL053": 1}),
        (["/c.parquet"], 20, {"COM020": 1, "FIL053": 1}),
        (["never.parquet"], 20, {"COM020": 1, "FIL053": 1}),
        (["never.parquet"], 0, {"FIL053": 1}),
        (["c.parquet", "a.parquet"], 10, {"COM021": 1, "FIL053": 1}),  # rows are lost
        (["c.parquet", "a.parquet"], 20, {"FIL053": 1}),
        (["c.parquet", "a.parquet"], 30, {"COM020": 1, "FIL053": 1}),  # rows come back
    ],
)
def test_removes_that_end_nothing(base: str, removed: list[str], rows: int, found: dict[str, int]) -> None:
    assert totals(compact(build_table(base), *removed, rows=rows)) == found


@pytest.mark.parametrize("base", BASES)
def test_remove_without_the_vector_of_its_file(base: str) -> None:
    files = build_table(base)
    first = remove_action(add_action("c.parquet", rows=20))
    second = add_action("c.parquet", rows=20, deletionVector=inline_vector_descriptor((1,)), **QUIET)
    second["add"]["dataChange"] = True
    files.commits[3] = [commit_info_action(3), first, second]
    vectorless = remove_action(add_action("c.parquet", rows=20), **QUIET)
    files.commits[4] = [commit_info_action(4), vectorless, add_action("d.parquet", rows=19, **QUIET)]
    assert totals(files) == {"COM020": 1, "FIL037": 1}


def test_every_part_of_the_history_is_judged() -> None:
    """The commits up to a checkpoint are a history of their own."""
    files = compact(build_table("commits"), "a.parquet", "b.parquet")
    state = [*files.commits[0][1:], *files.commits[2][1:], files.commits[3][-1]]
    files.checkpoints.append(CheckpointFiles(3, rows=state))
    files.commits[4] = [commit_info_action(4), add_action("e.parquet", rows=1)]
    assert totals(files, history="all") == {"COM020": 1, "FIL053": 2}


def test_removed_file_may_be_added_and_removed_again() -> None:
    files = build_table("commits")
    again = add_action("a.parquet", rows=10)
    files.commits[3] = [commit_info_action(3), again]
    files.commits[4] = [commit_info_action(4), remove_action(again)]
    assert totals(files) == {}
    files.commits[5] = [commit_info_action(5), remove_action(again)]
    assert totals(files) == {"FIL053": 1}


def test_file_removed_twice_in_a_commit_has_its_rows_once() -> None:
    files = compact(build_table("commits"), "c.parquet", "c%2Eparquet", rows=40)
    assert totals(files) == {"COM020": 1, "FIL031": 1, "FIL035": 1}

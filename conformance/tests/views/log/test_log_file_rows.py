"""Rows of `listing` about log cleanup and missing commits."""

import pytest

from deltaspec.model.actions import Protocol
from deltaspec.model.log.file_names import classic_checkpoint_name, commit_name
from deltaspec.views.log.log_file_rows import build_listing_rows
from deltaspec.wire.storage.interface import Entry


def with_feature(name: str) -> Protocol:
    return Protocol(min_reader_version=3, min_writer_version=7, reader_features=[name], writer_features=[name])


def cleaned_up(commits: list[int], checkpoints: list[int]) -> list[int]:
    """Return versions of checkpoints that the log starts with and whose commit is deleted."""
    names = [*map(commit_name, commits), *map(classic_checkpoint_name, checkpoints)]
    rows = build_listing_rows([Entry(name, 1, 0) for name in names], (), {}, False)
    return [row["version"] for row in rows if row.get("commit_cleaned_up")]


@pytest.mark.parametrize(
    ("commits", "checkpoints", "expected"),
    [
        ([10, 11], [10], []),
        ([11, 12], [10], [10]),
        ([], [10], [10]),
        ([9, 11], [10], []),
        ([11, 12, 20, 21], [10, 20], [10]),
        ([15, 20, 21], [10, 20], []),
        ([20, 21], [10, 20], []),
    ],
)
def test_commit_of_first_checkpoint_is_cleaned_up(
    commits: list[int], checkpoints: list[int], expected: list[int]
) -> None:
    assert cleaned_up(commits, checkpoints) == expected


@pytest.mark.parametrize(
    ("protocol", "revision"),
    [
        (Protocol(min_reader_version=1, min_writer_version=2), "r1"),
        (Protocol(min_reader_version=1, min_writer_version=7, writer_features=["rowTracking"]), "r2"),
        (with_feature("deletionVectors"), "r1"),
        (with_feature("v2Checkpoint"), "r3"),
        (with_feature("vacuumProtocolCheck"), "current"),
        (with_feature("madeUp"), None),
        (None, None),
    ],
)
def test_cleanup_revision_defines_the_features_of_the_first_checkpoint(
    protocol: Protocol | None, revision: str | None
) -> None:
    names = [commit_name(4), commit_name(5), classic_checkpoint_name(5), classic_checkpoint_name(6)]
    known_states = {5: (protocol, None), 6: (with_feature("vacuumProtocolCheck"), None)}
    rows = build_listing_rows([Entry(name, 1, 0) for name in names], (), known_states, False)
    assert {row["cleaned_up_to"] for row in rows} == {4}
    assert {row["cleanup_revision"] for row in rows} == {revision}


def test_log_from_version_0_is_not_cleaned_up() -> None:
    names = [commit_name(0), commit_name(1), classic_checkpoint_name(1)]
    rows = build_listing_rows(
        [Entry(name, 1, 0) for name in names], (), {1: (with_feature("v2Checkpoint"), None)}, False
    )
    assert {(row["cleaned_up_to"], row["cleanup_revision"]) for row in rows} == {(None, None)}


@pytest.mark.parametrize(
    ("commits", "missing", "expected"),
    [
        ([12, 14], (13,), {14: (1, "commit 13 is missing (12 and 14 exist)")}),
        ([12, 16], (13, 14, 15), {16: (3, "commits 13 to 15 are missing (12 and 16 exist)")}),
        (
            [1, 3, 5],
            (2, 4),
            {3: (1, "commit 2 is missing (1 and 3 exist)"), 5: (1, "commit 4 is missing (3 and 5 exist)")},
        ),
        ([1], (0,), {1: (1, "commit 0 is missing (1 exists)")}),
        ([1, 2], (3, 4), {2: (2, "commits 3 to 4 are missing (2 exists)")}),
        ([1, 3], (2, 4), {3: (2, "2 commits from 2 to 4 are missing (1 exists)")}),
        ([1, 2], (), {}),
    ],
)
def test_missing_commits_are_named_with_their_neighbors(
    commits: list[int], missing: tuple[int, ...], expected: dict[int, tuple[int, str]]
) -> None:
    rows = build_listing_rows([Entry(commit_name(version), 1, 0) for version in commits], missing, {}, False)
    found = {row["version"]: (row["missing_commits_before"], row["missing_commits"]) for row in rows}
    assert {version: facts for version, facts in found.items() if facts != (0, None)} == expected

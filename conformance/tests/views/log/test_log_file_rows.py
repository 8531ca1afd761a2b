"""What names in the log say of cleanup: the checkpoint that a log begins with, and those that were left over."""

import pytest

from deltaspec.model.actions import Protocol
from deltaspec.model.log.file_names import classic_checkpoint_name, commit_name
from deltaspec.views.log.log_file_rows import build_listing_rows
from deltaspec.wire.storage.interface import Entry


def with_feature(name: str) -> Protocol:
    return Protocol(min_reader_version=3, min_writer_version=7, reader_features=[name], writer_features=[name])


def cleaned_up(commits: list[int], checkpoints: list[int]) -> list[int]:
    """Versions of checkpoints that the log begins with and whose commit is gone."""
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
def test_commit_of_the_first_checkpoint(commits: list[int], checkpoints: list[int], expected: list[int]) -> None:
    assert cleaned_up(commits, checkpoints) == expected


@pytest.mark.parametrize(
    ("protocol", "knew"),
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
def test_features_tell_what_text_a_cleanup_knew(protocol: Protocol | None, knew: str | None) -> None:
    names = [commit_name(4), commit_name(5), classic_checkpoint_name(5), classic_checkpoint_name(6)]
    held = {5: (protocol, None), 6: (with_feature("vacuumProtocolCheck"), None)}
    rows = build_listing_rows([Entry(name, 1, 0) for name in names], (), held, False)
    assert {row["cleaned_up_to"] for row in rows} == {4}
    assert {row["cleanup_revision"] for row in rows} == {knew}


def test_log_from_the_beginning_was_not_cleaned_up() -> None:
    names = [commit_name(0), commit_name(1), classic_checkpoint_name(1)]
    rows = build_listing_rows(
        [Entry(name, 1, 0) for name in names], (), {1: (with_feature("v2Checkpoint"), None)}, False
    )
    assert {(row["cleaned_up_to"], row["cleanup_revision"]) for row in rows} == {(None, None)}

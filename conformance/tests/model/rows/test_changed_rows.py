"""Changes of a commit, and their consistency with the rows of its files."""

import pytest

from deltaspec.model.rows.changed_rows import (
    ChangedFileCounts,
    compute_changes,
    count_changed_files,
    has_paired_updates,
    is_consistent_with_files,
    is_enabled,
    is_in_allowed_location,
    needs_change_files,
)
from deltaspec.protocol.actions import Format, MetaData, Protocol
from deltaspec.protocol.features.change_data import DELETE, INSERT, POSTIMAGE, PREIMAGE


def _metadata(**configuration: str) -> MetaData:
    settings = {name.replace("__", "."): value for name, value in configuration.items()}
    return MetaData(
        id="1",
        format=Format(provider="parquet", options={}),
        schema_string="",
        partition_columns=[],
        configuration=settings,
    )


@pytest.mark.parametrize(
    ("writer", "features", "value", "enabled"),
    [(4, None, "true", True), (3, None, "true", False), (7, ["changeDataFeed"], "TRUE", True), (7, [], "true", False)],
)
def test_feed_requires_property_and_feature(writer: int, features: list[str] | None, value: str, enabled: bool) -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=writer, writer_features=features)
    assert is_enabled(protocol, _metadata(delta__enableChangeDataFeed=value)) is enabled


def test_commit_without_change_files_inserts_and_deletes_whole_rows() -> None:
    assert compute_changes(None, ["b", "c"], ["a"]) == [(INSERT, "b"), (INSERT, "c"), (DELETE, "a")]


def test_change_files_take_precedence() -> None:
    assert compute_changes([(DELETE, "a")], ["b"], ["a", "b"]) == [(DELETE, "a")]


def test_copied_rows_are_not_changes() -> None:
    assert is_consistent_with_files([(PREIMAGE, "a"), (POSTIMAGE, "x")], added=["x", "b", "c"], removed=["a", "b", "c"])


@pytest.mark.parametrize(
    "recorded",
    [
        [],
        [(PREIMAGE, "a")],
        [(PREIMAGE, "b"), (POSTIMAGE, "x")],
        [(PREIMAGE, "a"), (POSTIMAGE, "x"), (INSERT, "b")],
        [(POSTIMAGE, "a"), (PREIMAGE, "x")],
    ],
)
def test_changes_with_another_result_are_inconsistent(recorded: list[tuple[str, str]]) -> None:
    assert not is_consistent_with_files(recorded, added=["x", "b"], removed=["a", "b"])


def test_equal_rows_are_counted() -> None:
    assert is_consistent_with_files([(DELETE, "a")], added=["a"], removed=["a", "a"])
    assert not is_consistent_with_files([(DELETE, "a")], added=[], removed=["a", "a"])


def test_every_preimage_has_a_postimage() -> None:
    assert has_paired_updates([(PREIMAGE, "a"), (INSERT, "b"), (POSTIMAGE, "c")])
    assert not has_paired_updates([(PREIMAGE, "a"), (DELETE, "b")])


def test_added_and_removed_paths_are_counted() -> None:
    assert count_changed_files(["a", "b", "c"], ["c", "d"]) == ChangedFileCounts(new=2, removed=1, vectors_replaced=1)
    assert count_changed_files([], []) == ChangedFileCounts(0, 0, 0)


@pytest.mark.parametrize(
    ("files", "updates", "needed"),
    [
        (ChangedFileCounts(0, 0, 0), None, False),
        (ChangedFileCounts(new=2, removed=0, vectors_replaced=0), None, False),
        (ChangedFileCounts(new=0, removed=2, vectors_replaced=0), None, False),
        (ChangedFileCounts(new=0, removed=1, vectors_replaced=3), None, False),
        (ChangedFileCounts(new=1, removed=1, vectors_replaced=0), None, None),
        (ChangedFileCounts(new=1, removed=0, vectors_replaced=1), None, None),
        (ChangedFileCounts(new=1, removed=1, vectors_replaced=0), True, True),
        (ChangedFileCounts(new=1, removed=1, vectors_replaced=0), False, False),
    ],
)
def test_only_updates_require_change_files(files: ChangedFileCounts, updates: bool | None, needed: bool | None) -> None:
    assert needs_change_files(files, updates=updates) is needed


@pytest.mark.parametrize(
    ("path", "is_absolute", "is_added", "in_place"),
    [
        ("_change_data/c", False, False, True),
        ("_change_data/p=1/c", False, False, True),
        ("c", False, False, False),
        ("x/_change_data/c", False, False, False),
        ("c", False, True, True),
        ("s3://bucket/table/_change_data/c", True, False, True),
    ],
)
def test_location_of_change_files(path: str, is_absolute: bool, is_added: bool, in_place: bool) -> None:
    assert is_in_allowed_location(path, is_absolute=is_absolute, is_added=is_added) is in_place

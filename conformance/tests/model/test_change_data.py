"""What the changes of a commit are, and when they agree with the rows of its files."""

import pytest

from deltaspec.model.actions import Format, MetaData, Protocol
from deltaspec.model.change_data import (
    DELETE,
    INSERT,
    POSTIMAGE,
    PREIMAGE,
    changes_agree,
    changes_of,
    is_enabled,
    updates_are_paired,
)


def _metadata(**configuration: str) -> MetaData:
    settings = {name.replace("__", "."): value for name, value in configuration.items()}
    return MetaData(
        id="1", format=Format(provider="parquet"), schema_string="", partition_columns=[], configuration=settings
    )


@pytest.mark.parametrize(
    ("writer", "features", "value", "enabled"),
    [(4, None, "true", True), (3, None, "true", False), (7, ["changeDataFeed"], "TRUE", True), (7, [], "true", False)],
)
def test_feed_is_enabled_by_property_and_feature(
    writer: int, features: list[str] | None, value: str, enabled: bool
) -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=writer, writer_features=features)
    assert is_enabled(protocol, _metadata(delta__enableChangeDataFeed=value)) is enabled


def test_commit_without_change_files_inserts_and_deletes_whole_rows() -> None:
    assert changes_of(None, ["b", "c"], ["a"]) == [(INSERT, "b"), (INSERT, "c"), (DELETE, "a")]


def test_change_files_are_all_that_counts() -> None:
    assert changes_of([(DELETE, "a")], ["b"], ["a", "b"]) == [(DELETE, "a")]


def test_copied_rows_are_no_changes() -> None:
    assert changes_agree([(PREIMAGE, "a"), (POSTIMAGE, "x")], added=["x", "b", "c"], removed=["a", "b", "c"])


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
def test_changes_that_lead_elsewhere_do_not_agree(recorded: list[tuple[str, str]]) -> None:
    assert not changes_agree(recorded, added=["x", "b"], removed=["a", "b"])


def test_equal_rows_count_one_by_one() -> None:
    assert changes_agree([(DELETE, "a")], added=["a"], removed=["a", "a"])
    assert not changes_agree([(DELETE, "a")], added=[], removed=["a", "a"])


def test_every_preimage_has_a_postimage() -> None:
    assert updates_are_paired([(PREIMAGE, "a"), (INSERT, "b"), (POSTIMAGE, "c")])
    assert not updates_are_paired([(PREIMAGE, "a"), (DELETE, "b")])

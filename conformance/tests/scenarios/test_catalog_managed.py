"""A catalog-managed table: attempts are staged, some are ratified, and ratified commits are published later.

The log begins as any other; version 2 hands the table over to its catalog. What is listed is by no means what the table
is: the catalog has the last word.
"""

import pytest
from helpers.scenario import Scenario, add, commit_info, metadata, protocol, remove

from deltaspec.model.commit.catalog_managed import (
    Maintenance,
    is_catalog_managed,
    may_checkpoint,
    may_compact,
    may_maintain,
    may_publish,
    may_ratify,
)
from deltaspec.model.decisions import Accepted, Refused
from deltaspec.protocol.actions import Action
from deltaspec.protocol.features.catalog_managed import (
    find_commits_to_read,
    group_versions_by_uuid,
    list_published_versions,
)
from deltaspec.protocol.log.file_names import commit_name, staged_commit_name
from deltaspec.protocol.log.segment import BrokenLog, choose_segment
from deltaspec.views.log.staged_copies import CommitContent, is_illegal_copy

A, B, C, D, E = (
    "016ae953-37a9-438e-8683-9a9a4a79a395",
    "7d17ac10-5cc3-401b-bd1a-9c82dd2ea032",
    "b91807ba-fe18-488c-a15e-c4807dbd2174",
    "0f707846-cd18-4e01-b40e-84ee0ae987b0",
    "7a980438-cb67-4b89-82d2-86f73239b6d6",
)
FEATURES = ["catalogManaged", "inCommitTimestamp"]
MANAGED = protocol(3, 7, ["catalogManaged"], FEATURES)
TIMED = {
    "delta.enableInCommitTimestamps": "true",
    "delta.inCommitTimestampEnablementVersion": "2",
    "delta.inCommitTimestampEnablementTimestamp": "20",
}


def attempt(version: int, transaction: str | None, *actions: Action) -> tuple[Action, ...]:
    return (commit_info(in_commit_timestamp=10 * version, txn_id=transaction), *actions)


@pytest.fixture(scope="module")
def table() -> Scenario:
    # 0 and 1: an ordinary table
    scenario = Scenario(protocol(1, 2), metadata())
    scenario.commit(add("a"))
    # 2: the catalog takes over, which requires in-commit timestamps and transaction ids
    late = commit_info(in_commit_timestamp=20, txn_id="t2")
    assert scenario.expect_refusal(commit_info(txn_id="t2"), MANAGED) == "catalog-managed.in-commit-timestamps"
    nameless = commit_info(in_commit_timestamp=20)
    assert scenario.expect_refusal(nameless, MANAGED, metadata(TIMED)) == "commit-info.transaction-id"
    alone = protocol(3, 7, [], FEATURES)
    assert scenario.expect_refusal(late, alone, metadata(TIMED)) == "table-features.reader-feature-on-both-sides"
    without = protocol(3, 7, ["catalogManaged"], ["catalogManaged"])
    assert scenario.expect_refusal(late, without) == "table-features.required-features"
    scenario.commit(late, MANAGED, metadata(TIMED))
    # 3 to 6: transactions of several writers
    for version in range(3, 7):
        scenario.commit(*attempt(version, f"t{version}", add(f"{version}")))
    # 7: one is staged, ratified and published; 8: of two that are staged one is ratified; 9: ratified without a file
    scenario.commit(*attempt(7, "t7", add("7"), remove("a")))
    assert scenario.expect_refusal(*attempt(8, None, add("8"))) == "commit-info.transaction-id"
    scenario.commit(*attempt(8, "t8", add("8")))
    scenario.commit(*attempt(9, "t9", add("9")))
    return scenario


PUBLISHED = [commit_name(version) for version in range(8)]
STAGED = {
    "published too": staged_commit_name(7, A),
    "ratified": staged_commit_name(8, B),
    "rejected": staged_commit_name(8, C),
    "not yet ratified": staged_commit_name(10, D),
    "cut short": staged_commit_name(10, E),
}
LISTED = [*PUBLISHED, f"{2:020d}.checkpoint.parquet", f"{3:020d}.{5:020d}.compacted.json", *STAGED.values()]
RATIFIED: dict[int, str | None] = {7: STAGED["published too"], 8: STAGED["ratified"], 9: None}


def test_scenario_has_ten_versions(table: Scenario) -> None:
    assert table.version == 9
    assert sorted(path for path, _ in table[9].files) == ["3", "4", "5", "6", "7", "8", "9"]


def test_table_is_managed_if_both_lists_have_the_feature(table: Scenario) -> None:
    protocols = {version: table[version].protocol for version in range(10)}
    managed = [version for version, each in protocols.items() if each is not None and is_catalog_managed(each)]
    assert managed == list(range(2, 10))
    assert not is_catalog_managed(protocol(3, 7, [], FEATURES))


def test_commits_are_read_from_the_catalog_first() -> None:
    found = find_commits_to_read(LISTED, RATIFIED, latest=9)
    assert {version: found[version] for version in range(7)} == {v: commit_name(v) for v in range(7)}
    assert found[7] == STAGED["published too"]
    assert found[8] == STAGED["ratified"]
    assert found[9] is None
    assert max(found) == 9


def test_commits_beyond_the_latest_version_are_ignored() -> None:
    later = [*LISTED, commit_name(8), commit_name(9), commit_name(10)]
    assert list(find_commits_to_read(later, {7: STAGED["published too"]}, latest=7)) == list(range(8))


def test_listing_alone_returns_published_commits() -> None:
    assert choose_segment(LISTED).version == 7
    assert choose_segment(LISTED, ratified=[7, 8, 9]).version == 9
    with pytest.raises(BrokenLog):
        choose_segment(LISTED, ratified=[9])


def test_versions_are_ratified_once_and_in_order() -> None:
    assert may_ratify(0, -1) == may_ratify(8, 7) == Accepted()
    assert may_ratify(7, 7) == Refused("catalog-managed.ratified-in-order", "version 7 after 7, expected 8")
    assert isinstance(may_ratify(9, 7), Refused)


def test_commits_are_published_in_order() -> None:
    assert list_published_versions(LISTED) == list(range(8))
    assert may_publish(8, LISTED) == Accepted()
    assert may_publish(0, []) == Accepted()
    expect_refusal = may_publish(9, LISTED)
    assert expect_refusal == Refused("catalog-managed.published-copies-ratified", "version 8 is not published")


def test_checkpoints_and_compactions_cover_published_versions() -> None:
    assert may_checkpoint(7, LISTED) == may_compact(3, 5, LISTED) == Accepted()
    unpublished = Refused("catalog-managed.published-before-maintenance", "version 8 is not published")
    assert may_checkpoint(8, LISTED) == unpublished
    assert may_compact(6, 8, LISTED) == unpublished


@pytest.mark.parametrize("operation", ["checkpoint", "compaction", "checksum"])
def test_some_maintenance_is_always_allowed(operation: Maintenance) -> None:
    assert may_maintain(operation) == Accepted()


@pytest.mark.parametrize("operation", ["cleanup", "vacuum", "layout"])
def test_other_maintenance_needs_permission(operation: Maintenance) -> None:
    assert may_maintain(operation) == Refused("catalog-managed.maintenance-permitted", operation)
    assert may_maintain(operation, [operation]) == Accepted()
    assert isinstance(may_maintain(operation, ["something else"]), Refused)


def test_every_attempt_has_a_unique_uuid() -> None:
    assert group_versions_by_uuid(LISTED) == {A: [7], B: [8], C: [8], D: [10], E: [10]}
    assert group_versions_by_uuid([*LISTED, staged_commit_name(11, D)])[D] == [10, 11]


def test_published_commit_equals_its_staged_commit() -> None:
    both = CommitContent("t7", ["add 7", "remove a"])
    assert not is_illegal_copy(both, both)
    assert not is_illegal_copy(both, CommitContent("t7", ["remove a", "add 7"]))
    assert is_illegal_copy(both, CommitContent("t7", ["add 8", "remove a"]))
    assert is_illegal_copy(CommitContent("t7", ["add 7"]), both)


def test_other_and_incomplete_attempts_are_ignored() -> None:
    both = CommitContent("t7", ["add 7", "remove a"])
    assert not is_illegal_copy(both, CommitContent("t8", ["add 8"]))
    assert not is_illegal_copy(both, CommitContent("t7", ["add 7"]))
    assert not is_illegal_copy(both, CommitContent("t7", []))
    assert not is_illegal_copy(CommitContent(None, ["add 7"]), CommitContent(None, ["add 8"]))

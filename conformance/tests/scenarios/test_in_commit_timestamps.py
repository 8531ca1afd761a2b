"""A table whose clock is set back before and after in-commit timestamps are enabled, and the times that readers use.

Times are small numbers of milliseconds. Each commit also has the time of its file, which writers do not choose.
"""

from collections.abc import Mapping

import pytest
from helpers.scenario import Scenario, add, commit_info, metadata, protocol

from deltaspec.model.commit.in_commit_timestamps import (
    CommitTime,
    MissingTimestamp,
    carries_timestamp,
    compute_next_timestamp,
    find_version_at,
    get_commit_timestamp,
    is_illegal_first_timestamp,
)
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.revisions import Revision

ENABLED = {"delta.enableInCommitTimestamps": "true"}
VERSION, TIMESTAMP = "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"
FILE_TIMES = {0: 1000, 1: 2000, 2: 1500, 3: 1400, 4: 3000, 5: 2500, 6: 2600, 7: 9000, 8: 9100, 9: 9050, 10: 9200}


def since(version: int, timestamp: int) -> dict[str, str]:
    """Build the properties of a table with in-commit timestamps since a version."""
    return {**ENABLED, VERSION: str(version), TIMESTAMP: str(timestamp)}


@pytest.fixture(scope="module")
def table() -> Scenario:
    # 0 to 2: an older table; before version 2 somebody sets the clock back
    scenario = Scenario(protocol(1, 2), metadata())
    scenario.commit(add("a"))
    scenario.commit(add("b"))
    # 3: commits are to carry their time, beginning after all files
    upgrade = protocol(1, 7, None, ["inCommitTimestamp"])
    began = commit_info(in_commit_timestamp=1501)
    assert scenario.expect_refusal(upgrade, metadata(since(3, 1501))) == "in-commit-timestamp.present"
    assert scenario.expect_refusal(began, upgrade, metadata(ENABLED)) == "in-commit-timestamp.enablement-recorded"
    assert (
        scenario.expect_refusal(began, upgrade, metadata(since(2, 1501))) == "in-commit-timestamp.enablement-recorded"
    )
    assert scenario.expect_refusal(upgrade, began, metadata(since(3, 1501))) == "in-commit-timestamp.commit-info-first"
    scenario.commit(began, upgrade, metadata(since(3, 1501)))
    # 4: the clock runs
    scenario.commit(commit_info(in_commit_timestamp=3000), add("c"))
    # 5 and 6: it was set back to 2500, and the timestamps go on by a millisecond
    assert scenario.expect_refusal(commit_info(in_commit_timestamp=2500), add("d")) == "in-commit-timestamp.increases"
    assert scenario.expect_refusal(commit_info(in_commit_timestamp=3000), add("d")) == "in-commit-timestamp.increases"
    scenario.commit(commit_info(in_commit_timestamp=3001), add("d"))
    forgotten = (commit_info(in_commit_timestamp=3002), metadata(ENABLED))
    assert scenario.expect_refusal(*forgotten) == "in-commit-timestamp.enablement-recorded"
    scenario.commit(commit_info(in_commit_timestamp=3002), metadata(since(3, 1501) | {"owner": "me"}))
    # 7 and 8: they are disabled, and a commit needs none any more
    scenario.commit(commit_info(), metadata())
    scenario.commit(add("e"))
    # 9 and 10: enabled again, with a new enablement version
    late = commit_info(in_commit_timestamp=9101)
    assert scenario.expect_refusal(late, metadata(since(3, 1501))) == "in-commit-timestamp.enablement-recorded"
    scenario.commit(late, metadata(since(9, 9101)))
    scenario.commit(commit_info(in_commit_timestamp=9200), add("f"))
    return scenario


def times(scenario: Scenario, to: int) -> dict[int, CommitTime]:
    """Return the log at a version."""
    found = {}
    for version in range(to + 1):
        info = scenario[version].commit_info
        found[version] = CommitTime(FILE_TIMES[version], info.in_commit_timestamp if info else None)
    return found


def every_time(log: Mapping[int, CommitTime], latest: Snapshot, revision: Revision = Revision.CURRENT) -> list[int]:
    return [get_commit_timestamp(log, version, latest, revision) for version in sorted(log)]


def test_file_times_apply_before_the_enablement(table: Scenario) -> None:
    log = times(table, 2)
    assert every_time(log, table[2]) == [1000, 2000, 1500]
    assert find_version_at(log, 1999, table[2]) == 0  # version 2 did not exist before version 1
    assert find_version_at(log, 2000, table[2]) == 2
    assert find_version_at(log, 999, table[2]) is None


def test_commit_times_apply_from_the_enabling_version(table: Scenario) -> None:
    log = times(table, 6)
    assert every_time(log, table[6]) == [1000, 2000, 1500, 1501, 3000, 3001, 3002]
    assert {version: carries_timestamp(version, table[6]) for version in (2, 3)} == {2: False, 3: True}


@pytest.mark.parametrize(
    ("moment", "version"),
    [(999, None), (1000, 0), (1499, 0), (1500, 0), (1501, 3), (2000, 3), (2999, 3), (3000, 4), (3001, 5), (9999, 6)],
)
def test_time_travel_across_the_enablement(table: Scenario, moment: int, version: int | None) -> None:
    """By file time, version 1 is newer than its successors, which therefore count as old as it (S69)."""
    assert find_version_at(times(table, 6), moment, table[6]) == version


def test_file_times_apply_while_disabled(table: Scenario) -> None:
    log = times(table, 8)
    assert every_time(log, table[8]) == [1000, 2000, 1500, 1400, 3000, 2500, 2600, 9000, 9100]


def test_enabling_again_starts_over(table: Scenario) -> None:
    log = times(table, 10)
    assert every_time(log, table[10]) == [1000, 2000, 1500, 1400, 3000, 2500, 2600, 9000, 9100, 9101, 9200]
    assert [find_version_at(log, moment, table[10]) for moment in (9099, 9100, 9101, 9199, 9200)] == [7, 8, 9, 9, 10]


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_only_use_file_times(table: Scenario, revision: Revision) -> None:
    assert every_time(times(table, 6), table[6], revision) == [1000, 2000, 1500, 1400, 3000, 2500, 2600]
    assert find_version_at(times(table, 6), 1501, table[6], revision) == 0
    assert find_version_at(times(table, 6), 2000, table[6], revision) == 3


def test_missing_in_commit_timestamp_is_an_error(table: Scenario) -> None:
    log = times(table, 6) | {4: CommitTime(3000)}
    with pytest.raises(MissingTimestamp, match="commit 4"):
        get_commit_timestamp(log, 4, table[6])
    assert get_commit_timestamp(log, 2, table[6]) == 1500


def test_table_created_with_them_records_no_enablement() -> None:
    scenario = Scenario(
        commit_info(in_commit_timestamp=5), protocol(1, 7, None, ["inCommitTimestamp"]), metadata(ENABLED)
    )
    scenario.commit(commit_info(in_commit_timestamp=6), add())
    log = {0: CommitTime(99, 5), 1: CommitTime(98, 6)}
    assert every_time(log, scenario.now) == [5, 6]
    assert [find_version_at(log, moment, scenario.now) for moment in (4, 5, 6)] == [None, 0, 1]


def test_next_timestamp_of_a_writer() -> None:
    assert compute_next_timestamp(3000, None) == 3000
    assert compute_next_timestamp(3000, 2999) == 3000
    assert compute_next_timestamp(3000, 3000) == 3001
    assert compute_next_timestamp(2500, 3000) == 3001
    assert compute_next_timestamp(1400, None, file_time_before_ms=1500) == 1501
    assert compute_next_timestamp(1600, None, file_time_before_ms=1500) == 1600


def test_first_timestamp_is_later_than_the_previous_file() -> None:
    assert is_illegal_first_timestamp(1500, 1500)
    assert is_illegal_first_timestamp(1500, 1499)
    assert not is_illegal_first_timestamp(1500, 1501)
    assert not is_illegal_first_timestamp(None, 0)

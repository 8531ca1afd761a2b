"""Commit times, compared with brute force over drawn logs. Source: In-Commit Timestamps."""

from helpers.scenario import metadata, protocol
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.model.commit.in_commit_timestamps import (
    CommitTime,
    compute_next_timestamp,
    find_version_at,
    get_commit_timestamp,
    is_illegal_first_timestamp,
    is_illegal_timestamp,
)
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, replay_commit

moments = st.integers(0, 60)


def enabled_since(version: int, timestamp: int) -> Snapshot:
    """Build the newest snapshot of a table with in-commit timestamps since a version."""
    settings = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": str(version),
        "delta.inCommitTimestampEnablementTimestamp": str(timestamp),
    }
    return replay_commit(EMPTY_SNAPSHOT, 99, [protocol(1, 7, None, ["inCommitTimestamp"]), metadata(settings)])


@settings(max_examples=60)
@given(
    files=st.lists(moments, min_size=2, max_size=8),
    clocks=st.lists(moments, min_size=1, max_size=6),
    moment=st.integers(0, 80),
)
def test_time_travel_is_correct_for_any_clock(files: list[int], clocks: list[int], moment: int) -> None:
    """Writers assign conforming timestamps while their clocks jump back and forth."""
    log = {version: CommitTime(made) for version, made in enumerate(files)}
    began = compute_next_timestamp(clocks[0], None, files[-1])
    assert not is_illegal_first_timestamp(files[-1], began)
    last = began
    for clock in clocks:
        given = began if len(log) == len(files) else compute_next_timestamp(clock, last)
        assert len(log) == len(files) or not is_illegal_timestamp(last, given), f"{clock=}"
        log[len(log)], last = CommitTime(clock, given), given
    latest = enabled_since(len(files), began)
    times = {version: get_commit_timestamp(log, version, latest) for version in log}
    found = find_version_at(log, moment, latest)
    considered = [version for version in log if (version >= len(files)) == (moment >= began)]
    # a version exists only after those before it, whatever their file times say
    existing = (each for each in considered if max(times[n] for n in considered if n <= each) <= moment)
    assert found == max(existing, default=None)
    if moment >= began:
        assert found is not None
        assert found == max(version for version in log if times[version] <= moment)

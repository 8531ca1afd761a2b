"""Commit times. Source: In-Commit Timestamps (current).

Before the newest revision, the only commit time is the modification time of the file. It changes when the file is
copied, and may run backwards when a clock is reset.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

import msgspec

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import CommitInfo
from deltaspec.protocol.features.table_properties import get_integer_property, has_in_commit_timestamps
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS_SINCE_TIME, IN_COMMIT_TIMESTAMPS_SINCE_VERSION
from deltaspec.protocol.revisions import Revision

# Checks of a commit


def is_enabled(snapshot: Snapshot) -> bool:
    """Return whether every commit carries its own timestamp: the feature is supported and the property is true."""
    if snapshot.protocol is None or snapshot.metadata is None:
        return False
    return has_in_commit_timestamps(snapshot.protocol, snapshot.metadata)


def check_in_commit_timestamps(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require an increasing timestamp in a leading commitInfo, and a record of the enablement.

    Source: Writer Requirements for In-Commit Timestamps (current).
    """
    if proposal.revision is not Revision.CURRENT or not is_enabled(proposal.after):  # [Changed in current]
        return
    info = next(iter(proposal.actions_of_type(CommitInfo)), None)
    now = info.in_commit_timestamp if info else None
    if info is None or now is None:
        yield Refused("in-commit-timestamp.present", "no inCommitTimestamp")
        return
    if proposal.actions[0] is not info:
        yield Refused("in-commit-timestamp.commit-info-first", "commitInfo is not the first action")
    if is_enabled(proposal.before):
        earlier = proposal.before.commit_info
        if is_illegal_timestamp(earlier.in_commit_timestamp if earlier else None, now):
            yield Refused("in-commit-timestamp.increases", f"{now} is not later than the previous timestamp")
    expected = _enablement(proposal, now)
    found = read_enablement(proposal.after)
    if expected is not None and found != expected:
        yield Refused("in-commit-timestamp.enablement-recorded", f"recorded {found}, expected {expected}")


def is_illegal_timestamp(before: int | None, now: int) -> bool:
    """Return whether an in-commit timestamp is not later than the previous one; None means unknown."""
    return before is not None and now <= before


def is_illegal_first_timestamp(file_time_before_ms: int | None, now: int) -> bool:
    """Return whether the first in-commit timestamp is not later than the file time of the previous commit.

    Source: Writer Requirements for In-Commit Timestamps (current).
    """
    return file_time_before_ms is not None and now <= file_time_before_ms


def read_enablement(snapshot: Snapshot) -> tuple[int | None, int | None]:
    """Return the recorded version and timestamp of the enablement; each is None if the property is not set."""
    settings = snapshot.metadata.configuration if snapshot.metadata else {}
    return get_integer_property(settings, IN_COMMIT_TIMESTAMPS_SINCE_VERSION), get_integer_property(
        settings, IN_COMMIT_TIMESTAMPS_SINCE_TIME
    )


def _enablement(proposal: ProposedCommit, now: int) -> tuple[int | None, int | None] | None:
    """Return the version and timestamp that the properties must record; None if there is no requirement."""
    if not is_enabled(proposal.before):
        older_commits = proposal.before.version >= 0 and not _had_preview(proposal.before)
        return (proposal.version, now) if older_commits else None
    kept = read_enablement(proposal.before)
    return None if kept == (None, None) else kept


def _had_preview(snapshot: Snapshot) -> bool:
    """Return whether the preview feature is listed, with which timestamps may already have been in use."""
    return "inCommitTimestamp-preview" in ((snapshot.protocol and snapshot.protocol.writer_features) or ())


CHECKS: tuple[CommitCheck, ...] = (check_in_commit_timestamps,)


def compute_next_timestamp(clock_ms: int, before: int | None, file_time_before_ms: int | None = None) -> int:
    """Compute the timestamp that a writer assigns to its commit.

    Args:
        clock_ms: Writer's clock at the commit attempt, in milliseconds since the epoch.
        before: Timestamp of the previous version, if any.
        file_time_before_ms: File time of the previous commit, when this commit enables timestamps on an existing table.

    Source: Writer Requirements for In-Commit Timestamps (current).
    """
    floors = [each + 1 for each in (before, file_time_before_ms) if each is not None]
    return max(clock_ms, *floors) if floors else clock_ms


# Commit times for readers


class MissingTimestamp(ValueError):
    """A commit that must carry a timestamp has none."""


class CommitTime(msgspec.Struct, frozen=True):
    """Time information of a commit in the log."""

    file_time_ms: int
    """Modification time of the file in the store, in milliseconds since the epoch."""
    in_commit_timestamp: int | None = None


def get_commit_timestamp(
    log: Mapping[int, CommitTime], version: int, latest: Snapshot, revision: Revision = Revision.CURRENT
) -> int:
    """Return the time of a commit, in milliseconds since the epoch.

    Args:
        log: Commits by version.
        version: Version of the commit.
        latest: Newest snapshot; its properties state since which version commits carry timestamps.
        revision: Protocol revision.

    Raises:
        KeyError: The commit is not in the log.
        MissingTimestamp: The commit must carry a timestamp and has none.

    Source: Recommendations for Readers of Tables with In-Commit Timestamps (current); Add CDC File (r1 to r3).
    """
    if not carries_timestamp(version, latest, revision):
        return log[version].file_time_ms
    found = log[version].in_commit_timestamp
    if found is None:
        raise MissingTimestamp(f"commit {version} has no inCommitTimestamp")
    return found


def carries_timestamp(version: int, latest: Snapshot, revision: Revision = Revision.CURRENT) -> bool:
    """Return whether a commit's time is its in-commit timestamp: since the enablement version, or always."""
    if revision is not Revision.CURRENT:  # [Changed in current] file times before
        return False
    since, _ = read_enablement(latest)
    return is_enabled(latest) and (since is None or version >= since)


def find_version_at(
    log: Mapping[int, CommitTime], moment_ms: int, latest: Snapshot, revision: Revision = Revision.CURRENT
) -> int | None:
    """Return the newest version committed at or before a time; None if there is none.

    If timestamps were enabled on an existing table, the enablement time separates versions with timestamps from those
    with file times, regardless of the values of the file times. Source: as `get_commit_timestamp`.

    A version exists only after the versions before it: if a file is older than the file of an earlier version, it
    counts as equally old (S69).
    """
    since, began = read_enablement(latest)
    versions = sorted(log)
    if revision is Revision.CURRENT and is_enabled(latest) and since is not None and began is not None:
        versions = [each for each in versions if (each >= since) == (moment_ms >= began)]
    times = [get_commit_timestamp(log, each, latest, revision) for each in versions]
    dated = [carries_timestamp(each, latest, revision) for each in versions]
    undated = make_monotonic(time for time, is_dated in zip(times, dated, strict=True) if not is_dated)
    times = [*undated, *(time for time, is_dated in zip(times, dated, strict=True) if is_dated)]
    made = [each for each, time in zip(versions, times, strict=True) if time <= moment_ms]
    return made[-1] if made else None


def make_monotonic(file_times_ms: Iterable[int]) -> list[int]:
    """Return the times of versions in order: each is the latest file time of the version and those before it (S69).

    The text says nothing about file times that run backwards. Delta Spark and Kernel Java make them monotonic, so that
    history stays serial; delta-rs searches them as they are. Equal times stay equal, as the text's comparison by time
    requires, although Delta Spark adds a millisecond.
    """
    return list(accumulate(file_times_ms, max))

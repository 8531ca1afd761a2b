"""When a commit was made. Source: In-Commit Timestamps (current).

Before the newest text a commit has no time but that of its file, which moves when a file is copied and runs backwards
when a clock is set back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deltaspec.model.actions import CommitInfo
from deltaspec.model.features.protocol import Refused
from deltaspec.model.features.table_properties import (
    ENABLEMENT_TIMESTAMP,
    ENABLEMENT_VERSION,
    get_integer_property,
    in_commit_timestamps_enabled,
)
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.model.revisions import Revision

# What a commit may say.


def is_enabled(snapshot: Snapshot) -> bool:
    """Whether every commit carries its own timestamp: the feature is supported and the property true."""
    if snapshot.protocol is None or snapshot.metadata is None:
        return False
    return in_commit_timestamps_enabled(snapshot.protocol, snapshot.metadata)


def in_commit_timestamps(proposal: ProposedCommit) -> Iterator[Refused]:
    """Every commit has one, first, and later than the one before; enabling is recorded.

    Source: Writer Requirements for In-Commit Timestamps (current).
    """
    if proposal.revision is not Revision.CURRENT or not is_enabled(proposal.after):  # [Changed in current]
        return
    info = next(iter(proposal.of(CommitInfo)), None)
    now = info.in_commit_timestamp if info else None
    if info is None or now is None:
        yield Refused("in-commit-timestamp.present", "no inCommitTimestamp")
        return
    if proposal.actions[0] is not info:
        yield Refused("in-commit-timestamp.commit-info-first", "commitInfo is not the first action")
    if is_enabled(proposal.before):
        earlier = proposal.before.commit_info
        if is_illegal_timestamp(earlier.in_commit_timestamp if earlier else None, now):
            yield Refused("in-commit-timestamp.increases", f"{now} is not later")
    expected = _enablement(proposal, now)
    found = recorded(proposal.after)
    if expected is not None and found != expected:
        yield Refused("in-commit-timestamp.enablement-recorded", f"recorded are {found}")


def is_illegal_timestamp(before: int | None, now: int) -> bool:
    """Whether an in-commit timestamp is not later than that of the version before; None: that is not known."""
    return before is not None and now <= before


def is_illegal_first_timestamp(file_time_before_ms: int | None, now: int) -> bool:
    """Whether the timestamp of the commit that enables them is not later than the file time of the commit before.

    Source: Writer Requirements for In-Commit Timestamps (current).
    """
    return file_time_before_ms is not None and now <= file_time_before_ms


def recorded(snapshot: Snapshot) -> tuple[int | None, int | None]:
    """Version and timestamp of the enablement as the properties have them; None each where they do not say."""
    settings = snapshot.metadata.configuration if snapshot.metadata else {}
    return get_integer_property(settings, ENABLEMENT_VERSION), get_integer_property(settings, ENABLEMENT_TIMESTAMP)


def _enablement(proposal: ProposedCommit, now: int) -> tuple[int | None, int | None] | None:
    """Version and timestamp that the properties have to record: of this commit, or what they did; None: anything."""
    if not is_enabled(proposal.before):
        older_commits = proposal.before.version >= 0 and not _had_preview(proposal.before)
        return (proposal.version, now) if older_commits else None
    kept = recorded(proposal.before)
    return None if kept == (None, None) else kept


def _had_preview(snapshot: Snapshot) -> bool:
    """By which in-commit timestamps may have been in use."""
    return "inCommitTimestamp-preview" in ((snapshot.protocol and snapshot.protocol.writer_features) or ())


CHECKS: tuple[CommitCheck, ...] = (in_commit_timestamps,)


def compute_next_timestamp(clock_ms: int, before: int | None, file_time_before_ms: int | None = None) -> int:
    """The timestamp that a writer gives its commit.

    Args:
        clock_ms: when it attempts the commit, by its own clock, in milliseconds since the epoch.
        before: the timestamp of the version before; None if that has none.
        file_time_before_ms: of the commit before, where this one enables timestamps on an older table.

    Source: Writer Requirements for In-Commit Timestamps (current).
    """
    floors = [each + 1 for each in (before, file_time_before_ms) if each is not None]
    return max(clock_ms, *floors) if floors else clock_ms


# When readers take it that a commit was made.


class MissingTimestamp(ValueError):
    """A commit that has to carry its timestamp has none."""


@dataclass(frozen=True)
class CommitTime:
    """What a commit in the log says of its time."""

    file_time_ms: int
    """When its file was last written, as the store has it, in milliseconds since the epoch."""
    in_commit_timestamp: int | None = None


def get_commit_timestamp(
    log: Mapping[int, CommitTime], version: int, latest: Snapshot, revision: Revision = Revision.CURRENT
) -> int:
    """The time of a commit, in milliseconds since the epoch.

    Args:
        log: the commits, by version.
        version: which of them.
        latest: the newest snapshot, whose properties tell from which version on commits carry their own time.
        revision: of the text.

    Raises:
        KeyError: the commit is not in the log.
        MissingTimestamp: it is of a version that has to carry its own time.

    Source: Recommendations for Readers of Tables with In-Commit Timestamps (current); Add CDC File (r1 to r3).
    """
    if not carries_timestamp(version, latest, revision):
        return log[version].file_time_ms
    found = log[version].in_commit_timestamp
    if found is None:
        raise MissingTimestamp(f"commit {version} has no inCommitTimestamp")
    return found


def carries_timestamp(version: int, latest: Snapshot, revision: Revision = Revision.CURRENT) -> bool:
    """Whether a commit's time is the one it carries: from the version on that enabled them, or from the first on."""
    if revision is not Revision.CURRENT:  # [Changed in current] file times before
        return False
    since, _ = recorded(latest)
    return is_enabled(latest) and (since is None or version >= since)


def find_version_at(
    log: Mapping[int, CommitTime], moment_ms: int, latest: Snapshot, revision: Revision = Revision.CURRENT
) -> int | None:
    """The version that a table was at: the newest commit that was made by then; None before the first.

    Where timestamps were enabled on an older table, a moment from then on leads to no version before, and an earlier
    one to no version after, whatever the file times are. Source: as of `get_commit_timestamp`.
    """
    since, began = recorded(latest)
    versions = sorted(log)
    if revision is Revision.CURRENT and is_enabled(latest) and since is not None and began is not None:
        versions = [each for each in versions if (each >= since) == (moment_ms >= began)]
    made = [each for each in versions if get_commit_timestamp(log, each, latest, revision) <= moment_ms]
    return made[-1] if made else None

"""Find the version of a table at a point in time.

The time of a commit is its in-commit timestamp where the table enables them, else the modification time of its file.
File times that run backwards are made monotonic (S69). This module reads only the commits that it needs. Source:
Recommendations for Readers of Tables with In-Commit Timestamps (current); Add CDC File (r1 to r3).
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from deltaspec.errors import InvalidUsage
from deltaspec.protocol.actions import CommitInfo, MetaData, Protocol
from deltaspec.protocol.features.table_properties import get_integer_property, has_in_commit_timestamps
from deltaspec.protocol.log.file_names import commit_name, is_defined
from deltaspec.protocol.log.segment import SegmentError, choose_segment, list_commits
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS_SINCE_TIME, IN_COMMIT_TIMESTAMPS_SINCE_VERSION
from deltaspec.protocol.revisions import Revision
from deltaspec.report.report_types import CommitTimeSource, VersionAt
from deltaspec.report.text import format_instant
from deltaspec.validation.instants import At, Moment
from deltaspec.wire.log.checkpoint_reader import read_checkpoint
from deltaspec.wire.log.line_decoder import MAX_LINE_BYTES, decode_line_stream, decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store
from deltaspec.wire.storage.prefetch import read_lines


def find_version_at(
    store: Store, listed: Sequence[Entry], moment: Moment, revision: Revision = Revision.CURRENT
) -> tuple[int, VersionAt]:
    """Find the latest version that was committed at or before a time.

    A time after the last commit names the latest version. A time in the future is invalid, because later commits could
    change the answer.

    Args:
        store: the table.
        listed: the pinned listing of `_delta_log`.
        moment: the time.
        revision: protocol revision; before `current`, commits have only file times.

    Raises:
        InvalidUsage: no version was committed by then, the log no longer has the commits that decide it, or a commit
            cannot be read.
    """
    if moment.ms > time.time() * 1000:
        raise InvalidUsage(f"{moment} is in the future; name a time that has passed, because a commit may still follow")
    try:
        return _CommitTimes(store, listed, revision).find_version(moment)
    except (StorageError, SegmentError, _MissingTimestamp) as fault:
        raise InvalidUsage(f"{store.uri}: the version at {moment} is not known: {fault}; name a version") from fault


def resolve_at(
    store: Store, listed: Sequence[Entry], at: At, revision: Revision = Revision.CURRENT
) -> tuple[int | None, VersionAt | None]:
    """Return the version that the user named, or None, and how a time was resolved. Raises as `find_version_at`."""
    return find_version_at(store, listed, at, revision) if isinstance(at, Moment) else (at, None)


class _MissingTimestamp(ValueError):
    """A commit that must carry a timestamp has none."""


class _CommitTimes:
    """The times of the commits in a listing."""

    def __init__(self, store: Store, listed: Sequence[Entry], revision: Revision) -> None:
        self._store, self._revision = store, revision
        self._entries = {entry.name: entry for entry in listed if is_defined(entry.name, revision)}
        self._commits = list_commits(self._entries)
        if not self._commits:
            raise SegmentError("the log has no commits")
        protocol, metadata = self._read_latest_state()
        # [Changed in current] before, a commit has only the time of its file
        self._uses_timestamps = revision is Revision.CURRENT and has_in_commit_timestamps(protocol, metadata)
        keys = (IN_COMMIT_TIMESTAMPS_SINCE_VERSION, IN_COMMIT_TIMESTAMPS_SINCE_TIME)
        self._enabled_since = tuple(get_integer_property(metadata.configuration, key) for key in keys)

    def find_version(self, moment: Moment) -> tuple[int, VersionAt]:
        """Find the latest commit at or before a time."""
        candidates = self._commits
        since, began = self._enabled_since
        if self._uses_timestamps and since is not None and began is not None:
            candidates = [each for each in candidates if (each >= since) == (moment.ms >= began)]
        dated = [each for each in candidates if self._has_timestamp(each)]
        # in-commit timestamps increase, so that few commits have to be read
        found = dated[: bisect_right(dated, moment.ms, key=self._read_timestamp)]
        otherwise = None
        if not found:
            undated = candidates[: len(candidates) - len(dated)]
            file_times = [self._get_file_time(each) for each in undated]
            found = undated[: bisect_right(list(accumulate(file_times, max)), moment.ms)]
            others = [each for each, time in zip(undated, file_times, strict=True) if time <= moment.ms]
            otherwise = others[-1] if others and others[-1:] != found[-1:] else None
        if not found:
            first = self._commits[0]
            when = format_instant(self._get_time(first))
            raise InvalidUsage(
                f"{self._store.uri}: no version was committed by {moment}; "
                f"the log begins with version {first}, of {when}"
            )
        version = found[-1]
        self._require_next_commit(version)
        source: CommitTimeSource = "in-commit timestamp" if self._has_timestamp(version) else "file time"
        return version, VersionAt(
            moment=moment.ms, committed=self._get_time(version), source=source, otherwise=otherwise
        )

    def _require_next_commit(self, version: int) -> None:
        """Raise if commits directly after a version are missing: one of them may be the version of the same time."""
        later = self._commits[bisect_right(self._commits, version) :]
        if later and later[0] != version + 1:
            raise SegmentError(f"commit {version + 1} is missing, and {version} and {later[0]} exist")

    def _has_timestamp(self, version: int) -> bool:
        since, _ = self._enabled_since
        return self._uses_timestamps and (since is None or version >= since)

    def _get_time(self, version: int) -> int:
        return self._read_timestamp(version) if self._has_timestamp(version) else self._get_file_time(version)

    def _get_file_time(self, version: int) -> int:
        return self._entries[commit_name(version)].modified_ms

    def _read_timestamp(self, version: int) -> int:
        """Read the in-commit timestamp, which is in the first line of a commit unless the table is damaged."""
        for line in read_lines(self._store, f"{LOG_DIRECTORY}/{commit_name(version)}", MAX_LINE_BYTES):
            for _, action in decode_lines(line or b"", self._revision).summary.actions:
                if isinstance(action, CommitInfo) and isinstance(action.in_commit_timestamp, int):
                    return action.in_commit_timestamp
        raise _MissingTimestamp(f"commit {version} has no inCommitTimestamp")

    def _read_latest_state(self) -> tuple[Protocol, MetaData]:
        """Read protocol and metadata of the latest version: from the newest commits, else from their checkpoint."""
        segment = choose_segment(self._entries)
        protocol: Protocol | None = None
        metadata: MetaData | None = None
        for version in reversed(segment.commits):
            lines = read_lines(self._store, f"{LOG_DIRECTORY}/{commit_name(version)}", MAX_LINE_BYTES)
            for _, action in decode_line_stream(lines, self._revision).summary.actions:
                if isinstance(action, Protocol):
                    protocol = protocol or action
                elif isinstance(action, MetaData):
                    metadata = metadata or action
            if protocol is not None and metadata is not None:
                break
        else:
            if segment.checkpoint is not None:
                sizes = {name: entry.size_bytes for name, entry in self._entries.items()}
                read = read_checkpoint(self._store, segment.checkpoint, sizes, self._revision)
                if read.unread_reason is not None:
                    raise StorageError(read.unread_reason)
                actions = [action for _, _, action in read.actions]
                protocol = protocol or next((each for each in actions if isinstance(each, Protocol)), None)
                metadata = metadata or next((each for each in actions if isinstance(each, MetaData)), None)
        if protocol is None or metadata is None:
            raise SegmentError("the log has no protocol or no metadata")
        return protocol, metadata

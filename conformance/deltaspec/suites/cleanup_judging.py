"""Judge a cleanup of the log: files that it may delete, files that it should delete, and protected checkpoints.

The protocol describes its steps as one possible procedure, so a cleanup may leave files. But a cleanup that deletes no
old commit, no old checkpoint or no old sidecar at all does not serve its purpose.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from deltaspec.candidates.messages import SnapshotAnswer
from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.model.log.cleanup import (
    compute_cutoff,
    find_cutoff_checkpoint,
    find_cutoff_commit,
    find_removable_files,
    find_removable_sidecars,
    get_protected_before_version,
    may_clean_up,
)
from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.table_properties import parse_interval_ms
from deltaspec.protocol.log.file_names import (
    SIDECARS,
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    MultipartCheckpoint,
    SidecarName,
    UuidCheckpoint,
    parse_log_file_name,
)
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS, LOG_RETENTION
from deltaspec.suites.write_judging import TableReader, describe_files, list_versions

_CHECKPOINTS = (ClassicCheckpoint, MultipartCheckpoint, UuidCheckpoint)
_KEPT_KINDS = (CommitName, ChecksumName, *_CHECKPOINTS)
"""Files that must stay if they are not removable. A missing compaction is never an error (E51)."""


class CleanupJudge:
    """Judges a cleanup of the log of a table. Create it before the operation."""

    def __init__(self, table: Path, reader: TableReader) -> None:
        self._table = str(table)
        self._before = self._list_log()
        state = reader.read_state()
        metadata = msgspec.convert(state.metadata, MetaData)
        self._protected = get_protected_before_version(_get_protocol(state), metadata)
        self._configuration = metadata.configuration
        versions = list_versions(table) if self._protected else []
        self._protocols = {version: _get_protocol(reader.read_state(version)) for version in versions}
        self.counts: Counter[str] = Counter()

    def find_problem(self, clocks_ms: Collection[int], features: Collection[str]) -> str | None:
        """Return the fault of the log after the cleanup; None if it has none, or cannot be judged.

        Args:
            clocks_ms: times before and after the operation; a midnight may be between them.
            features: writer features that the engine supports.
        """
        retention = parse_interval_ms(self._configuration.get(LOG_RETENTION, ""))
        if retention is None or self._configuration.get(IN_COMMIT_TIMESTAMPS) == "true":
            return None  # the protocol has no default retention; commits with their own time cannot be aged
        after = self._list_log()
        problems = [self._find_problem(after, clock, compute_cutoff(clock, retention)) for clock in clocks_ms]
        self.counts["cleanups compared"] += 1
        self.counts["log files deleted"] += len(self._before.keys() - after.keys())
        return self._find_unprotected(after, features) or (None if None in problems else problems[0])

    def _find_problem(self, after: Mapping[str, int], clock_ms: int, cutoff_ms: int) -> str | None:
        """Describe what was deleted too early, or that nothing was deleted."""
        before = self._before
        times = {each.version: time for name, time in before.items()
                 if isinstance(each := parse_log_file_name(name), CommitName)}  # fmt: skip
        checkpoint = find_cutoff_checkpoint({*before, *after}, find_cutoff_commit(times, cutoff_ms))
        removed = before.keys() - after.keys()
        removable = find_removable_files(before, checkpoint)
        cutoff = datetime.fromtimestamp(cutoff_ms / 1000, UTC).isoformat(" ")
        if lost := _select(removed - removable, *_KEPT_KINDS):
            reason = (
                f"although no checkpoint is as old as the cutoff, {cutoff}"
                if checkpoint is None
                else f"expected everything from version {checkpoint} on to stay; the cutoff is {cutoff}"
            )
            return f"deleted {describe_files(lost)}: {reason}"
        named = LogReader(self._table).list_sidecars(after)
        written = {name: before[name] for name in _select(before, SidecarName)}
        old = find_removable_sidecars(written, named, clock_ms)
        if lost := _select(removed - old, SidecarName):
            reason = (
                "to which a checkpoint refers" if lost[0].removeprefix(SIDECARS) in named else "less than a day old"
            )
            return f"deleted the sidecar {describe_files(lost)}: {reason}"
        if checkpoint is None or checkpoint < self._protected:
            return None
        expected = {
            "commit": _select(removable, CommitName),
            "checkpoint": _select(removable, *_CHECKPOINTS),
            "sidecar": _select(old, SidecarName),
        }
        self.counts["old log files left"] += sum(len(set(names) - removed) for names in expected.values())
        for kind, names in expected.items():
            if names and not removed & set(names):
                return f"deleted no {kind}, expected {describe_files(names)}; the cutoff is {cutoff}"
        return None

    def _find_unprotected(self, after: Mapping[str, int], features: Collection[str]) -> str | None:
        """Describe which protected checkpoint was written or deleted, unless the engine may do that."""
        first = min((each.version for name in after if isinstance(each := parse_log_file_name(name), CommitName)),
                    default=0)  # fmt: skip
        names = {name: parse_log_file_name(name) for name in {*self._before, *after}}
        versions = {name: each.version for name, each in names.items() if isinstance(each, _CHECKPOINTS)}
        changed = [
            name
            for name, version in sorted(versions.items())
            if (name in after and name not in self._before and version < self._protected)
            or (name in self._before and name not in after and version >= first)
        ]
        protocols = [each for version, each in self._protocols.items() if version <= min(self._protected, first)]
        if may_clean_up(self._protected, first, protocols, features, leaves_checkpoints=not changed):
            return None
        return (
            f"wrote or deleted the checkpoint {describe_files(tuple(changed))}, expected checkpoints before version "
            f"{self._protected} to stay as they are: versions before it have a feature that the engine does not support"
        )

    def _list_log(self) -> dict[str, int]:
        """Return the modification times of the files of the log in milliseconds, by name."""
        return {name: entry.modified_ms for name, entry in LogReader(self._table).entries.items()}


def _select(names: Iterable[str], *kinds: type) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if isinstance(parse_log_file_name(name), kinds)))


def _get_protocol(state: SnapshotAnswer) -> Protocol:
    return msgspec.convert(state.protocol, Protocol)

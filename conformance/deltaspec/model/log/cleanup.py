"""Which files of the log may go at a moment. Source: Metadata Cleanup (r3, current); Checkpoint Protection (proposal).

The text offers its steps as one way to do it. It names no property for the threshold (S25): engines agree on
`delta.logRetentionDuration`.
"""

from collections.abc import Collection, Iterable, Mapping

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.features.protocol import Accepted, may_write, supports
from deltaspec.model.features.table_properties import get_integer_property, parse_interval_ms
from deltaspec.model.log.file_names import (
    SIDECARS,
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    MultipartCheckpoint,
    SidecarName,
    StagedCommit,
    UuidCheckpoint,
    parse_log_file_name,
)
from deltaspec.model.log.segment import find_complete_checkpoints
from deltaspec.model.revisions import Revision

DAY_MS = 86_400_000
PROTECTED_BEFORE = "delta.requireCheckpointProtectionBeforeVersion"


def floor_to_midnight(moment_ms: int) -> int:
    """The beginning of the day, in UTC, that a moment is of; both in milliseconds since the epoch."""
    return moment_ms - moment_ms % DAY_MS


def compute_cutoff(clock_ms: int, retention_ms: int) -> int:
    """The moment up to which history may go: midnight of the day that lies the retention back."""
    return floor_to_midnight(clock_ms - retention_ms)


def find_cutoff_commit(times: Mapping[int, int], cutoff_ms: int) -> int | None:
    """The newest commit that is not later than the cut-off; None where all are later.

    Args:
        times: version to the time of its commit, in milliseconds since the epoch.
        cutoff_ms: a commit made exactly then counts.
    """
    return max((version for version, made in times.items() if made <= cutoff_ms), default=None)


def find_cutoff_checkpoint(names: Iterable[str], commit: int | None) -> int | None:
    """The version of the newest complete checkpoint that is not newer than the cut-off commit; None: nothing may go."""
    if commit is None:
        return None
    return max((each.version for each in find_complete_checkpoints(names) if each.version <= commit), default=None)


def find_removable_files(
    names: Iterable[str], checkpoint: int | None, revision: Revision = Revision.CURRENT
) -> set[str]:
    """Files of the log, but for sidecars, that go when history is cut off at a checkpoint.

    The commit of the checkpoint stays: what it says of its origin is in no checkpoint. Texts before the newest know
    neither checksums nor staged commits, and leave them alone.

    Args:
        names: relative to `_delta_log`.
        checkpoint: version of the cut-off checkpoint; None where there is none.
        revision: of the text.
    """
    if checkpoint is None:
        return set()
    return {name for name in names if _goes(name, checkpoint, revision)}


def _goes(name: str, checkpoint: int, revision: Revision) -> bool:
    match parse_log_file_name(name):
        case (
            CommitName(version)
            | ClassicCheckpoint(version)
            | MultipartCheckpoint(version=version)
            | UuidCheckpoint(version=version)
        ):
            return version < checkpoint
        case CompactionName(start=start):
            return start <= checkpoint
        case ChecksumName(version):  # [Changed in current]
            return version < checkpoint and revision is Revision.CURRENT
        case StagedCommit(version=version):  # [Changed in current]
            return version <= checkpoint and revision is Revision.CURRENT
        case _:
            return False


def find_removable_sidecars(written: Mapping[str, int], named: Collection[str], clock_ms: int) -> set[str]:
    """Sidecars that go: no checkpoint that remains names them, and none that is being made may.

    Args:
        written: name relative to `_delta_log` to when the file was last written, in milliseconds since the epoch.
        named: bare names of the sidecars that checkpoints name, those that remain after the cleanup.
        clock_ms: the moment; a sidecar that was less than a day old at its midnight stays.
    """
    old = {name for name, made in written.items() if floor_to_midnight(clock_ms) - made >= DAY_MS}
    return {
        name
        for name in old
        if isinstance(parse_log_file_name(name), SidecarName) and name.removeprefix(SIDECARS) not in named
    }


def was_cleaned_up_too_early(retention_cutoff_ms: int | None, clock_ms: int, retention_ms: int) -> bool:
    """Whether a log that was cleaned up lacks what the retention keeps, seen by the first state that remains.

    The cut-off commit is as old as the retention, and the state that it is read from is no younger: so neither is the
    first state of a log from which only what may go is gone. That the cut-off is a midnight keeps more; whoever takes
    the moment itself keeps to the retention as well. Cut-offs only grow later.

    Args:
        retention_cutoff_ms: when the first version was committed that can be read; None where that is not known.
        clock_ms: a moment not before the cleanup.
        retention_ms: the threshold.
    """
    return retention_cutoff_ms is not None and retention_cutoff_ms > clock_ms - retention_ms


def find_shortest_log_retention_ms(values: Iterable[str | None]) -> int | None:
    """The shortest threshold that was in force; None where nobody can tell, for the text knows no default.

    Args:
        values: of `delta.logRetentionDuration`, None where it was not set.
    """
    found = [None if value is None else parse_interval_ms(value) for value in values]
    known = [each for each in found if each is not None and each >= 0]
    return min(known) if known and len(known) == len(found) else None


# The proposal Checkpoint Protection.


def get_protected_before_version(protocol: Protocol, metadata: MetaData) -> int:
    """The version before which checkpoints are protected; 0 where none are."""
    if not supports(protocol, "checkpointProtection"):
        return 0
    return get_integer_property(metadata.configuration, PROTECTED_BEFORE) or 0


def may_clean_up(
    protected: int,
    checkpoint: int,
    protocols: Iterable[Protocol],
    features: Collection[str],
    *,
    leaves_checkpoints: bool,
) -> bool:
    """Whether history may be cut off at a checkpoint, where checkpoints before a version are protected.

    Args:
        protected: that version, as `get_protected_before_version` gives it.
        checkpoint: version of the cut-off checkpoint.
        protocols: those of the versions from the first up to `min(protected, checkpoint)`.
        features: that whoever cleans up knows.
        leaves_checkpoints: it makes no checkpoint, and deletes none from the cut-off on.
    """
    in_one_go = checkpoint >= protected
    knows_all = all(may_write(each, features) == Accepted() for each in protocols)
    return in_one_go or leaves_checkpoints or knows_all


def may_write_checkpoint(protected: int, version: int, of_version: Protocol, features: Collection[str]) -> bool:
    """Whether a checkpoint may be made of a version: of a protected one only by who knows its protocol."""
    return version >= protected or may_write(of_version, features) == Accepted()


def may_drop_protection(protected: int, first_version: int) -> bool:
    """Whether the feature may be dropped: once history before the version is gone."""
    return first_version >= protected

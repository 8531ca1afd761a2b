"""Log files that may be deleted. Source: Metadata Cleanup (r3, current); Checkpoint Protection (proposal).

The protocol describes its steps as one possible procedure. It names no property for the threshold (S25); engines agree
on `delta.logRetentionDuration`.
"""

from collections.abc import Collection, Iterable, Mapping

from deltaspec.model.decisions import Accepted, may_write
from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import get_integer_property
from deltaspec.protocol.log.file_names import (
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
from deltaspec.protocol.log.segment import find_complete_checkpoints
from deltaspec.protocol.property_names import CHECKPOINT_PROTECTION
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.time_units import DAY_MS


def floor_to_midnight(moment_ms: int) -> int:
    """Return the start of the UTC day that contains a time; both in milliseconds since the epoch."""
    return moment_ms - moment_ms % DAY_MS


def compute_cutoff(clock_ms: int, retention_ms: int) -> int:
    """Return the time up to which history may be deleted: the midnight before `clock_ms - retention_ms`."""
    return floor_to_midnight(clock_ms - retention_ms)


def find_cutoff_commit(times: Mapping[int, int], cutoff_ms: int) -> int | None:
    """Return the newest commit that is not later than the cutoff, or None.

    Args:
        times: Version to commit time, in milliseconds since the epoch.
        cutoff_ms: Cutoff, inclusive.
    """
    return max((version for version, made in times.items() if made <= cutoff_ms), default=None)


def find_cutoff_checkpoint(names: Iterable[str], commit: int | None) -> int | None:
    """Return the version of the newest complete checkpoint up to the cutoff commit; None if nothing may be deleted."""
    if commit is None:
        return None
    return max((each.version for each in find_complete_checkpoints(names) if each.version <= commit), default=None)


def find_removable_files(
    names: Iterable[str], checkpoint: int | None, revision: Revision = Revision.CURRENT
) -> set[str]:
    """Return the log files, except sidecars, that are deleted when history is cut off at a checkpoint.

    The commit of the checkpoint stays, because its provenance is in no checkpoint. Revisions before the newest know
    neither checksums nor staged commits and keep them.

    Args:
        names: File names relative to `_delta_log`.
        checkpoint: Version of the cutoff checkpoint, or None.
        revision: Protocol revision.
    """
    if checkpoint is None:
        return set()
    return {name for name in names if _is_removable(name, checkpoint, revision)}


def _is_removable(name: str, checkpoint: int, revision: Revision) -> bool:
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
    """Return the sidecars to delete: no remaining checkpoint refers to them, and no checkpoint in progress can.

    Args:
        written: Sidecar name relative to `_delta_log` to modification time, in milliseconds since the epoch.
        named: Names of the sidecars that the remaining checkpoints refer to.
        clock_ms: Current time; a sidecar that was less than a day old at its midnight stays.
    """
    old = {name for name, made in written.items() if floor_to_midnight(clock_ms) - made >= DAY_MS}
    return {
        name
        for name in old
        if isinstance(parse_log_file_name(name), SidecarName) and name.removeprefix(SIDECARS) not in named
    }


def was_cleaned_up_too_early(retention_cutoff_ms: int | None, clock_ms: int, retention_ms: int) -> bool:
    """Return whether cleanup deleted versions that the retention protects, judging by the oldest readable state.

    The cutoff commit is at least as old as the retention, and so is the state it is read from. If the oldest readable
    state is younger, too much was deleted. A cutoff at midnight keeps more, and cutoffs only move forward.

    Args:
        retention_cutoff_ms: Commit time of the first readable version; None if unknown.
        clock_ms: A time not before the cleanup.
        retention_ms: The threshold.
    """
    return retention_cutoff_ms is not None and retention_cutoff_ms > clock_ms - retention_ms


# Checkpoint Protection (proposal).


def get_protected_before_version(protocol: Protocol, metadata: MetaData) -> int:
    """Return the version before which checkpoints are protected; 0 if none are."""
    if not supports(protocol, "checkpointProtection"):
        return 0
    return get_integer_property(metadata.configuration, CHECKPOINT_PROTECTION) or 0


def may_clean_up(
    protected: int,
    checkpoint: int,
    protocols: Iterable[Protocol],
    features: Collection[str],
    *,
    leaves_checkpoints: bool,
) -> bool:
    """Return whether history may be cut off at a checkpoint while earlier checkpoints are protected.

    Args:
        protected: Version from `get_protected_before_version`.
        checkpoint: Version of the cutoff checkpoint.
        protocols: Protocols of all versions up to `min(protected, checkpoint)`.
        features: Features that the cleaning client supports.
        leaves_checkpoints: The client writes no checkpoint and deletes none from the cutoff on.
    """
    in_one_go = checkpoint >= protected
    knows_all = all(may_write(each, features) == Accepted() for each in protocols)
    return in_one_go or leaves_checkpoints or knows_all


def may_write_checkpoint(protected: int, version: int, of_version: Protocol, features: Collection[str]) -> bool:
    """Return whether a checkpoint of a version may be written; a protected version requires support of its protocol."""
    return version >= protected or may_write(of_version, features) == Accepted()


def may_drop_protection(protected: int, first_version: int) -> bool:
    """Return whether the feature may be dropped, which requires that protected history is gone."""
    return first_version >= protected

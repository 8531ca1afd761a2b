"""Action Reconciliation: commits to a snapshot. Source: chapter Action Reconciliation.

A commit is a set: its removes are taken before its adds, so that the order of its lines does not matter. (A remove
and an add of one logical file in one commit break the protocol; the file then stays live.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from deltaspec.model.actions import (
    Action,
    Add,
    Cdc,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    MetaData,
    Protocol,
    Remove,
    RowIdHighWaterMark,
    Sidecar,
    Txn,
)
from deltaspec.model.log.paths import path_key
from deltaspec.model.revisions import Revision

FileKey = tuple[str, str | None]
"""Path key, and id of the deletion vector; None for an add in `current`, where the path alone is the key."""


@dataclass(frozen=True)
class Snapshot:
    """State of a table at a version."""

    version: int = -1
    protocol: Protocol | None = None
    metadata: MetaData | None = None
    files: Mapping[FileKey, Add] = field(default_factory=dict)
    """Live files."""
    tombstones: Mapping[FileKey, Remove] = field(default_factory=dict)
    transactions: Mapping[str, Txn] = field(default_factory=dict)
    domains: Mapping[str, DomainMetadata] = field(default_factory=dict)
    commit_info: CommitInfo | None = None
    """That of this very version."""
    row_id_high_water_mark: RowIdHighWaterMark | None = None
    """r1 and r2 only."""


EMPTY_SNAPSHOT = Snapshot()

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def get_vector_id(action: Add | Remove) -> str | None:
    """Id of the deletion vector of a logical file; None without one."""
    return action.deletion_vector.unique_id if action.deletion_vector else None


def get_file_key(action: Add | Remove) -> FileKey:
    """The key of a logical file: path and deletion vector."""
    return path_key(action.path), get_vector_id(action)


def apply_action(snapshot: Snapshot, action: Action, revision: Revision = Revision.CURRENT) -> Snapshot:
    """The snapshot after one more action; the newest action wins."""
    match action:
        case Protocol():
            return replace(snapshot, protocol=action)
        case MetaData():
            return replace(snapshot, metadata=action)
        case Txn():
            return replace(snapshot, transactions={**snapshot.transactions, action.app_id: action})
        case DomainMetadata(removed=True):
            return replace(snapshot, domains=_without(snapshot.domains, action.domain))
        case DomainMetadata():
            return replace(snapshot, domains={**snapshot.domains, action.domain: action})
        case RowIdHighWaterMark():
            return replace(snapshot, row_id_high_water_mark=action)
        case Add():
            key = get_file_key(action)
            files = {**snapshot.files}
            if revision is Revision.CURRENT:  # [Changed in current] an add is known by its path alone
                files = {other: add for other, add in files.items() if other[0] != key[0]}
            files[key] = action
            return replace(snapshot, files=files, tombstones=_without(snapshot.tombstones, key))
        case Remove():
            key = get_file_key(action)
            return replace(
                snapshot, files=_without(snapshot.files, key), tombstones={**snapshot.tombstones, key: action}
            )
        case CommitInfo():
            return replace(snapshot, commit_info=action)
        case Cdc() | CheckpointMetadata() | Sidecar():
            return snapshot


def replay_commit(
    snapshot: Snapshot, version: int, actions: Iterable[Action], revision: Revision = Revision.CURRENT
) -> Snapshot:
    """The snapshot of `version`: that of the version before, and the actions of its commit in whatever order."""
    snapshot = replace(snapshot, version=version, commit_info=None)
    for action in sorted(actions, key=lambda each: isinstance(each, Add)):
        snapshot = apply_action(snapshot, action, revision)
    return snapshot


def replay_log(
    commits: Mapping[int, Iterable[Action]],
    *,
    base: Snapshot = EMPTY_SNAPSHOT,
    to: int,
    revision: Revision = Revision.CURRENT,
) -> Snapshot:
    """The snapshot of version `to`: the base, and every commit after it in ascending order."""
    snapshot = base
    for version in range(base.version + 1, to + 1):
        snapshot = replay_commit(snapshot, version, commits[version], revision)
    return snapshot


def build_checkpoint_snapshot(
    version: int, actions: Iterable[Action], revision: Revision = Revision.CURRENT
) -> Snapshot:
    """The snapshot that a checkpoint stands for."""
    return replay_commit(EMPTY_SNAPSHOT, version, actions, revision)


def is_expired(remove: Remove, clock_ms: int, retention_ms: int) -> bool:
    """Whether a tombstone need no longer be kept: the clock is past the removal by more than the retention.

    The text names no property for the retention; a remove without a timestamp counts as removed at 0 (S25).

    Args:
        remove: the tombstone.
        clock_ms: now, as the node that cleans up has it, in milliseconds since the epoch.
        retention_ms: the threshold, in milliseconds.
    """
    return clock_ms > (remove.deletion_timestamp or 0) + retention_ms


def _without(mapping: Mapping[_Key, _Value], key: _Key) -> dict[_Key, _Value]:
    return {other: value for other, value in mapping.items() if other != key}

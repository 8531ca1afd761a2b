"""Action Reconciliation: from commits to a snapshot. Source: chapter Action Reconciliation.

A commit is a set: its removes are applied before its adds, so that the order of its lines does not matter. (A remove
and an add of one logical file in one commit violate the protocol; the file then stays live.)
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.actions import (
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
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.revisions import Revision

FileKey = tuple[str, str | None]
"""Path key and deletion vector id. The id is None without a vector."""


class Snapshot(msgspec.Struct, frozen=True):
    """State of a table at a version."""

    version: int = -1
    protocol: Protocol | None = None
    metadata: MetaData | None = None
    files: Mapping[FileKey, Add] = msgspec.field(default_factory=dict)
    """Live files."""
    tombstones: Mapping[FileKey, Remove] = msgspec.field(default_factory=dict)
    transactions: Mapping[str, Txn] = msgspec.field(default_factory=dict)
    domains: Mapping[str, DomainMetadata] = msgspec.field(default_factory=dict)
    commit_info: CommitInfo | None = None
    """commitInfo of this version only."""
    row_id_high_water_mark: RowIdHighWaterMark | None = None
    """r1 and r2 only."""


EMPTY_SNAPSHOT = Snapshot()

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def get_file_key(action: Add | Remove) -> FileKey:
    """Return the key of a logical file: path and deletion vector."""
    return path_key(action.path), get_vector_id(action)


def apply_action(snapshot: Snapshot, action: Action, revision: Revision = Revision.CURRENT) -> Snapshot:
    """Return the snapshot after one more action; the newest action wins."""
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
            if revision is Revision.CURRENT:  # [Changed in current] the path alone identifies an add
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
    """Return the snapshot of `version`: the previous snapshot with the actions of the commit, in any order."""
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
    """Return the snapshot of version `to`: the base with every later commit in ascending order."""
    snapshot = base
    for version in range(base.version + 1, to + 1):
        snapshot = replay_commit(snapshot, version, commits[version], revision)
    return snapshot


def build_checkpoint_snapshot(
    version: int, actions: Iterable[Action], revision: Revision = Revision.CURRENT
) -> Snapshot:
    """Return the snapshot that a checkpoint describes."""
    return replay_commit(EMPTY_SNAPSHOT, version, actions, revision)


def is_expired(remove: Remove, clock_ms: int, retention_ms: int) -> bool:
    """Return whether a tombstone has expired: it is older than the retention.

    The protocol names no property for the retention. A remove without a timestamp counts as removed at 0 (S25).

    Args:
        remove: The tombstone.
        clock_ms: Current time of the cleaning node, in milliseconds since the epoch.
        retention_ms: Retention in milliseconds.
    """
    return clock_ms > (remove.deletion_timestamp or 0) + retention_ms


def _without(mapping: Mapping[_Key, _Value], key: _Key) -> dict[_Key, _Value]:
    return {other: value for other, value in mapping.items() if other != key}

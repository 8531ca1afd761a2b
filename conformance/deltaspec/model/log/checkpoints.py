"""What a checkpoint holds. Source: chapters Checkpoints, Checkpoint Format, Checkpoint Specs: V2 Spec,
Checkpoint Naming Scheme."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import msgspec

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
    Sidecar,
)
from deltaspec.model.features.protocol import Accepted, Decision, Refused, supports
from deltaspec.model.features.table_properties import DEFAULT_FILE_RETENTION_MS
from deltaspec.model.log.reconciliation import Snapshot, build_checkpoint_snapshot, is_expired
from deltaspec.model.log.state_differences import Difference, compare_keyed, compare_single, partition_types
from deltaspec.model.revisions import Revision

Spec = Literal["v1", "v2"]
Naming = Literal["classic", "multipart", "uuid"]


def build_checkpoint_actions(
    snapshot: Snapshot,
    *,
    v2: bool,
    clock_ms: int | None = None,
    retention_ms: int = DEFAULT_FILE_RETENTION_MS,
    revision: Revision = Revision.CURRENT,
) -> list[Action]:
    """The actions of a checkpoint of a snapshot: all of its state, and of tombstones those that have not expired.

    Args:
        snapshot: the state; its commitInfo is left behind, it belongs to one version.
        v2: whether the content follows the V2 spec, without sidecars.
        clock_ms: now, in milliseconds since the epoch; without it every tombstone is kept.
        retention_ms: how long a tombstone is kept.
        revision: the text in force.

    Raises:
        ValueError: V2 content in a revision that has none.
    """
    if v2 and not revision.since(Revision.R3):  # [Changed in r3] the first with V2 content
        raise ValueError(f"revision {revision} has no V2 checkpoints")
    actions: list[Action] = [CheckpointMetadata(version=snapshot.version)] if v2 else []
    actions += [each for each in (snapshot.protocol, snapshot.metadata) if each is not None]
    actions += snapshot.transactions.values()
    actions += snapshot.domains.values()
    if snapshot.row_id_high_water_mark is not None:
        actions.append(snapshot.row_id_high_water_mark)
    actions += snapshot.files.values()
    for remove in snapshot.tombstones.values():
        if clock_ms is None or not is_expired(remove, clock_ms, retention_ms):
            actions.append(_as_tombstone(remove, revision))
    return actions


def _as_tombstone(remove: Remove, revision: Revision) -> Remove:
    """A remove as checkpoints hold it: without statistics and tags, which cleaning up does not need."""
    if not revision.since(Revision.R3):  # [Changed in r3] which took both out of checkpoints
        return remove
    return msgspec.structs.replace(remove, stats=None, tags=None)


def reconcile_checkpoint(version: int, actions: Iterable[Action], revision: Revision = Revision.CURRENT) -> Snapshot:
    """The snapshot that a checkpoint stands for, the rows of its sidecars among `actions`; rows have no order.

    commitInfo, which does not belong there, is passed over.
    """
    return build_checkpoint_snapshot(version, (each for each in actions if not isinstance(each, CommitInfo)), revision)


def check_spec_and_naming(
    spec: Spec, naming: Naming, protocol: Protocol, revision: Revision = Revision.CURRENT
) -> Decision:
    """Whether a writer may make a checkpoint of this content under this kind of name.

    UUID names are for V2, multipart for V1, and V2 is for tables that support `v2Checkpoint`, which in turn rules
    out multipart. V1 under a classic name is always allowed. Source: Checkpoints; Allowed combinations for
    checkpoint spec and checkpoint file naming.
    """
    if not revision.since(Revision.R3):  # [Changed in r3] V2 content and UUID names
        if spec == "v2" or naming == "uuid":
            return Refused("checkpoint.v2-needs-feature", f"revision {revision} has neither V2 content nor UUID names")
        return Accepted()
    if naming == "multipart" and spec == "v2":
        return Refused("checkpoint.multipart-is-v1", "V2 content under a multipart name")
    if naming == "uuid" and spec == "v1":
        return Refused("checkpoint.v2-has-metadata", "V1 content under a UUID name")
    supported = supports(protocol, "v2Checkpoint")
    if spec == "v2" and not supported:
        return Refused("checkpoint.v2-needs-feature", "V2 content without the feature v2Checkpoint")
    if naming == "multipart" and supported:
        return Refused("checkpoint.no-multipart-with-v2", "a multipart name with the feature v2Checkpoint")
    return Accepted()


def get_spec(actions: Iterable[Action]) -> Spec:
    """`v2` for content that has any action of the V2 spec."""
    return "v2" if any(isinstance(each, CheckpointMetadata | Sidecar) for each in actions) else "v1"


def find_forbidden_actions(
    actions: Iterable[Action], spec: Spec, revision: Revision = Revision.CURRENT
) -> list[Action]:
    """Actions that must not stand in a checkpoint, in their order.

    commitInfo and cdc belong to commits; sidecar and checkpointMetadata to V2 content; a removed domain is no part
    of the state.
    """
    found: list[Action] = []
    for action in actions:
        match action:
            case CommitInfo():
                if revision.since(Revision.R3):  # [Changed in r3] earlier, checkpoints merely need not hold it
                    found.append(action)
            case Cdc():
                found.append(action)
            case CheckpointMetadata() | Sidecar():
                if spec == "v1":
                    found.append(action)
            case DomainMetadata(removed=True):
                if revision is Revision.CURRENT:  # [Changed in current] earlier texts are silent
                    found.append(action)
    return found


def find_content_faults(
    version: int, actions: Iterable[Action], spec: Spec, revision: Revision = Revision.CURRENT
) -> list[str]:
    """What breaks the structure of a checkpoint's own rows, in words; rows of sidecars are not among `actions`."""
    actions = list(actions)
    found = [f"holds {type(each).__name__}" for each in find_forbidden_actions(actions, spec, revision)]
    for kind in (Protocol, MetaData):
        if (number := sum(isinstance(each, kind) for each in actions)) != 1:
            found.append(f"holds {number} {kind.__name__} actions, not 1")
    if spec == "v1":
        return found
    heads = [each for each in actions if isinstance(each, CheckpointMetadata)]
    if len(heads) != 1:
        found.append(f"holds {len(heads)} CheckpointMetadata actions, not 1")
    found += [f"claims version {each.version}" for each in heads if each.version != version]
    if any(isinstance(each, Sidecar) for each in actions) and any(isinstance(each, Add | Remove) for each in actions):
        found.append("has file actions both in itself and in sidecars")
    return found


def compare_checkpoint(
    snapshot: Snapshot,
    claimed: Snapshot,
    *,
    clock_ms: int | None = None,
    retention_ms: int | None = None,
    revision: Revision = Revision.CURRENT,
) -> list[Difference]:
    """Where the snapshot that a checkpoint stands for parts from replay; empty for a checkpoint that is sound.

    Args:
        snapshot: as replay has it.
        claimed: as `reconcile_checkpoint` has it.
        clock_ms: when the checkpoint was made, in milliseconds since the epoch.
        retention_ms: how long a tombstone is kept; with the clock it decides which tombstones may be missing.
        revision: the text in force.
    """
    types = partition_types(snapshot.protocol, snapshot.metadata)
    found = compare_single("protocol", claimed.protocol, snapshot.protocol, types)
    found += compare_single("metaData", claimed.metadata, snapshot.metadata, types)
    transactions = compare_keyed("txn", claimed.transactions, snapshot.transactions, types)
    found += [each if each.what == "differs" else replace(each, retained=None) for each in transactions]
    found += compare_keyed("domainMetadata", claimed.domains, snapshot.domains, types)
    if not revision.since(Revision.R3):  # [Changed in r3] the mark moved into a domain
        found += compare_single(
            "rowIdHighWaterMark", claimed.row_id_high_water_mark, snapshot.row_id_high_water_mark, types
        )
    if revision is Revision.CURRENT:  # [Changed in current] an add is known by its path alone
        adds = {key[0]: add for key, add in claimed.files.items()}
        live = {key[0]: add for key, add in snapshot.files.items()}
        found += compare_keyed("add", adds, live, types)
    else:
        found += compare_keyed("add", claimed.files, snapshot.files, types)
    for each in compare_keyed("remove", claimed.tombstones, snapshot.tombstones, types):
        if each.what == "missing" and clock_ms is not None and retention_ms is not None:
            if not is_expired(each.replayed, clock_ms, retention_ms):
                found.append(each)
        elif each.what == "differs" or (each.what == "extra" and each.key in snapshot.files):
            found.append(each)
        else:  # replay may itself start from a checkpoint that had dropped it
            found.append(replace(each, retained=None))
    return found

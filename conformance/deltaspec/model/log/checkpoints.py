"""Contents of a checkpoint. Source: chapters Checkpoints, Checkpoint Format, Checkpoint Specs: V2 Spec,
Checkpoint Naming Scheme.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from deltaspec.model.decisions import Accepted, Decision, Refused
from deltaspec.model.log.reconciliation import (
    EMPTY_SNAPSHOT,
    FileKey,
    Snapshot,
    build_checkpoint_snapshot,
    is_expired,
)
from deltaspec.model.log.state_differences import (
    Difference,
    Stated,
    compare_keyed,
    compare_single,
    read_partition_types,
)
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
    Sidecar,
)
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import DEFAULT_FILE_RETENTION_MS
from deltaspec.protocol.revisions import Revision

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
    """Return the actions of a checkpoint: the complete state, except tombstones that have expired.

    Args:
        snapshot: The state; its commitInfo is omitted because it belongs to one version.
        v2: Whether the content follows the V2 spec; no sidecars are used.
        clock_ms: Current time in milliseconds since the epoch; None keeps every tombstone.
        retention_ms: Tombstone retention in milliseconds.
        revision: Protocol revision.

    Raises:
        ValueError: The revision does not define V2 content.
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
    """Return a remove as checkpoints store it: without statistics and tags, which cleanup does not need."""
    if not revision.since(Revision.R3):  # [Changed in r3] checkpoints no longer store both
        return remove
    return msgspec.structs.replace(remove, stats=None, tags=None)


def reconcile_checkpoint(version: int, actions: Iterable[Action], revision: Revision = Revision.CURRENT) -> Snapshot:
    """Return the snapshot that a checkpoint describes; `actions` include the rows of its sidecars, in any order.

    commitInfo does not belong in a checkpoint and is ignored.
    """
    return build_checkpoint_snapshot(version, (each for each in actions if not isinstance(each, CommitInfo)), revision)


def check_spec_and_naming(
    spec: Spec, naming: Naming, protocol: Protocol, revision: Revision = Revision.CURRENT
) -> Decision:
    """Decide whether a writer may create a checkpoint with this content and this kind of name.

    UUID names are for V2 content and multipart names for V1. V2 content requires the feature `v2Checkpoint`, which
    forbids multipart names. V1 content with a classic name is always allowed. Source: Checkpoints; Allowed combinations
    for checkpoint spec and checkpoint file naming.
    """
    if not revision.since(Revision.R3):  # [Changed in r3] V2 content and UUID names
        if spec == "v2" or naming == "uuid":
            return Refused("checkpoint.v2-needs-feature", f"{revision} defines neither V2 content nor UUID names")
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
    """Return `v2` if the content has any action of the V2 spec, else `v1`."""
    return "v2" if any(isinstance(each, CheckpointMetadata | Sidecar) for each in actions) else "v1"


def find_forbidden_actions(
    actions: Iterable[Action], spec: Spec, revision: Revision = Revision.CURRENT
) -> list[Action]:
    """Return the actions that must not be in a checkpoint, in their order.

    commitInfo and cdc belong to commits, sidecar and checkpointMetadata to V2 content. A removed domain is not part of
    the state.
    """
    found: list[Action] = []
    for action in actions:
        match action:
            case CommitInfo():
                if revision.since(Revision.R3):  # [Changed in r3] before, checkpoints may contain it
                    found.append(action)
            case Cdc():
                found.append(action)
            case CheckpointMetadata() | Sidecar():
                if spec == "v1":
                    found.append(action)
            case DomainMetadata(removed=True):
                if revision is Revision.CURRENT:  # [Changed in current] earlier revisions do not say
                    found.append(action)
    return found


def find_content_faults(
    version: int, actions: Iterable[Action], spec: Spec, revision: Revision = Revision.CURRENT
) -> list[str]:
    """Describe the structural errors in a checkpoint's own rows; `actions` exclude the rows of sidecars."""
    actions = list(actions)
    found = [f"contains {type(each).__name__}" for each in find_forbidden_actions(actions, spec, revision)]
    for kind in (Protocol, MetaData):
        if (number := sum(isinstance(each, kind) for each in actions)) != 1:
            found.append(f"contains {number} {kind.__name__} actions, expected 1")
    if spec == "v1":
        return found
    heads = [each for each in actions if isinstance(each, CheckpointMetadata)]
    if len(heads) != 1:
        found.append(f"contains {len(heads)} CheckpointMetadata actions, expected 1")
    found += [f"states version {each.version}, expected {version}" for each in heads if each.version != version]
    if any(isinstance(each, Sidecar) for each in actions) and any(isinstance(each, Add | Remove) for each in actions):
        found.append("has file actions both in its own rows and in sidecars")
    return found


def compare_checkpoint(
    snapshot: Snapshot,
    derived: Snapshot,
    *,
    clock_ms: int | None = None,
    retention_ms: int | None = None,
    revision: Revision = Revision.CURRENT,
    base: Snapshot | None = None,
) -> list[Difference]:
    """Return the differences between a checkpoint and replay; empty for a correct checkpoint.

    Args:
        snapshot: State from replay.
        derived: State from `reconcile_checkpoint`.
        clock_ms: Creation time of the checkpoint, in milliseconds since the epoch.
        retention_ms: Tombstone retention; together with the clock it decides which tombstones may be missing.
        revision: Protocol revision.
        base: State of the checkpoint that replay started from; None without one.
    """
    types = read_partition_types(snapshot.protocol, snapshot.metadata)
    inherited = EMPTY_SNAPSHOT if base is None else base

    def compare(
        kind: str, ours: Mapping[Any, Stated], theirs: Mapping[Any, Stated], old: Any = None
    ) -> list[Difference]:
        return compare_keyed("checkpoint", kind, ours, theirs, types, old or {})

    found = compare_single("checkpoint", "protocol", derived.protocol, snapshot.protocol, types)
    found += compare_single("checkpoint", "metaData", derived.metadata, snapshot.metadata, types)
    transactions = compare("txn", derived.transactions, snapshot.transactions)
    found += [each if each.what == "differs" else replace(each, retained=None) for each in transactions]
    found += compare("domainMetadata", derived.domains, snapshot.domains)
    if not revision.since(Revision.R3):  # [Changed in r3] the mark became a domain
        marks = derived.row_id_high_water_mark, snapshot.row_id_high_water_mark
        found += compare_single("checkpoint", "rowIdHighWaterMark", *marks, types)
    if revision is Revision.CURRENT:  # [Changed in current] the path alone identifies an add
        adds, live, old = (_by_path(each.files) for each in (derived, snapshot, inherited))
        found += compare("add", adds, live, old)
    else:
        found += compare("add", derived.files, snapshot.files, inherited.files)
    for each in compare("remove", derived.tombstones, snapshot.tombstones, inherited.tombstones):
        if each.what == "missing" and clock_ms is not None and retention_ms is not None:
            if not is_expired(each.replayed, clock_ms, retention_ms):
                found.append(each)
        elif each.what == "differs" or (each.what == "extra" and each.key in snapshot.files):
            found.append(each)
        else:  # replay may itself start from a checkpoint without it
            found.append(replace(each, retained=None))
    return found


def _by_path(files: Mapping[FileKey, Add]) -> dict[str, Add]:
    return {key[0]: add for key, add in files.items()}

"""What one repair changes, and how several repairs become one commit, new files of the log and files to set aside."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.reference.checkpoint_writer import encode_hint, encode_lines, encode_rows
from deltaspec.candidates.reference.log_reader import build_state
from deltaspec.candidates.reference.typed_columns import choose_form
from deltaspec.model.log.checkpoints import build_checkpoint_actions
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Action, Add, DomainMetadata, MetaData, Protocol, Remove
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.features.supported_features import get_reader_features, get_supported_features
from deltaspec.protocol.features.table_features import FEATURES, MAX_READER_VERSION, MAX_WRITER_VERSION
from deltaspec.protocol.features.table_properties import get_file_retention_ms, has_in_commit_timestamps
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.protocol.log.file_names import classic_checkpoint_name, commit_name
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint
from deltaspec.protocol.property_names import ROWS_PRESERVED_TAG
from deltaspec.repair.plan_format import Repair
from deltaspec.repair.table_log import LiveFile, LogUnusable, TableLog
from deltaspec.version import __version__

HINT = "_last_checkpoint"
OPERATION = "REPAIR"
Edit = Callable[[Add], Add]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One repair, and everything that it changes."""

    repair: Repair
    removed: frozenset[str] = frozenset()
    """Keys of the files to remove."""
    edits: Mapping[str, Edit] = {}
    """What to change in the add actions of files, by key."""
    edit_metadata: Callable[[MetaData], MetaData] | None = None
    features: frozenset[str] | None = None
    """Features to add to the lists of the protocol; None to keep the protocol."""
    domains: tuple[DomainMetadata, ...] = ()
    set_aside: tuple[str, ...] = ()
    set_aside_after: tuple[str, ...] = ()
    checkpoints: Mapping[int, Snapshot | None] = {}
    """Version to the state of each checkpoint to write; None for the state after the commit."""
    needs_commit: bool = False
    """Write a commit even if no action needs one."""

    @property
    def keys(self) -> set[str]:
        """Keys of the files that it concerns."""
        return {*self.removed, *self.edits}


class Draft(msgspec.Struct, frozen=True):
    """The files that a plan adds to the log, and those that it sets aside, by names relative to `_delta_log`."""

    commit: tuple[str, bytes] | None
    writes: dict[str, bytes]
    set_aside: list[str]
    set_aside_after: list[str]
    touched: frozenset[str]
    """Keys of the files whose actions the commit has."""

    @property
    def new_files(self) -> dict[str, bytes]:
        """All new files by name."""
        return ({} if self.commit is None else {self.commit[0]: self.commit[1]}) | self.writes

    @property
    def hidden_files(self) -> list[str]:
        """All files that are set aside."""
        return [*self.set_aside, *self.set_aside_after]


def build_draft(log: TableLog, changes: Sequence[Change], created_ms: int) -> Draft:
    """Build the files of a plan.

    Args:
        log: the table.
        changes: the repairs.
        created_ms: time of the commit.

    Raises:
        LogUnusable, StateTooLarge, StorageError: as `TableLog`.
    """
    keys = {key for each in changes for key in each.keys}
    metadata = _edit_metadata(log, changes)
    features = [each.features for each in changes if each.features is not None]
    protocol = add_features(log.protocol, frozenset().union(*features)) if features else log.protocol
    actions: list[Action] = [protocol] if protocol != log.protocol else []
    actions += [metadata] if metadata != log.metadata else []
    actions += {domain.domain: domain for each in changes for domain in each.domains}.values()
    actions += _build_file_actions(log.find_live(keys), changes, created_ms)
    commit = None
    if actions or any(each.needs_commit for each in changes):
        actions = actions or [log.metadata]
        lines = _encode_info(log, protocol, metadata, created_ms) + encode_lines(actions)
        commit = commit_name(log.version + 1), lines
    set_aside = list(dict.fromkeys(name for each in changes for name in each.set_aside))
    after = [name for each in changes for name in each.set_aside_after]
    writes = _build_checkpoints(
        log, changes, actions, created_ms, with_hint=HINT in set_aside and not has_hadoop_checksum(log.entries, HINT)
    )
    return Draft(
        commit, writes, set_aside, [name for name in dict.fromkeys(after) if name not in set_aside], frozenset(keys)
    )


def has_hadoop_checksum(names: Collection[str], name: str) -> bool:
    """Return whether Hadoop keeps a checksum of a file of the log, with which it would refuse another file."""
    return f".{name}.crc" in names


def _edit_metadata(log: TableLog, changes: Sequence[Change]) -> MetaData:
    metadata = log.metadata
    for edit in (each.edit_metadata for each in changes if each.edit_metadata is not None):
        metadata = edit(metadata)
    return metadata


def _build_file_actions(live: Mapping[str, LiveFile], changes: Sequence[Change], created_ms: int) -> list[Action]:
    """Return the adds and removes of the commit."""
    actions: list[Action] = []
    removed = {key for each in changes for key in each.removed}
    for key, file in sorted(live.items()):
        if key in removed:
            actions.append(build_remove(file.add, created_ms))
            continue
        add = replace(file.add, data_change=False)
        for change in changes:
            add = change.edits.get(key, _keep)(add)
        if get_vector_id(add) != get_vector_id(file.add):
            actions.append(build_remove(file.add, created_ms))
            add = replace(add, data_change=True)
        actions.append(add)
    return actions


def _keep(add: Add) -> Add:
    return add


def build_remove(add: Add, created_ms: int) -> Remove:
    """Build the action that removes a live file and its rows."""
    return Remove(
        path=add.path,
        data_change=True,
        deletion_timestamp=created_ms,
        extended_file_metadata=True,
        partition_values=add.partition_values,
        size=add.size,
        tags=add.tags or {},
        deletion_vector=add.deletion_vector,
        base_row_id=add.base_row_id,
        default_row_commit_version=add.default_row_commit_version,
    )


def compute_commit_timestamp(log: TableLog, created_ms: int) -> int:
    """Return a time for the next commit, later than in-commit timestamp and file time of the latest one.

    The clock of the storage may be ahead of the clock of this machine. Which of the two times counts depends on whether
    in-commit timestamps are enabled, which the repair may change.
    """
    last, file = log.snapshot.commit_info, log.entries.get(commit_name(log.version))
    stated = 0 if last is None else last.in_commit_timestamp or 0
    written = 0 if file is None else file.modified_ms
    return max(created_ms, stated + 1, written + 1)


def _encode_info(log: TableLog, protocol: Protocol, metadata: MetaData, created_ms: int) -> bytes:
    """Return the first line of a commit after which the table has a protocol and metadata."""
    info: dict[str, Any] = {
        "timestamp": created_ms,
        "operation": OPERATION,
        "operationParameters": {},
        "isBlindAppend": False,
        "engineInfo": f"deltaspec/{__version__}",
        "txnId": str(uuid.uuid4()),
    }
    if has_in_commit_timestamps(protocol, metadata):
        info["timestamp"] = info["inCommitTimestamp"] = compute_commit_timestamp(log, created_ms)
    if row_tracking.is_enabled(protocol, metadata):
        info["tags"] = {ROWS_PRESERVED_TAG: "true"}
    return msgspec.json.encode({"commitInfo": info}) + b"\n"


def _build_checkpoints(
    log: TableLog, changes: Sequence[Change], actions: list[Action], created_ms: int, *, with_hint: bool
) -> dict[str, bytes]:
    """Return the checkpoints to write, and a hint to the last one if the old hint is set aside."""
    writes: dict[str, bytes] = {}
    last: LastCheckpoint | None = None
    states = {version: state for each in changes for version, state in each.checkpoints.items()}
    for version, state in sorted(states.items()):
        if state is None:
            state = replay_commit_once(log, log.read_state(), version, actions)
        assert state.metadata is not None
        retention = get_file_retention_ms(state.metadata.configuration)
        rows = build_checkpoint_actions(state, v2=False, clock_ms=created_ms, retention_ms=retention)
        try:
            writes[classic_checkpoint_name(version)] = encode_rows(rows, v2=False, form=choose_form(build_state(state)))
        except ValueError as fault:
            raise LogUnusable(f"a checkpoint of version {version} cannot be written: {fault}", version) from fault
        last = LastCheckpoint(version=version, size=len(rows))
    if last is not None and with_hint:
        writes[HINT] = encode_hint(last)
    return writes


def replay_commit_once(log: TableLog, state: Snapshot, version: int, actions: Iterable[Action]) -> Snapshot:
    """Return a complete state after the actions of a plan's commit."""
    files, tombstones, domains = dict(state.files), dict(state.tombstones), dict(state.domains)
    changes: dict[str, Any] = {}
    for action in actions:
        match action:
            case Protocol():
                changes["protocol"] = action
            case MetaData():
                changes["metadata"] = action
            case DomainMetadata():
                domains[action.domain] = action
            case Remove():
                key = log.get_key(action.path), get_vector_id(action)
                files.pop(key, None)
                tombstones[key] = action
            case Add():
                key = log.get_key(action.path), get_vector_id(action)
                files[key] = action
                tombstones.pop(key, None)
    return replace(
        state, version=version, files=files, tombstones=tombstones, domains=domains, commit_info=None, **changes
    )


def add_features(protocol: Protocol, names: Iterable[str]) -> Protocol:
    """Return a protocol with further features, as lists of features."""
    wanted = set(names)
    before = get_supported_features(protocol), get_reader_features(protocol)
    writers = before[0] | wanted
    readers = before[1] | {name for name in wanted if FEATURES[name].kind == "reader-writer"}
    has_no_list = protocol.min_reader_version >= MAX_READER_VERSION and protocol.reader_features is None
    if (writers, readers) == before and not has_no_list:
        return protocol
    needs_reader_lists = protocol.min_reader_version >= MAX_READER_VERSION or readers - {"columnMapping"}
    without_lists = max(protocol.min_reader_version, 2 if "columnMapping" in readers else 1)
    return Protocol(
        min_reader_version=MAX_READER_VERSION if needs_reader_lists else without_lists,
        min_writer_version=MAX_WRITER_VERSION,
        reader_features=sorted(readers) if needs_reader_lists else None,
        writer_features=sorted(writers),
    )

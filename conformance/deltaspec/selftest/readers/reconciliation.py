"""Faults in replay: which actions are live, and what a version knows about the table."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import CorruptLog, LogReader
from deltaspec.model.log.reconciliation import Snapshot, apply_action, replay_commit
from deltaspec.protocol.actions import ACTION_TYPES, Action, Add, DomainMetadata, MetaData, Protocol, Remove, Txn
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.storage.interface import LOG_DIRECTORY

FILES_LIVE = "reconciliation.queries-see-live-files"


@mutant(LogReader.read_commit, FILES_LIVE, suites=("snapshot", "read", "time-travel"))
def removes_ignored(original: Method, log: LogReader, version: int) -> list[Any]:
    """Does not apply removes."""
    return [each for each in original(log, version) if not isinstance(each, Remove)]


@mutant(LogReader.read_commit, FILES_LIVE, suites=("snapshot", "read"))
def removes_without_data_change_ignored(original: Method, log: LogReader, version: int) -> list[Any]:
    """Ignores removes that only rearrange data, so that compacted rows appear twice."""
    return [each for each in original(log, version) if not (isinstance(each, Remove) and not each.data_change)]


@mutant(LogReader.read_commit, FILES_LIVE, suites=("snapshot", "row-ids"))
def rearranging_commits_skipped(original: Method, log: LogReader, version: int) -> list[Any]:
    """Skips adds and removes without a change of data, and keeps reading the replaced files."""
    return [each for each in original(log, version) if not (isinstance(each, Add | Remove) and not each.data_change)]


@mutant(LogReader.replay_commit, FILES_LIVE, suites=("snapshot", "read"))
def removes_not_applied_to_checkpoint(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Applies a remove only if it has seen the add in a commit, not in a checkpoint."""
    first = next((at for at in range(version, -1, -1) if commit_name(at) not in log.entries), -1)
    seen = {each.path for at in range(first + 1, version) for each in log.read_commit(at) if isinstance(each, Add)}
    kept = [each for each in actions if not isinstance(each, Remove) or each.path in seen or first < 0]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.replay_commit, "add.order-does-not-matter", suites=("snapshot", "read"))
def actions_applied_in_file_order(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Applies the lines of a commit in their order and matches files by path alone."""
    snapshot = replace(snapshot, version=version, commit_info=None)
    name = f"{LOG_DIRECTORY}/{commit_name(version)}"
    order = [
        (kind, body["path"])
        for line in log.store.read(name, 1 << 30).splitlines()
        for kind, body in json.loads(line).items()
        if kind in ("add", "remove")
    ]
    for action in sorted(actions, key=lambda each: _find_line(order, each)):
        if isinstance(action, Remove):
            files = {key: add for key, add in snapshot.files.items() if key[0] != path_key(action.path)}
            snapshot = replace(snapshot, files=files)
        else:
            snapshot = apply_action(snapshot, action)
    return snapshot


def _find_line(order: list[tuple[str, str]], action: Action) -> int:
    kind = "add" if isinstance(action, Add) else "remove"
    return order.index((kind, action.path)) if isinstance(action, Add | Remove) else -1


@mutant(LogReader.replay_commit, "add.replaces-same-file", suites=("row-ids",))
def first_add_of_a_file_kept(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Ignores an add of a file that is live already, so that row ids that it gets later are lost."""
    removed = {path_key(each.path) for each in actions if isinstance(each, Remove)}
    live = {path for path, _ in snapshot.files} - removed
    kept = [each for each in actions if not (isinstance(each, Add) and path_key(each.path) in live)]
    return replay_commit(snapshot, version, kept)


@mutant(LogReader.replay_commit, FILES_LIVE, suites=("snapshot", "read"), origin="log-003")
def removed_paths_never_live_again(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Ignores the add of a file whose path was removed in an earlier version."""
    gone = {path for path, _ in snapshot.tombstones}
    kept = [each for each in actions if not (isinstance(each, Add) and path_key(each.path) in gone)]
    return replay_commit(snapshot, version, kept)


@mutant(LogReader.replay_commit, FILES_LIVE, suites=("snapshot", "read"), origin="path-004")
def paths_of_removes_not_decoded(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Decodes the paths of adds but not of removes, so that encoded paths stay live."""
    kept = [each for each in actions if not (isinstance(each, Remove) and "%" in each.path)]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(Engine.scan, FILES_LIVE, suites=("predicates",), origin="ckpt-020")
def removed_files_read_when_filtering(original: Method, engine: Engine, table: str, **request: Any) -> Any:
    """Reads removed files again if there is a predicate."""
    if request["predicate_tree"] is None:
        return original(engine, table, **request)
    other = Engine()
    other.log_reader = _RemovesIgnored
    return other.scan(table, **request)


class _RemovesIgnored(LogReader):
    def read_commit(self, version: int) -> list[Action]:
        return [each for each in super().read_commit(version) if not isinstance(each, Remove)]


@mutant(LogReader.replay_commit, "metadata.replaces-whole", suites=("snapshot",))
def first_metadata_kept(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Keeps the metadata that it has seen first."""
    known = snapshot.metadata is not None
    kept = [each for each in actions if not (isinstance(each, MetaData) and known)]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.replay_commit, "metadata.replaces-whole", suites=("snapshot",))
def configuration_merged_with_older_one(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Adds the properties of new metadata to the older ones, so that none is ever unset."""
    found: Snapshot = original(log, snapshot, version, actions)
    if snapshot.metadata is None or found.metadata is None:
        return found
    merged = {**snapshot.metadata.configuration, **found.metadata.configuration}
    return replace(found, metadata=msgspec.structs.replace(found.metadata, configuration=merged))


@mutant(LogReader.replay_commit, "protocol.latest-holds", suites=("snapshot",))
def first_protocol_kept(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Keeps the protocol that it has seen first."""
    known = snapshot.protocol is not None
    kept = [each for each in actions if not (isinstance(each, Protocol) and known)]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.replay_commit, "transaction.may-decrease", suites=("snapshot",))
def highest_transaction_kept(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Takes the highest version of an application for its latest."""
    known = snapshot.transactions
    kept = [
        each
        for each in actions
        if not (isinstance(each, Txn) and each.app_id in known and known[each.app_id].version > each.version)
    ]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.replay_commit, "transaction.latest-holds", suites=("snapshot",))
def first_transaction_kept(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Takes the first version of an application for its latest."""
    known = snapshot.transactions
    kept = [each for each in actions if not (isinstance(each, Txn) and each.app_id in known)]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.replay_commit, "transaction.latest-holds", suites=("snapshot",))
def transactions_without_new_files_missed(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Skips the transactions of commits that remove files and add none."""
    only_removes = any(isinstance(each, Remove) for each in actions) and not any(
        isinstance(each, Add) for each in actions
    )
    kept = [each for each in actions if not (isinstance(each, Txn) and only_removes)]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.replay_commit, "row-tracking.read-versions", suites=("row-ids",))
def restored_files_taken_for_new(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Gives the rows of a restored file the version that restores it."""
    gone = {path for path, _ in snapshot.tombstones}
    changed = [
        msgspec.structs.replace(each, default_row_commit_version=version)
        if isinstance(each, Add) and path_key(each.path) in gone and each.base_row_id is not None
        else each
        for each in actions
    ]
    found: Snapshot = original(log, snapshot, version, changed)
    return found


@mutant(LogReader.replay_commit, "domain.removed-hidden", suites=("snapshot",))
def removed_domains_listed(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Lists domains that are removed, with their last configuration."""
    listed = [msgspec.structs.replace(each, removed=False) if isinstance(each, DomainMetadata) else each
              for each in actions]  # fmt: skip
    found: Snapshot = original(log, snapshot, version, listed)
    return found


@mutant(LogReader.replay_commit, "domain.readers-support-all", suites=("snapshot",), origin="dm-001")
def domains_after_file_actions_missed(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Stops to read a commit for domains once it has seen a file."""
    name = f"{LOG_DIRECTORY}/{commit_name(version)}"
    kinds = [next(iter(json.loads(line)), "") for line in log.store.read(name, 1 << 30).splitlines()]
    first = min((kinds.index(kind) for kind in ("add", "remove") if kind in kinds), default=len(kinds))
    reads = "domainMetadata" in kinds[:first]
    kept = [each for each in actions if reads or not isinstance(each, DomainMetadata)]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.replay_commit, "domain.readers-support-all", suites=("snapshot",))
def system_domains_only(
    original: Method, log: LogReader, snapshot: Snapshot, version: int, actions: Sequence[Action]
) -> Snapshot:
    """Knows only domains of the protocol and drops domains of users."""
    kept = [each for each in actions if not (isinstance(each, DomainMetadata) and each.domain[:6] != "delta.")]
    found: Snapshot = original(log, snapshot, version, kept)
    return found


@mutant(LogReader.read_in_commit_timestamp, "reconciliation.commit-info-of-its-version", suites=("snapshot",))
def commit_info_of_version_before_used(original: Method, log: LogReader, snapshot: Snapshot) -> int | None:
    """Uses the commitInfo of an earlier version."""
    before = snapshot.version - 1
    if commit_name(before) in log.entries:
        snapshot = replace(snapshot, version=before, commit_info=None)
    found: int | None = original(log, snapshot)
    return found


def _read_lines(log: LogReader, version: int) -> list[dict[str, Any]]:
    data = log.store.read(f"{LOG_DIRECTORY}/{commit_name(version)}", 1 << 30)
    return [found for line in data.splitlines() if isinstance(found := json.loads(line or b"null"), dict)]


@mutant(LogReader.read_commit, "action.unknown-ignored", suites=("snapshot", "read"))
def unknown_actions_refused(original: Method, log: LogReader, version: int) -> list[Any]:
    """Refuses a commit with an action that it does not know."""
    unknown = {kind for line in _read_lines(log, version) for kind in line} - set(ACTION_TYPES)
    if unknown:
        raise CorruptLog(f"unknown actions {sorted(unknown)}")
    actions: list[Any] = original(log, version)
    return actions


@mutant(LogReader.read_commit, "action.unknown-without-error", suites=("snapshot", "read"))
def unknown_fields_refused(original: Method, log: LogReader, version: int) -> list[Any]:
    """Refuses an action with a field that it does not know."""
    for line in _read_lines(log, version):
        for kind, body in line.items():
            if kind in ("add", "remove", "metaData", "protocol"):
                unknown = set(body) - set(ACTION_TYPES[kind].__struct_encode_fields__)
                if unknown:
                    raise CorruptLog(f"unknown fields {sorted(unknown)} of {kind}")
    actions: list[Any] = original(log, version)
    return actions


@mutant(LogReader.read_commit, "action.unknown-without-error", suites=("snapshot", "read"))
def explicit_nulls_refused(original: Method, log: LogReader, version: int) -> list[Any]:
    """Refuses optional fields that are null instead of absent."""
    for line in _read_lines(log, version):
        for kind, body in line.items():
            if kind in ("add", "remove", "metaData", "protocol") and None in body.values():
                raise CorruptLog(f"a field of {kind} is null")
    actions: list[Any] = original(log, version)
    return actions


@mutant(LogReader.read_commit, "action.unknown-without-error", suites=("snapshot", "read"), origin="log-011")
def typed_commit_info_required(original: Method, log: LogReader, version: int) -> list[Any]:
    """Refuses a commit whose commitInfo is missing, or has parameters that are not strings."""
    infos = [line["commitInfo"] for line in _read_lines(log, version) if "commitInfo" in line]
    for info in infos:
        parameters = info.get("operationParameters") or {}
        if any(not isinstance(value, str) for value in parameters.values()) or "isBlindAppend" not in info:
            raise CorruptLog("commitInfo cannot be read")
    actions: list[Any] = original(log, version)
    return actions

"""The log of a table as a stream of actions: its state, and the adds of chosen files, in bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.candidates.reference.log_reader import CorruptLog, build_file_actions, build_state
from deltaspec.candidates.reference.typed_columns import list_statistics_columns
from deltaspec.model.log.reconciliation import FileKey, Snapshot
from deltaspec.protocol.actions import (
    Add,
    CommitInfo,
    DomainMetadata,
    MetaData,
    Protocol,
    Remove,
    RowIdHighWaterMark,
    Txn,
)
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.log.segment import (
    Checkpoint,
    find_complete_checkpoints,
    find_readable_ranges,
    list_commits,
)
from deltaspec.wire.log.checkpoint_reader import (
    FileActionBatch,
    ParsedCheckpoint,
    iter_file_action_batches,
    read_checkpoint,
)
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.log.stats_parsed import render_statistics
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store

MAX_STATE_FILES = 1_000_000
"""File actions of a state that is held in memory, about 1 KiB each."""
_MAX_COMMIT_BYTES = 1 << 30


class LogUnusable(ValueError):
    """A version has no state: a file of the log is missing or damaged."""

    def __init__(self, reason: str, version: int) -> None:
        super().__init__(reason)
        self.version = version
        """The first version that cannot be read."""


class StateTooLarge(ValueError):
    """The state has more than `MAX_STATE_FILES` file actions."""


class LiveFile(msgspec.Struct, frozen=True):
    """A live file, and the commit that added it last."""

    add: Add
    version: int


class TableLog(msgspec.Struct, frozen=True):
    """The log up to one version, without its file actions, which are streamed."""

    store: Store
    entries: Mapping[str, Entry]
    version: int
    base: ParsedCheckpoint | None
    """The checkpoint that replay starts from; None for version 0."""
    snapshot: Snapshot
    """The state without files and tombstones. It has the commitInfo of `version`."""

    @property
    def protocol(self) -> Protocol:
        """The protocol at the version."""
        assert self.snapshot.protocol is not None
        return self.snapshot.protocol

    @property
    def metadata(self) -> MetaData:
        """The metadata at the version."""
        assert self.snapshot.metadata is not None
        return self.snapshot.metadata

    @property
    def commits(self) -> range:
        """The versions that are replayed after the base."""
        return range(0 if self.base is None else self.base.checkpoint.version + 1, self.version + 1)

    def get_key(self, path: str) -> str:
        """Return the key of a path in the log."""
        return path_key(path, self.store.root)

    def iter_file_actions(self) -> Iterator[tuple[int, Add | Remove]]:
        """Yield adds and removes with their versions, ascending; in each version the removes first.

        Raises:
            LogUnusable: a line or row cannot be decoded.
            StorageError: a file cannot be read.
        """
        if self.base is not None:
            version = self.base.checkpoint.version
            for batch in iter_file_action_batches(self.store, self.base, compared=False):
                try:
                    actions = build_file_actions(self._complete_statistics(batch))
                except TypeError as fault:  # a required field is null
                    raise LogUnusable(f"checkpoint of version {version}: {batch.file}: {fault}", version) from fault
                yield from ((version, each) for each in actions if isinstance(each, Add | Remove))
            if self.base.incomplete_reason is not None:
                raise LogUnusable(f"checkpoint of version {version}: {self.base.incomplete_reason}", version)
        for version in self.commits:
            found: list[Any] = _read_commit(self.store, version).files.actions
            yield from ((version, each) for each in found if isinstance(each, Remove))
            yield from ((version, each) for each in found if isinstance(each, Add))

    def _complete_statistics(self, batch: FileActionBatch) -> pa.Table:
        """Return the rows of a checkpoint with JSON statistics where it has only typed ones.

        Raises:
            LogUnusable: a typed value has no JSON form.
        """
        table = batch.table
        if batch.typed is None or batch.typed.statistics is None:
            return table
        is_add = pc.equal(table["kind"], "add")
        texts, reasons = render_statistics(batch.typed, list_statistics_columns(build_state(self.snapshot)))
        positions = pl.Series(pc.indices_nonzero(is_add))
        stated = pl.Series(table["stats"])
        missing = stated.gather(positions).is_null() & (texts.str.len_bytes() > len("{}")).fill_null(False)
        if not missing.any():
            return table
        if reasons:
            raise LogUnusable(f"{batch.file}: stats_parsed: {min(reasons)}", self.version)
        stated = stated.scatter(positions.filter(missing), texts.filter(missing))
        column = pc.cast(stated.to_arrow(), table.schema.field("stats").type)
        return table.set_column(table.schema.get_field_index("stats"), "stats", column)

    def iter_live(self, keys: Collection[str] | None = None) -> Iterator[tuple[str, LiveFile]]:
        """Yield the live files of some keys, or all of them; only these are held in memory. Raises as above.

        Raises:
            StateTooLarge: more than `MAX_STATE_FILES` are live.
        """
        live: dict[str, LiveFile] = {}
        for version, action in self.iter_file_actions():
            key = self.get_key(action.path)
            if keys is not None and key not in keys:
                continue
            if isinstance(action, Add):
                live[key] = LiveFile(action, version)
                if len(live) > MAX_STATE_FILES:
                    raise StateTooLarge(f"more than {MAX_STATE_FILES:,} files are live")
            elif key in live and get_vector_id(live[key].add) == get_vector_id(action):
                del live[key]
        yield from live.items()

    def find_live(self, keys: Collection[str]) -> dict[str, LiveFile]:
        """Return the live files of some keys. Raises as `iter_live`."""
        return dict(self.iter_live(keys)) if keys else {}

    def read_state(self) -> Snapshot:
        """Return the complete state. Raises as `iter_live`."""
        live: dict[str, Add] = {}
        tombstones: dict[FileKey, Remove] = {}
        for _, action in self.iter_file_actions():
            key = self.get_key(action.path)
            file = key, get_vector_id(action)
            if isinstance(action, Add):
                live[key] = action
                tombstones.pop(file, None)
            else:
                if key in live and get_vector_id(live[key]) == file[1]:
                    del live[key]
                tombstones[file] = action
            if len(live) + len(tombstones) > MAX_STATE_FILES:
                raise StateTooLarge(f"the state has more than {MAX_STATE_FILES:,} file actions")
        files = {(key, get_vector_id(add)): add for key, add in live.items()}
        return msgspec.structs.replace(self.snapshot, files=files, tombstones=tombstones)


def open_table_log(
    store: Store, entries: Mapping[str, Entry], version: int, distrusted: Collection[str] = ()
) -> TableLog:
    """Open the log at a version. It starts from the newest checkpoint that can be used.

    Args:
        store: the table.
        entries: the listing of its log, by name.
        version: the version.
        distrusted: files that findings concern. A checkpoint with one of them is used only if no other can be.

    Raises:
        LogUnusable: a file of the log that the version needs is missing or damaged.
        StorageError: a commit cannot be read.
    """
    faults: list[LogUnusable] = []
    for base in _list_bases(entries, version, distrusted):
        try:
            return _open_at(store, entries, version, base)
        except LogUnusable as fault:
            faults.append(fault)
    if faults:
        raise max(faults, key=lambda each: each.version)
    raise LogUnusable(f"neither commit 0 nor a complete checkpoint leads to version {version} without a gap", version)


def find_last_readable(
    store: Store, entries: Mapping[str, Entry], version: int, distrusted: Collection[str] = ()
) -> int | None:
    """Return the latest version up to another one that has a state; None if there is none. Arguments as above."""
    names = [name for name in entries if name not in distrusted]
    for first, last in reversed(find_readable_ranges(names)):
        at = min(last, version)
        while at >= first:
            try:
                open_table_log(store, {name: entries[name] for name in names}, at)
            except LogUnusable as fault:
                at = min(fault.version, at) - 1
            else:
                return at
    return None


def _list_bases(entries: Mapping[str, Entry], version: int, distrusted: Collection[str]) -> list[Checkpoint | None]:
    """Return the checkpoints from which the commits up to a version are listed: trusted ones first, newest first."""
    commits = set(list_commits(entries))
    bases: list[Checkpoint | None] = []
    for each in reversed(find_complete_checkpoints(entries)):
        if each.version <= version and commits.issuperset(range(each.version + 1, version + 1)):
            bases.append(each)
    if commits.issuperset(range(version + 1)):
        bases.append(None)
    return sorted(bases, key=lambda each: each is not None and not set(distrusted).isdisjoint(each.files))


def _open_at(store: Store, entries: Mapping[str, Entry], version: int, base: Checkpoint | None) -> TableLog:
    actions: list[Any] = []
    read = None
    if base is not None:
        read = read_checkpoint(store, base, {name: entry.size_bytes for name, entry in entries.items()})
        if read.incomplete_reason is not None:
            raise LogUnusable(f"checkpoint of version {base.version}: {read.incomplete_reason}", base.version)
        actions += [action for _, _, action in read.actions]
    snapshot = _apply(Snapshot(version=version), actions)
    for number in range(0 if base is None else base.version + 1, version + 1):
        found = _read_commit(store, number)
        snapshot = _apply(
            msgspec.structs.replace(snapshot, commit_info=None),
            [each for _, each in found.actions],
        )
    if snapshot.protocol is None or snapshot.metadata is None:
        raise LogUnusable(f"version {version} has no protocol or no metadata", version)
    try:
        build_state(snapshot)
    except CorruptLog as fault:
        raise LogUnusable(f"the metadata at version {version} has a malformed {fault}", version) from fault
    if snapshot.commit_info is None and commit_name(version) in entries:  # the commit of the base
        infos = [each for _, each in _read_commit(store, version).actions if isinstance(each, CommitInfo)]
        snapshot = msgspec.structs.replace(snapshot, commit_info=infos[0] if infos else None)
    return TableLog(store, entries, version, read, snapshot)


def _apply(snapshot: Snapshot, actions: list[Any]) -> Snapshot:
    """Return a snapshot after the actions of a version that concern no file."""
    transactions, domains = dict(snapshot.transactions), dict(snapshot.domains)
    changes: dict[str, Any] = {}
    for action in actions:
        match action:
            case Protocol():
                changes["protocol"] = action
            case MetaData():
                changes["metadata"] = action
            case CommitInfo():
                changes["commit_info"] = action
            case Txn():
                transactions[action.app_id] = action
            case DomainMetadata(removed=True):
                domains.pop(action.domain, None)
            case DomainMetadata():
                domains[action.domain] = action
            case RowIdHighWaterMark():
                changes["row_id_high_water_mark"] = action
    return msgspec.structs.replace(snapshot, transactions=transactions, domains=domains, **changes)


def _read_commit(store: Store, version: int) -> Any:
    """Return the decoded lines of a commit.

    Raises:
        LogUnusable: it is missing, or a line cannot be decoded.
        StorageError: it cannot be read.
    """
    name = f"{LOG_DIRECTORY}/{commit_name(version)}"
    try:
        found = decode_lines(store.read(name, _MAX_COMMIT_BYTES))
    except StorageError as fault:
        raise LogUnusable(str(fault), version) from fault
    for line, error in found.faults.items():
        if error.is_undecodable:
            problem = (
                error.json_error or error.schema_error or "the line has several actions, or text that is not UTF-8"
            )
            raise LogUnusable(f"{name}, line {line}: {problem}", version)
    if found.unread:
        raise LogUnusable(f"{name}: {next(iter(found.unread.values()))}", version)
    return found

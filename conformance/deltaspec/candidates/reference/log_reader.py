"""Read the state of a table at a version, with the reference model. Source: Action Reconciliation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, build_checkpoint_snapshot, replay_commit
from deltaspec.protocol.actions import (
    Action,
    Add,
    Cdc,
    CommitInfo,
    DeletionVectorDescriptor,
    MetaData,
    Protocol,
    Remove,
)
from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.log.segment import (
    BrokenLog,
    Checkpoint,
    Segment,
    choose_segment,
    find_complete_checkpoints,
    find_readable_versions,
)
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.wire.log.checkpoint_reader import (
    FileActionBatch,
    ParsedCheckpoint,
    iter_file_action_batches,
    read_checkpoint,
)
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, Store
from deltaspec.wire.storage.local import LocalStore
from deltaspec.wire.storage.ratified_store import RatifiedStore

MAX_COMMIT_BYTES = 1 << 30
IN_COMMIT_TIMESTAMP, ENABLE_IN_COMMIT_TIMESTAMPS = "inCommitTimestamp", IN_COMMIT_TIMESTAMPS


class CorruptLog(ValueError):
    """The log breaks the protocol, so that the version has no state."""


class LoadedTable(msgspec.Struct, frozen=True):
    """The state of a table at one version, with everything needed to read its files."""

    snapshot: Snapshot
    protocol: Protocol
    metadata: MetaData
    schema: Struct
    mapping: str | None
    """Column mapping mode."""

    @property
    def partition_columns(self) -> list[str]:
        return self.metadata.partition_columns


class LogReader:
    """The log of a table in a local directory.

    The public methods can be replaced, to build faulty readers.

    Args:
        table: path of the table.
        catalog: what its catalog knows, as in a request; None for a table that is named by its path alone.

    Raises:
        DeltaspecError: there is no log.
    """

    def __init__(self, table: str, catalog: Mapping[str, Any] | None = None) -> None:
        self.catalog = None if catalog is None else msgspec.convert(catalog, CatalogAnswer)
        self.store: Store = self.open_store(LocalStore(table))
        self.access = DataAccess(self.store, allow_outside=True)
        self.entries: dict[str, Entry] = self.list_entries()

    def open_store(self, store: LocalStore) -> Store:
        """Return the table as a reader sees it that has asked the catalog."""
        known = self.catalog
        return store if known is None else RatifiedStore(store, known.sources, known.contents, known.latest_version)

    def list_entries(self) -> dict[str, Entry]:
        """List the files of the log by name."""
        return {entry.name: entry for entry in self.store.list_log()}

    def find_versions(self) -> tuple[int, int]:
        """Return the oldest and the newest readable version. Raises `SegmentError`."""
        return find_readable_versions(self.entries)

    def read_state(self, version: int | None = None) -> LoadedTable:
        """Return the state of a version; None for the newest.

        Raises:
            SegmentError: files of the version are missing, or there is no such version.
            CorruptLog: a file of the log is damaged.
            DeltaspecError: a file cannot be read.
        """
        segment = self.choose_segment(version)
        snapshot = EMPTY_SNAPSHOT
        if segment.checkpoint is not None:
            actions = self.read_checkpoint(segment.checkpoint)
            snapshot = build_checkpoint_snapshot(segment.checkpoint.version, actions)
        for commit in segment.commits:
            snapshot = self.replay_commit(snapshot, commit, self.read_commit(commit))
        return self.build_state(snapshot)

    def choose_segment(self, version: int | None) -> Segment:
        """Choose the files that produce a version. Raises `SegmentError`."""
        if version is None and self.catalog is not None:
            version = self.catalog.latest_version
        return choose_segment(self.entries, at=version)

    def replay_commit(self, snapshot: Snapshot, version: int, actions: Sequence[Action]) -> Snapshot:
        """Return the snapshot after a commit."""
        return replay_commit(snapshot, version, actions)

    def build_state(self, snapshot: Snapshot) -> LoadedTable:
        """Return a snapshot with its schema. Raises `CorruptLog`."""
        return build_state(snapshot)

    def read_commit(self, version: int) -> list[Action]:
        """Return the actions of a commit; unknown actions are ignored.

        Raises:
            CorruptLog: a line is not an action.
        """
        return self.read_actions(commit_name(version))

    def read_actions(self, file: str) -> list[Action]:
        """Return the actions of a commit or log compaction by its name. Raises `CorruptLog`."""
        name = f"{LOG_DIRECTORY}/{file}"
        found = decode_lines(self.store.read(name, MAX_COMMIT_BYTES))
        for line, fault in found.faults.items():
            problem = fault.json_error or fault.schema_error
            if problem is not None:
                raise CorruptLog(f"{name}, line {line}: {problem}")
        actions: list[Any] = [action for _, action in found.actions]
        return [*actions, *found.files.actions]

    def read_checkpoint(self, checkpoint: Checkpoint) -> list[Action]:
        """Return the actions of a checkpoint and its sidecars. Raises `CorruptLog`."""
        sizes = {name: entry.size_bytes for name, entry in self.entries.items()}
        read = read_checkpoint(self.store, checkpoint, sizes)
        batches = self.list_checkpoint_batches(read)
        if not read.is_complete or read.faults:
            problem = read.unreadable or read.storage_error or "a sidecar or an action cannot be read"
            raise CorruptLog(f"checkpoint of version {checkpoint.version}: {problem}")
        actions: list[Any] = [action for _, _, action in read.actions]
        for batch in batches:
            actions += build_file_actions(batch.table)
        return actions

    def list_sidecars(self, names: Iterable[str]) -> set[str]:
        """Return the names of the sidecars to which the checkpoints among these files refer."""
        sizes = {name: entry.size_bytes for name, entry in self.entries.items()}
        reads = [read_checkpoint(self.store, each, sizes) for each in find_complete_checkpoints(names)]
        return {each.name for read in reads for each in read.sidecars if each.name is not None}

    def list_checkpoint_batches(self, read: ParsedCheckpoint) -> list[FileActionBatch]:
        """Return the file actions of a checkpoint and its sidecars."""
        return list(iter_file_action_batches(self.store, read, compared=False))

    def iter_states(self, start: int, end: int) -> Iterator[LoadedTable]:
        """Yield the states of a range of versions; first the state of the version before it, if it is readable."""
        first = max(start - 1, self.find_versions()[0])
        state = self.read_state(first)
        yield state
        for version in range(first + 1, end + 1):
            if commit_name(version) not in self.entries:
                raise BrokenLog(version, end)
            state = self.build_state(self.replay_commit(state.snapshot, version, self.read_commit(version)))
            yield state

    def get_timestamp_ms(self, state: LoadedTable) -> int:
        """Return the timestamp of a version: the in-commit timestamp if enabled there, otherwise the file time."""
        stated = self._read_enabled_timestamp(state)
        return self.entries[commit_name(state.snapshot.version)].modified_ms if stated is None else stated

    def _read_enabled_timestamp(self, state: LoadedTable) -> int | None:
        """Return the in-commit timestamp of a version; None if it has none, or they are not enabled there."""
        enabled = supports(state.protocol, IN_COMMIT_TIMESTAMP) and is_property_true(
            state.metadata.configuration, ENABLE_IN_COMMIT_TIMESTAMPS
        )
        return self.read_in_commit_timestamp(state.snapshot) if enabled else None

    def read_in_commit_timestamp(self, snapshot: Snapshot) -> int | None:
        """Return the in-commit timestamp of a version; checkpoints do not have it, so it is in the commit."""
        info = snapshot.commit_info
        if info is None and commit_name(snapshot.version) in self.entries:
            actions = self.read_commit(snapshot.version)
            info = next((each for each in actions if isinstance(each, CommitInfo)), None)
        return None if info is None else info.in_commit_timestamp

    def find_version_at(self, timestamp_ms: int) -> int | None:
        """Return the newest version that is not younger than a timestamp; None if all are."""
        first, last = self.find_versions()
        found, latest_file_time = None, None
        for state in self.iter_states(first, last):
            version = state.snapshot.version
            if commit_name(version) not in self.entries:
                continue
            time = self.get_timestamp_ms(state)
            if self._read_enabled_timestamp(state) is None:  # file times may run backwards (S69)
                latest_file_time = time = max(time, time if latest_file_time is None else latest_file_time)
            if time <= timestamp_ms:
                found = version
        return found


def build_state(snapshot: Snapshot) -> LoadedTable:
    """Return a snapshot with its schema. Raises `CorruptLog` if it has no protocol or no metadata."""
    if snapshot.protocol is None or snapshot.metadata is None:
        raise CorruptLog("the log has no protocol or no metadata")
    supported = supports(snapshot.protocol, "columnMapping")
    mapping = column_mapping.get_mapping_mode(snapshot.metadata.configuration, supported=supported)
    try:
        schema = parse_schema(snapshot.metadata.schema_string)
    except ValueError as error:
        raise CorruptLog(f"schemaString: {error}") from None
    return LoadedTable(snapshot, snapshot.protocol, snapshot.metadata, schema, mapping)


def build_file_actions(rows: pa.Table) -> list[Add | Remove | Cdc]:
    """Build the actions of rows with the columns of `FILE_ACTION_SCHEMA`."""
    found: list[Add | Remove | Cdc] = []
    for row in rows.to_pylist(maps_as_pydicts="lossy"):
        kind = _KINDS[row["kind"]]
        if row["dv_storage_type"] is not None:
            row["deletion_vector"] = DeletionVectorDescriptor(
                storage_type=row["dv_storage_type"],
                path_or_inline_dv=row["dv_path_or_inline"],
                offset=row["dv_offset"],
                size_in_bytes=row["dv_size_in_bytes"],
                cardinality=row["dv_cardinality"],
            )
        found.append(kind(**{name: row[name] for name in kind.__struct_fields__ if row.get(name) is not None}))
    return found


_KINDS: dict[str, type[Any]] = {"add": Add, "remove": Remove, "cdc": Cdc}

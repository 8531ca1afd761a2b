"""Row-level changes of a table between two versions. Source: Add CDC File, Change Data Files.

The model opens no files: the caller provides the rows of data files and change data files, and the contents of deletion
vectors. It answers like a reader of changes, and such readers are tested against it.

Interpretations where no revision is specific:

- Without change data, rows of adds are inserts and rows of removes are deletes. A row that stays in place, in a file
  that is added again or gets another deletion vector, is neither.
- `dataChange=false` rearranges rows. If only some actions of a commit say so, the rows that they move are subtracted
  from what the other actions add and remove.
- Rows of all versions have the schema of the last version. A column that is missing from an older file is null, and a
  dropped column is omitted. An illegal type change makes the changes unavailable. Void is always null and may become
  any type.
- The protocol does not cover versions without change data feed, and its rule for versions without change data files
  would apply. Engines refuse to read them; so does the model, unless `feed_required` is False.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from deltaspec.model.log.proposed_commit import read_mapping_mode, read_schema
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, replay_commit, replay_log
from deltaspec.model.rows import changed_rows
from deltaspec.protocol.actions import Action, Add, Cdc, DeletionVectorDescriptor, MetaData, Remove
from deltaspec.protocol.features.change_data import CHANGE_TYPE, CHANGE_TYPES, COMMIT_COLUMNS, DELETE, INSERT, POSTIMAGE
from deltaspec.protocol.features.table_properties import has_in_commit_timestamps
from deltaspec.protocol.files import deletion_vectors
from deltaspec.protocol.files.partition_values import parse_partition_value
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Array, DataType, Map, Primitive, Struct, is_widening

Row: TypeAlias = Mapping[str, Any]
"""Values by column; structs are mappings. Values have the types of the schema in which they are read."""


class ChangesUnavailable(ValueError):
    """The changes of a range of versions cannot be determined; readers must report it."""

    def __init__(self, reason: str, versions: Iterable[int]) -> None:
        self.reason = reason
        """`feed not enabled`, `no log` (commits are deleted or do not exist yet) or `schema`."""
        self.versions = tuple(versions)
        """Versions without feed or commit, or the first one whose schema does not fit. That may be the version before
        the range, if rows of it are deleted.
        """
        super().__init__(f"{reason}: version {', '.join(map(str, self.versions))}")


class ChangeDataError(ValueError):
    """Change data that violates the protocol: a row without one of the four change types."""


class FileContents(msgspec.Struct, frozen=True):
    """Contents of a table's files; any mapping with `[]` works and may read lazily."""

    rows: Mapping[str, Sequence[Row]] = msgspec.field(default_factory=dict)
    """Rows of each data file or change data file by `paths.path_key`, including deleted rows, in file order. Columns
    have physical names: in `id` mode the caller resolves the ids. Partition columns are optional, and extra columns are
    ignored.
    """
    vectors: Mapping[str, Collection[int]] = msgspec.field(default_factory=dict)
    """Deleted row indexes by unique id of the deletion vector. Inline vectors need no entry."""


class RowChange(msgspec.Struct, frozen=True):
    """One change of one row."""

    change_type: str
    """`insert`, `update_preimage`, `update_postimage` or `delete`."""
    row: Row
    """Values by logical name, including partition columns."""
    commit_version: int
    commit_timestamp_ms: int | None
    """Milliseconds since the epoch; None if the modification time of the commit file is unknown."""

    @property
    def with_commit_columns(self) -> dict[str, Any]:
        """The row with `_change_type`, `_commit_version` and `_commit_timestamp` (microseconds since the epoch)."""
        at = None if self.commit_timestamp_ms is None else self.commit_timestamp_ms * 1000
        version_column, timestamp_column = COMMIT_COLUMNS
        return {
            **self.row,
            CHANGE_TYPE: self.change_type,
            version_column: self.commit_version,
            timestamp_column: at,
        }


def compute_row_changes(
    log: Mapping[int, Sequence[Action]],
    start: int,
    end: int,
    *,
    files: FileContents,
    base: Snapshot = EMPTY_SNAPSHOT,
    modification_times_ms: Mapping[int, int] | None = None,
    feed_required: bool = True,
    revision: Revision = Revision.CURRENT,
) -> list[RowChange]:
    """Return the row-level changes of the versions `start` to `end`, both included, ordered by version.

    Within a version, deletes precede inserts; otherwise the order has no meaning.

    Args:
        log: Actions by version, from `base` to `end`.
        start: First version.
        end: Last version.
        files: Contents of the files that these versions refer to.
        base: State of the table before `start`; by default the log begins with version 0.
        modification_times_ms: Modification time of each commit file, in milliseconds since the epoch.
        feed_required: Whether to refuse versions without change data feed, as engines do. If False, treat them like
            versions without change data files.
        revision: Protocol revision.

    Raises:
        ChangesUnavailable: The feed is not enabled, commits are missing, or the schema is incompatible.
        ChangeDataError: A row of a change data file has no valid change type.
        KeyError: `files` does not have a required file or vector.
    """
    _check_log(log, start, end, base)
    if feed_required and (missing := find_versions_without_feed(log, start, end, base=base, revision=revision)):
        raise ChangesUnavailable("feed not enabled", missing)
    last = replay_log(log, base=base, to=end, revision=revision)
    reader = _Reader(files, last)
    before = replay_log(log, base=base, to=start - 1, revision=revision)
    found: list[RowChange] = []
    for version in range(start, end + 1):
        after = replay_commit(before, version, log[version], revision)
        reader.check_schema(after)
        at = get_commit_timestamp_ms(after, (modification_times_ms or {}).get(version), revision)
        for kind, row in _changes_of_commit(reader, before, after, log[version]):
            found.append(RowChange(kind, row, version, at))
        before = after
    return found


def _check_log(log: Mapping[int, Sequence[Action]], start: int, end: int, base: Snapshot) -> None:
    if start > end:
        raise ValueError(f"version {start} is after version {end}")
    needed = range(base.version + 1, end + 1)
    missing = [version for version in needed if version not in log]
    if missing or start <= base.version:
        raise ChangesUnavailable("no log", missing or range(start, min(end, base.version) + 1))


def find_versions_without_feed(
    log: Mapping[int, Sequence[Action]],
    start: int,
    end: int,
    *,
    base: Snapshot = EMPTY_SNAPSHOT,
    revision: Revision = Revision.CURRENT,
) -> list[int]:
    """Return the versions at which change data feed is not enabled; a commit's own metadata counts."""
    found = []
    snapshot = replay_log(log, base=base, to=start - 1, revision=revision)
    for version in range(start, end + 1):
        snapshot = replay_commit(snapshot, version, log[version], revision)
        if not _has_feed(snapshot):
            found.append(version)
    return found


def _has_feed(snapshot: Snapshot) -> bool:
    if snapshot.protocol is None or snapshot.metadata is None:
        return False
    return changed_rows.is_enabled(snapshot.protocol, snapshot.metadata)


def get_commit_timestamp_ms(
    snapshot: Snapshot, modification_time_ms: int | None, revision: Revision = Revision.CURRENT
) -> int | None:
    """Return the commit time of a version: its in-commit timestamp if enabled, else the time of its file.

    Args:
        snapshot: Snapshot of the version.
        modification_time_ms: Modification time of its commit file.

    Source: Reader Requirements for AddCDCFile.
    """
    if not revision.since(Revision.CURRENT):  # [Changed in current] before, always the time of the file
        return modification_time_ms
    if snapshot.protocol is None or snapshot.metadata is None:
        return modification_time_ms
    if has_in_commit_timestamps(snapshot.protocol, snapshot.metadata):
        return snapshot.commit_info.in_commit_timestamp if snapshot.commit_info else None
    return modification_time_ms


def read_rows(snapshot: Snapshot, files: FileContents, *, read_as: Snapshot | None = None) -> list[Row]:
    """Return the rows of a table at a version, file by file.

    Args:
        snapshot: The table.
        files: Contents of its files.
        read_as: Snapshot whose schema the rows get; by default the snapshot itself.
    """
    reader = _Reader(files, read_as or snapshot)
    live = snapshot.files.values()
    return [reader.row_at((add, at), snapshot) for add in live for at in reader.visible(add)]


def build_row_key(row: Any) -> Hashable:
    """Return a key that is equal for equal rows: NaN equals itself; 0.0 and -0.0 differ, and so do 1 and True."""
    if isinstance(row, Mapping):
        return frozenset((name, build_row_key(value)) for name, value in row.items())
    if isinstance(row, list | tuple):
        return tuple(build_row_key(value) for value in row)
    return type(row).__name__, repr(row)


def compute_net_effect(found: Iterable[RowChange]) -> Counter[Hashable]:
    """Return by how much the number of each row (as `build_row_key`) changes; unchanged rows are omitted.

    The result does not depend on how commits are recorded: with change data files, or as adds and removes.
    """
    balance: Counter[Hashable] = Counter()
    for change in found:
        balance[build_row_key(change.row)] += 1 if change.change_type in (INSERT, POSTIMAGE) else -1
    return Counter({row: times for row, times in balance.items() if times})


RowLocation: TypeAlias = tuple[Add, int]
"""Logical file and row index."""


def _changes_of_commit(
    reader: "_Reader", before: Snapshot, after: Snapshot, actions: Iterable[Action]
) -> Iterator[tuple[str, Row]]:
    """Reader Requirements for AddCDCFile: read only change data files, or otherwise the adds and removes."""
    change_files = [action for action in actions if isinstance(action, Cdc)]
    if change_files:
        for cdc in change_files:
            yield from reader.changes_in(cdc, after)
        return
    files = [action for action in actions if isinstance(action, Add | Remove)]
    changing = {path_key(action.path) for action in files if action.data_change}
    deleted: dict[bool, list[Row]] = {True: [], False: []}
    inserted: dict[bool, list[Row]] = {True: [], False: []}
    for path in dict.fromkeys(path_key(action.path) for action in files):
        old, new = _list_locations(reader, before, path), _list_locations(reader, after, path)
        disappeared = _subtract(old, new)
        if disappeared:
            reader.check_schema(before)
        deleted[path in changing] += [reader.row_at(location, before) for location in disappeared]
        inserted[path in changing] += [reader.row_at(location, after) for location in _subtract(new, old)]
    for row in _exclude_moved(deleted[True], moved_in=inserted[False], moved_out=deleted[False]):
        yield DELETE, row
    for row in _exclude_moved(inserted[True], moved_in=deleted[False], moved_out=inserted[False]):
        yield INSERT, row


def _list_locations(reader: "_Reader", snapshot: Snapshot, path: str) -> list[RowLocation]:
    """Return the visible rows of a path in a snapshot."""
    live = [add for (key, _), add in snapshot.files.items() if key == path]
    return [(add, at) for add in live for at in reader.visible(add)]


def _subtract(locations: list[RowLocation], others: list[RowLocation]) -> list[RowLocation]:
    """Return the locations whose row index is not among the others; a row visible in both has not changed."""
    remaining = Counter(at for _, at in others)
    kept = []
    for add, at in locations:
        if remaining[at]:
            remaining[at] -= 1
        else:
            kept.append((add, at))
    return kept


def _exclude_moved(rows: list[Row], moved_in: list[Row], moved_out: list[Row]) -> list[Row]:
    """Return rows of actions with `dataChange=true`, without those that other actions of the commit only move.

    A row that an add moves in comes from a remove of the commit. Either that remove moves rows too, or it changes data,
    and then this row was not deleted. The same applies to inserts, in reverse.
    """
    moved = Counter(map(build_row_key, moved_in)) - Counter(map(build_row_key, moved_out))
    kept = []
    for row in rows:
        if moved[build_row_key(row)]:
            moved[build_row_key(row)] -= 1
        else:
            kept.append(row)
    return kept


class _Reader:
    """Reads files of a table at any version in the schema of one version."""

    def __init__(self, files: FileContents, read_as: Snapshot) -> None:
        self.files = files
        self.schema = read_schema(read_as.metadata) or Struct(())
        self.mapping = read_mapping_mode(read_as)

    def stored(self, path: str) -> Sequence[Row]:
        """Return the rows of a file by physical names; `path` is spelled as in the log."""
        return self.files.rows[path_key(path)]

    def visible(self, add: Add) -> list[int]:
        """Return the indexes of the rows that the deletion vector of a logical file keeps."""
        deleted = set() if add.deletion_vector is None else self._indexes(add.deletion_vector)
        return [at for at in range(len(self.stored(add.path))) if at not in deleted]

    def _indexes(self, vector: DeletionVectorDescriptor) -> set[int]:
        if vector.storage_type == "i" and vector.unique_id not in self.files.vectors:
            return set(deletion_vectors.decode_bitmap(deletion_vectors.decode_inline(vector)))
        return set(self.files.vectors[vector.unique_id])

    def changes_in(self, cdc: Cdc, snapshot: Snapshot) -> Iterator[tuple[str, Row]]:
        """Yield the changes that a change data file records."""
        for stored in self.stored(cdc.path):
            kind = stored.get(CHANGE_TYPE)
            if kind not in CHANGE_TYPES:
                raise ChangeDataError(f"{cdc.path}: {kind!r} is not a change type")
            yield kind, self.row(cdc, snapshot, stored)

    def row_at(self, location: RowLocation, snapshot: Snapshot) -> Row:
        """Return the row at a location of a snapshot."""
        add, at = location
        return self.row(add, snapshot, self.stored(add.path)[at])

    def row(self, action: Add | Cdc, snapshot: Snapshot, stored: Row) -> Row:
        """Return a row by logical names: partition values from the log, the rest from the file, missing values null."""
        partitions = _partition_keys(snapshot)
        row = {}
        for member in self.schema.fields:
            name = column_mapping.physical_name(member, self.mapping)
            if name in partitions:
                row[member.name] = parse_partition_value(action.partition_values.get(name), member.type)
            else:
                row[member.name] = self._read(stored.get(name), member.type)
        return row

    def _read(self, value: Any, data_type: DataType) -> Any:
        """Return a value by logical names, without members that are not in the schema."""
        match data_type:
            case Struct(fields) if value is not None:
                names = [(each.name, column_mapping.physical_name(each, self.mapping), each.type) for each in fields]
                return {name: self._read(value.get(physical), type_) for name, physical, type_ in names}
            case Array(element) if value is not None:
                return [self._read(each, element) for each in value]
            case Map(key, kind_of_value) if value is not None:
                entries = value.items() if isinstance(value, Mapping) else value
                return [(self._read(name, key), self._read(each, kind_of_value)) for name, each in entries]
        return value

    def check_schema(self, snapshot: Snapshot) -> None:
        """Refuse a version if one of its columns has a type that cannot become the type in the result schema."""
        schema = read_schema(snapshot.metadata)
        if schema is None or not _fits(schema, read_mapping_mode(snapshot), self.schema, self.mapping):
            raise ChangesUnavailable("schema", (snapshot.version,))


def _partition_keys(snapshot: Snapshot) -> set[str]:
    """Return the physical names of the partition columns."""
    metadata: MetaData | None = snapshot.metadata
    schema = read_schema(metadata)
    if metadata is None or schema is None:
        return set()
    return set(
        column_mapping.list_physical_partition_columns(schema, metadata.partition_columns, read_mapping_mode(snapshot))
    )


def _fits(before: DataType, mapping: str | None, after: DataType, mapping_after: str | None) -> bool:
    """Return whether values of one type can be read as the other: identical, void or widened; structs by column."""
    match before, after:
        case Struct(old), Struct(new):
            types = {column_mapping.physical_name(each, mapping): each.type for each in old}
            pairs = [(types.get(column_mapping.physical_name(each, mapping_after)), each.type) for each in new]
            return all(was is None or _fits(was, mapping, now, mapping_after) for was, now in pairs)
        case Array(old_element), Array(new_element):
            return _fits(old_element, mapping, new_element, mapping_after)
        case Map(old_key, old_value), Map(new_key, new_value):
            keys = _fits(old_key, mapping, new_key, mapping_after)
            return keys and _fits(old_value, mapping, new_value, mapping_after)
    return before in (after, Primitive("void")) or is_widening(before, after)

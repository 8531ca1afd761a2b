"""What happened to the rows of a table between two versions. Source: Add CDC File, Change Data Files.

The model opens no file: whoever asks hands over the rows of data files and change data files, and what deletion vectors
hold. It answers as a reader of changes does, and is the oracle that such readers are held against.

Readings, where every revision is silent:

- Without change data, the rows of adds are inserts and those of removes are deletes. A row that stays where it is, in a
  file that is described anew or gets another deletion vector, is neither.
- `dataChange=false` rearranges rows. Where only some actions of a commit say so, the rows that they move are taken out
  of what the others add and remove.
- Rows of all versions are given in one schema, that of the last version. A column that an older file lacks is null, and
  one that has gone since is left out; a column that has changed its type in no legal way makes the changes unavailable.
  Void holds null alone, and may become any type.
- Nothing is said of versions at which change data feed is not enabled, and what is said of versions without change data
  files fits them. Engines refuse to read them; so does the model, unless told to go by the text.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from deltaspec.model.actions import Action, Add, Cdc, DeletionVectorDescriptor, MetaData, Remove
from deltaspec.model.features.table_properties import in_commit_timestamps_enabled
from deltaspec.model.log.paths import path_key
from deltaspec.model.log.proposed_commit import read_mapping_mode, read_schema
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, replay_commit, replay_log
from deltaspec.model.revisions import Revision
from deltaspec.model.rows import change_data, deletion_vectors
from deltaspec.model.rows.change_data import CHANGE_TYPE, CHANGE_TYPES, COMMIT_COLUMNS, DELETE, INSERT, POSTIMAGE
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import Array, DataType, Map, Primitive, Struct, is_widening
from deltaspec.model.schema.partition_values import parse_partition_value

Row: TypeAlias = Mapping[str, Any]
"""Column to value; a struct is a mapping as well. Values are of the types of the schema that they are read in."""


class ChangesUnavailable(ValueError):
    """The changes of a range of versions cannot be told, and readers have to say so."""

    def __init__(self, reason: str, versions: Iterable[int]) -> None:
        self.reason = reason
        """`feed not enabled`, `no log` (commits are gone, or not there yet) or `schema`."""
        self.versions = tuple(versions)
        """Where: those without feed or commit, or the first whose schema does not fit: the one before the range too,
        where rows of it are deleted."""
        super().__init__(f"{reason}: version {', '.join(map(str, self.versions))}")


class ChangeDataError(ValueError):
    """Change data that break the text: a row without one of the four change types."""


@dataclass(frozen=True)
class TableFiles:
    """What a table's files hold, as far as it is asked for: anything with `[]` will do, and may read lazily."""

    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    """Path as `paths.path_key` gives it to the rows of that data file or change data file, deleted ones too, in their
    order. Columns go by their physical names: in `id` mode the caller has found them by their ids. Partition columns
    need not be there, and columns that the table lacks do no harm."""
    vectors: Mapping[str, Collection[int]] = field(default_factory=dict)
    """Unique id of a deletion vector to the row indexes it holds. Vectors within the log need no entry."""


@dataclass(frozen=True)
class RowChange:
    """One change of one row."""

    change_type: str
    """`insert`, `update_preimage`, `update_postimage` or `delete`."""
    row: Row
    """By logical names, partition columns included."""
    commit_version: int
    commit_timestamp_ms: int | None
    """Since the epoch; None where nobody said when the commit file was written."""

    @property
    def with_commit_columns(self) -> dict[str, Any]:
        """The row as readers of changes show it: with `_change_type`, `_commit_version` and `_commit_timestamp`, the
        last one in microseconds since the epoch."""
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
    files: TableFiles,
    base: Snapshot = EMPTY_SNAPSHOT,
    modification_times_ms: Mapping[int, int] | None = None,
    feed_required: bool = True,
    revision: Revision = Revision.CURRENT,
) -> list[RowChange]:
    """The row-level changes of the versions `start` to `end`, both included, in the order of the versions.

    Within a version the order says nothing, but that deletes stand before inserts.

    Args:
        log: version to its actions; those from `base` to `end`.
        start: first version whose changes are asked for.
        end: last one.
        files: what the files hold that these versions name.
        base: the table at some version before `start`; by default the log begins with version 0.
        modification_times_ms: version to the modification time of its commit file, in milliseconds since the epoch.
        feed_required: refuse versions at which change data feed is not enabled, as engines do. False: take them as the
            text takes every version without change data files.
        revision: of the text.

    Raises:
        ChangesUnavailable: the feed is not enabled, the log does not reach, or the schema changed beyond reading.
        ChangeDataError: a change data file has a row without a change type.
        KeyError: `files` lacks a file or a vector that is needed.
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
        at = commit_timestamp_ms(after, (modification_times_ms or {}).get(version), revision)
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
    """The versions at which change data feed is not enabled; a commit that sets the property counts as what it sets."""
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
    return change_data.is_enabled(snapshot.protocol, snapshot.metadata)


def commit_timestamp_ms(
    snapshot: Snapshot, modification_time_ms: int | None, revision: Revision = Revision.CURRENT
) -> int | None:
    """When a version was committed: its in-commit timestamp where those are enabled, else the time of its file.

    Args:
        snapshot: of the version.
        modification_time_ms: of its commit file.

    Source: Reader Requirements for AddCDCFile.
    """
    if not revision.since(Revision.CURRENT):  # [Changed in current] always the time of the file before
        return modification_time_ms
    if snapshot.protocol is None or snapshot.metadata is None:
        return modification_time_ms
    if in_commit_timestamps_enabled(snapshot.protocol, snapshot.metadata):
        return snapshot.commit_info.in_commit_timestamp if snapshot.commit_info else None
    return modification_time_ms


def read_rows(snapshot: Snapshot, files: TableFiles, *, read_as: Snapshot | None = None) -> list[Row]:
    """The rows of a table at a version, file by file.

    Args:
        snapshot: the table.
        files: what its files hold.
        read_as: whose schema the rows are given in; by default that of the snapshot itself.
    """
    reader = _Reader(files, read_as or snapshot)
    live = snapshot.files.values()
    return [reader.row_at((add, at), snapshot) for add in live for at in reader.visible(add)]


def row_key(row: Any) -> Hashable:
    """What is equal for rows of the same values: NaN equals itself, 0.0 does not equal -0.0, nor 1 equal True."""
    if isinstance(row, Mapping):
        return frozenset((name, row_key(value)) for name, value in row.items())
    if isinstance(row, list | tuple):
        return tuple(row_key(value) for value in row)
    return type(row).__name__, repr(row)


def compute_net_effect(found: Iterable[RowChange]) -> Counter[Hashable]:
    """By how much each row (as `row_key`) becomes more or less frequent; rows that come and go alike are left out.

    What two ways of recording the same commits share: with change data files, or as adds and removes.
    """
    balance: Counter[Hashable] = Counter()
    for change in found:
        balance[row_key(change.row)] += 1 if change.change_type in (INSERT, POSTIMAGE) else -1
    return Counter({row: times for row, times in balance.items() if times})


Place: TypeAlias = tuple[Add, int]
"""A row by its logical file and its index."""


def _changes_of_commit(
    reader: "_Reader", before: Snapshot, after: Snapshot, actions: Iterable[Action]
) -> Iterator[tuple[str, Row]]:
    """Reader Requirements for AddCDCFile: change data files alone, or else what is added and removed."""
    change_files = [action for action in actions if isinstance(action, Cdc)]
    if change_files:
        for cdc in change_files:
            yield from reader.changes_in(cdc, after)
        return
    files = [action for action in actions if isinstance(action, Add | Remove)]
    changing = {path_key(action.path) for action in files if action.data_change}
    going: dict[bool, list[Row]] = {True: [], False: []}
    coming: dict[bool, list[Row]] = {True: [], False: []}
    for path in dict.fromkeys(path_key(action.path) for action in files):
        old, new = _places(reader, before, path), _places(reader, after, path)
        gone = _less(old, new)
        if gone:
            reader.check_schema(before)
        going[path in changing] += [reader.row_at(place, before) for place in gone]
        coming[path in changing] += [reader.row_at(place, after) for place in _less(new, old)]
    for row in _not_moved(going[True], moved_here=coming[False], moved_away=going[False]):
        yield DELETE, row
    for row in _not_moved(coming[True], moved_here=going[False], moved_away=coming[False]):
        yield INSERT, row


def _places(reader: "_Reader", snapshot: Snapshot, path: str) -> list[Place]:
    """The rows of a path that a snapshot shows."""
    live = [add for (key, _), add in snapshot.files.items() if key == path]
    return [(add, at) for add in live for at in reader.visible(add)]


def _less(places: list[Place], others: list[Place]) -> list[Place]:
    """The places that the others lack: a row that both show has not changed."""
    spare = Counter(at for _, at in others)
    kept = []
    for add, at in places:
        if spare[at]:
            spare[at] -= 1
        else:
            kept.append((add, at))
    return kept


def _not_moved(rows: list[Row], moved_here: list[Row], moved_away: list[Row]) -> list[Row]:
    """Rows of actions with `dataChange=true` without those that the others of the commit only move.

    A row that an add moves here comes out of some remove of the commit: of one that moves rows away, or else of one
    that changes the table, where it has not been deleted then. For inserts it is the other way round.
    """
    moved = Counter(map(row_key, moved_here)) - Counter(map(row_key, moved_away))
    kept = []
    for row in rows:
        if moved[row_key(row)]:
            moved[row_key(row)] -= 1
        else:
            kept.append(row)
    return kept


class _Reader:
    """Reads files of a table at any version in the schema of one of them."""

    def __init__(self, files: TableFiles, read_as: Snapshot) -> None:
        self.files = files
        self.schema = read_schema(read_as.metadata) or Struct(())
        self.mapping = read_mapping_mode(read_as)

    def stored(self, path: str) -> Sequence[Row]:
        """The rows in a file, by physical names; its path as the log spells it."""
        return self.files.rows[path_key(path)]

    def visible(self, add: Add) -> list[int]:
        """Indexes of the rows that the deletion vector of a logical file leaves."""
        gone = set() if add.deletion_vector is None else self._indexes(add.deletion_vector)
        return [at for at in range(len(self.stored(add.path))) if at not in gone]

    def _indexes(self, vector: DeletionVectorDescriptor) -> set[int]:
        if vector.storage_type == "i" and vector.unique_id not in self.files.vectors:
            return set(deletion_vectors.decode_bitmap(deletion_vectors.decode_inline(vector)))
        return set(self.files.vectors[vector.unique_id])

    def changes_in(self, cdc: Cdc, snapshot: Snapshot) -> Iterator[tuple[str, Row]]:
        """The changes that a change data file records."""
        for stored in self.stored(cdc.path):
            kind = stored.get(CHANGE_TYPE)
            if kind not in CHANGE_TYPES:
                raise ChangeDataError(f"{cdc.path}: {kind!r} is no change type")
            yield kind, self.row(cdc, snapshot, stored)

    def row_at(self, place: Place, snapshot: Snapshot) -> Row:
        """The row at a place of a file that a snapshot has."""
        add, at = place
        return self.row(add, snapshot, self.stored(add.path)[at])

    def row(self, action: Add | Cdc, snapshot: Snapshot, stored: Row) -> Row:
        """A row by logical names: partition values from the log, the rest from the file, null for what it lacks."""
        partitions = _partition_keys(snapshot)
        row = {}
        for member in self.schema.fields:
            name = column_mapping.physical_name(member, self.mapping)
            if name in partitions:
                row[member.name] = parse_partition_value(action.partition_values.get(name), member.type)
            else:
                row[member.name] = self._read(stored.get(name), member.type)
        return row

    def _read(self, value: Any, kind: DataType) -> Any:
        """A value by logical names, without what the schema lacks."""
        match kind:
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
        """Refuse a version with a column that the schema has with a type that its own may not become."""
        schema = read_schema(snapshot.metadata)
        if schema is None or not _fits(schema, read_mapping_mode(snapshot), self.schema, self.mapping):
            raise ChangesUnavailable("schema", (snapshot.version,))


def _partition_keys(snapshot: Snapshot) -> set[str]:
    """Physical names of the partition columns."""
    metadata: MetaData | None = snapshot.metadata
    schema = read_schema(metadata)
    if metadata is None or schema is None:
        return set()
    return set(
        column_mapping.physical_partition_columns(schema, metadata.partition_columns, read_mapping_mode(snapshot))
    )


def _fits(before: DataType, mapping: str | None, after: DataType, mapping_after: str | None) -> bool:
    """Whether values of one type can be read as the other: the same, null, or widened; structs column by column."""
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

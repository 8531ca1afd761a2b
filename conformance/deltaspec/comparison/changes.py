"""The judge of changes: read the changed rows of a range of versions, from change data files or from adds and removes.

Source: Change Data Files, Add CDC File. A file that a commit removes and adds with another deletion vector has changed
rows only where the vectors differ. The protocol does not say which schema the changes of a range have if it changes in
between, so such a range is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl
import pyarrow as pa
from msgspec.structs import replace
from pyroaring import BitMap64

from deltaspec.comparison.hashed_rows import HashedRows, RowSums, hash_partition
from deltaspec.comparison.judge import READ_ERRORS, ColumnUndecided, Judge, OpenedFile
from deltaspec.comparison.judged_table import JudgedTable
from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.protocol.actions import Add, Cdc, DeletionVectorDescriptor, MetaData, Remove
from deltaspec.protocol.features.change_data import CHANGE_TYPE, COMMIT_COLUMNS, DELETE, INSERT
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import CHANGE_DATA_FEED, COLUMN_MAPPING_MODE
from deltaspec.protocol.schema.data_types import Field, Primitive
from deltaspec.sql.terms import Undecided
from deltaspec.validation.data.commit_reader import MAX_COMMIT_BYTES
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.data.row_hashing import Incomparable, hash_result_leaf
from deltaspec.wire.log.line_decoder import LogFile, decode_lines
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import Batch
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

_STRING, _LONG = Primitive("string"), Primitive("long")
ADDED_FIELDS = (Field(CHANGE_TYPE, _STRING, False), Field(COMMIT_COLUMNS[0], _LONG, False))
"""Columns that readers add and that are compared; the time of a commit is not."""


class ChangesUndecided(Exception):
    """The protocol does not define the changes of a range, or the log does not have them any more."""


class ChangesJudge:
    """Reads the changes of a range of versions.

    Args:
        table: the table at the last version.
        fields: compared columns.
        before: the table before the first version; None if the range begins with version 0.
        first: first version.
    """

    def __init__(self, table: JudgedTable, fields: Sequence[Field], before: JudgedTable | None, first: int) -> None:
        self._table, self._before, self._first = table, before, first
        self._judge = Judge(table, fields)
        self._values: dict[str, dict[str, str | None]] = {}
        if before is not None:
            self._values = {file.path_key: file.partition_values for file in before.files}

    def sum_rows(self) -> RowSums:
        """Read all changes; the version takes the place of the partition.

        Raises:
            ChangesUndecided: the changes are not defined or not known.
            ColumnUndecided: the values of a column are not known.
            StorageError, UnreadableRows, DeletionVectorError, Undecided: a file cannot be read.
        """
        sums = RowSums(len(self._judge.fields) + len(ADDED_FIELDS))
        metadata = None if self._before is None else self._before.metadata
        for version in range(self._first, self._table.version + 1):
            commit = self._read_commit(version)
            metadata = next((each for _, each in commit.actions if isinstance(each, MetaData)), metadata)
            self._check_metadata(metadata, version)
            for rows in self._iter_rows(version, commit):
                sums.add(rows)
        return sums

    def _read_commit(self, version: int) -> LogFile:
        try:
            found = decode_lines(self._table.store.read(f"{LOG_DIRECTORY}/{commit_name(version)}", MAX_COMMIT_BYTES))
        except StorageError as fault:
            raise ChangesUndecided(f"the commit of version {version:,} cannot be read: {fault}") from fault
        if found.faults or found.unread:
            raise ChangesUndecided(f"the commit of version {version:,} has lines that cannot be decoded")
        return found

    def _check_metadata(self, metadata: MetaData | None, version: int) -> None:
        last = self._table.metadata
        if metadata is None or not is_property_true(metadata.configuration, CHANGE_DATA_FEED):
            raise ChangesUndecided(f"the table does not record changes in version {version:,}")
        kept = (metadata.schema_string, metadata.partition_columns, metadata.configuration.get(COLUMN_MAPPING_MODE))
        if kept != (last.schema_string, last.partition_columns, last.configuration.get(COLUMN_MAPPING_MODE)):
            raise ChangesUndecided(f"the schema changes after version {version:,}; compare the versions of one schema")

    def _iter_rows(self, version: int, commit: LogFile) -> Iterator[HashedRows]:
        files = commit.files
        adds: dict[str, Add] = {self._key(each.path): each for each in files.select("add")}
        removes: dict[str, Remove] = {self._key(each.path): each for each in files.select("remove")}
        recorded: list[Cdc] = files.select("cdc")
        for each in recorded:
            file = self._build_file(version, each.path, each.partition_values, None)
            with OpenedFile(self._judge, file) as opened:
                if CHANGE_TYPE not in opened.source.schema.names:
                    raise UnreadableRows(f"{each.path} has no column {CHANGE_TYPE}")
                for batch in opened.iter_batches(extra=(CHANGE_TYPE,)):
                    yield self._hash(opened, batch, version, batch.columns[CHANGE_TYPE])
        if not recorded:
            changed = [key for key in {**adds, **removes} if (adds.get(key) or removes[key]).data_change]
            for key in changed:
                yield from self._iter_file_changes(version, adds.get(key), removes.get(key))
        for key in removes.keys() - adds.keys():
            self._values.pop(key, None)
        self._values |= {key: each.partition_values for key, each in adds.items()}

    def _iter_file_changes(self, version: int, add: Add | None, remove: Remove | None) -> Iterator[HashedRows]:
        """Yield the rows that the actions of a commit on one path change."""
        actions = [(INSERT, add), (DELETE, remove)]
        files = {kind: self._open_action(version, each) for kind, each in actions if each is not None}
        rows = {kind: opened.remaining for kind, opened in files.items()}
        try:
            for kind, opened in files.items():
                others = (found for other, found in rows.items() if other != kind)
                chosen = rows[kind] - next(others, BitMap64())
                for batch in opened.iter_batches(chosen):
                    yield self._hash(opened, batch, version, pa.repeat(pa.scalar(kind), batch.rows))
        finally:
            for opened in files.values():
                opened.close()

    def _open_action(self, version: int, action: Add | Remove) -> OpenedFile:
        values = action.partition_values
        if values is None or not values:  # a remove need not have them
            values = self._values.get(self._key(action.path), {})
        return OpenedFile(self._judge, self._build_file(version, action.path, values, action.deletion_vector))

    def _key(self, path: str) -> str:
        return path_key(path, self._table.store.root)

    def _build_file(
        self, version: int, path: str, values: dict[str, str | None], vector: DeletionVectorDescriptor | None
    ) -> DataFile:
        return DataFile(
            version=version,
            file=f"{LOG_DIRECTORY}/{commit_name(version)}",
            line=0,
            kind="add",
            path=path,
            path_key=self._key(path),
            size=None,
            num_records=None,
            stats=None,
            partition_values=values,
            deletion_vector=vector,
            base_row_id=None,
            default_row_commit_version=None,
        )

    def _hash(self, opened: OpenedFile, batch: Batch, version: int, kinds: pa.Array) -> HashedRows:
        hashed = opened.hash_batch(batch)
        number = hash_result_leaf(_LONG, pa.array([version], pa.int64()))
        try:
            added = [hash_result_leaf(_STRING, kinds), number.new_from_index(0, batch.rows)]
        except Incomparable as fault:
            raise UnreadableRows(f"{CHANGE_TYPE} of {opened.file.path}: {fault}") from fault
        return replace(hashed, columns=[*hashed.columns, *added], partition=int(hash_partition([number])[0]))


def label_versions(first: int, last: int) -> dict[int, str]:
    """Return the versions of a range by the hash that takes the place of the partition."""
    versions = pl.Series(range(first, last + 1), dtype=pl.Int64)
    hashes = hash_partition([hash_result_leaf(_LONG, versions.to_arrow())])
    return {int(each): f"version {version:,}" for each, version in zip(hashes, versions, strict=True)}


class ChangedVersions:
    """The changes that are compared, read once for each set of columns.

    Args:
        versions: first and last version.
        open_at: opens the table at a version.
    """

    def __init__(self, versions: tuple[int, int], open_at: Callable[[int], JudgedTable]) -> None:
        self.versions = versions
        self._open_at = open_at
        self._found: dict[tuple[str, ...], RowSums | str] = {}

    def sum_rows(self, fields: Sequence[Field]) -> RowSums | str:
        """Return the sums of all changes, or why they are not known."""
        key = tuple(field.name for field in fields)
        if key not in self._found:
            try:
                self._found[key] = self._read(fields)
            except (*READ_ERRORS, ChangesUndecided, ColumnUndecided, Undecided, TableUnreadable, InvalidUsage) as fault:
                self._found[key] = str(fault)
        return self._found[key]

    def _read(self, fields: Sequence[Field]) -> RowSums:
        first, last = self.versions
        before = self._open_at(first - 1) if first else None
        return ChangesJudge(self._open_at(last), fields, before, first).sum_rows()

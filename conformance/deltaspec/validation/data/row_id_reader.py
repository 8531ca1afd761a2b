"""Read the row ids of data files: materialized ids, and default ids of rows without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import polars as pl
import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.revisions import Revision
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.table.enablement import get_property_at
from deltaspec.wire.data.row_hashing import HASH_MODULUS, sum_hashes
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import Batch, RowBatches, compute_remaining_rows, iter_empty_batches

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

_MAX_ID = 2**63 - 1


class NonIntegerRowIds(UnreadableRows):
    """A column of materialized values is not of an integer type."""


class MaterializedColumns(msgspec.Struct, frozen=True):
    """Names of the columns of materialized values; None if the table has none."""

    row_id: str | None
    row_commit_version: str | None

    @classmethod
    def at(cls, configuration: list[dict[str, object]], version: int, revision: Revision) -> MaterializedColumns:
        """Return the names at a version, from rows of the view `configuration` and the properties of a revision."""
        names = [get_property_at(configuration, name, version) for name in row_tracking.get_column_properties(revision)]
        return cls(names[0], names[1] if len(names) > 1 else None)


class RowIds(msgspec.Struct):
    """Row ids of the rows of some files that are not deleted. Negative ids are stored modulo 2^64."""

    by_default: BitMap64 = msgspec.field(default_factory=BitMap64)
    """Ids of rows whose stable id is the fresh one."""
    kept: BitMap64 = msgspec.field(default_factory=BitMap64)
    """Materialized ids that are not the row's fresh id."""
    replaced: BitMap64 = msgspec.field(default_factory=BitMap64)
    """Fresh ids of rows that have another stable id."""
    repeated: BitMap64 = msgspec.field(default_factory=BitMap64)
    """Materialized ids that are the stable or fresh id of another row."""
    preserved_rows: int = 0
    default_id_rows: int = 0
    """Number of rows whose materialized id is their fresh id."""
    earlier_versions: int = 0
    """Number of rows whose materialized row commit version is before the row commit version of their file."""
    highest_preserved: int | None = None
    highest_commit_version: int | None = None
    versions: int = 0
    """Sum of hashes of stable id and row commit version, modulo 2^64."""

    def take(self, other: RowIds) -> BitMap64:
        """Add the ids of another file. Return the materialized ids that it has twice or that both have."""
        ours, theirs = self.fresh, other.fresh
        met = other.repeated | (other.kept & (self.kept | ours)) | (theirs & self.kept)
        self.by_default |= other.by_default
        self.kept |= other.kept
        self.replaced |= other.replaced
        self.preserved_rows += other.preserved_rows
        self.versions = (self.versions + other.versions) % HASH_MODULUS
        return met

    @property
    def fresh(self) -> BitMap64:
        """Every fresh id."""
        return self.by_default | self.replaced

    @property
    def stable(self) -> BitMap64:
        """Every stable id."""
        return self.by_default | self.kept


def read_row_ids(data: DataBucket, file: DataFile, hidden: MaterializedColumns, *, versions: bool = False) -> RowIds:
    """Read the row ids of the rows of a file that are not deleted.

    Args:
        data: gives access to the file.
        file: with a base row id.
        hidden: names of the columns of materialized values.
        versions: also hash the row commit versions of all rows.

    Raises:
        StorageError: the file or its vector cannot be read; `FileGone` if it does not exist.
        UnreadableRows: the file is not readable Parquet, or its row ids are not integers.
        DeletionVectorError: its vector cannot be decoded.
    """
    with RowBatches(data.access, file.path_key) as source:
        return _read(source, data.vector, file, hidden, versions=versions)


def _read(
    source: RowBatches,
    vector: Callable[[DataFile], BitMap64 | None],
    file: DataFile,
    hidden: MaterializedColumns,
    *,
    versions: bool,
) -> RowIds:
    assert file.base_row_id is not None
    if file.base_row_id < 0:
        raise UnreadableRows(f"its base row id {file.base_row_id} is negative")
    if file.base_row_id > _MAX_ID - source.row_count + 1:
        raise UnreadableRows(f"row ids from {file.base_row_id} on are beyond what a long holds")
    deleted = vector(file)
    left = None if deleted is None else compute_remaining_rows(source.row_count, deleted)
    names = [name for name in (hidden.row_id, hidden.row_commit_version) if name and name in source.schema.names]
    found = RowIds()
    if not names and not versions:
        found.by_default = (compute_remaining_rows(source.row_count, BitMap64()) if left is None else left).shift(
            file.base_row_id
        )
        return found
    batches = source.read(names, left) if names else iter_empty_batches(source.row_count, left)
    for batch in batches:
        _take(found, batch, file, hidden, versions=versions)
    found.repeated |= found.kept & (found.by_default | found.replaced)
    return found


def _take(found: RowIds, batch: Batch, file: DataFile, hidden: MaterializedColumns, *, versions: bool) -> None:
    base = (file.base_row_id or 0) + batch.start
    length = batch.rows if batch.kept is None else len(batch.kept)
    fresh = pl.Series(range(base, base + length), dtype=pl.Int64)
    if batch.kept is not None:
        fresh = fresh.filter(pl.Series(batch.kept.to_pylist(), dtype=pl.Boolean))
    ids = _integers(batch, hidden.row_id)
    stable = fresh if ids is None else ids.zip_with(ids.is_not_null(), fresh)
    moved = stable != fresh
    if ids is not None:
        found.default_id_rows += int((ids.is_not_null() & ~moved).sum())
    kept = stable.filter(moved)
    _add(found, kept)
    found.by_default |= BitMap64(fresh.filter(~moved).to_list())
    found.replaced |= BitMap64(fresh.filter(moved).to_list())
    written = _integers(batch, hidden.row_commit_version)
    if written is not None and written.null_count() < len(written):
        found.highest_commit_version = _highest(found.highest_commit_version, written)
        if file.default_row_commit_version is not None:
            found.earlier_versions += int((written < file.default_row_commit_version).sum())
    if versions:
        default = pl.Series([file.default_row_commit_version], dtype=pl.Int64).new_from_index(0, len(stable))
        last = default if written is None else written.zip_with(written.is_not_null(), default)
        pairs = (stable.hash(1) + last.hash(2) * 3).hash(3)
        found.versions = (found.versions + sum_hashes(pairs)) % HASH_MODULUS


def _add(found: RowIds, kept: pl.Series) -> None:
    if kept.is_empty():
        return
    found.highest_preserved = _highest(found.highest_preserved, kept)
    found.preserved_rows += len(kept)
    values = kept.cast(pl.UInt64, wrap_numerical=True)
    new = BitMap64(values.to_list())
    if len(new) < len(values):
        found.repeated |= BitMap64(values.filter(values.is_duplicated()).to_list())
    found.repeated |= new & found.kept
    found.kept |= new


def _highest(before: int | None, values: pl.Series) -> int:
    highest = values.max()
    assert isinstance(highest, int)
    return highest if before is None else max(before, highest)


def _integers(batch: Batch, name: str | None) -> pl.Series | None:
    """Return a column of materialized values; None if the file does not have it or all values are null."""
    if name is None or name not in batch.columns:
        return None
    array = batch.columns[name]
    if array.null_count == len(array):
        return None
    if not pa.types.is_integer(array.type):
        raise NonIntegerRowIds(f"{name} holds values of type {array.type}")
    try:
        found = pl.from_arrow(array.cast(pa.int64()))
    except pa.ArrowInvalid as fault:
        raise UnreadableRows(f"{name} holds more than a long: {fault}") from fault
    assert isinstance(found, pl.Series)
    return found

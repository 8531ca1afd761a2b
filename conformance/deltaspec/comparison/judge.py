"""The judge: read the rows of a table with the columnar reader of the validating backends.

It knows deletion vectors, partition values, column mapping, widened types, and columns that a file does not have. It is
not the reference reader, which keeps rows as Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaspec.candidates.reference.row_reader import arrow_type
from deltaspec.candidates.row_comparison import Value, freeze_variant, list_values, show_value
from deltaspec.comparison.hashed_rows import HashedRows, RowSums, hash_partition
from deltaspec.comparison.judged_table import JudgedTable
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.schema.data_types import DataType, Field, Primitive
from deltaspec.protocol.variants.encoding import VariantError, VariantUndecided
from deltaspec.sql.file_columns import FileColumns
from deltaspec.sql.logical_row_reader import check_calendar, convert_values, get_row_indexes, repeat_value
from deltaspec.sql.terms import Undecided
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.data.column_resolution import FileColumn
from deltaspec.wire.data.legacy_calendar import find_first_unambiguous_values
from deltaspec.wire.data.row_hashing import Incomparable, hash_column, hash_result_leaf
from deltaspec.wire.data.variant_reader import VariantDecoder, decode_variants
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import (
    Batch,
    RowBatches,
    compute_remaining_rows,
    iter_empty_batches,
    mask_rows,
)
from deltaspec.wire.storage.interface import StorageError

READ_ERRORS = (StorageError, UnreadableRows, DeletionVectorError)
"""Errors that mean that the rows of a file cannot be read."""


_INDEX = "_deltaspec_index"


class ColumnUndecided(Exception):
    """The protocol does not define the values of a column, or deltaspec does not read them."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(f"{column}: {reason}")
        self.column, self.reason = column, reason


class RowSelection(msgspec.Struct, frozen=True):
    """The rows of a sample."""

    sql: str
    tree: list[Any]
    """As in a request of the candidate protocol."""
    expression: pc.Expression
    """The condition over Arrow columns of the table's types."""
    columns: tuple[str, ...]
    """Columns that the condition names."""
    selects_files: bool
    """Whether it selects complete files."""


class JudgedRows(msgspec.Struct, frozen=True):
    """All rows, as sums of hashes."""

    sums: RowSums
    partitions: dict[int, str]
    """Hash of each partition and its values as text."""
    unread: dict[str, str]
    """Files that cannot be read, with the reason."""


class Judge:
    """Reads rows of a table. It can be used in a thread.

    Args:
        table: the table.
        fields: compared columns, in the order of hashes.
        selection: rows to read; None for all. It names compared columns only.
    """

    def __init__(self, table: JudgedTable, fields: Sequence[Field], selection: RowSelection | None = None) -> None:
        self.table, self.fields = table, fields
        self.selection = None if selection is not None and selection.selects_files else selection
        names = [each.name for each in table.schema.fields]
        self._positions = [names.index(field.name) for field in fields]
        self.partition_positions = [
            number for number, field in enumerate(fields) if field.name in table.partition_columns
        ]
        """Indexes in `fields` of the partition columns."""

    def sum_rows(self) -> JudgedRows:
        """Read all rows.

        Raises:
            ColumnUndecided: the values of a column are not known.
        """
        found = JudgedRows(RowSums(len(self.fields)), {}, {})
        for file in self.table.files:
            sums = RowSums(len(self.fields))
            try:
                with OpenedFile(self, file) as opened:
                    found.partitions[opened.partition] = opened.partition_text
                    for batch in opened.iter_batches():
                        sums.add(opened.hash_batch(batch))
            except (*READ_ERRORS, Undecided) as fault:
                found.unread[file.path] = str(fault) if isinstance(fault, Undecided) else describe_read_error(fault)
                continue
            found.sums.merge(sums)
        return found

    def get_position(self, number: int) -> int:
        """Return the position in the schema of a compared column."""
        return self._positions[number]


class OpenedFile:
    """A data file with the compared columns, and its context manager."""

    def __init__(self, judge: Judge, file: DataFile) -> None:
        """Open a file.

        Raises:
            Undecided: its columns cannot be identified.
            ColumnUndecided: the value of a partition column is not known.
        """
        self.file = file
        self._fields, self._selection, table = judge.fields, judge.selection, judge.table
        self.source = RowBatches(table.access, file.path_key)
        try:
            vector = file.deletion_vector
            self._deleted = None if vector is None else table.vectors.rows(vector)
            self._first = find_first_unambiguous_values(self.source.parquet)
            self.columns = FileColumns(
                table.schema,
                table.mapping,
                table.partition_columns,
                file.partition_values,
                self.source.schema,
                self._first,
            )
            self._found = [self._resolve(judge.get_position(number)) for number in range(len(judge.fields))]
        except BaseException:
            self.close()
            raise
        constants = [self._found[number] for number in judge.partition_positions]
        hashes = [each.hashes for each in constants if each.hashes is not None]
        self.partition = int(hash_partition(hashes)[0]) if hashes else 0
        """Hash of the partition; 0 if no partition column is compared."""
        self.partition_text = ", ".join(
            f"{self._fields[number].name}={show_value(list_values(each.constant)[0])}"
            for number, each in zip(judge.partition_positions, constants, strict=True)
        )

    def __enter__(self) -> OpenedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.source.__exit__()

    @property
    def remaining(self) -> BitMap64:
        """Indexes of the rows that are not deleted."""
        return compute_remaining_rows(self.source.row_count, self._deleted or BitMap64())

    def iter_batches(self, chosen: BitMap64 | None = None, extra: Sequence[str] = ()) -> Iterator[Batch]:
        """Yield rows of the file. Raises one of `READ_ERRORS`.

        Args:
            chosen: indexes of the rows; None for all that are not deleted.
            extra: further columns of the file to read.
        """
        if chosen is None and self._deleted is not None:
            chosen = self.remaining
        names = sorted({*extra, *(each.name for each in self._found if each.name is not None)})
        rows = self.source.row_count
        batches = self.source.read(names, chosen) if names else iter_empty_batches(rows, chosen)
        if self._selection is None:
            return batches
        return (self._filter(batch, self._selection) for batch in batches)

    def _filter(self, batch: Batch, selection: RowSelection) -> Batch:
        """Return the rows of a batch that satisfy a condition."""
        columns = {}
        for field, each in zip(self._fields, self._found, strict=True):
            if field.name not in selection.columns:
                continue
            if each.name is None:
                columns[field.name] = pa.repeat(each.constant[0], batch.rows)
            else:
                columns[field.name] = convert_values(batch.columns[each.name], each.column, self._first)
        marked = pa.table({**columns, _INDEX: get_row_indexes(batch)}).filter(selection.expression)
        left = BitMap64(marked.column(_INDEX).to_pylist())
        kept = mask_rows(left, batch.start, batch.length)
        within = kept if batch.kept is None else kept.filter(batch.kept)
        arrays = {name: array.filter(within) for name, array in batch.columns.items()}
        return Batch(batch.start, arrays, len(left), kept)

    def hash_batch(self, batch: Batch) -> HashedRows:
        """Hash the rows of a batch.

        Raises:
            ColumnUndecided: the values of a column are not known.
        """
        columns = []
        for field, each in zip(self._fields, self._found, strict=True):
            if each.hashes is not None:
                columns.append(each.hashes.new_from_index(0, batch.rows))
                continue
            assert each.column is not None
            try:
                columns.append(hash_column(each.column, batch.columns[each.name or ""], self._hash_leaf))
            except (Undecided, Incomparable, pa.ArrowException) as fault:
                raise ColumnUndecided(field.name, f"{str(fault)[:200]} ({self.file.path})") from fault
        return HashedRows(batch.rows, columns, self.partition)

    def read_values(self, rows: Sequence[int]) -> list[tuple[Value, ...]]:
        """Return the values of some rows, by their indexes in the file, in ascending order.

        Values that cannot be shown are replaced by the reason.
        """
        batches = self.iter_batches(BitMap64(rows))
        return [row for batch in batches if batch.rows for row in self._list_rows(batch)]

    def _list_rows(self, batch: Batch) -> Iterator[tuple[Value, ...]]:
        columns: list[list[Value]] = []
        for each in self._found:
            if each.name is None:
                columns.append(list_values(each.constant) * batch.rows)
                continue
            array = batch.columns[each.name]
            try:
                columns.append(_list_file_values(each.column, array, self._first))
            except (Undecided, UnreadableRows, VariantError, VariantUndecided, pa.ArrowException) as fault:
                columns.append([f"not shown: {fault}"] * batch.rows)
        return zip(*columns, strict=True)

    def _resolve(self, position: int) -> _Source:
        """Find a compared column by its position in the schema of the table."""
        (field,), column = self.columns.resolve_in_file((position,))
        partition = self.columns.get_partition_name(field)
        if partition is None and column is not None:
            return _Source(column, self.columns.get_file_column((position,)), None, pa.nulls(1))
        kind, constant = arrow_type(field.type), pa.nulls(1)
        if partition is not None:
            try:
                constant = repeat_value(self.columns.get_partition_value(partition, field.type), kind, 1)
            except Undecided as fault:
                raise ColumnUndecided(field.name, f"{fault} ({self.file.path})") from fault
        image = FileColumn((field.name,), field.type, True, 0, kind)
        return _Source(image, None, hash_column(image, constant, hash_result_leaf), constant)

    def _hash_leaf(self, data_type: DataType, array: pa.Array) -> pl.Series:
        if self._first:
            check_calendar(array, data_type, self._first)
        return hash_result_leaf(data_type, array)


class _Source(msgspec.Struct, frozen=True):
    """Where a file has a compared column."""

    column: FileColumn
    name: str | None
    """Top-level column of the file; None if all rows have the same value."""
    hashes: pl.Series | None
    """Hash of that value."""
    constant: pa.Array
    """That value."""


def _list_file_values(column: FileColumn, array: pa.Array, first: Mapping[str, int]) -> list[Value]:
    """Return values of a file, of the type of the table's column."""
    if column.kind == Primitive("void"):
        return [None] * len(array)
    if column.kind != Primitive("variant"):
        return list_values(convert_values(array, column, first))
    decoder = VariantDecoder()
    pairs = decode_variants(array, column.name)
    return [None if each is None else freeze_variant(decoder.read(*each)) for each in pairs]

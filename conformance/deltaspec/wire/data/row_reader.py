"""Read the rows of a data file in bounded memory: only the columns of its table, batch by batch.

Stated counts are not trusted: the file size bounds the rows, and a batch that turns out too large is read again in
smaller batches. The metadata of column chunks is never accessed (see `parquet_actions.open_parquet`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaspec.protocol.features.change_data import CHANGE_TYPE
from deltaspec.protocol.schema.column_mapping import get_partition_types
from deltaspec.protocol.schema.data_types import DataType, Primitive, Struct
from deltaspec.wire.data.column_aggregates import ColumnAggregate, NotNullAggregate, RowCheck
from deltaspec.wire.data.column_resolution import (
    FileColumn,
    UnresolvableColumns,
    is_bytes,
    is_text,
    resolve_columns,
)
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec.wire.data.legacy_calendar import drop_ambiguous_values, find_first_unambiguous_values
from deltaspec.wire.parquet.arrow_errors import is_corruption
from deltaspec.wire.parquet.dictionary_columns import DictionarySizes
from deltaspec.wire.parquet.file_opener import OpenedFile, UnreadableRows, open_data_file
from deltaspec.wire.storage.interface import StorageError, format_error

BATCH_ROWS = 1 << 16
WIDE_BATCH_ROWS = 1 << 13
"""Batch size for columns whose values have no fixed width, unless page headers show how long they may be."""
_MIN_BATCH_ROWS = 1
_BATCH_BYTES = 32 << 20
LARGE_BATCH_BYTES = 128 << 20
"""Size of a batch above which its rows are read again in smaller batches."""
_MAX_GROUP_COLUMNS = 32
_SMALL_BYTES = 16 << 20
"""Size of all values, if each were as long as the largest page, up to which every column of a file is read at once."""


class DataFileRows(msgspec.Struct):
    """Contents of the rows of one data file, by column of its table."""

    rows: int = 0
    """Rows in the file, including deleted ones."""
    valid_rows: int = 0
    leaves: list[LeafValues] = msgspec.field(default_factory=list)
    checks: list[RowCheck] = msgspec.field(default_factory=list)
    corrupt: dict[str, str] = msgspec.field(default_factory=dict)
    """Top-level column with corrupt pages -> error."""
    unread: list[str] = msgspec.field(default_factory=list)
    """Reasons why columns could not be read."""
    uncertain: list[str] = msgspec.field(default_factory=list)
    """Reasons why values of columns, although read and checked, cannot be compared with statistics."""
    decoded: list[str] = msgspec.field(default_factory=list)
    """Top-level columns whose pages were all decoded."""


def read_rows(
    source: Any,
    size: int,
    schema: Struct,
    mapping: str | None,
    partition_columns: list[str],
    partition_values: dict[str, str | None],
    deleted: BitMap64 | None,
) -> DataFileRows:
    """Read the columns of a table from one of its data files.

    Args:
        source: input of `pyarrow.parquet.ParquetFile`.
        size: length of the file in bytes.
        schema: schema of the table.
        mapping: column mapping mode: `id`, `name` or None.
        partition_columns: logical names.
        partition_values: physical name -> value in the log.
        deleted: indexes of rows that a deletion vector deletes.

    Raises:
        UnreadableRows: the file cannot be opened, or its columns cannot be resolved.
        StorageError: the file cannot be read.
    """
    opened = open_data_file(source, size)
    parquet = opened.parquet
    rows = parquet.metadata.num_rows
    deleted_rows = 0 if deleted is None else deleted.range_cardinality(0, rows)
    found = DataFileRows(rows, rows - deleted_rows)
    partitions = get_partition_types(schema, partition_columns, mapping)
    # a value that is missing from the log is a finding about the log, so it is not compared
    known_values = {
        name: (kind, partition_values[name]) if name in partition_values else None for name, kind in partitions.items()
    }
    try:
        columns = resolve_columns(opened.schema, schema, mapping)
    except UnresolvableColumns as fault:
        raise UnreadableRows(str(fault)) from fault
    for column in columns:
        if column.path[0] in partitions and not column.nullable:
            found.checks.append(_check_partition_not_null(column, partition_values, found.valid_rows))
        if column.place is None and column.path[0] not in partitions:
            found.leaves += ColumnAggregate(column).leaves(found.rows, found.valid_rows)
    stored = [column for column in columns if column.place is not None]
    for group in [stored] if _fit_one_batch(opened, stored) else _group_columns(stored):
        GroupReader(opened, group, deleted).read(known_values, found)
    change_type = _find_change_type(opened.schema, columns)
    if change_type is not None:
        GroupReader(opened, [change_type], deleted).read_nulls(found)
    first = find_first_unambiguous_values(parquet)
    found.leaves, found.uncertain = drop_ambiguous_values(found.leaves, first, schema, mapping)
    return found


def _find_change_type(stored: pa.Schema, columns: tuple[FileColumn, ...]) -> FileColumn | None:
    """Return the change type column of a file, unless the table has a column of that name."""
    if CHANGE_TYPE not in stored.names or any(column.path[0] == CHANGE_TYPE for column in columns):
        return None
    place = stored.names.index(CHANGE_TYPE)
    kind = stored.field(place).type
    return FileColumn((CHANGE_TYPE,), Primitive("string"), nullable=True, place=place, file_type=kind)


def _check_partition_not_null(column: FileColumn, values: dict[str, str | None], rows: int) -> RowCheck:
    """Return the not-null check of a partition column, whose value in every row is the one in the log."""
    is_null = column.path[0] in values and values[column.path[0]] in (None, "")
    check = RowCheck("not null", column, violating_rows=rows if is_null else 0)
    if is_null and rows:
        check.found = "null, its partition value"
    return check


def _fit_one_batch(opened: OpenedFile, columns: list[FileColumn]) -> bool:
    """Return whether one call may read all columns. For small files, the calls take most of the time."""
    return (
        opened.page_bytes is not None
        and 0 < len(columns) <= _MAX_GROUP_COLUMNS
        and opened.parquet.metadata.num_rows * len(columns) * opened.page_bytes <= _SMALL_BYTES
        and all(_is_narrow(column.file_type) or _is_string(column.file_type) for column in columns)
    )


def _group_columns(columns: list[FileColumn]) -> Iterator[list[FileColumn]]:
    """Yield groups of columns to read together: all columns of fixed width, and each other column alone."""
    narrow = [column for column in columns if _is_narrow(column.file_type)]
    for start in range(0, len(narrow), _MAX_GROUP_COLUMNS):
        yield narrow[start : start + _MAX_GROUP_COLUMNS]
    yield from ([column] for column in columns if not _is_narrow(column.file_type))


def _is_narrow(kind: pa.DataType | None) -> bool:
    if kind is None or pa.types.is_null(kind):
        return True
    if pa.types.is_struct(kind):
        return kind.num_fields <= _MAX_GROUP_COLUMNS and all(_is_narrow(each.type) for each in kind)
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def _is_string(kind: pa.DataType | None) -> bool:
    """Return whether a type has one string or binary value for each row."""
    return kind is not None and (is_text(kind) or is_bytes(kind))


class GroupReader:
    """Read top-level columns of a file from its first row to its last."""

    def __init__(self, opened: OpenedFile, columns: list[FileColumn], deleted: BitMap64 | None) -> None:
        self.opened = opened
        self.parquet = opened.parquet
        self.columns = columns
        self.deleted = deleted
        self._dictionary: DictionarySizes | None = None
        """Of the only column, while it is read as indexes."""

    def read(self, partitions: dict[str, tuple[DataType, str | None] | None], found: DataFileRows) -> None:
        """Add the contents of the columns to `found`; if decoding them together fails, read each alone."""
        aggregates = self._read_dictionary(partitions)
        if aggregates is None:
            aggregates = self._start(partitions)
            try:
                self._decode(aggregates)
            except StorageError:
                raise
            except Exception as fault:  # noqa: BLE001 - Arrow raises any type on corrupt bytes
                if len(self.columns) > 1:
                    for column in self.columns:
                        GroupReader(self.opened, [column], self.deleted).read(partitions, found)
                    return
                self._fail(fault, aggregates[0], found)
                return
        for each in aggregates:
            found.leaves += each.leaves(found.rows, found.valid_rows)
            found.checks += each.checks()
            found.decoded.append(each.column.name)

    def _start(self, partitions: dict[str, tuple[DataType, str | None] | None]) -> list[ColumnAggregate]:
        return [
            ColumnAggregate(column, partitions.get(column.path[0]), is_partition=column.path[0] in partitions)
            for column in self.columns
        ]

    def _read_dictionary(
        self, partitions: dict[str, tuple[DataType, str | None] | None]
    ) -> list[ColumnAggregate] | None:
        """Return the aggregate of a single column of strings, read as indexes into its dictionary.

        None for any other columns, and if the dictionary has a fault, which reading the strings then shows.
        """
        column = self.columns[0]
        if len(self.columns) > 1 or column.kind != Primitive("string") or column.path[0] in partitions:
            return None
        assert column.place is not None
        try:
            sizes = self.opened.dictionaries.get(self.opened.names[column.place])
            if sizes is None:
                return None
            aggregates = self._start(partitions)
            self.parquet, self._dictionary = self.opened.as_dictionaries, sizes
            self._decode(aggregates)
        except Exception:  # noqa: BLE001 - Arrow raises any type on corrupt bytes
            return None
        finally:
            self.parquet, self._dictionary = self.opened.parquet, None
        return aggregates

    def read_nulls(self, found: DataFileRows) -> None:
        """Add a check with the rows in which the only column is not null."""
        rows = NotNullAggregate(self.columns[0])
        try:
            self._decode([rows])
        except StorageError:
            raise
        except Exception as fault:  # noqa: BLE001 - as above
            found.unread.append(f"{rows.column.name}: {format_error(fault)}")
            return
        found.checks.append(rows.check)

    def _fail(self, fault: Exception, rows: ColumnAggregate, found: DataFileRows) -> None:
        name, reason = rows.column.name, format_error(fault)
        found.leaves += rows.unread_leaves(f"its pages cannot be decoded: {reason}")
        if is_corruption(fault):
            found.corrupt[name] = reason
        else:
            found.unread.append(f"{name}: {reason}")

    def _decode(self, aggregates: Sequence[ColumnAggregate | NotNullAggregate]) -> None:
        places = [column.place for column in self.columns]
        names = [self.opened.names[place] for place in places if place is not None]
        total = self.parquet.metadata.num_rows
        offset, batch_rows = 0, self._batch_rows(total)
        while offset < total:
            before = offset
            for batch in self.iter_batches(names, batch_rows, offset):
                if batch.nbytes > LARGE_BATCH_BYTES and batch_rows > _MIN_BATCH_ROWS:
                    break
                keep = self._build_mask(offset, len(batch))
                for name, column in zip(names, aggregates, strict=True):
                    array = batch.column(batch.schema.get_field_index(name))
                    if self._dictionary is not None:
                        self._dictionary.verify(array, offset)
                    column.take(array, offset, keep)
                offset += len(batch)
            else:
                if offset < total:
                    raise pa.ArrowInvalid(f"its footer states {total} rows, its pages have {offset}")
                return
            batch_rows = (
                max(_MIN_BATCH_ROWS, batch_rows // 8) if offset == before else max(_MIN_BATCH_ROWS, batch_rows // 4)
            )

    def iter_batches(self, names: list[str], batch_rows: int, offset: int) -> Iterator[pa.RecordBatch]:
        """Yield batches from row `offset` on; earlier rows are decoded and dropped."""
        seen = 0
        for batch in self.parquet.iter_batches(batch_size=batch_rows, columns=names, use_threads=False):
            seen += len(batch)
            if seen > offset:
                yield batch if seen - len(batch) >= offset else batch.slice(offset - (seen - len(batch)))

    def _batch_rows(self, total: int) -> int:
        """Return the rows of a batch, from the stated sizes of row groups and the estimate of the longest value."""
        if self._dictionary is not None or all(_is_narrow(column.file_type) for column in self.columns):
            return BATCH_ROWS
        value_bytes = self.opened.value_bytes
        has_known_width = value_bytes and all(_is_string(column.file_type) for column in self.columns)
        most = BATCH_ROWS if has_known_width else WIDE_BATCH_ROWS
        metadata = self.parquet.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        row_bytes = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
        return max(_MIN_BATCH_ROWS, min(most, _BATCH_BYTES // max(row_bytes, value_bytes, 1)))

    def _build_mask(self, offset: int, length: int) -> pa.BooleanArray | None:
        """Return whether each row of a batch is not deleted; None if none is."""
        if self.deleted is None:
            return None
        deleted_rows = self.deleted & BitMap64(range(offset, offset + length))
        if not deleted_rows:
            return None
        flags = bytearray(b"\x01") * length
        for row in deleted_rows:
            flags[row - offset] = 0
        numbers = pa.Array.from_buffers(pa.uint8(), length, [None, pa.py_buffer(flags)])
        return pc.equal(numbers, 1)

"""Reads the rows of a data file: the columns of its table only, batch by batch, in memory that no file can raise much.

What a footer claims is not believed: rows are bounded by the file's size, and a batch that turns out large is read
again in smaller ones. Nobody asks for the metadata of column chunks (see `parquet_rows.open_parquet`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from deltaspec.model.rows.change_data import CHANGE_TYPE
from deltaspec.model.schema.column_mapping import get_partition_types
from deltaspec.model.schema.data_types import DataType, Primitive, Struct
from deltaspec.wire.data.column_aggregates import ColumnAggregate, NotNullAggregate, RowCheck
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, resolve_columns, unwrap_type
from deltaspec.wire.data.leaf_values import LeafValues
from deltaspec.wire.data.legacy_calendar import drop_ambiguous_values, find_first_unambiguous_values
from deltaspec.wire.parquet.file_opener import UnreadableRows, open_data_file
from deltaspec.wire.storage.interface import StorageError, format_error

BATCH_ROWS = 1 << 16
WIDE_BATCH_ROWS = 1 << 13
"""Of columns whose values have no fixed width."""
_LEAST_ROWS = 1
_BATCH_BYTES = 32 << 20
_LARGE_BATCH_BYTES = 128 << 20
_COLUMNS_AT_ONCE = 32
_NOT_OURS = (
    "not built",
    "decrypt",
    "encrypt",
    "not implemented",
    "not supported",
    "unsupported",
    "not yet",
    "unknown encoding",
    "malloc",
)
"""What Arrow says where it cannot read what may well be sound."""


@dataclass
class DataFileRows:
    """What the rows of one data file hold, of the columns of its table."""

    rows: int = 0
    """Rows in the file, deleted ones included."""
    valid_rows: int = 0
    leaves: list[LeafValues] = field(default_factory=list)
    checks: list[RowCheck] = field(default_factory=list)
    corrupt: dict[str, str] = field(default_factory=dict)
    """Top-level columns whose pages cannot be decoded, with what is wrong."""
    unread: list[str] = field(default_factory=list)
    """Why single columns could not be read."""
    uncertain: list[str] = field(default_factory=list)
    """Why values of single columns, read and held to what the schema asks, cannot be laid beside statistics."""
    decoded: list[str] = field(default_factory=list)
    """Top-level columns whose pages were decoded to the last."""


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
        source: what `pyarrow.parquet.ParquetFile` opens.
        size: length of the file in bytes.
        schema: of the table.
        mapping: `id`, `name` or None.
        partition_columns: logical names.
        partition_values: by physical name, as the log has them.
        deleted: rows that a deletion vector takes away.

    Raises:
        UnreadableRows: the file cannot be opened, or read as the text says.
        StorageError: the storage did not give it.
    """
    parquet, value_bytes = open_data_file(source, size)
    rows = parquet.metadata.num_rows
    gone = 0 if deleted is None else deleted.range_cardinality(0, rows)
    found = DataFileRows(rows, rows - gone)
    partitions = get_partition_types(schema, partition_columns, mapping)
    # a value that the log lacks is a finding of the log's: nothing in the file can differ from it
    given = {
        name: (kind, partition_values[name]) if name in partition_values else None for name, kind in partitions.items()
    }
    try:
        columns = resolve_columns(parquet.schema_arrow, schema, mapping)
    except UnresolvableColumns as fault:
        raise UnreadableRows(str(fault)) from fault
    for column in columns:
        if column.path[0] in partitions and not column.nullable:
            found.checks.append(_partition_not_null(column, partition_values, found.valid_rows))
        if column.place is None and column.path[0] not in partitions:
            found.leaves += ColumnAggregate(column).leaves(found.rows, found.valid_rows)
    for group in _groups([column for column in columns if column.place is not None]):
        reader = _GroupReader(parquet, group, deleted, value_bytes)
        reader.read(given, found)
    change_type = _change_type(parquet.schema_arrow, columns)
    if change_type is not None:
        _GroupReader(parquet, [change_type], deleted, value_bytes).read_nulls(found)
    first = find_first_unambiguous_values(parquet)
    found.leaves, found.uncertain = drop_ambiguous_values(found.leaves, first, schema, mapping)
    return found


def _change_type(stored: pa.Schema, columns: tuple[FileColumn, ...]) -> FileColumn | None:
    """The column of change types that a file has and the table has not; None if there is none."""
    if CHANGE_TYPE not in stored.names or any(column.path[0] == CHANGE_TYPE for column in columns):
        return None
    place = stored.names.index(CHANGE_TYPE)
    kind = unwrap_type(stored.field(place).type)
    return FileColumn((CHANGE_TYPE,), Primitive("string"), nullable=True, place=place, file_type=kind)


def _partition_not_null(column: FileColumn, values: dict[str, str | None], rows: int) -> RowCheck:
    """Every row of the file has the partition value that the log gives."""
    is_null = column.path[0] in values and values[column.path[0]] in (None, "")
    check = RowCheck("not null", column, violating_rows=rows if is_null else 0)
    if is_null and rows:
        check.found = "null, its partition value"
    return check


def _groups(columns: list[FileColumn]) -> Iterator[list[FileColumn]]:
    """Columns that are read together: those of fixed width, the others one by one."""
    narrow = [column for column in columns if _is_narrow(column.file_type)]
    for start in range(0, len(narrow), _COLUMNS_AT_ONCE):
        yield narrow[start : start + _COLUMNS_AT_ONCE]
    yield from ([column] for column in columns if not _is_narrow(column.file_type))


def _is_narrow(kind: pa.DataType | None) -> bool:
    if kind is None or pa.types.is_null(kind):
        return True
    if pa.types.is_struct(kind):
        return kind.num_fields <= _COLUMNS_AT_ONCE and all(_is_narrow(unwrap_type(each.type)) for each in kind)
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


class _GroupReader:
    """Reads some top-level columns of a file from its first row to its last."""

    def __init__(
        self, parquet: pq.ParquetFile, columns: list[FileColumn], deleted: BitMap64 | None, value_bytes: int
    ) -> None:
        self.value_bytes = value_bytes
        self.parquet = parquet
        self.columns = columns
        self.deleted = deleted

    def read(self, partitions: dict[str, tuple[DataType, str | None] | None], found: DataFileRows) -> None:
        """Add what the columns hold; where they cannot be decoded together, each is read alone."""
        sums = [
            ColumnAggregate(column, partitions.get(column.path[0]), is_partition=column.path[0] in partitions)
            for column in self.columns
        ]
        try:
            self._decode(sums)
        except StorageError:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever Arrow says of bytes that are not ours
            if len(self.columns) > 1:
                for column in self.columns:
                    _GroupReader(self.parquet, [column], self.deleted, self.value_bytes).read(partitions, found)
                return
            self._fail(fault, sums[0], found)
            return
        for each in sums:
            found.leaves += each.leaves(found.rows, found.valid_rows)
            found.checks += each.checks()
            found.decoded.append(each.column.name)

    def read_nulls(self, found: DataFileRows) -> None:
        """Add in which rows the only column is not null."""
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
        name, why = rows.column.name, format_error(fault)
        found.leaves += rows.unread_leaves(f"its pages cannot be decoded: {why}")
        if _is_corruption(fault):
            found.corrupt[name] = why
        else:
            found.unread.append(f"{name}: {why}")

    def _decode(self, sums: Sequence[ColumnAggregate | NotNullAggregate]) -> None:
        places = [column.place for column in self.columns]
        every = self.parquet.schema_arrow.names
        names = [every[place] for place in places if place is not None]
        total = self.parquet.metadata.num_rows
        offset, batch_rows = 0, self._batch_rows(total)
        while offset < total:
            before = offset
            for batch in self._batches(names, batch_rows, offset):
                if batch.nbytes > _LARGE_BATCH_BYTES and batch_rows > _LEAST_ROWS:
                    break
                keep = self._kept(offset, len(batch))
                for name, column in zip(names, sums, strict=True):
                    column.take(batch.column(batch.schema.get_field_index(name)), offset, keep)
                offset += len(batch)
            else:
                if offset < total:
                    raise pa.ArrowInvalid(f"{total} rows by the footer, {offset} in the pages")
                return
            batch_rows = max(_LEAST_ROWS, batch_rows // 8) if offset == before else max(_LEAST_ROWS, batch_rows // 4)

    def _batches(self, names: list[str], batch_rows: int, offset: int) -> Iterator[pa.RecordBatch]:
        """Batches from a row on; those before are decoded and dropped."""
        seen = 0
        for batch in self.parquet.iter_batches(batch_size=batch_rows, columns=names, use_threads=False):
            seen += len(batch)
            if seen > offset:
                yield batch if seen - len(batch) >= offset else batch.slice(offset - (seen - len(batch)))

    def _batch_rows(self, total: int) -> int:
        """As many as should fit, judged by what the row groups are said to have in bytes."""
        if all(_is_narrow(column.file_type) for column in self.columns):
            return BATCH_ROWS
        metadata = self.parquet.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        row_bytes = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
        return max(_LEAST_ROWS, min(WIDE_BATCH_ROWS, _BATCH_BYTES // max(row_bytes, self.value_bytes, 1)))

    def _kept(self, offset: int, length: int) -> pa.BooleanArray | None:
        """Which rows of a batch the deletion vector leaves; None for all."""
        if self.deleted is None:
            return None
        gone = self.deleted & BitMap64(range(offset, offset + length))
        if not gone:
            return None
        flags = bytearray(b"\x01") * length
        for row in gone:
            flags[row - offset] = 0
        numbers = pa.Array.from_buffers(pa.uint8(), length, [None, pa.py_buffer(flags)])
        return pc.equal(numbers, 1)


def _is_corruption(fault: Exception) -> bool:
    """Whether what Arrow says of pages is that they are wrong, and not that it cannot read them."""
    if isinstance(fault, (MemoryError, NotImplementedError)) or getattr(fault, "errno", None) is not None:
        return False
    if not isinstance(fault, (OSError, pa.ArrowException)):
        return False
    text = str(fault).casefold()
    return not any(words in text for words in _NOT_OURS)

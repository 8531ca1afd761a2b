"""Chosen columns of a Parquet file, batch by batch, with the rows that are left of each.

For questions that need values of several columns side by side; `data_rows` answers those about columns one by one.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from deltaspec.wire.parquet.file_opener import UnreadableRows, open_data_file
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import StorageError, format_error

BATCH_ROWS = 1 << 14
_BATCH_BYTES = 32 << 20
_LARGEST_BATCH_BYTES = 1 << 30


@dataclass(frozen=True)
class Batch:
    """Some rows of a file, in their order."""

    start: int
    """Index in the file of the first of them."""
    columns: dict[str, pa.Array]
    """The columns asked for, of rows that are left."""
    rows: int
    """Rows that are left."""
    kept: pa.BooleanArray | None
    """Which rows of the file's are left, from `start` on; None for all."""


class RowBatches:
    """A Parquet file that is open for reading until the context that it is ends."""

    def __init__(self, access: DataAccess, key: str) -> None:
        """Raises `StorageError` where the storage does not give the file, `UnreadableRows` where it is no Parquet."""
        self._source = access.open_seekable(key)
        try:
            size = self._source.seek(0, io.SEEK_END)  # of what was opened: a store is not asked once more
            self._source.seek(0)
            self._parquet, self._value_bytes = open_data_file(self._source, size)
        except BaseException:
            self._source.close()
            raise
        self.schema: pa.Schema = self._parquet.schema_arrow
        self.row_count: int = self._parquet.metadata.num_rows

    @property
    def parquet(self) -> pq.ParquetFile:
        """The file itself, for its footer."""
        return self._parquet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    def read(self, names: Sequence[str], chosen: BitMap64 | None = None) -> Iterator[Batch]:
        """The rows of some columns.

        Args:
            names: top-level columns that the file has, at least one.
            chosen: indexes of the rows that are wanted; None for all.

        Raises:
            UnreadableRows: the pages cannot be decoded, or hold other numbers of rows than the footer says.
            StorageError: the storage did not give them.
        """
        for name in names:
            if self.schema.names.count(name) != 1:
                raise UnreadableRows(f"it has {self.schema.names.count(name)} columns {name}")
        start = 0
        try:
            size = self._batch_rows()
            for batch in self._parquet.iter_batches(batch_size=size, columns=list(names), use_threads=False):
                if batch.nbytes > _LARGEST_BATCH_BYTES:
                    raise UnreadableRows(f"{len(batch)} of its rows take {batch.nbytes} bytes")
                columns = {name: batch.column(batch.schema.get_field_index(name)) for name in names}
                kept = None if chosen is None else _mask(chosen, start, len(batch))
                if kept is not None:
                    columns = {name: column.filter(kept) for name, column in columns.items()}
                rows = len(batch) if kept is None else kept.true_count
                yield Batch(start, columns, rows, kept)
                start += len(batch)
        except StorageError:
            raise
        except (OSError, pa.ArrowException, MemoryError, KeyError, IndexError) as fault:
            raise UnreadableRows(f"its pages cannot be decoded: {format_error(fault)}") from fault
        if start != self.row_count:
            raise UnreadableRows(f"{self.row_count} rows by the footer, {start} in the pages")

    def _batch_rows(self) -> int:
        """As many as should fit, by what row groups are said to have in bytes and the longest values (`page_sizes`)."""
        metadata = self._parquet.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        row_bytes = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
        return max(1, min(BATCH_ROWS, _BATCH_BYTES // max(row_bytes, self._value_bytes, 1)))


def iter_empty_batches(row_count: int, chosen: BitMap64 | None) -> Iterator[Batch]:
    """The same batches without a column, of a file with so many rows; nothing is read."""
    for start in range(0, row_count, BATCH_ROWS):
        length = min(BATCH_ROWS, row_count - start)
        kept = None if chosen is None else _mask(chosen, start, length)
        yield Batch(start, {}, length if kept is None else kept.true_count, kept)


def compute_remaining_rows(row_count: int, deleted: BitMap64) -> BitMap64:
    """Indexes of the rows that a deletion vector leaves."""
    left = BitMap64()
    left.add_range(0, row_count)
    left -= deleted
    return left


def _mask(chosen: BitMap64, start: int, length: int) -> pa.BooleanArray:
    window = BitMap64()
    window.add_range(start, start + length)
    flags = bytearray(length)
    for row in chosen & window:
        flags[row - start] = 1
    numbers = pa.Array.from_buffers(pa.uint8(), length, [None, pa.py_buffer(bytes(flags))])
    return numbers.cast(pa.bool_())

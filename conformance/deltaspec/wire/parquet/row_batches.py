"""Read chosen columns of a Parquet file in batches of rows.

For checks that need values of several columns in the same row. `wire.data.row_reader` reads columns one by one.
"""

import io
from collections.abc import Iterator, Sequence
from typing import Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from deltaspec.wire.parquet.file_opener import UnreadableRows, open_data_file
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import StorageError, format_error

BATCH_ROWS = 1 << 14
_BATCH_BYTES = 32 << 20
_LARGEST_BATCH_BYTES = 1 << 30


class Batch(msgspec.Struct, frozen=True):
    """Consecutive rows of a file."""

    start: int
    """Index of the first row in the file."""
    columns: dict[str, pa.Array]
    """Requested columns, with the remaining rows only."""
    rows: int
    """Number of remaining rows."""
    kept: pa.BooleanArray | None
    """Whether each row of the file from `start` on remains; None if all do."""

    @property
    def length(self) -> int:
        """Number of rows of the file, remaining or not."""
        return self.rows if self.kept is None else len(self.kept)


class RowBatches:
    """An open Parquet file, and its context manager."""

    def __init__(self, access: DataAccess, key: str) -> None:
        """Open a file.

        Raises:
            UnreadableRows: the file cannot be opened as Parquet.
            StorageError: the file cannot be read.
        """
        self._source = access.open_seekable(key)
        try:
            size = self._source.seek(0, io.SEEK_END)  # from the handle, which saves a request
            self._source.seek(0)
            opened = open_data_file(self._source, size)
            self._parquet, self._value_bytes = opened.parquet, opened.value_bytes
        except BaseException:
            self._source.close()
            raise
        self.schema: pa.Schema = self._parquet.schema_arrow
        self.row_count: int = self._parquet.metadata.num_rows

    @property
    def parquet(self) -> pq.ParquetFile:
        """The file, for access to its footer."""
        return self._parquet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    def read(self, names: Sequence[str], chosen: BitMap64 | None = None) -> Iterator[Batch]:
        """Yield the rows of some columns, in file order.

        Args:
            names: top-level columns, at least one.
            chosen: indexes of the rows to read; None for all.

        Raises:
            UnreadableRows: a column is missing or occurs twice, its pages cannot be decoded, or its row count
                differs from the footer.
            StorageError: the file cannot be read.
        """
        for name in names:
            if self.schema.names.count(name) != 1:
                raise UnreadableRows(f"expected one column {name}, found {self.schema.names.count(name)}")
        start = 0
        try:
            size = self._batch_rows()
            for batch in self._parquet.iter_batches(batch_size=size, columns=list(names), use_threads=False):
                if batch.nbytes > _LARGEST_BATCH_BYTES:
                    raise UnreadableRows(
                        f"{len(batch)} rows take {batch.nbytes} bytes, more than the limit of {_LARGEST_BATCH_BYTES}"
                    )
                columns = {name: batch.column(batch.schema.get_field_index(name)) for name in names}
                kept = None if chosen is None else mask_rows(chosen, start, len(batch))
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
            raise UnreadableRows(f"its footer states {self.row_count} rows, its pages have {start}")

    def _batch_rows(self) -> int:
        """Return the rows of a batch, from the stated sizes of row groups and the estimate of the longest value."""
        metadata = self._parquet.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        row_bytes = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
        return max(1, min(BATCH_ROWS, _BATCH_BYTES // max(row_bytes, self._value_bytes, 1)))


def iter_empty_batches(row_count: int, chosen: BitMap64 | None) -> Iterator[Batch]:
    """Yield the batches of a file without columns, for which nothing is read."""
    for start in range(0, row_count, BATCH_ROWS):
        length = min(BATCH_ROWS, row_count - start)
        kept = None if chosen is None else mask_rows(chosen, start, length)
        yield Batch(start, {}, length if kept is None else kept.true_count, kept)


def compute_remaining_rows(row_count: int, deleted: BitMap64) -> BitMap64:
    """Return the indexes of the rows that a deletion vector does not delete."""
    remaining = BitMap64()
    remaining.add_range(0, row_count)
    remaining -= deleted
    return remaining


def mask_rows(chosen: BitMap64, start: int, length: int) -> pa.BooleanArray:
    """Return whether each row from `start` on is chosen."""
    window = BitMap64()
    window.add_range(start, start + length)
    flags = bytearray(length)
    for row in chosen & window:
        flags[row - start] = 1
    numbers = pa.Array.from_buffers(pa.uint8(), length, [None, pa.py_buffer(bytes(flags))])
    return numbers.cast(pa.bool_())

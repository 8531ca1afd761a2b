"""Read a part of the rows of a Parquet file, so that several tasks share a large checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 1 << 15
"""Rows of a batch. Slices begin at batches of a row group, so that no batch is cut."""


class RowSlice(msgspec.Struct, frozen=True):
    """One of `count` slices of a file, with about as many batches as any other."""

    index: int = 0
    count: int = 1

    @property
    def is_complete_file(self) -> bool:
        """Whether there is no other slice."""
        return self.count == 1


class GroupBatches(msgspec.Struct, frozen=True):
    """Consecutive batches of a row group."""

    group: int
    first_row: int
    """Row number of the group's first row in the file, from 0."""
    rows: int
    """Rows of the complete group."""
    batches: range
    """Numbers of the batches within the group."""


def select_batches(rows_by_group: Sequence[int], part: RowSlice) -> list[GroupBatches]:
    """Return the batches of a slice, in the order of the file.

    Args:
        rows_by_group: number of rows of each row group.
        part: the slice.
    """
    counts = [-(-rows // BATCH_ROWS) for rows in rows_by_group]
    start, stop = (sum(counts) * number // part.count for number in (part.index, part.index + 1))
    found, first_row, first_batch = [], 0, 0
    for group, (rows, count) in enumerate(zip(rows_by_group, counts, strict=True)):
        batches = range(max(start - first_batch, 0), min(stop - first_batch, count))
        if batches:
            found.append(GroupBatches(group, first_row, rows, batches))
        first_row += rows
        first_batch += count
    return found


def find_first_row(selected: Sequence[GroupBatches]) -> int:
    """Return the row number, from 0, of the first row of some batches; 0 if there are none."""
    return selected[0].first_row + selected[0].batches.start * BATCH_ROWS if selected else 0


def iter_selected_batches(
    parquet: pq.ParquetFile, columns: list[str], selected: Sequence[GroupBatches]
) -> Iterator[pa.RecordBatch]:
    """Yield some batches of a file. Batches before them in their row group are decoded and dropped.

    Raises:
        ValueError: a row group does not have the batches that its number of rows requires.
    """
    for each in selected:
        batches = parquet.iter_batches(
            batch_size=BATCH_ROWS, row_groups=[each.group], columns=columns, use_threads=True
        )
        for number in range(each.batches.stop):
            batch = next(batches, None)
            expected = min(BATCH_ROWS, each.rows - number * BATCH_ROWS)
            if batch is None or len(batch) != expected:
                raise ValueError(f"expected {expected} rows in batch {number} of row group {each.group}")
            if number >= each.batches.start:
                yield batch
        if each.batches.stop * BATCH_ROWS >= each.rows and next(batches, None) is not None:
            raise ValueError(f"expected {each.rows} rows in row group {each.group}")


def count_rows_by_group(parquet: pq.ParquetFile) -> list[int]:
    """Return the number of rows of each row group.

    Raises:
        ValueError: their sum is not the number of rows of the file.
    """
    metadata = parquet.metadata
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows:
        raise ValueError(f"expected {metadata.num_rows} rows in all row groups, found {sum(rows)}")
    return rows

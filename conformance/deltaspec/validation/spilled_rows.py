"""Rows in a temporary file, from which buckets are read without the others."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from deltaspec.validation.bucketing import split_by_bucket
from deltaspec.validation.stored_rows import LZ4, LeftOut, leave_out_columns, to_stored_table


class SpilledRows(NamedTuple):
    """A file in Arrow's file format with a record batch for each bucket that has rows.

    Columns that can be restored are not in the file.
    """

    path: Path
    batches: dict[int, int]
    """Number of the record batch of each bucket that has rows."""
    left_out: LeftOut
    row_count: int

    @classmethod
    def write(cls, path: Path, rows: pl.DataFrame, keys: pl.Series, count: int) -> SpilledRows:
        """Write rows to a new file.

        Args:
            path: the file.
            rows: at least one row.
            keys: one for each row, whose hash gives the bucket.
            count: number of buckets.
        """
        columns, left_out = leave_out_columns(rows)
        parts = split_by_bucket(columns, keys, count)
        stored = (to_stored_table(part) for _, part in parts)
        first = next(stored)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, first.schema, options=LZ4) as writer:
            for table in chain([first], stored):
                writer.write_table(table)
        batches = {bucket: number for number, (bucket, _) in enumerate(parts)}
        return cls(path, batches, left_out, len(rows))

    def read(self, buckets: Iterable[int]) -> pl.DataFrame | None:
        """Read the rows of some buckets, those of each in the order in which they were written; None without rows."""
        numbers = [self.batches[bucket] for bucket in buckets if bucket in self.batches]
        if not numbers:
            return None
        with pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            stored = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(map(reader.get_batch, numbers))))
        return self.left_out.restore(stored)

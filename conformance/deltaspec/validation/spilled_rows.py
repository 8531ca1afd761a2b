"""Rows in a temporary file, from which single buckets can be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from deltaspec.validation.bucketing import split_by_bucket
from deltaspec.validation.stopping import RunStopped
from deltaspec.validation.stored_rows import LZ4, LeftOut, find_common_constants, to_stored_table
from deltaspec.wire.storage.interface import format_error

FEWEST_ROWS = 100
"""Columns are indexed if parts have this many rows on average, because the values of all parts stay in memory."""


class SpilledRows(NamedTuple):
    """A file in Arrow's file format with a record batch for each bucket that has rows.

    Columns that can be restored are not in the file.
    """

    path: Path
    batches: dict[int, tuple[int, int]]
    """Number of the record batch of each bucket that has rows, and its number of rows."""
    left_out: LeftOut
    values: dict[str, pl.Series]
    """Values of each column that is stored as indices of its values."""
    row_count: int

    @classmethod
    def write(
        cls, path: Path, parts: Sequence[tuple[pl.DataFrame, LeftOut]], keys: pl.Series, count: int
    ) -> SpilledRows:
        """Write rows to a new file.

        Args:
            path: the file.
            parts: of one schema, each with at least one row, as `leave_out_columns` returns them.
            keys: one for each row of all parts, whose hash gives the bucket.
            count: number of buckets.
        """
        rows, left_out, values = _combine_parts(parts)
        buckets = split_by_bucket(rows, keys, count)
        stored = (to_stored_table(part) for _, part in buckets)
        first = next(stored)
        with pa.OSFile(os.fsencode(path), "wb") as file, pa.ipc.new_file(file, first.schema, options=LZ4) as writer:
            for table in chain([first], stored):
                writer.write_table(table)
        batches = {bucket: (number, len(part)) for number, (bucket, part) in enumerate(buckets)}
        return cls(path, batches, left_out, values, len(rows))

    def read(self, buckets: Iterable[int]) -> pl.DataFrame | None:
        """Read the rows of some buckets, in the order in which each bucket was written; None without rows.

        Raises:
            RunStopped: the file was deleted or damaged, or does not have all rows.
        """
        batches = [self.batches[bucket] for bucket in buckets if bucket in self.batches]
        if not batches:
            return None
        expected = sum(rows for _, rows in batches)
        try:
            with pa.memory_map(os.fsencode(self.path)) as file:
                reader = pa.ipc.open_file(file)
                table = pa.Table.from_batches(reader.get_batch(number) for number, _ in batches)
                stored = pl.DataFrame(pl.from_arrow(table))
        except (OSError, pa.ArrowException) as fault:
            raise RunStopped(f"{self.path}: temporary rows cannot be read again: {format_error(fault)}") from fault
        if len(stored) != expected:
            raise RunStopped(f"{self.path}: expected {expected:,} temporary rows, found {len(stored):,}")
        indexed = [values.gather(stored.get_column(name)).alias(name) for name, values in self.values.items()]
        return self.left_out.restore(stored.with_columns(indexed))


def _combine_parts(parts: Sequence[tuple[pl.DataFrame, LeftOut]]) -> tuple[pl.DataFrame, LeftOut, dict[str, pl.Series]]:
    """Return the columns to store, what is left out of all parts, and the values of indexed columns.

    A column that is constant in every part, like the name of the log file, is stored as indices of its values, unless
    the parts are small.
    """
    left_out = find_common_constants([part for _, part in parts])
    columns, values = dict[str, pl.Series](), dict[str, pl.Series]()
    lengths = [len(stored) for stored, _ in parts]
    is_indexed = sum(lengths) >= len(parts) * FEWEST_ROWS
    for name, dtype in left_out.schema.items():
        if name in left_out.constants:
            continue
        if is_indexed and all(name in part.constants for _, part in parts):
            indices: dict[Any, int] = {}
            numbers = [indices.setdefault(part.constants[name], len(indices)) for _, part in parts]
            columns[name] = pl.Series(numbers, dtype=pl.UInt32).repeat_by(pl.Series(lengths)).explode()
            values[name] = pl.Series(name, list(indices), dtype)
        else:
            columns[name] = pl.concat([part.get_column(stored, name) for stored, part in parts])
    return pl.DataFrame(columns), left_out, values

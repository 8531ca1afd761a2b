"""Rows in a temporary file, from which buckets are read without the others."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from deltaspec.validation.bucketing import split_by_bucket

LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
"""It needs a third of the CPU time of Zstandard, but 113 bytes for each row of a usual checkpoint instead of 72."""


class SpilledRows(NamedTuple):
    """A file in Arrow's file format with a record batch for each bucket that has rows.

    Columns with one value are not in the file: most optional fields of file actions have none, and each name of a log
    file is long.
    """

    path: Path
    batches: dict[int, int]
    """Number of the record batch of each bucket that has rows."""
    schema: pl.Schema
    constants: dict[str, Any]
    """Value of each column with one value, also null."""
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
        constants = find_constants(rows)
        parts = split_by_bucket(rows.drop(constants), keys, count)
        stored = (part.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks() for _, part in parts)
        first = next(stored)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, first.schema, options=LZ4) as writer:
            for table in chain([first], stored):
                writer.write_table(table)
        batches = {bucket: number for number, (bucket, _) in enumerate(parts)}
        return cls(path, batches, rows.schema, constants, len(rows))

    def read(self, buckets: Iterable[int]) -> pl.DataFrame | None:
        """Read the rows of some buckets, those of each in the order in which they were written; None without rows."""
        numbers = [self.batches[bucket] for bucket in buckets if bucket in self.batches]
        if not numbers:
            return None
        with pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            stored = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(map(reader.get_batch, numbers))))
        constants = (pl.lit(value, self.schema[name]).alias(name) for name, value in self.constants.items())
        return stored.with_columns(constants).select(self.schema.names())


def find_constants(rows: pl.DataFrame) -> dict[str, Any]:
    """Return the value, also null, of each column with one value. One column is left out to keep the length."""
    found: dict[str, Any] = {}
    for name, nulls in rows.null_count().row(0, named=True).items():
        if nulls == len(rows):
            found[name] = None
        elif not nulls and _has_one_value(column := rows.get_column(name)):
            found[name] = column[0]
    if len(found) == len(rows.columns):
        found.popitem()
    return found


def _has_one_value(column: pl.Series) -> bool:
    """Return whether a column without nulls has one value; false for types that are seldom constant."""
    if column.dtype not in (pl.String, pl.Int64, pl.Boolean) or column[0] != column[-1]:
        return False
    return bool((column == column[0]).all())

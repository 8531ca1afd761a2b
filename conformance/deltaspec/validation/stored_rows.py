"""Rows as streams of Arrow, without the columns that can be restored.

Most optional fields of file actions have no value, and each name of a log file is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import IO, Any, NamedTuple

import polars as pl
import pyarrow as pa

LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
"""For temporary files: it needs a third of the CPU time of Zstandard, and twice the bytes."""
ZSTANDARD = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))
"""For rows that Spark copies several times, which takes as much time as LZ4 saves."""


class LeftOut(NamedTuple):
    """Columns that are not stored."""

    schema: pl.Schema
    """All columns, including those that are stored."""
    constants: dict[str, Any]
    """Value of each column with one value, also null."""

    def restore(self, stored: pl.DataFrame) -> pl.DataFrame:
        """Add the columns that are not stored."""
        constants = (pl.lit(value, self.schema[name]).alias(name) for name, value in self.constants.items())
        return stored.with_columns(constants)[self.schema.names()]

    def get_column(self, stored: pl.DataFrame, name: str) -> pl.Series:
        """Return a column of the rows, stored or not."""
        if name not in self.constants:
            return stored.get_column(name)
        return pl.Series(name, [self.constants[name]], self.schema[name]).new_from_index(0, len(stored))


def leave_out_columns(rows: pl.DataFrame) -> tuple[pl.DataFrame, LeftOut]:
    """Return the columns of rows that must be stored, at least one, and a description of the others."""
    constants = find_constants(rows)
    return rows[[name for name in rows.columns if name not in constants]], LeftOut(rows.schema, constants)


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


def find_common_constants(parts: Sequence[LeftOut]) -> LeftOut:
    """Return which columns can be left out of all parts of one frame together."""
    first, *others = parts
    assert all(each.schema == first.schema for each in others), "parts of one frame have one schema"
    constants = {
        name: value
        for name, value in first.constants.items()
        if all(name in each.constants and each.constants[name] == value for each in others)
    }
    return LeftOut(first.schema, constants)


def _has_one_value(column: pl.Series) -> bool:
    """Return whether a column without nulls has one value; false for types that are seldom constant."""
    if column.dtype not in (pl.String, pl.Int64, pl.Boolean) or column[0] != column[-1]:
        return False
    return bool((column == column[0]).all())


def to_stored_table(stored: pl.DataFrame) -> pa.Table:
    """Convert stored columns to Arrow. Strings of a few rows do not keep the buffers of all rows they came from."""
    return stored.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()


def write_rows(sink: IO[bytes], stored: pl.DataFrame, options: pa.ipc.IpcWriteOptions) -> None:
    """Write the rows that `leave_out_columns` returns, or some of them, as one stream."""
    table = to_stored_table(stored)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)


def read_rows(streams: Iterable[tuple[LeftOut, Any]]) -> pl.DataFrame:
    """Read streams of `write_rows`, as bytes or buffers, as one frame with all columns. Rows keep their order.

    Streams in a row that leave out the same columns are restored together. A damaged stream may end the process.
    """
    frames: list[pl.DataFrame] = []
    for left_out, run in groupby(streams, key=itemgetter(0)):
        table = pa.concat_tables([pa.ipc.open_stream(stream).read_all() for _, stream in run])
        frames.append(left_out.restore(pl.DataFrame(pl.from_arrow(table))))
    return pl.concat(frames)

"""Hashes of rows, and their sums by partition and column: two bags of rows are equal if these sums are.

Both sides hash the same values in the same way: the judge the values of data files, an engine's answer its Arrow
values, each converted to the type of the table's column. Sums of hashes do not depend on the order of rows. Hashes are
comparable within one process only.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from deltaspec.wire.data.row_hashing import HASH_MODULUS, combine_hashes, sum_hashes

PARTITION, ROWS, ROW = "partition", "rows", "row"
_MOST_PARTS = 256
"""Frames of sums that are collected before they are added up."""


class HashedRows(msgspec.Struct, frozen=True):
    """Hashes of some consecutive rows."""

    rows: int
    columns: Sequence[pl.Series]
    """One UInt64 series for each compared column."""
    partition: int | pl.Series
    """Hash of the values of the partition columns; one number if all rows have the same."""

    @property
    def row_hashes(self) -> pl.Series:
        """A hash of each row."""
        return combine_hashes(self.columns, self.rows)


def hash_partition(columns: Sequence[pl.Series]) -> pl.Series:
    """Return the hash of the partition of each row from the hashes of the partition columns, at least one."""
    return combine_hashes(columns, len(columns[0]))


class RowSums:
    """Sums of hashes by partition: of each column, and of rows."""

    def __init__(self, columns: int) -> None:
        self._names = [ROW, *map(str, range(columns))]
        self._schema = {PARTITION: pl.UInt64, ROWS: pl.Int64, **dict.fromkeys(self._names, pl.UInt64)}
        self._total = pl.DataFrame(schema=self._schema)
        self._parts: list[pl.DataFrame] = []
        self._single: dict[int, list[int]] = {}
        """Sums of the rows that were added by partition: number of rows, rows, columns."""
        self.rows = 0

    def add(self, hashed: HashedRows) -> None:
        """Add rows."""
        if not hashed.rows:
            return
        self.rows += hashed.rows
        hashes = [hashed.row_hashes, *hashed.columns]
        if isinstance(hashed.partition, int):
            self._add_sums(hashed.partition, [hashed.rows, *map(sum_hashes, hashes)])
            return
        frame = pl.DataFrame({PARTITION: hashed.partition, **dict(zip(self._names, hashes, strict=True))})
        self._parts.append(
            frame.group_by(PARTITION).agg(pl.len().cast(pl.Int64).alias(ROWS), pl.col(self._names).sum())
        )
        if len(self._parts) >= _MOST_PARTS:
            self._merge()

    def merge(self, other: RowSums) -> None:
        """Add the rows of other sums."""
        self.rows += other.rows
        self._parts += other._parts
        for partition, sums in other._single.items():
            self._add_sums(partition, sums)

    def _add_sums(self, partition: int, sums: list[int]) -> None:
        known = self._single.get(partition)
        if known is not None:
            sums = [(first + second) % HASH_MODULUS for first, second in zip(known, sums, strict=True)]
        self._single[partition] = sums

    @property
    def by_partition(self) -> pl.DataFrame:
        """The sums, one row for each partition."""
        self._merge()
        return self._total

    def find_differences(self, found: RowSums) -> pl.DataFrame:
        """Return the partitions whose sums differ, with the sums of `found` in columns with the suffix `_right`."""
        joined = self.by_partition.join(found.by_partition, on=PARTITION, how="full", coalesce=True)
        names = (ROWS, *self._names)
        differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_right")) for name in names)
        return joined.filter(differs)

    def _merge(self) -> None:
        if self._parts or self._single:
            rows = [(partition, *sums) for partition, sums in self._single.items()]
            single = pl.DataFrame(rows, self._schema, orient="row")
            added = pl.concat([self._total, single, *self._parts], rechunk=False)
            self._total = added.group_by(PARTITION).agg(pl.col(ROWS, *self._names).sum())
            self._parts, self._single = [], {}

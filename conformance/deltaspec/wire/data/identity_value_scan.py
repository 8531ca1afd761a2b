"""What a data file holds in an identity column: its ends, values out of the sequence, values that came before."""

from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.model.features.identity_columns import Identity, is_in_sequence
from deltaspec.wire.data.column_aggregates import unwrap_array
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches

_MOST_BLOCKS = 1 << 20
"""Of 65,536 neighbouring numbers each; a bitmap takes some 100 bytes for one that holds a few of them."""
_SAFE = 2**62
"""Below it, differences of two numbers fit 64 bits."""


@dataclass
class IdentityValues:
    """Values of the valid rows of a file in one identity column; nulls left out."""

    identity: Identity
    lowest: int | None = None
    highest: int | None = None
    off_sequence: int = 0
    first_off_sequence: int | None = None
    repeated: int = 0
    first_repeated: int | None = None
    values: BitMap64 = field(default_factory=BitMap64)
    """All of them; those below 0 count as so many below 2^64."""
    blocks: BitMap64 = field(default_factory=BitMap64)
    """Which 65,536 neighbours of them have one."""

    def take(self, array: pa.Array) -> None:
        """Add a batch of rows. Raises `UnreadableRows` where they are no longs, or too far apart to be compared."""
        numbers = _integers(array).drop_nulls()
        if numbers.is_empty():
            return
        low, high = numbers.min(), numbers.max()
        assert isinstance(low, int)
        assert isinstance(high, int)
        self.lowest = low if self.lowest is None else min(self.lowest, low)
        self.highest = high if self.highest is None else max(self.highest, high)
        self._look_at_sequence(numbers, low, high)
        held = numbers.cast(pl.UInt64, wrap_numerical=True)
        self.blocks |= BitMap64((held // 65_536).unique().to_list())
        check_bitmap_size(self.blocks)
        new = BitMap64(held.unique().to_list())  # a few bytes may hold millions of equal values
        twice = new & self.values
        if len(new) < len(held):
            twice |= BitMap64(held.filter(held.is_duplicated()).unique().to_list())
        self._repeat(twice)
        self.values |= new

    def record_repeats(self, seen: BitMap64) -> None:
        """Note which values files before this one hold."""
        self._repeat(self.values & seen)

    def _repeat(self, values: BitMap64) -> None:
        if values:
            below_0 = values.max() >= 2**63
            first = values[values.rank(2**63 - 1)] - 2**64 if below_0 else values.min()
            self.repeated += len(values)
            self.first_repeated = first if self.first_repeated is None else min(first, self.first_repeated)

    def _look_at_sequence(self, numbers: pl.Series, low: int, high: int) -> None:
        start, step = self.identity.start, self.identity.step
        assert start is not None
        assert step
        if max(abs(each) for each in (low, high, start, step)) < _SAFE:
            away = numbers - start
            off = numbers.filter((away % abs(step) != 0) | (away < 0 if step > 0 else away > 0))
        else:
            off = pl.Series([each for each in numbers if is_in_sequence(self.identity, each) is False], dtype=pl.Int64)
        if len(off):
            self.off_sequence += len(off)
            self.first_off_sequence = off[0] if self.first_off_sequence is None else self.first_off_sequence


def check_bitmap_size(blocks: BitMap64) -> None:
    """Refuse numbers that lie so far apart that a set of them takes too much memory. Raises `UnreadableRows`."""
    if len(blocks) > _MOST_BLOCKS:
        raise UnreadableRows("values of an identity column are too far apart to be compared")


def read_identity_values(source: RowBatches, name: str, left: BitMap64 | None, identity: Identity) -> IdentityValues:
    """The values of a column.

    Args:
        source: the data file.
        name: of the column in the file, which has it once.
        left: indexes of the rows that a deletion vector leaves; None for all.
        identity: of the column, with start and step.

    Raises:
        UnreadableRows: the pages cannot be decoded, or hold no longs.
        StorageError: the storage did not give them.
    """
    found = IdentityValues(identity)
    for batch in source.read([name], left):
        found.take(batch.columns[name])
    return found


def _integers(array: pa.Array) -> pl.Series:
    array = unwrap_array(array)
    if not (pa.types.is_signed_integer(array.type) or pa.types.is_null(array.type)):
        raise UnreadableRows(f"an identity column is {array.type}")
    found = pl.from_arrow(array.cast(pa.int64()))
    assert isinstance(found, pl.Series)
    return found

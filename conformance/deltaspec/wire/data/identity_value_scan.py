"""Scan an identity column of a data file: bounds, values outside of the sequence, repeated values."""

import msgspec
import polars as pl
import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.protocol.features.identity_columns import Identity, is_in_sequence
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches

TOO_FAR_APART = "values of an identity column are too far apart to be compared"
BLOCK = 65_536
MAX_BLOCKS = 1 << 20
"""Limit of blocks of 65,536 consecutive numbers; a bitmap takes some 100 bytes for a sparse block."""
_SAFE = 2**62
"""Differences of two smaller numbers fit into 64 bits."""


class IdentityValues(msgspec.Struct):
    """Values of one identity column in the valid rows of a file, without nulls."""

    identity: Identity
    lowest: int | None = None
    highest: int | None = None
    off_sequence: int = 0
    first_off_sequence: int | None = None
    repeated: int = 0
    first_repeated: int | None = None
    values: BitMap64 = msgspec.field(default_factory=BitMap64)
    """All values; negative ones are stored modulo 2^64."""
    blocks: BitMap64 = msgspec.field(default_factory=BitMap64)
    """Indexes of the blocks of 65,536 numbers that contain a value."""

    def take(self, array: pa.Array) -> None:
        """Add a batch of rows.

        Raises:
            UnreadableRows: the values are not integers, or are spread over too many blocks.
        """
        numbers = _to_integers(array).drop_nulls()
        if numbers.is_empty():
            return
        low, high = numbers.min(), numbers.max()
        assert isinstance(low, int)
        assert isinstance(high, int)
        self.lowest = low if self.lowest is None else min(self.lowest, low)
        self.highest = high if self.highest is None else max(self.highest, high)
        self._check_sequence(numbers, low, high)
        unsigned = numbers.cast(pl.UInt64, wrap_numerical=True)
        self.blocks |= BitMap64((unsigned // BLOCK).unique().to_list())
        if needs_too_much_memory(len(self.blocks)):
            raise UnreadableRows(TOO_FAR_APART)
        new = BitMap64(unsigned.unique().to_list())  # a few bytes may hold millions of equal values
        repeated = new & self.values
        if len(new) < len(unsigned):
            repeated |= BitMap64(unsigned.filter(unsigned.is_duplicated()).unique().to_list())
        self._record_repeated(repeated)
        self.values |= new

    def _record_repeated(self, values: BitMap64) -> None:
        if values:
            below_0 = values.max() >= 2**63
            first = values[values.rank(2**63 - 1)] - 2**64 if below_0 else values.min()
            self.repeated += len(values)
            self.first_repeated = first if self.first_repeated is None else min(first, self.first_repeated)

    def _check_sequence(self, numbers: pl.Series, low: int, high: int) -> None:
        start, step = self.identity.start, self.identity.step
        assert start is not None
        assert step
        if max(abs(each) for each in (low, high, start, step)) < _SAFE:
            distance = numbers - start
            off = numbers.filter((distance % abs(step) != 0) | (distance < 0 if step > 0 else distance > 0))
        else:
            off = pl.Series([each for each in numbers if is_in_sequence(self.identity, each) is False], dtype=pl.Int64)
        if len(off):
            self.off_sequence += len(off)
            self.first_off_sequence = off[0] if self.first_off_sequence is None else self.first_off_sequence


def needs_too_much_memory(blocks: int) -> bool:
    """Return whether values are too far apart, and in too many blocks, for a set of them in memory."""
    return blocks > MAX_BLOCKS


def read_identity_values(source: RowBatches, name: str, left: BitMap64 | None, identity: Identity) -> IdentityValues:
    """Scan a column.

    Args:
        source: the data file.
        name: name of the column in the file.
        left: indexes of the rows that are not deleted; None for all.
        identity: start and step of the column.

    Raises:
        UnreadableRows: the pages cannot be decoded, or the values are not integers.
        StorageError: the file cannot be read.
    """
    found = IdentityValues(identity)
    for batch in source.read([name], left):
        found.take(batch.columns[name])
    return found


def _to_integers(array: pa.Array) -> pl.Series:
    if not (pa.types.is_signed_integer(array.type) or pa.types.is_null(array.type)):
        raise UnreadableRows(f"an identity column is stored as {array.type}, not as an integer")
    found = pl.from_arrow(array.cast(pa.int64()))
    assert isinstance(found, pl.Series)
    return found

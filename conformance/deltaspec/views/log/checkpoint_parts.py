"""Distribution of file actions over the parts of a multipart checkpoint, computed on columns."""

import polars as pl
import pyarrow as pa

from deltaspec.protocol.log.spark_hash import SEED

_KEY = ("path", "dv_storage_type", "dv_path_or_inline", "dv_offset")


class PartAssignmentCheck:
    """Counts file actions of a multipart checkpoint that are not in the part that Spark's hash assigns."""

    def __init__(self, files: tuple[str, ...], *, vectors_supported: bool | None) -> None:
        """Start counting.

        Args:
            files: the parts, in order.
            vectors_supported: whether the table supports deletion vectors; None if unknown.
        """
        self._parts = {file: number for number, file in enumerate(files, 1)}
        self._vectors_supported = vectors_supported
        self._misplaced = 0

    def check_batch(self, file: str, table: pa.Table) -> None:
        """Check a batch of file actions of one part; columns as in `FILE_ACTION_SCHEMA`."""
        part = self._parts.get(file)
        if part is None or len(self._parts) == 1 or table.num_rows == 0 or self._vectors_supported is None:
            return
        rows = pl.DataFrame(pl.from_arrow(table.select(_KEY))).drop_nulls("path")
        expected = compute_spark_parts(rows, len(self._parts), vectors=self._vectors_supported)
        self._misplaced += int((expected != part).sum())

    @property
    def misplaced_files(self) -> int | None:
        """File actions in the wrong part; None if the hash key is unknown or the checkpoint is one file."""
        known = len(self._parts) > 1 and self._vectors_supported is not None
        return self._misplaced if known else None


def split_paths(rows: pl.DataFrame, parts: tuple[str, ...]) -> int:
    """Return the number of paths that have actions in several parts of a checkpoint.

    Args:
        rows: file actions with the columns `path` (null where it equals `path_key`), `path_key` and `file`.
        parts: files of the parts, without sidecars.
    """
    keys = rows.filter(pl.col("file").is_in(list(parts))).select(path=pl.coalesce("path", "path_key"), file="file")
    return keys.drop_nulls("path").unique().group_by("path").len().filter(pl.col("len") > 1).height


def compute_spark_parts(rows: pl.DataFrame, parts: int, *, vectors: bool) -> pl.Series:
    """Return the part number, starting at 1, that Spark's hash assigns to each file action (Int32).

    This is the columnar implementation of `protocol.log.spark_hash`.

    Args:
        rows: columns `path` (not null), `dv_storage_type`, `dv_path_or_inline` and `dv_offset`, as in
            `FILE_ACTION_SCHEMA`.
        parts: number of parts.
        vectors: whether the hash key includes the deletion-vector id.
    """
    hashes = _murmur3(rows["path"].cast(pl.Binary), pl.repeat(SEED, len(rows), dtype=pl.UInt32, eager=True))
    if vectors:
        offset = pl.when(pl.col("dv_offset").is_not_null()).then(pl.format("@{}", "dv_offset")).otherwise(pl.lit(""))
        identity = pl.concat_str("dv_storage_type", "dv_path_or_inline", offset)
        ids = rows.select(identity.cast(pl.Binary)).to_series()
        again = _murmur3(ids.fill_null(b""), hashes)
        hashes = pl.select(pl.when(ids.is_null()).then(hashes).otherwise(again)).to_series()
    signed = hashes.cast(pl.Int64)
    signed = pl.select(pl.when(signed >= 1 << 31).then(signed - (1 << 32)).otherwise(signed)).to_series()
    return ((signed % parts + parts) % parts + 1).cast(pl.Int32)


def _murmur3(data: pl.Series, seeds: pl.Series) -> pl.Series:
    """Return the 32-bit Murmur3 hash of each value, as in `protocol.log.spark_hash`; UInt32 arithmetic wraps around.

    Rows are sorted by length, longest first, so that each step works on a prefix.
    """
    rows = pl.DataFrame({"data": data, "state": seeds}).with_row_index("row_number")
    rows = rows.with_columns(size=pl.col("data").bin.size()).sort("size", descending=True)
    words, done, step = rows["size"] // 4, [], 0
    while len(rows):
        left = int((words > step).sum())
        done.append(rows[left:])
        rows, words = rows[:left], words[:left]
        if left:
            word = pl.col("data").bin.slice(step * 4, 4).bin.reinterpret(dtype=pl.UInt32)
            rows = rows.with_columns(state=_mix(pl.col("state"), word))
            step += 1
    found = pl.concat(done) if done else rows
    aligned, rest = pl.col("size") // 4 * 4, pl.col("size") % 4
    for number in range(3):
        byte = pl.col("data").bin.slice(aligned + number, 1).bin.reinterpret(dtype=pl.Int8)
        word = (byte.cast(pl.Int64) % (1 << 32)).cast(pl.UInt32)
        mixed = _mix(pl.col("state"), word)
        found = found.with_columns(state=pl.when(rest > number).then(mixed).otherwise(pl.col("state")))
    state = pl.col("state") ^ pl.col("size").cast(pl.UInt32)
    state = (state ^ state // _u32(1 << 16)) * _u32(0x85EBCA6B)
    state = (state ^ state // _u32(1 << 13)) * _u32(0xC2B2AE35)
    return found.sort("row_number").select(state ^ state // _u32(1 << 16)).to_series()


def _mix(state: pl.Expr, word: pl.Expr) -> pl.Expr:
    mixed = state ^ _rotate(word * _u32(0xCC9E2D51), 15) * _u32(0x1B873593)
    return _rotate(mixed, 13) * _u32(5) + _u32(0xE6546B64)


def _rotate(word: pl.Expr, bits: int) -> pl.Expr:
    return word * _u32(1 << bits) + word // _u32(1 << 32 - bits)


def _u32(value: int) -> pl.Expr:
    return pl.lit(value, pl.UInt32)

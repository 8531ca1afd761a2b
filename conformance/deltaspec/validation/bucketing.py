"""Assign rows to buckets by hash. All rows of one path get the same bucket, however the path is encoded."""

import polars as pl

from deltaspec.wire.storage.data_access import find_non_canonical_keys, is_outside_table, normalize_key

_SEED = 0
"""Seed of the hash, which must be the same on all executors."""


def normalize_path_keys(path_keys: pl.Series) -> pl.Series:
    """Normalize path keys to the names of a listing, so that all keys of one file are equal."""
    rows = find_non_canonical_keys(path_keys).arg_true()
    if not len(rows):
        return path_keys
    normalized = [key if is_outside_table(key) else normalize_key(key) for key in path_keys.gather(rows)]
    return path_keys.clone().scatter(rows, pl.Series(normalized, dtype=pl.String))


def compute_buckets(keys: pl.Series, count: int) -> pl.Series:
    """Compute the bucket of each key, a string or an integer. The result is UInt64 and less than `count`."""
    return keys.hash(_SEED) % count


def split_by_bucket(frame: pl.DataFrame, keys: pl.Series, count: int) -> list[tuple[int, pl.DataFrame]]:
    """Split rows by bucket. Rows keep their order, and empty buckets are omitted."""
    if count == 1 or frame.is_empty():
        return [(0, frame)] if len(frame) else []
    numbered = frame.with_columns(_bucket=compute_buckets(keys, count))
    parts = numbered.partition_by("_bucket", as_dict=True, include_key=False, maintain_order=True)
    return sorted((int(number[0]), part) for number, part in parts.items())


def find_keys_of_buckets(count: int) -> pl.Series:
    """Return a key for each bucket: the key of row i belongs to bucket i."""
    numbers = pl.int_range(count * (20 + count.bit_length()), eager=True)  # some bucket has none of `count` keys
    keys = pl.DataFrame({"key": numbers, "bucket": compute_buckets(numbers, count)})
    return keys.unique("bucket", keep="first").sort("bucket")["key"]

"""Which share of a table a row belongs to: every row of one path, whatever its spelling, is dealt to the same share."""

import polars as pl

from deltaspec.wire.storage.data_access import NON_CANONICAL_KEY, is_outside_table, normalize_key

_SEED = 0
"""Of the hash; executors have to agree on it."""


def normalize_path_keys(path_keys: pl.Series) -> pl.Series:
    """What a listing calls each path: keys that lead to one file give one text."""
    odd = path_keys.str.contains(NON_CANONICAL_KEY).fill_null(False)
    rows = odd.arg_true()
    if not len(rows):
        return path_keys
    places = [key if is_outside_table(key) else normalize_key(key) for key in path_keys.gather(rows)]
    return path_keys.clone().scatter(rows, pl.Series(places, dtype=pl.String))


def compute_buckets(places: pl.Series, count: int) -> pl.Series:
    """The share, UInt64 below `count`, of each place: a text or a number."""
    return places.hash(_SEED) % count


def split_by_bucket(frame: pl.DataFrame, places: pl.Series, count: int) -> list[tuple[int, pl.DataFrame]]:
    """The rows of a frame share by share, in their order; shares without a row are left out."""
    if count == 1 or frame.is_empty():
        return [(0, frame)] if len(frame) else []
    numbered = frame.with_columns(_share=compute_buckets(places, count))
    parts = numbered.partition_by("_share", as_dict=True, include_key=False, maintain_order=True)
    return sorted((int(number[0]), part) for number, part in parts.items())

"""Summarize many small inline deletion vectors in columns, without an object for each.

A vector is small if its bitmap has one array of at most 32 rows, as Roaring stores them if they are in one range of
65,536. All others, and all with any defect, are left to `bitmap_decoder`.
"""

import polars as pl

from deltaspec.protocol.files.deletion_vectors import MAGIC
from deltaspec.wire.data.z85_words import GROUP, decode_words

VECTORS_AT_ONCE = 1 << 15
"""Vectors that are summarized together. A commit may have any number."""
_WITHOUT_RUNS = 12346
"""Cookie of a 32-bit Roaring bitmap without containers of runs."""
MOST_ROWS = 32
"""Rows of a small vector. Larger vectors would take more memory and save less time."""
FEWEST_VECTORS = 1000
"""Vectors from which on a summary takes less time than the decoder: it needs some milliseconds for any number."""
_HEADER: dict[int, int] = {0: MAGIC, 1: 1, 2: 0, 4: _WITHOUT_RUNS, 5: 1, 7: 16}
"""Value of each word before the rows that is the same in all small vectors: magic number, number of 32-bit bitmaps in
64 bits, cookie, number of containers and offset of the only one. Word 3 has the upper half of the row indexes; word 6
the upper half of their lower half, and their number less one."""
_HEADER_WORDS = 8
_MOST_WORDS = _HEADER_WORDS + MOST_ROWS // 2
_HALF = 1 << 16
_SCHEMA = {
    "row": pl.UInt32,
    "decoded_size": pl.Int64,
    "padding_is_zero": pl.Boolean,
    "decoded_cardinality": pl.Int64,
    "decoded_last_row": pl.Int64,
}


def summarize_small_vectors(texts: pl.Series, sizes: pl.Series) -> pl.DataFrame:
    """Summarize the small vectors among inline vectors.

    Args:
        texts: `pathOrInlineDv` (String).
        sizes: `sizeInBytes` (Int64).

    Returns:
        One row for each small vector without a defect, in their order; none if there are few vectors. Columns: `row`
        (UInt32), its index in `texts`; `decoded_size` (Int64), in bytes with padding; `padding_is_zero` (Boolean);
        `decoded_cardinality` and `decoded_last_row` (Int64).
    """
    if len(texts) - texts.null_count() < FEWEST_VECTORS:
        return pl.DataFrame(schema=_SCHEMA)
    vectors = pl.DataFrame({"text": texts, "size": sizes}, {"text": pl.String, "size": pl.Int64}).with_row_index("row")
    starts = range(0, len(texts), VECTORS_AT_ONCE)
    return pl.concat([_summarize(vectors.slice(start, VECTORS_AT_ONCE)) for start in starts])


def _summarize(vectors: pl.DataFrame) -> pl.DataFrame:
    length = pl.col("text").str.len_bytes().cast(pl.Int64)
    vectors = vectors.filter(length % GROUP == 0).with_columns(words=length // GROUP)
    vectors = vectors.filter(pl.col("words").is_between(_HEADER_WORDS + 1, _MOST_WORDS))
    words, is_wrong = decode_words("".join(vectors["text"].to_list()).encode())
    end = pl.col("words").cum_sum()
    vectors = _select_small(vectors.select("row", "size", "words", first=end - pl.col("words"), end=end), words)
    lower, upper = words % _HALF, words // _HALF
    last = vectors["end"] - 1
    vectors = vectors.with_columns(
        faults=_count_faults(vectors, is_wrong, lower, upper), lower=lower.gather(last), upper=upper.gather(last)
    )
    is_odd = pl.col("number") % 2 == 1
    last_row = pl.when(is_odd).then("lower").otherwise("upper").cast(pl.Int64)
    return vectors.filter(pl.col("faults") == 0).select(
        "row",
        decoded_size=4 * pl.col("words"),
        padding_is_zero=~is_odd | (pl.col("upper") == 0),
        decoded_cardinality="number",
        decoded_last_row=(pl.col("word3") * _HALF + pl.col("word6") % _HALF) * _HALF + last_row,
    )


def _select_small(vectors: pl.DataFrame, words: pl.Series) -> pl.DataFrame:
    """Select the vectors with the header of a small one, and add its words and `number`, the number of its rows."""
    header = {f"word{place}": words.gather(vectors["first"] + place) for place in range(_HEADER_WORDS)}
    found = vectors.with_columns(pl.Series(name, column).cast(pl.Int64) for name, column in header.items())
    found = found.with_columns(number=pl.col("word6") // _HALF + 1)
    return found.filter(
        *(pl.col(f"word{place}") == value for place, value in _HEADER.items()),
        pl.col("word3") < 1 << 31,
        pl.col("size") == 4 * _HEADER_WORDS + 2 * pl.col("number"),
        pl.col("words") == _HEADER_WORDS + (pl.col("number") + 1) // 2,
    )


def _count_faults(vectors: pl.DataFrame, is_wrong: pl.Series, lower: pl.Series, upper: pl.Series) -> pl.Series:
    """Return the number of words of each vector that are not Z85, or have rows that do not ascend."""
    start, number = vectors["first"] + _HEADER_WORDS, vectors["number"]
    in_words, between_words = lower >= upper, (upper >= lower.shift(-1)).fill_null(False)
    return (
        _count(is_wrong, vectors["first"], vectors["end"])
        + _count(in_words, start, start + number // 2)
        + _count(between_words, start, start + (number - 1) // 2)
    )


def _count(flags: pl.Series, start: pl.Series, end: pl.Series) -> pl.Series:
    """Return the number of set flags from each start to before each end."""
    before = pl.concat([pl.Series([0], dtype=pl.Int64), flags.cast(pl.Int64).cum_sum()])
    return before.gather(end) - before.gather(start)

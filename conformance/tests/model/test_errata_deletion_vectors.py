"""Examples that contradict the protocol's own format. Source: Deletion Vector Descriptor Schema, JSON Example 1 to 3.

All revisions print them: `offset` 4, `sizeInBytes` 40 for six rows, and an inline vector of an older format.
"""

from itertools import product

import pytest
from pyroaring import BitMap

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files.deletion_vectors import (
    DeletionVectorError,
    build_file,
    build_relative_path,
    decode_bitmap,
    decode_inline,
    encode_bitmap,
    read_bitmap_at,
)

ROWS = [3, 4, 7, 11, 18, 29]
PRINTED_INLINE = DeletionVectorDescriptor(
    storage_type="i",
    path_or_inline_dv="wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    size_in_bytes=40,
    cardinality=6,
)
PRINTED_RELATIVE = DeletionVectorDescriptor(
    storage_type="u", path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^", offset=4, size_in_bytes=40, cardinality=6
)
PRINTED_ABSOLUTE = DeletionVectorDescriptor(
    storage_type="p",
    path_or_inline_dv="s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
    offset=4,
    size_in_bytes=40,
    cardinality=6,
)


def test_printed_descriptors_have_valid_path_and_id() -> None:
    assert build_relative_path(PRINTED_RELATIVE) == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert PRINTED_RELATIVE.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert PRINTED_ABSOLUTE.unique_id == f"p{PRINTED_ABSOLUTE.path_or_inline_dv}@4"
    assert PRINTED_INLINE.unique_id == "iwi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"


def test_printed_inline_vector_has_an_older_big_endian_format() -> None:
    data = decode_inline(PRINTED_INLINE)
    assert data[:12].hex() == "6439d3d0000000010000001c"
    magic, buckets, length = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4, 8))
    assert (magic, buckets, length) == (1681511376, 1, len(data) - 12)
    assert list(BitMap.deserialize(data[12:])) == ROWS


def test_printed_inline_vector_does_not_have_the_documented_format() -> None:
    with pytest.raises(DeletionVectorError, match="magic number is 3503503716, expected 1681511377"):
        decode_bitmap(decode_inline(PRINTED_INLINE))


def test_printed_rows_take_44_bytes() -> None:
    assert len(encode_bitmap(ROWS)) == 44


def partitions(total: int, largest: int) -> list[list[int]]:
    if total == 0:
        return [[]]
    return [[first, *rest] for first in range(min(total, largest), 0, -1) for rest in partitions(total - first, first)]


def bucket_sizes(rows: int) -> set[int]:
    """Return every size of a 32-bit bitmap with this many values in the Roaring format: arrays, runs, or both."""
    sizes = set()
    for counts in partitions(rows, rows):
        containers = len(counts)
        sizes.add(8 + 8 * containers + 2 * rows)
        bodies = [{2 * count} | {2 + 4 * runs for runs in range(1, count + 1)} for count in counts]
        offsets = 4 * containers if containers >= 4 else 0
        head = 4 + (containers + 7) // 8 + 4 * containers + offsets
        sizes |= {head + sum(body) for body in product(*bodies)}
    return sizes


def vector_sizes(rows: int) -> set[int]:
    sizes = set()
    for buckets in partitions(rows, rows):
        sizes |= {4 + 8 + sum(4 + size for size in body) for body in product(*map(bucket_sizes, buckets))}
    return sizes


def test_no_vector_of_six_rows_takes_40_bytes() -> None:
    sizes = vector_sizes(6)
    assert sorted(sizes)[:8] == [31, 35, 37, 39, 41, 43, 44, 45]
    assert 40 not in sizes
    assert 40 - 12 not in sizes  # nor with an empty bucket, which takes 12


def test_offset_4_is_not_the_start_of_a_vector() -> None:
    empty = encode_bitmap([])
    _, offsets = build_file([empty, empty])
    assert offsets == [1, 21]


def test_reading_at_the_printed_offset_is_refused() -> None:
    data, _ = build_file([encode_bitmap(ROWS)])
    with pytest.raises(DeletionVectorError, match="the file says"):
        read_bitmap_at(data, 4, 40)

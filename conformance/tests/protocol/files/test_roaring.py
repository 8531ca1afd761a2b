"""The plain 64-bit Roaring codec against the native one. Source: Deletion Vector Format; the Roaring format."""

import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from deltaspec.protocol.files.roaring import RoaringError, decode, encode

LIMIT = 1 << 20


def u16(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}H", *numbers)


def u32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def u64(number: int) -> bytes:
    return struct.pack("<Q", number)


def bucket(*values: int) -> bytes:
    """A 32-bit bitmap of one array container, with its offset."""
    return u32(12346, 1) + u16(0, len(values) - 1) + u32(16) + u16(*values)


def bitmap(*bodies: bytes) -> bytes:
    return u64(1) + u32(0) + b"".join(bodies)


def run_bucket(*runs: tuple[int, int], cardinality: int) -> bytes:
    head = u32(12347) + b"\x01" + u16(0, cardinality - 1)
    return head + u16(len(runs)) + b"".join(u16(*run) for run in runs)


Spans = list[tuple[int, int]]
"""First row and number of rows of each interval: a compact notation for many rows."""

SPANS: st.SearchStrategy[Spans] = st.lists(
    st.tuples(
        st.integers(0, 300_000) | st.integers(2**32 - 70_000, 2**32 + 70_000) | st.integers(0, 2**63 - 1),
        st.just(1) | st.integers(2, 5_000),
    ),
    max_size=8,
)
timeless = settings(deadline=None)


def rows_of(spans: Spans) -> list[int]:
    return sorted({row for first, count in spans for row in range(first, min(first + count, 2**63))})


def agree(one: object, other: object) -> bool:
    """Compare without printing a difference of a hundred thousand lines."""
    return one == other


@timeless
@given(SPANS)
@example([])
@example([(0, 4096)])
@example([(0, 4097)])
@example([(0, 1 << 16)])
@example([(0, 1), (2**16, 1), (2**17, 1), (3 * 2**16, 1), (2**18, 1)])
@example([(2**63 - 1, 1)])
def test_encoding_equals_the_native_library(spans: Spans) -> None:
    rows = rows_of(spans)
    assert agree(encode(rows), BitMap64(rows, optimize=False).serialize())


@timeless
@given(SPANS)
@example([])
@example([(0, 1 << 16)])
@example([(0, 1), (2**16, 1), (2**17, 1), (3 * 2**16, 1)])
def test_runs_are_read_by_the_native_library(spans: Spans) -> None:
    rows = rows_of(spans)
    assert agree(list(BitMap64.deserialize(encode(rows, runs=True))), rows)


@timeless
@given(SPANS, st.booleans())
@example([(0, 5000), (2**16, 1), (2**17, 5000)], True)
def test_bitmaps_of_the_native_library_are_read(spans: Spans, optimized: bool) -> None:
    native = BitMap64(rows_of(spans), optimize=optimized)
    assert agree(decode(native.serialize(), max_rows=LIMIT), rows_of(spans))


@timeless
@given(SPANS, st.booleans())
def test_decoding_inverts_encoding(spans: Spans, runs: bool) -> None:
    rows = rows_of(spans)
    assert agree(decode(encode(rows, runs=runs), max_rows=LIMIT), rows)


def test_layout_equals_a_manual_example() -> None:
    assert decode(bitmap(bucket(3, 4, 7)), max_rows=3) == [3, 4, 7]
    assert decode(bitmap(run_bucket((0, 2), (10, 0), cardinality=4)), max_rows=4) == [0, 1, 2, 10]
    assert decode(bitmap(run_bucket((65535, 0), cardinality=1)), max_rows=1) == [65535]
    two = u64(2) + u32(0) + bucket(5) + u32(1) + bucket(6)
    assert decode(two, max_rows=2) == [5, 2**32 + 6]


def test_empty_bitmap_is_eight_zero_bytes() -> None:
    assert encode([]) == bytes(8)
    assert decode(bytes(8), max_rows=0) == []


@pytest.mark.parametrize("rows", [[-1], [2**63], [0, 2**64]])
def test_row_that_java_reads_as_negative_is_refused(rows: list[int]) -> None:
    with pytest.raises(RoaringError, match="between 0 and"):
        encode(rows)


FAULTS = {
    "no count": (b"\x00" * 7, "ends at byte 7, 8 more expected at 0"),
    "no bucket": (u64(1), "ends at byte 8, 4 more expected at 8"),
    "many buckets claimed": (u64(2**64 - 1), "ends at byte 8, 4 more expected at 8"),
    "trailing bytes": (bytes(8) + b"\x00", "1 bytes follow the bitmap"),
    "same key twice": (u64(2) + u32(7) + bucket(1) + u32(7) + bucket(2), "bucket 7 follows bucket 7"),
    "keys descend": (u64(2) + u32(7) + bucket(1) + u32(3) + bucket(2), "bucket 3 follows bucket 7"),
    "sign bit of a key": (u64(1) + u32(2**31) + bucket(1), "bucket 2147483648 has values of 2^63 or more"),
    "cookie": (bitmap(u32(12345, 1)), "cookie 12345 is invalid"),
    "no-run cookie with a count": (bitmap(u32(12346 | 1 << 16, 1)), "cookie 77882 is invalid"),
    "containers": (bitmap(u32(12346, 65537)), "65537 containers in one bucket"),
    "containers beyond the bytes": (bitmap(u32(12346, 65536)), "ends at byte 20, 2 more expected at 20"),
    "same container twice": (
        bitmap(u32(12346, 2), u16(1, 0, 1, 0), u32(24, 26), u16(0, 0)),
        "containers are not in ascending order",
    ),
    "containers descend": (
        bitmap(u32(12346, 2), u16(1, 0, 0, 0), u32(24, 26), u16(0, 0)),
        "containers are not in ascending order",
    ),
    "offset": (bitmap(u32(12346, 1), u16(0, 0), u32(15), u16(0)), "container 0 is not at its offset 15"),
    "value twice": (bitmap(bucket(3, 3)), "values are not in ascending order"),
    "values descend": (bitmap(bucket(4, 3)), "values are not in ascending order"),
    "array cut short": (bitmap(bucket(1, 2, 3))[:-1], "ends at byte 33, 2 more expected at 32"),
    "bitset cut short": (
        bitmap(u32(12346, 1), u16(0, 4096), u32(16), bytes(100)),
        "ends at byte 128, 8192 more expected at 28",
    ),
    "bitset of another cardinality": (
        bitmap(u32(12346, 1), u16(0, 4096), u32(16), b"\xff" * 100, bytes(8092)),
        "container 0 states 4097 values but has 800",
    ),
    "run of another cardinality": (
        bitmap(run_bucket((0, 9), cardinality=9)),
        "container 0 states 9 values but has 10",
    ),
    "runs overlap": (
        bitmap(run_bucket((0, 5), (5, 1), cardinality=8)),
        "runs overlap, are out of order or leave their container",
    ),
    "runs descend": (
        bitmap(run_bucket((9, 0), (5, 1), cardinality=3)),
        "runs overlap, are out of order or leave their container",
    ),
    "run beyond its container": (
        bitmap(run_bucket((65535, 1), cardinality=2)),
        "runs overlap, are out of order or leave their container",
    ),
    "run flags cut short": (bitmap(u32(12347 | 15 << 16), b"\xff"), "ends at byte 17, 2 more expected at 16"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_invalid_bitmaps_are_refused(name: str) -> None:
    data, words = FAULTS[name]
    with pytest.raises(RoaringError) as refused:
        decode(data, max_rows=LIMIT)
    assert str(refused.value) == words


def test_row_limit_is_checked_before_expansion() -> None:
    containers = 1 << 16
    heads = b"".join(u16(high, 65535) for high in range(containers))
    at = 4 + containers // 8 + 4 * containers + 4 * containers
    offsets = b"".join(u32(at + 6 * index) for index in range(containers))
    body = (u16(1) + u16(0, 65535)) * containers
    every_32_bit_number = bitmap(u32(12347 | (containers - 1) << 16), b"\xff" * (containers // 8), heads, offsets, body)
    with pytest.raises(RoaringError, match="has more than 1000 values"):
        decode(every_32_bit_number, max_rows=1000)


@timeless
@given(SPANS, st.booleans(), st.data())
def test_every_truncation_is_refused(spans: Spans, runs: bool, data: st.DataObject) -> None:
    whole = encode(rows_of(spans), runs=runs)
    end = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(RoaringError):
        decode(whole[:end], max_rows=LIMIT)


@timeless
@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda rest: bitmap(u32(12347), rest)))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    try:
        rows = decode(data, max_rows=1 << 17)
    except RoaringError:
        return
    assert agree(rows, sorted(set(rows)))


CHANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), min_size=1, max_size=3)


@timeless
@given(SPANS, st.booleans(), CHANGES)
def test_changed_bytes_decode_like_the_native_library_or_are_refused(
    spans: Spans, runs: bool, changes: list[tuple[int, int]]
) -> None:
    changed = bytearray(encode(rows_of(spans), runs=runs))
    for at, byte in changes:
        changed[at % len(changed)] = byte
    try:
        read = decode(bytes(changed), max_rows=1 << 17)
    except RoaringError:
        return
    assert agree(read, list(BitMap64.deserialize(bytes(changed))))

"""Deletion vectors in the log and in files. Source: Deletion Vectors; Deletion Vector Format."""

import zlib
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files import deletion_vectors, z85
from deltaspec.protocol.files.deletion_vectors import (
    DeletionVectorError,
    build_file,
    build_file_descriptor,
    build_inline_descriptor,
    build_relative_path,
    decode_bitmap,
    decode_inline,
    encode_bitmap,
    read_bitmap_at,
)

SAMPLE_ROWS = [3, 4, 7, 11, 18, 29]
SAMPLE_BITMAP = bytes.fromhex(
    "d1d33964"  # magic
    "0100000000000000"  # one bucket
    "00000000"  # its key
    "3a300000 01000000 0000 0500 10000000"  # one array container of six values
    "0300 0400 0700 0b00 1200 1d00"
)
SAMPLE_TEXT = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
SAMPLE_FILE = b"\x01" + bytes.fromhex("0000002c") + SAMPLE_BITMAP + bytes.fromhex("acd74a79")
SAMPLE_UUID = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


def inline(text: str, size: int, cardinality: int = 6) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        storage_type="i", path_or_inline_dv=text, size_in_bytes=size, cardinality=cardinality
    )


def stored(text: str, offset: int | None = None) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv=text, offset=offset, size_in_bytes=44, cardinality=6
    )


def test_bitmap_of_the_sample_rows() -> None:
    assert encode_bitmap(SAMPLE_ROWS) == SAMPLE_BITMAP
    assert decode_bitmap(SAMPLE_BITMAP) == SAMPLE_ROWS


def test_inline_vector_of_the_sample_rows() -> None:
    assert build_inline_descriptor(SAMPLE_ROWS) == inline(SAMPLE_TEXT, 44)
    assert decode_inline(inline(SAMPLE_TEXT, 44)) == SAMPLE_BITMAP


def test_empty_vector() -> None:
    assert build_inline_descriptor([]) == inline("^Bg9^0000000000", 12, 0)
    assert decode_bitmap(decode_inline(inline("^Bg9^0000000000", 12, 0)), max_rows=0) == []


def test_vector_of_two_buckets_is_padded_by_two_zeros() -> None:
    descriptor = build_inline_descriptor([0, 2**32, 2**32 + 5])
    assert (descriptor.size_in_bytes, len(descriptor.path_or_inline_dv), descriptor.cardinality) == (58, 75, 3)
    assert decode_bitmap(decode_inline(descriptor)) == [0, 2**32, 2**32 + 5]


def test_vector_of_one_run_is_cut_to_its_size() -> None:
    descriptor = inline("^Bg9^0rr910000000000j1{Tm0rraf009610aM0e", 31, 100)
    assert decode_bitmap(decode_inline(descriptor)) == list(range(100))
    assert encode_bitmap(range(100), runs=True) == decode_inline(descriptor)


def test_bytes_after_the_size_are_padding() -> None:
    dirty = inline(z85.encode(encode_bitmap(range(100), runs=True) + b"x"), 31, 100)
    assert decode_bitmap(decode_inline(dirty)) == list(range(100))


@pytest.mark.parametrize("size", [-1, 0, 40, 45, 48])
def test_size_that_does_not_match_the_text_is_refused(size: int) -> None:
    with pytest.raises(DeletionVectorError, match=f"sizeInBytes is {size}, the text decodes to 44 bytes with padding"):
        decode_inline(inline(SAMPLE_TEXT, size))


def test_negative_size_of_an_empty_text_is_refused() -> None:
    with pytest.raises(DeletionVectorError, match="sizeInBytes is -1"):
        decode_inline(inline("", -1))


@pytest.mark.parametrize("text", ["abcd", "a b c", "####é", "#####"])
def test_inline_text_that_is_not_z85_is_refused(text: str) -> None:
    with pytest.raises(DeletionVectorError, match="inline text is not Z85"):
        decode_inline(inline(text, 4))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes are too short for a bitmap"),
        (b"\xd1\xd3\x39", "3 bytes are too short for a bitmap"),
        (bytes.fromhex("6439d3d1") + SAMPLE_BITMAP[4:], "magic number is 3520280932, expected 1681511377"),
        (bytes.fromhex("d0d33964") + SAMPLE_BITMAP[4:], "magic number is 1681511376, expected 1681511377"),
        (SAMPLE_BITMAP[:4], "bitmap is malformed: ends at byte 0, 8 more expected at 0"),
        (SAMPLE_BITMAP + b"\x00", "bitmap is malformed: 1 bytes follow the bitmap"),
        (
            SAMPLE_BITMAP[:12] + bytes.fromhex("00000080") + SAMPLE_BITMAP[16:],
            r"bitmap is malformed: bucket 2147483648 has values of 2\^63 or more",
        ),
    ],
)
def test_invalid_vectors_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DeletionVectorError, match=f"^{words}$"):
        decode_bitmap(data)


def test_vector_of_more_rows_than_allowed_is_refused() -> None:
    with pytest.raises(DeletionVectorError, match="has more than 5 values"):
        decode_bitmap(SAMPLE_BITMAP, max_rows=5)


@settings(deadline=None)
@given(st.sets(st.integers(0, 2**63 - 1), max_size=20) | st.sets(st.integers(0, 100), max_size=20))
def test_bitmap_after_the_magic_is_portable_roaring(rows: set[int]) -> None:
    assert list(BitMap64.deserialize(encode_bitmap(rows)[4:])) == sorted(rows)
    assert decode_bitmap(b"\xd1\xd3\x39\x64" + BitMap64(rows).serialize()) == sorted(rows)


@settings(deadline=None)
@given(st.sets(st.integers(0, 2**40), max_size=20))
def test_inline_descriptor_holds_its_rows(rows: set[int]) -> None:
    descriptor = build_inline_descriptor(rows)
    assert decode_bitmap(decode_inline(descriptor)) == sorted(rows)
    assert descriptor.cardinality == len(rows)


def test_protocol_descriptor_resolves_to_its_file() -> None:
    assert build_relative_path(stored("ab^-aqEH.-t@S}K{vb[*k^")) == f"ab/deletion_vector_{SAMPLE_UUID}.bin"
    assert build_relative_path(stored("^-aqEH.-t@S}K{vb[*k^")) == f"deletion_vector_{SAMPLE_UUID}.bin"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "0 characters are too few for a UUID in Z85"),
        ("-aqEH.-t@S}K{vb[*k^", "19 characters are too few for a UUID in Z85"),
        ("ab -aqEH.-t@S}K{vb[*k^", "the UUID is not Z85: ' ' is not in the Z85 alphabet"),
        ("####################", "the UUID is not Z85: group '#####' exceeds 32 bits"),
    ],
)
def test_text_without_uuid_is_refused(text: str, words: str) -> None:
    with pytest.raises(DeletionVectorError, match=f"^{words}$"):
        build_relative_path(stored(text))


def test_unique_id_includes_the_offset() -> None:
    assert stored("ab^-aqEH.-t@S}K{vb[*k^", 4).unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert stored("ab^-aqEH.-t@S}K{vb[*k^", 0).unique_id == "uab^-aqEH.-t@S}K{vb[*k^@0"
    assert inline(SAMPLE_TEXT, 44).unique_id == "i" + SAMPLE_TEXT


@given(st.uuids(), st.text(max_size=4))
def test_file_descriptor_names_the_file_of_its_uuid(uuid: UUID, prefix: str) -> None:
    descriptor = build_file_descriptor(uuid, 1, SAMPLE_BITMAP, 6, prefix)
    folder = f"{prefix}/" if prefix else ""
    assert build_relative_path(descriptor) == f"{folder}deletion_vector_{uuid}.bin"
    assert (descriptor.offset, descriptor.size_in_bytes, descriptor.cardinality) == (1, 44, 6)


def test_file_of_one_vector() -> None:
    assert build_file([SAMPLE_BITMAP]) == (SAMPLE_FILE, [1])
    assert read_bitmap_at(SAMPLE_FILE, 1, 44) == SAMPLE_BITMAP


def test_second_vector_of_a_file_follows_the_first() -> None:
    empty = bytes.fromhex("d1d33964 0000000000000000")
    data, offsets = build_file([SAMPLE_BITMAP, empty])
    assert offsets == [1, 53]
    assert data[:53] == SAMPLE_FILE
    assert read_bitmap_at(data, 1, 44) == SAMPLE_BITMAP
    assert read_bitmap_at(data, 53, 12) == empty


def test_file_without_vectors_is_its_version() -> None:
    assert build_file([]) == (b"\x01", [])


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_every_vector_of_a_file_is_found_at_its_offset(bitmaps: list[bytes]) -> None:
    data, offsets = build_file(bitmaps)
    assert [read_bitmap_at(data, at, len(each)) for at, each in zip(offsets, bitmaps, strict=True)] == bitmaps


BROKEN = {
    "empty file": (b"", 1, 44, "file version is absent, expected 1"),
    "version": (b"\x02" + SAMPLE_FILE[1:], 1, 44, "file version is 2, expected 1"),
    "version in two bytes": (b"\0" + SAMPLE_FILE, 2, 44, "file version 1 is stored in two bytes, expected one"),
    "little-endian size of another vector": (
        b"\x01" + bytes.fromhex("2b000000") + SAMPLE_FILE[5:],
        1,
        44,
        "the file says 721420288 bytes, the descriptor 44",
    ),
    "no offset": (SAMPLE_FILE, None, 44, "offset 0 is the version byte of the file, not the start of a vector"),
    "offset 0": (SAMPLE_FILE, 0, 44, "offset 0 is the version byte of the file, not the start of a vector"),
    "negative offset": (SAMPLE_FILE, -48, 44, "offset -48 is outside a file of 53 bytes"),
    "offset at the end": (SAMPLE_FILE, 53, 44, "offset 53 is outside a file of 53 bytes"),
    "offset in the last bytes": (SAMPLE_FILE, 50, 44, "offset 50 is outside a file of 53 bytes"),
    "size of the descriptor": (SAMPLE_FILE, 1, 40, "the file says 44 bytes, the descriptor 40"),
    "little-endian size": (
        b"\x01" + bytes.fromhex("2c000000") + SAMPLE_FILE[5:],
        1,
        44,
        "size or checksum around the vector is little endian",
    ),
    "size beyond the end": (
        b"\x01" + bytes.fromhex("ffffffff") + SAMPLE_FILE[5:],
        1,
        2**32 - 1,
        "4294967295 bytes and a checksum exceed the file by 4294967251 bytes",
    ),
    "checksum cut off": (SAMPLE_FILE[:-1], 1, 44, "44 bytes and a checksum exceed the file by 1 bytes"),
    "little-endian checksum": (
        SAMPLE_FILE[:-4] + zlib.crc32(SAMPLE_BITMAP).to_bytes(4, "little"),
        1,
        44,
        "size or checksum around the vector is little endian",
    ),
    "bit of the bitmap": (SAMPLE_FILE[:20] + b"\x01" + SAMPLE_FILE[21:], 1, 44, "CRC-32 does not match"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_file_without_the_vector_is_refused(name: str) -> None:
    data, offset, size, words = BROKEN[name]
    with pytest.raises(DeletionVectorError) as refused:
        read_bitmap_at(data, offset, size)
    assert str(refused.value) == words


@given(st.binary(max_size=60), st.none() | st.integers(-5, 70), st.integers(-(2**31), 2**31 - 1))
def test_any_bytes_are_read_or_refused(data: bytes, offset: int | None, size: int) -> None:
    try:
        bitmap = read_bitmap_at(data, offset, size)
    except DeletionVectorError:
        return
    assert len(bitmap) == size


@settings(deadline=None)
@given(st.text(alphabet=z85.ALPHABET + "é ", max_size=60), st.integers(-5, 60))
def test_any_inline_text_decodes_or_is_refused(text: str, size: int) -> None:
    try:
        rows = deletion_vectors.decode_bitmap(decode_inline(inline(text, size)), max_rows=1000)
    except DeletionVectorError:
        return
    assert rows == sorted(set(rows))

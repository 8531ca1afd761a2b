"""Decode deletion vectors with pyroaring, as strictly as `deltaspec.protocol.files.roaring` does.

pyroaring accepts trailing bytes and wrong offsets. Therefore `deltaspec.protocol` decodes every bitmap again that
pyroaring does not serialize to the same bytes, and decides whether it is valid. It also decodes every text that is not
Z85, and reports the fault.
"""

import struct
import sys
from array import array
from collections.abc import Iterable, Iterator

import polars as pl
from pyroaring import BitMap64

from deltaspec.protocol.files.deletion_vectors import MAGIC, DeletionVectorError, decode_z85_text
from deltaspec.protocol.files.deletion_vectors import decode_bitmap as check_bitmap
from deltaspec.wire.data.z85_words import DIGITS, GROUP, NO_DIGIT, decode_words

MAX_BITMAP_BYTES = 256 << 20
JOINED_BYTES = 1 << 20
"""Length of the texts that are decoded in one call."""


def decode_inline_texts(texts: Iterable[str]) -> Iterator[bytes | None]:
    """Yield the bytes of inline vectors, including padding; None for a text that needs `decode_inline_text`.

    Five characters are four bytes, so joined texts are decoded in one call. One that is not Z85 leaves the whole batch
    to `decode_inline_text`.
    """
    batch, size = list[bytes](), 0
    for text in texts:
        batch.append(text.encode("utf-8", "surrogatepass"))
        size += len(batch[-1])
        if size > JOINED_BYTES:
            yield from _decode_joined(batch[:-1])
            yield None
            batch, size = [], 0
    yield from _decode_joined(batch)


def _decode_joined(texts: list[bytes]) -> Iterator[bytes | None]:
    data = None
    if all(len(each) % GROUP == 0 for each in texts):
        words, is_wrong = decode_words(b"".join(texts))
        data = None if is_wrong.any() else _to_little_endian(words)
    end = 0
    for each in texts:
        start, end = end, end + len(each) // GROUP * 4
        yield None if data is None else data[start:end]


def _to_little_endian(words: pl.Series) -> bytes:
    values = array("I", words.to_arrow().buffers()[1].to_pybytes()[: 4 * len(words)])
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def decode_inline_text(text: str) -> bytes:
    """Return the bytes of an inline vector, including padding.

    Raises:
        DeletionVectorError: the text is not Z85.
    """
    digits = text.encode("utf-8", "surrogatepass").translate(DIGITS)
    if len(digits) % GROUP == 0 and NO_DIGIT not in digits:
        places = (digits[place::GROUP] for place in range(GROUP))
        numbers = [(((a * 85 + b) * 85 + c) * 85 + d) * 85 + e for a, b, c, d, e in zip(*places, strict=True)]
        if not numbers or max(numbers) < 1 << 32:
            return struct.pack(f">{len(numbers)}I", *numbers)
    return decode_z85_text(text)


def decode_bitmap(data: bytes) -> BitMap64:
    """Return the row indexes of a bitmap.

    Args:
        data: magic number and portable 64-bit Roaring bitmap, without trailing bytes.

    Raises:
        DeletionVectorError: the magic number is wrong, the bitmap is malformed, or a row is 2^63 or more.
    """
    if len(data) < 12:
        raise DeletionVectorError(f"{len(data)} bytes are too short for a bitmap")
    if len(data) > MAX_BITMAP_BYTES:
        raise DeletionVectorError(f"{len(data)} bytes are more than the limit of {MAX_BITMAP_BYTES} bytes")
    magic = int.from_bytes(data[:4], "little")
    if magic != MAGIC:
        raise DeletionVectorError(f"magic number is {magic}, not {MAGIC}")
    if int.from_bytes(data[4:12], "little") > len(data) // 12:  # a bucket takes at least 12 bytes
        raise DeletionVectorError("bitmap states more buckets than its bytes can contain")
    bitmap = data[4:]
    try:
        rows = BitMap64.deserialize(bitmap)
    except Exception:  # noqa: BLE001 - it also refuses adjacent runs, which other readers accept
        return BitMap64(check_bitmap(data))
    if rows.serialize() != bitmap:
        check_bitmap(
            data, max_rows=max(len(rows), 1)
        )  # another encoding of the same rows, or a defect that `protocol` reports
    if rows and rows.max() >= 1 << 63:
        raise DeletionVectorError("bitmap has row indexes of 2^63 or more")
    return rows

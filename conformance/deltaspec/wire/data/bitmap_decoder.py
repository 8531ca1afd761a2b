"""Decode deletion vectors with pyroaring, as strictly as the decoder of the model.

pyroaring accepts trailing bytes and wrong offsets. So a bitmap that it does not serialize to the same bytes is decoded
again by the model, which decides. The model also decodes every text that is not Z85, and reports what is wrong with it.
"""

import struct
import sys
from array import array
from collections.abc import Iterable, Iterator

import polars as pl
import pyarrow as pa
from pyroaring import BitMap64

from deltaspec.model.rows.deletion_vectors import MAGIC, DeletionVectorError, decode_z85_text
from deltaspec.model.rows.deletion_vectors import decode_bitmap as check_bitmap
from deltaspec.model.rows.z85 import ALPHABET
from deltaspec.wire.arrow_compute import to_series

MAX_BITMAP_BYTES = 256 << 20
_NO_DIGIT = b"\xff"
_DIGITS = bytes(ALPHABET.find(chr(byte)) & 0xFF for byte in range(256))
"""Digit of base 85 of each byte; `_NO_DIGIT` for bytes outside of the alphabet."""


_JOINED_BYTES = 1 << 20
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
        if size > _JOINED_BYTES:
            yield from _decode_joined(batch[:-1])
            yield None
            batch, size = [], 0
    yield from _decode_joined(batch)


def _decode_joined(texts: list[bytes]) -> Iterator[bytes | None]:
    joined = b"".join(texts).translate(_DIGITS)
    is_z85 = _NO_DIGIT not in joined and all(len(each) % 5 == 0 for each in texts)
    data = b""
    if is_z85:
        digits = to_series(pa.Array.from_buffers(pa.uint8(), len(joined), [None, pa.py_buffer(joined)]))
        numbers = pl.repeat(0, len(joined) // 5, dtype=pl.UInt64, eager=True)
        for place in range(5):
            numbers = numbers * 85 + digits.gather_every(5, place).cast(pl.UInt64)
        is_z85 = bool((numbers < 1 << 32).all())
        if is_z85:
            data = _to_big_endian(numbers)
    end = 0
    for each in texts:
        start, end = end, end + len(each) // 5 * 4
        yield data[start:end] if is_z85 else None


def _to_big_endian(numbers: pl.Series) -> bytes:
    """Return unsigned numbers below 2^32 as four bytes each."""
    words = array("I", numbers.cast(pl.UInt32).to_arrow().buffers()[1].to_pybytes()[: 4 * len(numbers)])
    if sys.byteorder == "little":
        words.byteswap()
    return words.tobytes()


def decode_inline_text(text: str) -> bytes:
    """Return the bytes of an inline vector, including padding.

    Raises:
        DeletionVectorError: the text is not Z85.
    """
    digits = text.encode("utf-8", "surrogatepass").translate(_DIGITS)
    if len(digits) % 5 == 0 and _NO_DIGIT not in digits:
        places = (digits[place::5] for place in range(5))
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
        )  # another encoding of the same rows, or a defect that the model reports
    if rows and rows.max() >= 1 << 63:
        raise DeletionVectorError("bitmap has row indexes of 2^63 or more")
    return rows

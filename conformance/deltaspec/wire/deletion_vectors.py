"""Deletion vectors by the native decoder: as strict as the model's, and fast enough for production tables.

pyroaring accepts bytes behind the bitmap and unordered buckets in silence; re-serialising tells their length.
"""

from pyroaring import BitMap64

from deltaspec.model.deletion_vectors import MAGIC, DeletionVectorError, decode_text

MAX_BITMAP_BYTES = 256 << 20


def decode_inline_text(text: str) -> bytes:
    """The bytes of an inline vector, padding included.

    Raises:
        DeletionVectorError: not Z85.
    """
    return decode_text(text)


def decode_bitmap(data: bytes) -> BitMap64:
    """The row indexes of a bitmap with its magic.

    Args:
        data: magic and portable 64-bit Roaring bitmap, nothing behind it.

    Raises:
        DeletionVectorError: wrong magic, not one well-formed bitmap, bytes behind it, or a row of 2^63 or more.
    """
    if len(data) < 12:
        raise DeletionVectorError(f"{len(data)} bytes are too short for a bitmap")
    if len(data) > MAX_BITMAP_BYTES:
        raise DeletionVectorError(f"{len(data)} bytes are more than the {MAX_BITMAP_BYTES} that are decoded")
    magic = int.from_bytes(data[:4], "little")
    if magic != MAGIC:
        raise DeletionVectorError(f"magic number is {magic}, not {MAGIC}")
    if int.from_bytes(data[4:12], "little") > len(data) // 12:  # a bucket takes at least 12 bytes
        raise DeletionVectorError("bitmap claims more buckets than its bytes can hold")
    try:
        rows = BitMap64.deserialize(data[4:])
    except Exception as fault:
        raise DeletionVectorError(f"bitmap is malformed: {str(fault)[:120]}") from fault
    if len(rows.serialize()) != len(data) - 4:
        raise DeletionVectorError("bitmap is followed by other bytes or is not in its portable form")
    if len(rows) and rows.max() >= 1 << 63:
        raise DeletionVectorError("bitmap holds row indexes of 2^63 or more")
    return rows

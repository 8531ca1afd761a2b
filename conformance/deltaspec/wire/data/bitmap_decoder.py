"""Deletion vectors by the native decoder: as strict as the model's, and fast enough for production tables.

pyroaring accepts bytes behind the bitmap and wrong offsets in silence. A bitmap that it does not write back byte for
byte goes to the model's decoder, which has the last word.
"""

from pyroaring import BitMap64

from deltaspec.model.rows.deletion_vectors import MAGIC, DeletionVectorError, decode_z85_text
from deltaspec.model.rows.deletion_vectors import decode_bitmap as check_bitmap

MAX_BITMAP_BYTES = 256 << 20


def decode_inline_text(text: str) -> bytes:
    """The bytes of an inline vector, padding included.

    Raises:
        DeletionVectorError: not Z85.
    """
    return decode_z85_text(text)


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
    except Exception:  # noqa: BLE001 - whatever it says: it refuses runs that touch, which other readers take
        return BitMap64(check_bitmap(data))
    if rows.serialize() != data[4:]:
        check_bitmap(data, max_rows=max(len(rows), 1))  # another spelling of the same rows, or a fault that it names
    if len(rows) and rows.max() >= 1 << 63:
        raise DeletionVectorError("bitmap holds row indexes of 2^63 or more")
    return rows

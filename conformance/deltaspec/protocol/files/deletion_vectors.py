"""Deletion vectors: descriptor, bitmap and file layout. Source: Deletion Vectors, Deletion Vector Format, Deletion
Vector Files, Deletion Vector File Storage Format.

Numbers of the file layout are big endian (not specified before r3, S01); magic and bitmap are little endian. The
protocol's examples cannot be decoded as printed (E06-E08).
"""

import zlib
from collections.abc import Iterable
from uuid import UUID

from deltaspec.protocol.actions import Add, DeletionVectorDescriptor, Remove
from deltaspec.protocol.files import roaring, z85

MAGIC = 1681511377
FILE_VERSION = 1
_UUID_CHARACTERS = 20
DEFAULT_MAX_ROWS = 1 << 24


class DeletionVectorError(ValueError):
    """A descriptor, bitmap or file that does not contain the expected deletion vector."""

    def __init__(self, message: str, kind: str = "bitmap") -> None:
        super().__init__(message)
        self.kind = kind
        """`version` or `entry` of a file, its `checksum`, the `bitmap` or the descriptor; or only the `width` of the
        version, or the `byte order` of the numbers around the bitmap.
        """


def encode_bitmap(rows: Iterable[int], *, runs: bool = False) -> bytes:
    """Encode row indexes as magic number plus portable 64-bit Roaring bitmap."""
    return MAGIC.to_bytes(4, "little") + roaring.encode(rows, runs=runs)


def decode_bitmap(data: bytes, *, max_rows: int = DEFAULT_MAX_ROWS) -> list[int]:
    """Decode a bitmap with its magic number to ascending row indexes.

    Raises:
        DeletionVectorError: The magic number is wrong, or the rest is not exactly one valid bitmap.
    """
    if len(data) < 4:
        raise DeletionVectorError(f"{len(data)} bytes are too short for a bitmap")
    magic = int.from_bytes(data[:4], "little")
    if magic != MAGIC:
        raise DeletionVectorError(f"magic number is {magic}, expected {MAGIC}")
    try:
        return roaring.decode(data[4:], max_rows=max_rows)
    except roaring.RoaringError as fault:
        raise DeletionVectorError(f"bitmap is malformed: {fault}") from fault


def decode_z85_text(text: str) -> bytes:
    """Decode the text of an inline vector, padding included.

    Raises:
        DeletionVectorError: The text is not Z85.
    """
    try:
        return z85.decode(text)
    except z85.Z85Error as fault:
        raise DeletionVectorError(f"inline text is not Z85: {fault}") from fault


def decode_inline(descriptor: DeletionVectorDescriptor) -> bytes:
    """Return the bitmap of an inline vector: the decoded text cut to `sizeInBytes` (S04).

    Raises:
        DeletionVectorError: The text is not Z85, or the size does not match it.
    """
    padded = decode_z85_text(descriptor.path_or_inline_dv)
    size = descriptor.size_in_bytes
    if size < 0 or not len(padded) - 4 < size <= len(padded):
        raise DeletionVectorError(f"sizeInBytes is {size}, the text decodes to {len(padded)} bytes with padding")
    return padded[:size]


def build_relative_path(descriptor: DeletionVectorDescriptor) -> str:
    """Return the path of a vector file (storage type `u`) relative to the table, not percent-encoded.

    Raises:
        DeletionVectorError: `pathOrInlineDv` does not end with a UUID in Z85.
    """
    text = descriptor.path_or_inline_dv
    prefix, encoded = text[:-_UUID_CHARACTERS], text[-_UUID_CHARACTERS:]
    if len(encoded) < _UUID_CHARACTERS:
        raise DeletionVectorError(f"{len(text)} characters are too few for a UUID in Z85")
    try:
        uuid = UUID(bytes=z85.decode(encoded))
    except z85.Z85Error as fault:
        raise DeletionVectorError(f"the UUID is not Z85: {fault}") from fault
    name = f"deletion_vector_{uuid}.bin"
    return f"{prefix}/{name}" if prefix else name


def read_bitmap_at(data: bytes, offset: int | None, size_in_bytes: int) -> bytes:
    """Return the bitmap with its magic number at an offset of a deletion vector file; no offset means 0 (S05).

    Args:
        data: The complete file.
        offset: Position of the length of the vector.
        size_in_bytes: Size of the bitmap in the descriptor.

    Raises:
        DeletionVectorError: The version or checksum is wrong, or the sizes disagree or exceed the file.
    """
    start = offset or 0
    check_file_version(data)
    if start == 0:
        raise DeletionVectorError("offset 0 is the version byte of the file, not the start of a vector", "entry")
    if start < 0 or start + 4 > len(data):
        raise DeletionVectorError(f"offset {start} is outside a file of {len(data)} bytes", "entry")
    return read_entry(data[start:], size_in_bytes)


def check_file_version(data: bytes) -> None:
    """Check the layout version in the first byte of a deletion vector file.

    Before `current`, a table in the protocol suggests two bytes (S02), but the offsets in real files contradict that.

    Args:
        data: At least the first two bytes of the file, if it has them.

    Raises:
        DeletionVectorError: The version is missing or unknown; kind `width` if it is stored in two bytes.
    """
    if data[:2] == FILE_VERSION.to_bytes(2, "big"):
        raise DeletionVectorError(f"file version {FILE_VERSION} is stored in two bytes, expected one", "width")
    if data[:1] != bytes([FILE_VERSION]):
        raise DeletionVectorError(
            f"file version is {data[0] if data else 'absent'}, expected {FILE_VERSION}", "version"
        )


def read_entry(data: bytes, size_in_bytes: int) -> bytes:
    """Return the bitmap with its magic number from an entry: size, bitmap, CRC-32 (S07).

    Raises:
        DeletionVectorError: The checksum is wrong, or sizes disagree or exceed the data; kind `byte order` if the
            numbers are correct in little endian.
    """
    if len(data) < 4:
        raise DeletionVectorError(f"{len(data)} bytes remain in the file, expected at least 4 for a size", "entry")
    size = int.from_bytes(data[:4], "big")
    if _is_little_endian(data, size_in_bytes):
        raise DeletionVectorError("size or checksum around the vector is little endian", "byte order")
    if size != size_in_bytes:
        raise DeletionVectorError(f"the file says {size} bytes, the descriptor {size_in_bytes}", "entry")
    bitmap, check = data[4 : 4 + size], data[4 + size : 8 + size]
    if len(check) < 4:
        beyond = 8 + size - len(data)
        raise DeletionVectorError(f"{size} bytes and a checksum exceed the file by {beyond} bytes", "entry")
    if zlib.crc32(bitmap) != int.from_bytes(check, "big"):
        raise DeletionVectorError("CRC-32 does not match", "checksum")
    return bitmap


def _is_little_endian(data: bytes, size_in_bytes: int) -> bool:
    """Return whether an entry is valid except that its size or checksum is little endian."""
    bitmap, check = data[4 : 4 + max(size_in_bytes, 0)], data[4 + max(size_in_bytes, 0) : 8 + max(size_in_bytes, 0)]
    orders = [order for order in ("big", "little") if int.from_bytes(data[:4], order) == size_in_bytes]
    if len(check) < 4 or not orders:
        return False
    checks = [order for order in ("big", "little") if int.from_bytes(check, order) == zlib.crc32(bitmap)]
    return bool(checks) and ("big" not in orders or "big" not in checks)


def build_file(bitmaps: Iterable[bytes]) -> tuple[bytes, list[int]]:
    """Build a deletion vector file with these bitmaps, and return it with the offset of each."""
    data = bytes([FILE_VERSION])
    offsets = []
    for bitmap in bitmaps:
        offsets.append(len(data))
        data += len(bitmap).to_bytes(4, "big") + bitmap + zlib.crc32(bitmap).to_bytes(4, "big")
    return data, offsets


def build_inline_descriptor(rows: Iterable[int]) -> DeletionVectorDescriptor:
    """Build an inline descriptor of these row indexes."""
    indexes = set(rows)
    bitmap = encode_bitmap(indexes)
    padded = bitmap + bytes(-len(bitmap) % 4)
    return DeletionVectorDescriptor(
        storage_type="i",
        path_or_inline_dv=z85.encode(padded),
        size_in_bytes=len(bitmap),
        cardinality=len(indexes),
    )


def build_file_descriptor(
    uuid: UUID, offset: int, bitmap: bytes, cardinality: int, prefix: str = ""
) -> DeletionVectorDescriptor:
    """Build the descriptor of a bitmap in the file with this UUID and prefix."""
    return DeletionVectorDescriptor(
        storage_type="u",
        path_or_inline_dv=prefix + z85.encode(uuid.bytes),
        offset=offset,
        size_in_bytes=len(bitmap),
        cardinality=cardinality,
    )


def get_vector_id(action: Add | Remove) -> str | None:
    """Return the id of the deletion vector of a logical file, or None."""
    return action.deletion_vector.unique_id if action.deletion_vector else None

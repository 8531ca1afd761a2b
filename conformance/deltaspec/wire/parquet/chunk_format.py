"""Read how the column chunks of a Parquet file are written: their codecs, and the version of their data pages.

The footer names the codec of each chunk. Its page counts by version are unreliable, because a widely used writer counts
all pages as version 1. So the version is read from the header of a page.
"""

from collections.abc import Callable

import msgspec

from deltaspec.wire.parquet.footer_reader import read_footer
from deltaspec.wire.parquet.thrift import I32, ThriftError, ThriftReader
from deltaspec.wire.parquet.thrift_footer import ColumnChunk, iter_column_chunks
from deltaspec.wire.storage.data_access import DataAccess

MAX_WALKED_BYTES = 4 << 20
"""Walking the column chunks of a larger footer takes seconds."""
_CODECS = ("uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw")
_PAGE_VERSIONS = {0: 1, 3: 2}
"""Version of a data page by its page type; other types are not data pages."""


class UnknownChunkFormat(ValueError):
    """How the file is written cannot be determined; the message says why."""


class ChunkFormat(msgspec.Struct, frozen=True):
    """Format of the column chunks that have values; empty and None if no chunk has any."""

    codecs: tuple[str, ...]
    """Distinct names as in table properties, sorted."""
    page_version: int | None
    """Version of the first data page; writers use one version for a file."""


def read_chunk_format(access: DataAccess, key: str, size: int | None) -> ChunkFormat:
    """Read the format of a file's column chunks.

    Args:
        access: how to read the file.
        key: a key of `access`.
        size: length of the file; None if unknown.

    Raises:
        UnknownChunkFormat: the footer is too large, is broken or names an unknown codec, or a data page is missing.
        NotParquet: the file is not Parquet.
        StorageError: the file cannot be read.
    """
    return parse_chunk_format(
        read_footer(access, key, size), lambda offset, length: access.read_range(key, offset, length)
    )


def parse_chunk_format(footer: bytes, read_range: Callable[[int, int], bytes]) -> ChunkFormat:
    """Return the format of the column chunks of a file.

    Args:
        footer: of the file.
        read_range: reads bytes of the file, given offset and length.

    Raises:
        UnknownChunkFormat: as for `read_chunk_format`.
        StorageError: the file cannot be read.
    """
    if len(footer) > MAX_WALKED_BYTES:
        raise UnknownChunkFormat(
            f"its footer has {len(footer)} bytes, more than the limit of {MAX_WALKED_BYTES} bytes for codecs"
        )
    try:
        chunks = [chunk for chunk in iter_column_chunks(footer) if chunk.value_count > 0]
    except ThriftError as fault:
        raise UnknownChunkFormat(f"its footer is broken: {fault}") from fault
    if not chunks:
        return ChunkFormat((), None)
    numbers = {chunk.codec for chunk in chunks}
    if not numbers <= set(range(len(_CODECS))):
        raise UnknownChunkFormat(f"its footer names an unknown codec, {max(numbers)}")
    return ChunkFormat(tuple(sorted(_CODECS[number] for number in numbers)), _read_page_version(read_range, chunks[0]))


def _read_page_version(read_range: Callable[[int, int], bytes], chunk: ColumnChunk) -> int:
    offset = chunk.data_page_offset
    header = ThriftReader(read_range(offset, 2) if offset >= 0 else b"")
    try:
        number, kind = next(header.iter_fields(), (0, 0))
        version = _PAGE_VERSIONS.get(header.read_integer()) if (number, kind) == (1, I32) else None
    except ThriftError:
        version = None
    if version is None:
        raise UnknownChunkFormat(f"there is no data page at offset {offset}, where its footer expects one")
    return version

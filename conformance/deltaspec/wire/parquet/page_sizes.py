"""Estimate the memory that the pages of a Parquet file need, from their headers, before any page is decoded.

A page may be compressed ten-thousandfold, so the length of a file does not bound what reading it takes. Only the
headers of files that are read at once are checked; larger files are streamed.
"""

from collections.abc import Iterator

from deltaspec.wire.parquet.thrift import I32, STRUCT, ThriftError, ThriftReader
from deltaspec.wire.parquet.thrift_footer import ColumnChunk, iter_column_chunks

MAX_PAGE_BYTES = 128 << 20
"""Writers end pages at about one megabyte; a single value may be larger."""
MAX_PAGE_HEADERS = 200_000
_MAX_HEADER_BYTES = 1 << 16
_BYTE_ARRAY = 6
_DICTIONARY_PAGE = 2
_PAGE_TYPE_FIELDS = (5, 7, 8)
"""Fields of a page header with a struct whose first field is the number of values."""
_SKEW = 64
"""Assumed ratio of the longest value of a dictionary to the average one."""


class PagesTooLarge(ValueError):
    """Pages need more memory than the limit for a file; they may be valid."""


def estimate_value_bytes(data: bytes) -> int:
    """Estimate the bytes of the longest value of variable length in a file; 0 if it has none.

    Args:
        data: the complete file.

    Raises:
        PagesTooLarge: a page needs more than `MAX_PAGE_BYTES`, or the file has more than `MAX_PAGE_HEADERS` pages.
    """
    longest = page_count = 0
    try:
        for chunk in _read_chunks(data):
            for size, value_count, is_dictionary in _iter_pages(data, chunk):
                page_count += 1
                if page_count > MAX_PAGE_HEADERS:
                    raise PagesTooLarge(f"it has more pages than the limit of {MAX_PAGE_HEADERS}")
                if size > MAX_PAGE_BYTES:
                    raise PagesTooLarge(f"a page of {size} bytes, more than the limit of {MAX_PAGE_BYTES} bytes")
                if chunk.physical_type == _BYTE_ARRAY:
                    estimate = size // max(value_count, 1) * (_SKEW if is_dictionary else 1)
                    longest = max(longest, min(size, estimate))
    except ThriftError:
        return longest  # decoding the file reports what is wrong with it
    return longest


def _read_chunks(data: bytes) -> list[ColumnChunk]:
    """Return the column chunks that the footer names."""
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 8:
        return []
    return list(iter_column_chunks(data[len(data) - 8 - length : len(data) - 8]))


def _iter_pages(data: bytes, chunk: ColumnChunk) -> Iterator[tuple[int, int, bool]]:
    """Yield decompressed size, number of values, and whether it is a dictionary, for each page of a chunk."""
    start = chunk.data_page_offset
    if 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    position, end = start, min(start + chunk.compressed_bytes, len(data))
    while 4 <= position < end:
        reader = ThriftReader(data[position : min(end, position + _MAX_HEADER_BYTES)])
        numbers = {1: 0, 2: 0, 3: 0}
        value_count = 0
        for number, kind in reader.iter_fields():
            if number in numbers and kind == I32:
                numbers[number] = reader.read_integer()
            elif number in _PAGE_TYPE_FIELDS and kind == STRUCT:
                value_count = _read_value_count(reader)
            else:
                reader.skip(kind)
        page_type, size, compressed_size = numbers.values()
        yield size, value_count, page_type == _DICTIONARY_PAGE
        if compressed_size < 0:
            break
        position += reader.position + compressed_size


def _read_value_count(reader: ThriftReader) -> int:
    count = 0
    for number, kind in reader.iter_fields():
        if number == 1 and kind == I32:
            count = reader.read_integer()
        else:
            reader.skip(kind)
    return count

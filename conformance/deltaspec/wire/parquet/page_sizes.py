"""Estimate the memory that the pages of a Parquet file need, from their headers, before any page is decoded.

A page may be compressed ten-thousandfold, so the length of a file does not bound the memory that reading it needs. Only
the headers of files that are read at once are checked; larger files are streamed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from deltaspec.wire.parquet.thrift import I32, STRUCT, ThriftError, ThriftReader
from deltaspec.wire.parquet.thrift_footer import ColumnChunk, iter_column_chunks

MAX_PAGE_BYTES = 128 << 20
"""Writers end pages at about one megabyte; a single value may be larger."""
MAX_PAGE_HEADERS = 200_000
_USUAL_HEADER_BYTES = 1 << 9
_MAX_HEADER_BYTES = 1 << 16
_BYTE_ARRAY = 6
_DICTIONARY_PAGE = 2
_ENCODING_FIELDS = {5: 2, 7: 2, 8: 4}
"""Fields of a page header with a struct whose first field is the number of values; and its field with the encoding."""
_DICTIONARY_ENCODINGS = (2, 8)
FEWEST_REPEATS = 8
"""Values for each entry of a dictionary from which on indexes are cheaper than strings."""
_SKEW = 64
"""Assumed ratio of the longest value of a dictionary to the average one."""


class PagesTooLarge(ValueError):
    """Pages need more memory than the limit for a file; they may be valid."""


class PageSummary(NamedTuple):
    """Summary of the page headers of a file."""

    value_bytes: int = 0
    """Estimate of the longest value of variable length; 0 if there is none."""
    dictionary_sizes: tuple[int | None, ...] = ()
    """For each column chunk of the footer, the number of dictionary entries; None unless it has byte arrays that all
    are in the dictionary and are repeated."""
    page_bytes: int | None = None
    """Size of the largest page, which no value exceeds; None if the structure of the file is invalid."""


class _Page(NamedTuple):
    size: int
    """Decompressed."""
    value_count: int
    is_dictionary: bool
    encoding: int


def summarize_pages(data: bytes) -> PageSummary:
    """Summarize the pages of a file. If its structure is invalid, decoding it reports the fault.

    Args:
        data: the complete file.

    Raises:
        PagesTooLarge: a page needs more than `MAX_PAGE_BYTES`, or the file has more than `MAX_PAGE_HEADERS` pages.
    """
    longest = page_count = page_bytes = 0
    dictionary_sizes: list[int | None] = []
    try:
        for chunk in _read_chunks(data):
            pages = []
            for page in _iter_pages(data, chunk):
                page_count += 1
                if page_count > MAX_PAGE_HEADERS:
                    raise PagesTooLarge(f"it has more pages than the limit of {MAX_PAGE_HEADERS}")
                page_bytes = max(page_bytes, page.size)
                if page.size > MAX_PAGE_BYTES:
                    raise PagesTooLarge(f"a page of {page.size} bytes, more than the limit of {MAX_PAGE_BYTES} bytes")
                if chunk.physical_type == _BYTE_ARRAY:
                    estimate = page.size // max(page.value_count, 1) * (_SKEW if page.is_dictionary else 1)
                    longest = max(longest, min(page.size, estimate))
                    pages.append(page)
            dictionary_sizes.append(_get_dictionary_size(chunk, pages))
    except ThriftError:
        return PageSummary(longest)
    return PageSummary(longest, tuple(dictionary_sizes), page_bytes if dictionary_sizes else None)


def _get_dictionary_size(chunk: ColumnChunk, pages: list[_Page]) -> int | None:
    """Return the number of dictionary entries of a chunk whose values are all in the dictionary and are repeated."""
    if not pages or not pages[0].is_dictionary:
        return None
    size, indexed = pages[0].value_count, pages[1:]
    if any(page.is_dictionary or page.encoding not in _DICTIONARY_ENCODINGS for page in indexed):
        return None
    is_complete = sum(page.value_count for page in indexed) == chunk.value_count
    return size if is_complete and size * FEWEST_REPEATS <= chunk.value_count else None


def _read_chunks(data: bytes) -> list[ColumnChunk]:
    """Return the column chunks that the footer names."""
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 8:
        return []
    return list(iter_column_chunks(data[len(data) - 8 - length : len(data) - 8]))


def _iter_pages(data: bytes, chunk: ColumnChunk) -> Iterator[_Page]:
    """Yield the pages of a chunk."""
    start = chunk.data_page_offset
    if 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    position, end = start, min(start + chunk.compressed_bytes, len(data))
    while 4 <= position < end:
        try:
            page, length = _read_page(data[position : min(end, position + _USUAL_HEADER_BYTES)])
        except ThriftError:
            page, length = _read_page(data[position : min(end, position + _MAX_HEADER_BYTES)])
        yield page
        if length is None:
            break
        position += length


def _read_page(data: bytes) -> tuple[_Page, int | None]:
    """Return the page whose header begins the bytes, and its length in the file; None if the length is negative."""
    reader = ThriftReader(data)
    numbers = {1: 0, 2: 0, 3: 0}
    value_count, encoding = 0, -1
    for number, kind in reader.iter_fields():
        if number in numbers and kind == I32:
            numbers[number] = reader.read_integer()
        elif number in _ENCODING_FIELDS and kind == STRUCT:
            value_count, encoding = _read_page_type(reader, _ENCODING_FIELDS[number])
        else:
            reader.skip(kind)
    page_type, size, compressed_size = numbers.values()
    page = _Page(size, value_count, page_type == _DICTIONARY_PAGE, encoding)
    return page, None if compressed_size < 0 else reader.position + compressed_size


def _read_page_type(reader: ThriftReader, encoding_field: int) -> tuple[int, int]:
    """Return the number of values and the encoding of a page."""
    count, encoding = 0, -1
    for number, kind in reader.iter_fields():
        if number == 1 and kind == I32:
            count = reader.read_integer()
        elif number == encoding_field and kind == I32:
            encoding = reader.read_integer()
        else:
            reader.skip(kind)
    return count, encoding

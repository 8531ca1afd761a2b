"""Open data files with bounds on the memory that reading their rows takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.wire.parquet.arrow_schema import open_by_parquet_schema
from deltaspec.wire.parquet.dictionary_columns import DictionarySizes, find_dictionary_columns
from deltaspec.wire.parquet.page_sizes import PagesTooLarge, PageSummary, summarize_pages
from deltaspec.wire.storage.interface import StorageError, format_error

_STREAM_BYTES = 1 << 20
"""Buffer for each column chunk of a large file; without it, Arrow reads complete chunks."""
LARGE_FILE_BYTES = 16 << 20
"""Files up to this size are read at once."""
MAX_ROWS_OF_ANY_FILE = 1 << 22
MAX_ROWS_PER_BYTE = 1 << 12
"""More than the run-length encoding of any engine needs: Arrow writes a million equal rows in some hundred bytes."""
_OPTIONS: dict[str, Any] = {
    "thrift_string_size_limit": 64 << 20,
    "thrift_container_size_limit": 1 << 22,
    "pre_buffer": False,
    "coerce_int96_timestamp_unit": "us",
    "page_checksum_verification": True,
    "arrow_extensions_enabled": False,
}
"""Of `ParquetFile`."""


class UnreadableRows(ValueError):
    """The rows of a file cannot be read; its pages may be valid."""


@dataclass(frozen=True)
class OpenedFile:
    """A data file whose footer was read."""

    parquet: pq.ParquetFile
    value_bytes: int
    """`PageSummary.value_bytes`; 0 for a file of more than `LARGE_FILE_BYTES`."""
    dictionary_sizes: Sequence[int | None]
    """`PageSummary.dictionary_sizes`."""
    page_bytes: int | None
    """`PageSummary.page_bytes`; None for a file of more than `LARGE_FILE_BYTES`."""
    data: bytes = b""
    """The complete file if it is small, else empty."""

    @cached_property
    def schema(self) -> pa.Schema:
        """`ParquetFile.schema_arrow`, which pyarrow builds again each time."""
        return self.parquet.schema_arrow

    @cached_property
    def names(self) -> list[str]:
        """Names of the top-level columns."""
        return list(self.schema.names)

    @cached_property
    def dictionaries(self) -> dict[str, DictionarySizes]:
        """Top-level columns that can also be read as indexes into a dictionary, by name."""
        if not any(self.dictionary_sizes):
            return {}
        return find_dictionary_columns(self.parquet, self.dictionary_sizes)

    @cached_property
    def as_dictionaries(self) -> pq.ParquetFile:
        """The same file. Columns of `dictionaries` are read as Arrow dictionaries of strings."""
        source, names = pa.BufferReader(self.data), list(self.dictionaries)
        return pq.ParquetFile(source, metadata=self.parquet.metadata, read_dictionary=names, **_OPTIONS)


def open_data_file(source: Any, size: int) -> OpenedFile:
    """Open a file by its Parquet schema.

    Args:
        source: input of `pyarrow.parquet.ParquetFile`.
        size: length of the file in bytes.

    Raises:
        UnreadableRows: the file is not Parquet, needs too much memory, or states more rows than it can have.
        StorageError: the file cannot be read.
    """
    data, pages = b"", PageSummary()
    try:
        if size <= LARGE_FILE_BYTES:
            data = read_all(source, size)
            pages = summarize_pages(data)
            source = pa.BufferReader(data)
        parquet = open_by_parquet_schema(source, buffer_size=_get_buffer_size(size), **_OPTIONS)
        rows, _ = parquet.metadata.num_rows, parquet.schema_arrow
    except StorageError:
        raise
    except PagesTooLarge as fault:
        raise UnreadableRows(str(fault)) from fault
    except Exception as fault:
        raise UnreadableRows(f"cannot be opened as Parquet: {format_error(fault)}") from fault
    max_rows = MAX_ROWS_OF_ANY_FILE + size * MAX_ROWS_PER_BYTE
    if not 0 <= rows <= max_rows:
        raise UnreadableRows(f"its footer states {rows} rows; {size} bytes can have at most {max_rows}")
    return OpenedFile(parquet, pages.value_bytes, pages.dictionary_sizes, pages.page_bytes, data)


def read_all(source: Any, size: int) -> bytes:
    """Return the bytes of a file up to `LARGE_FILE_BYTES`, since it may have grown.

    Arrow allocates the requested size, so the first request is for the expected size of the file.
    """
    pieces = []
    remaining, request = LARGE_FILE_BYTES, max(size, _STREAM_BYTES)
    while remaining > 0 and (piece := source.read(min(request, remaining))):
        pieces.append(piece)
        remaining -= len(piece)
        request = _STREAM_BYTES
    return b"".join(pieces)


def _get_buffer_size(size: int) -> int:
    """Return the read buffer for the column chunks of a file; 0 reads complete chunks.

    With a buffer, Arrow allocates the size that a page header states, up to 2 GiB. For a complete chunk it allocates no
    more than the bytes of the chunk.
    """
    return _STREAM_BYTES if size > LARGE_FILE_BYTES else 0

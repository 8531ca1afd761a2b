"""Opens a data file so that its rows can be read in memory that no file can raise much."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.wire.parquet.page_sizes import PagesTooLarge, estimate_value_bytes
from deltaspec.wire.storage.interface import StorageError, format_error

_STREAM_BYTES = 1 << 20
"""Read at once of each column chunk of a large file: without it, Arrow reads chunks whole."""
LARGE_FILE_BYTES = 16 << 20
"""Shorter files are read whole."""
_ROWS_OF_ANY_FILE = 1 << 22
_ROWS_OF_A_BYTE = 1 << 12
"""More than run lengths give of what engines write: Arrow has a million equal rows in some hundred bytes."""


class UnreadableRows(ValueError):
    """A file whose rows cannot be read, though nothing shows that its pages are wrong."""


def open_data_file(source: Any, size: int) -> tuple[pq.ParquetFile, int]:
    """The file, and what a value of variable length takes in it (`page_sizes`)."""
    value_bytes = 0
    try:
        if size <= LARGE_FILE_BYTES:
            data = _whole(source)
            value_bytes = estimate_value_bytes(data)
            source = pa.BufferReader(data)
        parquet = pq.ParquetFile(
            source,
            thrift_string_size_limit=64 << 20,
            thrift_container_size_limit=1 << 22,
            pre_buffer=False,
            buffer_size=_stream_bytes(size),
            coerce_int96_timestamp_unit="us",
            page_checksum_verification=True,
            arrow_extensions_enabled=False,
        )
        rows, _ = parquet.metadata.num_rows, parquet.schema_arrow
    except StorageError:
        raise
    except PagesTooLarge as fault:
        raise UnreadableRows(str(fault)) from fault
    except Exception as fault:
        raise UnreadableRows(f"cannot be opened as Parquet: {format_error(fault)}") from fault
    if not 0 <= rows <= _ROWS_OF_ANY_FILE + size * _ROWS_OF_A_BYTE:
        raise UnreadableRows(f"{rows} rows are claimed of {size} bytes")
    return parquet, value_bytes


def _whole(source: Any) -> bytes:
    """The bytes of a file that is not large, unless it grew."""
    pieces = []
    left = LARGE_FILE_BYTES
    while left > 0 and (piece := source.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _stream_bytes(size: int) -> int:
    """How much is read at once of a column chunk, by the length of its file; 0 for whole chunks.

    Piece by piece, Arrow allocates what the head of a page claims, up to 2 GiB; of a whole chunk it takes no more than
    is there.
    """
    return _STREAM_BYTES if size > LARGE_FILE_BYTES else 0

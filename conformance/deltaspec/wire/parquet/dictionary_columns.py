"""Read strings that a file stores by a dictionary as they are stored: as one number for each value.

Checking the values of the dictionary takes half the time of copying and checking the value of each row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.wire.parquet.arrow_schema import read_footer
from deltaspec.wire.parquet.file_opener import OpenFile
from deltaspec.wire.parquet.thrift import ThriftError
from deltaspec.wire.parquet.thrift_footer import ColumnChunk, iter_column_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_CHUNKS = 2_000
"""Files with more column chunks are read as they are: decoding the metadata of one takes 20 µs."""
_MAX_VALUE_BYTES = 2
"""Where values take fewer bytes on average, most of them are numbers: a string alone takes four for its length."""


class DictionaryColumns(msgspec.Struct, frozen=True):
    """Columns of a file that are read as Arrow dictionaries."""

    parquet: pq.ParquetFile
    names: frozenset[str]


def open_dictionary_columns(opened: OpenFile) -> DictionaryColumns | None:
    """Open a file to read top-level columns of strings as dictionaries; None if it has none that is worth it.

    What the footer states about the columns only decides how they are read, not which values they have.

    Raises:
        Exception: as `pyarrow.parquet.ParquetFile`.
    """
    parquet = opened.parquet
    leaf_count = parquet.metadata.num_columns
    is_string = {field.name: pa.types.is_string(field.type) for field in parquet.schema_arrow}
    if not any(is_string.values()) or leaf_count * parquet.metadata.num_row_groups > _MAX_CHUNKS:
        return None
    paths = [parquet.schema.column(place).path for place in range(leaf_count)]
    places = [place for place in _find_dictionary_leaves(opened, leaf_count) if is_string.get(paths[place])]
    if not places:
        return None
    again = pq.ParquetFile(opened.source, metadata=parquet.metadata, read_dictionary=places, **opened.options)
    return DictionaryColumns(again, frozenset(paths[place] for place in places))


def _find_dictionary_leaves(opened: OpenFile, leaf_count: int) -> Iterator[int]:
    """Yield the indexes of leaves whose column chunks have a dictionary and few bytes."""
    footer = read_footer(opened.source)
    try:
        chunks = [] if footer is None else list(iter_column_chunks(footer))
    except ThriftError:
        return
    if not chunks or len(chunks) % leaf_count:
        return
    for place in range(leaf_count):
        if all(map(_has_small_dictionary, chunks[place::leaf_count])):
            yield place


def _has_small_dictionary(chunk: ColumnChunk) -> bool:
    return chunk.dictionary_page_offset > 0 and chunk.uncompressed_bytes <= _MAX_VALUE_BYTES * chunk.value_count

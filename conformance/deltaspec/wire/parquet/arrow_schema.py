"""Open Parquet files by their Parquet schema only, even if Arrow rejects an annotation that other readers ignore.

Arrow writers store their own schema under the key `ARROW:schema`, and Arrow readers convert the values to its types:
to durations, dictionaries, views or other time zones. Other readers ignore the entry, so it must not decide what a
file contains. It may also be broken. The key is renamed before Arrow decodes the footer.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaspec.wire.parquet.footer_repair import drop_unknown_group_types
from deltaspec.wire.parquet.thrift import BINARY, LIST, STRUCT, ThriftError, ThriftReader

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_KEY = b"ARROW:schema"
_OTHER_KEY = b"arrow schema"
_KEY_VALUE_METADATA = 5
"""Field of FileMetaData."""
_MAGICS = (b"PAR1", b"PARE")
_TAIL_BYTES = 64 << 10
"""Length of the first read from the end of a file, as in Arrow."""


def open_by_parquet_schema(source: Any, **options: Any) -> pq.ParquetFile:
    """Return `pyarrow.parquet.ParquetFile(source, **options)`, with the types of the Parquet schema.

    Args:
        source: seekable binary file, or an Arrow buffer reader.
        options: options of `ParquetFile`.

    Raises:
        Exception: as `ParquetFile`.
    """
    from pyarrow.parquet import ParquetFile

    footer = read_footer(source)
    if footer is None:
        return ParquetFile(source, **options)
    changed = rename_arrow_schema(footer) if _KEY in footer else footer
    try:
        return _open(source, footer, changed, options)
    except Exception:  # Arrow raises several types
        repaired = drop_unknown_group_types(changed)
        if repaired is changed:
            raise
        return _open(source, footer, repaired, options)


def _open(source: Any, footer: bytes, changed: bytes, options: dict[str, Any]) -> pq.ParquetFile:
    """Open a file with a changed footer."""
    from pyarrow.parquet import ParquetFile

    if changed is footer:
        return ParquetFile(source, **options)
    return ParquetFile(source, metadata=ParquetFile(pa.BufferReader(changed), **options).metadata, **options)


def rename_arrow_schema(footer: bytes) -> bytes:
    """Return a footer whose key-value metadata has no Arrow schema; a broken footer is returned as it is."""
    if footer.count(_KEY) == 1:  # walking the column chunks takes longer; a column is named there and in the schema
        return footer.replace(_KEY, _OTHER_KEY)
    renamed = bytearray(footer)
    reader = ThriftReader(footer)
    try:
        for number, kind in reader.iter_fields():
            if number != _KEY_VALUE_METADATA or kind != LIST:
                reader.skip(kind)
                continue
            for _ in range(reader.read_list_length(STRUCT)):
                position = reader.skip_struct(1, BINARY)
                if position is not None:
                    key = ThriftReader(footer, position)
                    if key.read_text() == _KEY.decode():
                        renamed[key.position - len(_KEY) : key.position] = _OTHER_KEY
    except ThriftError:
        return footer
    return bytes(renamed)


def read_footer(source: Any) -> bytes | None:
    """Return the bytes of a footer, its length and the magic number; None if the file does not end with them."""
    size = source.seek(0, io.SEEK_END)
    start = max(0, size - _TAIL_BYTES)
    source.seek(start)
    tail = source.read(size - start)
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if tail[-4:] not in _MAGICS or length > size:
        return None
    if length > len(tail):
        source.seek(size - length)
        tail = source.read(length)
    return bytes(tail[-length:]) if len(tail) >= length else None

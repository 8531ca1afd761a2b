"""Read Parquet footers: row counts, and the schema with its field ids.

Arrow decides whether a footer is readable, and counts its rows. Its view of the schema drops field ids and annotations
of groups, which Delta needs. So `thrift_footer` decodes the schema, once for all files whose footers begin alike.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyarrow._parquet import ParquetReader

from deltaspec.protocol.schema.parquet_types import Node
from deltaspec.wire.parquet.footer_repair import drop_unknown_group_types
from deltaspec.wire.parquet.thrift import ThriftError
from deltaspec.wire.parquet.thrift_footer import SchemaTooLarge, decode_schema, read_external_path
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import StorageError, format_error

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MAX_FOOTER_BYTES = 32 << 20
"""A larger footer is not read: decoding it takes many times its length in memory."""
TAIL_BYTES = 16 << 10
"""Length of the first read from the end of a file; most footers are shorter."""
MAGIC = b"PAR1"
ENCRYPTED = b"PARE"
_ARROW_SCHEMA = b"ARROW:schema"
"""Key of Arrow's own schema, which may be broken. Only row counts are read through Arrow, so the bytes may be replaced
anywhere in a footer.
"""
_SMALLEST = 12
_BROKEN = ("Couldn't deserialize thrift", "Malformed")
"""Arrow's messages for footers that no reader can decode. Arrow also rejects footers that other readers may accept, for
example because of a logical type that does not fit the physical type."""
_MAX_CACHED = 64


class NotParquet(ValueError):
    """The file is not a Parquet file; the message says why."""


class UnsupportedFooter(StorageError):
    """The footer may be valid but cannot be checked: it is encrypted, too large, or unknown to Arrow."""


class Footer(msgspec.Struct, frozen=True):
    """Contents of the footer of a data file."""

    row_count: int
    """Rows of the file, as the footer states them."""
    row_group_rows: int
    """Sum of the rows of its row groups, limited to 64 bits."""
    schema: Node
    """The root; its children are the file's columns. Files with the same schema share the object."""
    external_path: str | None = None
    """Another file that contains the first column chunk; the protocol knows no such files."""


class FooterReader(msgspec.Struct):
    """Read footers, and cache decoded schemas. Safe to use in threads."""

    access: DataAccess
    _schemas: dict[int, dict[bytes, Node]] = msgspec.field(default_factory=dict)
    _lock: Lock = msgspec.field(default_factory=Lock)

    def read(self, key: str, size: int | None = None) -> Footer:
        """Read and decode the footer of a file.

        Args:
            key: a key of `DataAccess`.
            size: expected length of the file; saves a request if it is right.

        Raises:
            NotParquet: the file is not Parquet, or its footer is broken.
            UnsupportedFooter: the footer cannot be checked.
            StorageError: the file cannot be read.
        """
        return self.decode(read_footer(self.access, key, size))

    def decode(self, data: bytes) -> Footer:
        """Decode a footer: its Thrift structure, its length and the magic number. Raises as `read` does."""
        known = self._find_schema(data)
        try:
            schema, schema_end = known or decode_schema(data)
        except SchemaTooLarge as fault:
            raise UnsupportedFooter(str(fault)) from fault
        except ThriftError as fault:
            raise NotParquet(f"the schema in its footer is broken: {fault}") from fault
        metadata = _decode_or_repair(data, checks_names=known is None)
        if known is None:
            schema = self._cache_schema(data[:schema_end], schema)
        group_rows = sum(metadata.row_group(index).num_rows for index in range(metadata.num_row_groups))
        try:
            external_path = read_external_path(data, schema_end)
        except ThriftError as fault:  # Arrow accepts more than Thrift allows
            raise UnsupportedFooter(f"the column chunks in its footer cannot be decoded: {fault}") from fault
        return Footer(metadata.num_rows, max(-(2**63), min(group_rows, 2**63 - 1)), schema, external_path)

    def _find_schema(self, data: bytes) -> tuple[Node, int] | None:
        """Return what `decode_schema` returns if any file had the same schema, and Arrow can read its names."""
        for length, schemas in tuple(self._schemas.items()):
            if known := schemas.get(data[:length]):
                return known, length
        return None

    def _cache_schema(self, encoded: bytes, schema: Node) -> Node:
        """Return the schema, or the same schema that another thread has cached."""
        with self._lock:
            if len(encoded) not in self._schemas and len(self._schemas) >= _MAX_CACHED:
                self._schemas.pop(next(iter(self._schemas)))
            schemas = self._schemas.setdefault(len(encoded), {})
            if len(schemas) >= _MAX_CACHED:
                schemas.pop(next(iter(schemas)))
            return schemas.setdefault(encoded, schema)


def read_footer(access: DataAccess, key: str, size: int | None = None) -> bytes:
    """Return the bytes of a file's footer: its Thrift structure, its length and the magic number.

    Raises:
        NotParquet: the file does not end as a Parquet file does.
        UnsupportedFooter: the footer is encrypted or larger than `MAX_FOOTER_BYTES`.
        StorageError: the file cannot be read.
    """
    tail, size = _read_tail(access, key, size)
    if size < _SMALLEST:
        raise NotParquet(f"{size} bytes are too few for a Parquet file")
    magic = tail[-4:]
    if magic == ENCRYPTED:
        raise UnsupportedFooter("its footer is encrypted")
    if magic != MAGIC:
        raise NotParquet(f"ends with {magic!r}, not with {MAGIC!r}")
    length = int.from_bytes(tail[-8:-4], "little")
    if length > size - _SMALLEST:
        raise NotParquet(f"it states a footer of {length} bytes, and has only {size} bytes")
    if length > MAX_FOOTER_BYTES:
        raise UnsupportedFooter(f"its footer has {length} bytes, more than the limit of {MAX_FOOTER_BYTES} bytes")
    if length + 8 > len(tail):
        tail = access.read_range(key, size - length - 8, length + 8)
        if len(tail) < length + 8:
            raise StorageError(f"{key}: shrank while it was read")
    return tail[-length - 8 :]


def _read_tail(access: DataAccess, key: str, size: int | None) -> tuple[bytes, int]:
    """Return the end of a file and its length; one read is enough if `size` is right."""
    if size is not None and size >= _SMALLEST:
        start = 0 if access.may_keep(size) else max(0, size - TAIL_BYTES)
        tail = access.read_range(key, start, size - start + 1)
        if len(tail) == size - start:
            if start == 0:
                access.keep(key, tail)
            return tail, size
    size = access.size(key)
    start = max(0, size - TAIL_BYTES)
    tail = access.read_range(key, start, size - start)
    if len(tail) < size - start:
        raise StorageError(f"{key}: shrank while it was read")
    return tail, size


def explain_rejected_footer(footer: bytes | None, reason: str) -> str | None:
    """Return why a file that Arrow rejects may still be valid; None if no reader can decode its footer.

    Args:
        footer: the footer, its length and the magic number; None if the file does not end with them.
        reason: the message of Arrow.
    """
    if footer is not None and footer.endswith(ENCRYPTED):
        return "its footer is encrypted"
    if footer is None or any(message in reason for message in _BROKEN):
        return None
    try:
        decode_schema(footer)
    except SchemaTooLarge as fault:
        return str(fault)
    except ThriftError:
        return None
    return f"Arrow rejects its footer: {reason}"


def _decode_or_repair(data: bytes, *, checks_names: bool) -> pq.FileMetaData:
    """Return the footer as Arrow decodes it, without annotations that other readers ignore. Raises as `read` does."""
    try:
        return _decode_with_arrow(data, checks_names=checks_names)
    except UnsupportedFooter:
        repaired = drop_unknown_group_types(data)
        if repaired is data:
            raise
        return _decode_with_arrow(repaired, checks_names=checks_names)


def _decode_with_arrow(data: bytes, *, checks_names: bool) -> pq.FileMetaData:
    """Return the footer as Arrow decodes it. Do not access its column chunks: broken ones abort the process.

    `pyarrow.parquet.ParquetFile` does the same, and also builds the path of every column.

    Args:
        data: the footer.
        checks_names: whether column names that are not UTF-8 are refused.
    """
    reader = ParquetReader()
    try:
        reader.open(
            pa.BufferReader(data.replace(_ARROW_SCHEMA, b"arrow schema")),
            thrift_string_size_limit=len(data),
            thrift_container_size_limit=max(1000, len(data) // 2),
            pre_buffer=False,
            arrow_extensions_enabled=True,
        )
        if checks_names:
            reader.column_paths  # noqa: B018 - it raises
    except Exception as fault:  # Arrow raises several types
        reason = format_error(fault)
        if any(message in reason for message in _BROKEN):
            raise NotParquet(f"its footer is broken: {reason}") from fault
        raise UnsupportedFooter(f"Arrow rejects its footer: {reason}") from fault
    return reader.metadata

"""Footers of Parquet files: how many rows, and which schema, node by node with its field ids.

pyarrow judges whether a footer can be read. Its own picture of the schema leaves out what Delta needs (field ids and
annotations of groups, in names as they are), so the few bytes of the schema are decoded here, once for all files
that begin their footers alike. Lengths are bounded by the file's own before anything is allocated.
"""

from dataclasses import dataclass, field
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.model.schema.parquet_types import Node
from deltaspec.wire.parquet.thrift_footer import (
    SchemaTooLarge,
    ThriftError,
    decode_schema,
    iter_external_paths,
    row_group_rows,
)
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import StorageError, format_error

MAX_FOOTER_BYTES = 32 << 20
"""A larger footer is not read: decoding one takes many times its length."""
TAIL_BYTES = 16 << 10
"""Read at once from the end of a file: most footers are shorter."""
MAGIC = b"PAR1"
ENCRYPTED = b"PARE"
_SMALLEST = 12
_BROKEN = ("Couldn't deserialize thrift", "Malformed")
"""Said of footers that nobody could read. Arrow also refuses what it does not know or what lies beside the format, such
as its own schema among the key-value metadata: then other readers may take the file."""
_REMEMBERED = 64


class NotParquet(ValueError):
    """The file is no Parquet file; says why."""


class UnsupportedFooter(StorageError):
    """The footer may be sound, and is beyond what is read here: encrypted, too large, or of a form unknown to Arrow."""


@dataclass(frozen=True)
class Footer:
    """What the footer of a data file says."""

    row_count: int
    """Of the whole file, as the footer says."""
    row_group_rows: int
    """The sum of what it says of its row groups."""
    schema: Node
    """The root; its children are the file's columns. The same object for all files of the same schema."""
    external_path: str | None = None
    """Another file that holds columns of this one; the text knows no such files."""


@dataclass
class FooterReader:
    """Reads footers; what it learnt of one schema serves all files that have it. Safe to use in threads."""

    access: DataAccess
    _known: dict[int, dict[bytes, Node]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def read(self, key: str, size: int | None = None) -> Footer:
        """The footer of a file.

        Args:
            key: as `DataAccess` takes it.
            size: the length that the log gives it; saves a request where it is true.

        Raises:
            NotParquet: the file is none, or its footer is broken.
            UnsupportedFooter: nothing can be said of it.
            StorageError: the storage did not give it.
        """
        return self.decode(read_footer(self.access, key, size))

    def decode(self, data: bytes) -> Footer:
        """What a footer says; `data` is its Thrift structure, its length and the magic number. Raises as `read`."""
        try:
            schema = self._schema(data)
        except SchemaTooLarge as fault:
            raise UnsupportedFooter(str(fault)) from fault
        except ThriftError as fault:
            raise NotParquet(f"the schema in its footer is broken: {fault}") from fault
        metadata = _metadata(data)
        rows, foreign = metadata.num_rows, None
        try:
            rows = row_group_rows(data, metadata.num_rows)
            foreign = next(iter_external_paths(data), None)
        except ThriftError:
            pass  # Arrow takes it: what it passes over is no fault
        return Footer(metadata.num_rows, rows, schema, foreign)

    def _schema(self, data: bytes) -> Node:
        for length, schemas in tuple(self._known.items()):
            if known := schemas.get(data[:length]):
                return known
        found, length = decode_schema(data)
        with self._lock:
            if length not in self._known and len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)))
            schemas = self._known.setdefault(length, {})
            if len(schemas) >= _REMEMBERED:
                schemas.pop(next(iter(schemas)))
            return schemas.setdefault(data[:length], found)


def read_footer(access: DataAccess, key: str, size: int | None = None) -> bytes:
    """The bytes of a file's footer: its Thrift structure, its length and the magic number.

    Raises:
        NotParquet: the file does not end as a Parquet file.
        UnsupportedFooter: it is encrypted or too large.
        StorageError: the storage did not give it.
    """
    tail, size = _tail(access, key, size)
    if size < _SMALLEST:
        raise NotParquet(f"{size} bytes are too few for a Parquet file")
    magic = tail[-4:]
    if magic == ENCRYPTED:
        raise UnsupportedFooter("its footer is encrypted")
    if magic != MAGIC:
        raise NotParquet(f"ends with {magic!r}, not with {MAGIC!r}")
    length = int.from_bytes(tail[-8:-4], "little")
    if length > size - _SMALLEST:
        raise NotParquet(f"says that its footer has {length} bytes, of {size} in all")
    if length > MAX_FOOTER_BYTES:
        raise UnsupportedFooter(f"its footer has {length} bytes, more than the {MAX_FOOTER_BYTES} that are read")
    if length + 8 > len(tail):
        tail = access.read_range(key, size - length - 8, length + 8)
        if len(tail) < length + 8:
            raise StorageError(f"{key}: shrank while it was read")
    return tail[-length - 8 :]


def _tail(access: DataAccess, key: str, size: int | None) -> tuple[bytes, int]:
    """The end of a file and its length; the length that is given is believed if the file ends there."""
    if size is not None and size >= _SMALLEST:
        start = max(0, size - TAIL_BYTES)
        tail = access.read_range(key, start, size - start + 1)
        if len(tail) == size - start:
            return tail, size
    size = access.size(key)
    start = max(0, size - TAIL_BYTES)
    tail = access.read_range(key, start, size - start)
    if len(tail) < size - start:
        raise StorageError(f"{key}: shrank while it was read")
    return tail, size


def _metadata(data: bytes) -> pq.FileMetaData:
    """The footer as Arrow reads it. Nobody asks for its column chunks: where those are bad, that aborts the process."""
    try:
        return pq.ParquetFile(
            pa.BufferReader(data),
            thrift_string_size_limit=len(data),
            thrift_container_size_limit=max(1000, len(data) // 2),
            pre_buffer=False,
        ).metadata
    except Exception as fault:  # whatever the native decoder says
        reason = format_error(fault)
        if any(each in reason for each in _BROKEN):
            raise NotParquet(f"its footer is broken: {reason}") from fault
        raise UnsupportedFooter(f"Arrow does not take its footer: {reason}") from fault

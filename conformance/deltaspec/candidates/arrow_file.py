"""Read an untrusted Arrow IPC file with bounded memory and time.

A file is read as one table, or checked once and then read batch by batch.

Arrow checks that a file is well formed, but a small well-formed file can still need any amount of memory: compressed
buffers state their own size, one schema field can be a child of a million others, one batch can be listed a million
times, and columns can share buffers. Therefore the sizes in footer and batches are added up before Arrow reads the
file, and the sizes of the arrays before anything reads their values.
"""

import struct
from collections.abc import Iterator
from typing import Protocol, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

MAX_BYTES = 1024 * 1024 * 1024
"""Maximum number of bytes of all columns: uncompressed, without dictionaries, and with nothing shared."""
MAX_VALUES = 16 * 1024 * 1024
"""Values of all columns and nested fields; some types need no memory for them."""
MAX_FIELDS = 20_000
MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Size of names, time zones and metadata in the schema."""
MAX_BATCHES = 16_384
MAX_COLUMN_BATCHES = 1_000_000
MAX_STREAMED_BATCHES = 1_000_000
"""Batches of a file that is read one batch at a time."""

Bytes: TypeAlias = bytes | memoryview

_MAGIC = b"ARROW1"
_V5 = 4
_TIMESTAMP, _RUN_END_ENCODED, _LIST_VIEW, _LARGE_LIST_VIEW, _UNION = 10, 22, 25, 26, 14
_FORBIDDEN = {_RUN_END_ENCODED: "run_end_encoded", _LIST_VIEW: "list_view", _LARGE_LIST_VIEW: "large_list_view"}
_FORBIDDEN[_UNION] = "union"
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3


class ByteSource(Protocol):
    """The bytes of a file, in memory or read when they are needed."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Bytes: ...


class RowsFault(Exception):
    """The rows of an answer cannot be read, or contradict the other fields of the answer."""


def read_arrow_file(data: bytes) -> pa.Table:
    """Read a complete Arrow IPC file. The table is valid, and shares the memory of the bytes.

    Raises:
        RowsFault: it is not a complete and valid Arrow IPC file, or too large.
    """
    try:
        check_file(memoryview(data))
        with pa.ipc.open_file(pa.py_buffer(data)) as reader:
            table = reader.read_all()
    except (pa.ArrowException, OSError, ValueError, struct.error, MemoryError, RecursionError) as fault:
        raise RowsFault(f"the rows are not a complete Arrow IPC file: {get_first_line(fault)}") from fault
    check_table(table)
    return table


def check_table(table: pa.Table) -> None:
    """Check rows that Arrow has read.

    Raises:
        RowsFault: an array is invalid, or too large.
    """
    validate_table(table, full=False)
    _check_arrays(table)
    validate_table(table)
    _check_decoded_size(table)


def validate_table(table: pa.Table, *, full: bool = True) -> None:
    """Check the lengths of all arrays and, if `full`, also offsets, indices and text.

    Raises:
        RowsFault: the data is invalid.
    """
    try:
        table.validate(full=full)
    except (pa.ArrowException, OSError) as fault:
        raise RowsFault(f"the rows are not valid Arrow data: {get_first_line(fault)}") from fault


def get_first_line(fault: BaseException) -> str:
    """Return the first line of an error's text."""
    return (str(fault).splitlines() or [type(fault).__name__])[0][:500]


class _Node(msgspec.Struct, frozen=True):
    """A table of a FlatBuffers message. Reads outside of the data raise `struct.error`."""

    data: Bytes
    position: int

    @classmethod
    def read_root(cls, data: Bytes) -> "_Node":
        return cls(data, _unpack("<I", data, 0))

    def find(self, number: int) -> int | None:
        """Return the position of a field, or None if it is absent."""
        vtable = self.position - _unpack("<i", self.data, self.position)
        slot = 4 + 2 * number
        if slot >= _unpack("<H", self.data, vtable):
            return None
        offset = _unpack("<H", self.data, vtable + slot)
        return self.position + offset if offset else None

    def read(self, number: int, code: str) -> int:
        """Return an integer; 0 if it is absent."""
        found = self.find(number)
        return 0 if found is None else _unpack(code, self.data, found)

    def follow(self, number: int) -> int | None:
        """Return the position to which an offset field points."""
        found = self.find(number)
        return None if found is None else found + _unpack("<I", self.data, found)

    def get_table(self, number: int) -> "_Node | None":
        found = self.follow(number)
        return None if found is None else _Node(self.data, found)

    def get_length(self, number: int) -> int:
        """Return the length of a string or vector."""
        found = self.follow(number)
        return 0 if found is None else _unpack("<I", self.data, found)

    def read_text(self, number: int) -> str:
        """Return a string; empty if it is absent."""
        start = self.follow(number)
        return "" if start is None else str(self.data[start + 4 : start + 4 + self.get_length(number)], "utf-8")

    def iter_tables(self, number: int) -> Iterator["_Node"]:
        start = self.follow(number)
        for index in range(self.get_length(number)):
            assert start is not None
            slot = start + 4 + 4 * index
            yield _Node(self.data, slot + _unpack("<I", self.data, slot))

    def iter_structs(self, number: int, code: str) -> Iterator[tuple[int, ...]]:
        start, size = self.follow(number), struct.calcsize(code)
        for index in range(self.get_length(number)):
            assert start is not None
            yield _unpack_all(code, self.data, start + 4 + size * index)


def _unpack(code: str, data: Bytes, position: int) -> int:
    return int(_unpack_all(code, data, position)[0])


def _unpack_all(code: str, data: Bytes, position: int) -> tuple[int, ...]:
    if position < 0:
        raise struct.error("a position before the start of the file")
    return struct.unpack_from(code, data, position)


def check_file(data: ByteSource, *, is_streamed: bool = False) -> None:
    """Raise if reading the file would need too much memory. It reads footer and batches like Arrow.

    Args:
        data: the file.
        is_streamed: whether one batch is read at a time, so that only the size of each batch is limited.
    """
    if len(data) < 24 or data[:6] != _MAGIC or data[-6:] != _MAGIC:
        raise ValueError("it does not start and end with ARROW1")
    length = _unpack("<i", data[len(data) - 10 : len(data) - 6], 0)
    if not 0 < length <= len(data) - 10:
        raise ValueError(f"its footer has {length:,} bytes")
    footer = _Node.read_root(data[len(data) - 10 - length : len(data) - 10])
    budget = _SchemaBudget()
    budget.add_metadata(footer, 4)
    schema = footer.get_table(1)
    columns = 0 if schema is None else schema.get_length(1)
    if schema is not None:
        budget.add_metadata(schema, 2)
        for field in schema.iter_tables(1):
            budget.add_field(field)
    batches = footer.get_length(2) + footer.get_length(3)
    most, most_columns = (MAX_STREAMED_BATCHES, MAX_VALUES) if is_streamed else (MAX_BATCHES, MAX_COLUMN_BATCHES)
    if batches > most or batches * columns > most_columns:
        raise RowsFault(f"the rows have {batches:,} batches of {columns:,} columns; write fewer, larger batches")
    total = 0
    for number in (2, 3):
        for offset, metadata_length, body_length in footer.iter_structs(number, "<qi4xq"):
            size = _measure_batch(data, offset, metadata_length, body_length, budget)
            # dictionaries stay in memory
            total = size if is_streamed and number == 3 else total + size
            if total > MAX_BYTES:
                raise RowsFault(f"the rows have more than {MAX_BYTES:,} bytes{' in one batch' * is_streamed}")


class _SchemaBudget:
    """Counts fields and text of the schema; the same bytes count as often as they are used.

    Arrow does not check that names and time zones are UTF-8; decoding them here does.
    """

    def __init__(self) -> None:
        self._fields = 0
        self._text = 0

    def add_field(self, field: _Node) -> None:
        self._fields += 1
        if self._fields > MAX_FIELDS:
            raise RowsFault(f"the rows have more than {MAX_FIELDS:,} fields")
        self._add_text(len(field.read_text(0)))
        kind, details = field.read(2, "<B"), field.get_table(3)
        if kind in _FORBIDDEN:
            raise RowsFault(f"the rows have a column of Arrow type {_FORBIDDEN[kind]}, which the protocol excludes")
        if kind == _TIMESTAMP and details is not None:
            self._add_text(len(details.read_text(1)))
        self.add_metadata(field, 6)
        for child in field.iter_tables(5):
            self.add_field(child)

    def add_metadata(self, node: _Node, number: int) -> None:
        for pair in node.iter_tables(number):
            self._add_text(16 + pair.get_length(0) + pair.get_length(1))

    def _add_text(self, length: int) -> None:
        self._text += length
        if self._text > MAX_TEXT_BYTES:
            raise RowsFault(f"the names and metadata of the rows have more than {MAX_TEXT_BYTES:,} bytes")


def _measure_batch(data: ByteSource, offset: int, metadata_length: int, body_length: int, budget: _SchemaBudget) -> int:
    """Return the bytes of a batch after decompression."""
    if offset < 0 or metadata_length < 0 or body_length < 0 or offset + metadata_length + body_length > len(data):
        raise ValueError("a batch is outside of the file")
    header = data[offset : offset + metadata_length]
    body = offset + metadata_length
    message = _Node.read_root(header[8:])  # after a mark and the length
    if _unpack("<I", header, 0) != 0xFFFFFFFF or message.read(0, "<h") != _V5:
        raise ValueError("it was written for a version of Arrow older than 1.0")
    budget.add_metadata(message, 4)
    kind, batch = message.read(1, "<B"), message.get_table(2)
    if kind == _DICTIONARY_BATCH and batch is not None:
        batch = batch.get_table(1)
    if kind not in (_DICTIONARY_BATCH, _RECORD_BATCH) or batch is None:
        raise ValueError("a block of the footer is not a batch")
    if batch.find(3) is None:
        return metadata_length + body_length
    return metadata_length + sum(
        _measure_compressed(data, body, body_length, *each) for each in batch.iter_structs(2, "<qq")
    )


def _measure_compressed(data: ByteSource, body: int, body_length: int, offset: int, length: int) -> int:
    """Return the bytes of a compressed buffer, which starts with its size; -1 marks one that is not compressed."""
    if length == 0:
        return 0
    if offset < 0 or offset + 8 > body_length:
        raise ValueError("a buffer is outside of its batch")
    size = _unpack("<q", data[body + offset : body + offset + 8], 0)
    if size < -1:
        raise ValueError(f"a compressed buffer has {size:,} bytes")
    return length if size == -1 else size


def _check_arrays(table: pa.Table) -> None:
    """Raise if the arrays have too many bytes or values, counting shared buffers as often as they are used."""
    values = total = 0
    for column in table.columns:
        for chunk in column.chunks:
            total += _count_bytes(chunk)
            for array in _iter_arrays(chunk):
                values += len(array)
                if isinstance(array, pa.DictionaryArray):
                    total += _count_bytes(array.dictionary)
            if total > MAX_BYTES or values > MAX_VALUES:
                raise RowsFault(
                    f"the rows have more than {MAX_BYTES:,} bytes or {MAX_VALUES:,} values in columns and nested fields"
                )
    if table.num_rows > MAX_VALUES:
        raise RowsFault(f"there are {table.num_rows:,} rows; at most {MAX_VALUES:,} are allowed")


def _check_decoded_size(table: pa.Table) -> None:
    """Raise if text views or dictionaries would be too large as plain columns."""
    total = 0
    for column in table.columns:
        for chunk in column.chunks:
            total += sum(map(measure_decoded, _iter_arrays(chunk)))
            if total > MAX_BYTES:
                raise RowsFault(f"the rows have more than {MAX_BYTES:,} bytes after decoding views and dictionaries")


def measure_decoded(array: pa.Array) -> int:
    """Return the bytes of a view or dictionary array as a plain array; 0 for any other."""
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        return _add_up(_read_view_lengths(array))
    if not isinstance(array, pa.DictionaryArray):
        return 0
    values = array.dictionary
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        lengths = _read_view_lengths(values)
    elif pa.types.is_primitive(values.type):
        return 0
    else:
        try:
            lengths = pc.binary_length(values)
        except pa.ArrowNotImplementedError:  # nested values: as if each index meant all of them
            return len(array) * _count_bytes(values)
    return _add_up(pc.take(lengths, array.indices))


def _read_view_lengths(array: pa.Array) -> pa.Array:
    """Return the lengths of the texts of a view array: the first of four integers of each view."""
    views = pa.Array.from_buffers(pa.int32(), 4 * (array.offset + len(array)), [None, array.buffers()[1]])
    lengths = pc.list_element(pa.FixedSizeListArray.from_arrays(views, 4), 0).slice(array.offset)
    return pc.if_else(array.is_valid(), lengths, 0)


def _add_up(lengths: pa.Array) -> int:
    return int(pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)


def _iter_arrays(array: pa.Array) -> Iterator[pa.Array]:
    """Yield an array and all arrays nested in it."""
    yield array
    if isinstance(array, pa.ExtensionArray):
        yield from _iter_arrays(array.storage)
    elif isinstance(array, pa.DictionaryArray):
        yield from _iter_arrays(array.dictionary)
    elif isinstance(array, pa.StructArray):
        for index in range(array.type.num_fields):
            yield from _iter_arrays(array.field(index))
    elif isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):  # a map is a list
        yield from _iter_arrays(array.values)


def _count_bytes(array: pa.Array) -> int:
    return sum(buffer.size for buffer in array.buffers() if buffer is not None)

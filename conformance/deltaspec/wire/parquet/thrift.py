"""Decode Thrift's compact protocol, the encoding of Parquet footers and page headers.

Decoding is bounded: nesting has a limit, every length is checked against the bytes that follow, and nothing is
allocated by a length that the file states. Values that a caller does not need are skipped without decoding them.
"""

from collections.abc import Iterator

MAX_NESTING = 64
MAX_INTEGER_BYTES = 10

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
"""Wire types of fields. `TRUE` and `FALSE` are boolean fields with their value."""


class ThriftError(ValueError):
    """The bytes are not valid in the compact protocol, or not the expected structure."""


class ThriftReader:
    """A cursor over bytes in the compact protocol."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        self._data = data
        self.position = position

    def iter_fields(self, previous: int = 0) -> Iterator[tuple[int, int]]:
        """Yield field number and wire type of each field of the struct at the cursor.

        The caller reads or skips the value before it asks for the next field.

        Args:
            previous: number of the field before the cursor, if the cursor is inside of the struct.
        """
        number = previous
        while True:
            header = self.read_byte()
            if header == STOP:
                return
            number = number + (header >> 4) if header >> 4 else self.read_integer()
            yield number, header & 0x0F

    def read_byte(self) -> int:
        """Return an unsigned byte."""
        if self.position >= len(self._data):
            raise ThriftError("it ends too early")
        self.position += 1
        return self._data[self.position - 1]

    def read_integer(self) -> int:
        """Return a signed number of up to 64 bits."""
        value = self._read_varint()
        return (value >> 1) ^ -(value & 1)

    def read_text(self) -> str:
        """Return a binary value as text; bytes that are not UTF-8 become escapes."""
        return self.read_binary().decode("utf-8", "backslashreplace")

    def read_binary(self) -> bytes:
        """Return a binary value."""
        length = self._read_varint()
        start = self.position
        if length > len(self._data) - start:
            raise ThriftError("a string extends past its end")
        self.position = start + length
        return self._data[start : self.position]

    def read_list_length(self, item_type: int) -> int:
        """Return the number of items of the list at the cursor; each item takes at least one byte.

        Raises:
            ThriftError: the items are of another type than `item_type`.
        """
        found, length = self.read_list_header()
        if length and found != item_type:
            raise ThriftError("a list of the wrong type")
        return length

    def read_list_header(self) -> tuple[int, int]:
        """Return wire type and number of the items of the list at the cursor; each item takes at least one byte."""
        header = self.read_byte()
        length = header >> 4 if header >> 4 < 0x0F else self._read_varint()
        if length > len(self._data) - self.position:
            raise ThriftError("a list extends past its end")
        return header & 0x0F, length

    def skip(self, wire_type: int) -> None:
        """Move the cursor past a value."""
        try:
            end = _skip_value(self._data, self.position, wire_type, 0)
        except IndexError:
            end = len(self._data) + 1
        if end > len(self._data):
            raise ThriftError("it ends too early")
        self.position = end

    def skip_struct(self, number: int, wire_type: int) -> int | None:
        """Move the cursor past a struct; return the position of the value of a field, None if it has no such field."""
        found = None
        for field, field_type in self.iter_fields():
            if field == number and field_type == wire_type:
                found = self.position
            self.skip(field_type)
        return found

    def _read_varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.read_byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift >= 7 * MAX_INTEGER_BYTES:
                raise ThriftError("a number of more than 64 bits")


# The functions below return the position after a value; reading past the end raises IndexError.


def _skip_value(data: bytes, position: int, wire_type: int, depth: int) -> int:
    if depth > MAX_NESTING:
        raise ThriftError("it is nested too deeply")
    if I16 <= wire_type <= I64:
        return _skip_varint(data, position)
    if wire_type == BINARY:
        length, position = _parse_length(data, position)
        return position + length
    if wire_type == STRUCT:
        return _skip_struct(data, position, depth)
    if wire_type in (LIST, SET):
        return _skip_list(data, position, depth)
    if wire_type in (TRUE, FALSE):
        return position
    if wire_type == MAP:
        return _skip_map(data, position, depth)
    if wire_type == BYTE:
        return position + 1
    if wire_type == DOUBLE:
        return position + 8
    raise ThriftError(f"there is no wire type {wire_type}")


def _skip_struct(data: bytes, position: int, depth: int) -> int:
    while header := data[position]:
        position += 1
        if header < 0x10:  # the field number follows
            position = _skip_varint(data, position)
        wire_type = header & 0x0F
        # most fields are short numbers and short strings; skipping them here makes footers half as expensive
        if I16 <= wire_type <= I64 and data[position] < 0x80:
            position += 1
        elif wire_type == BINARY and data[position] < 0x80:
            position += 1 + data[position]
        else:
            position = _skip_value(data, position, wire_type, depth + 1)
    return position + 1


def _skip_varint(data: bytes, position: int) -> int:
    start = position
    while data[position] > 0x7F:
        position += 1
    if position - start >= MAX_INTEGER_BYTES:
        raise ThriftError("a number of more than 64 bits")
    return position + 1


def _parse_length(data: bytes, position: int) -> tuple[int, int]:
    """Return a length, which never exceeds the bytes after it, and the position after it."""
    end = _skip_varint(data, position)
    length = 0
    for byte in reversed(data[position:end]):
        length = length << 7 | byte & 0x7F
    if length > len(data) - end:
        raise ThriftError("a string, list or map extends past its end")
    return length, end


def _skip_list(data: bytes, position: int, depth: int) -> int:
    header = data[position]
    length, item_type = header >> 4, header & 0x0F
    position += 1
    if length == 0x0F:
        length, position = _parse_length(data, position)
    for _ in range(length):
        position = _skip_item(data, position, item_type, depth + 1)
    return position


def _skip_map(data: bytes, position: int, depth: int) -> int:
    length, position = _parse_length(data, position)
    if not length:
        return position
    types = data[position]
    position += 1
    for _ in range(length):
        position = _skip_item(data, position, types >> 4, depth + 1)
        position = _skip_item(data, position, types & 0x0F, depth + 1)
    return position


def _skip_item(data: bytes, position: int, wire_type: int, depth: int) -> int:
    if wire_type in (TRUE, FALSE):
        if position >= len(data):
            raise ThriftError("it ends too early")
        return position + 1  # unlike in fields, a boolean takes a byte, which also bounds the number of items
    return _skip_value(data, position, wire_type, depth)

"""Recognize column chunks in the form that writers use, with a regular expression instead of Python steps.

Fields are in the order of their numbers, texts and lists are short, and structs are nested as in `parquet.thrift`. A
match ends where `ThriftReader.skip` would end: the first byte of a value decides how it continues, so there is only one
way to match, and nothing is tried twice. `ThriftReader` reads all other chunks.
"""

import re
from functools import cache

from deltaspec.wire.parquet.thrift import BINARY, FALSE, I32, I64, LIST, STRUCT, TRUE

_VARINT = rb"[\x80-\xff]{0,9}+[\x00-\x7f]"
_LONGEST_NAME = 47
_LONGEST_VALUE = 79


def find_plain_chunk_end(data: bytes, position: int) -> int | None:
    """Return the position after the column chunk at `position`, which has no `file_path`; None if it is not plain."""
    match = _compile_chunk().match(data, position)
    return match.end() if match else None


@cache
def _compile_chunk() -> re.Pattern[bytes]:
    """Compile on first use, which takes milliseconds."""
    number = _headers(I32, I64) + _VARINT
    sizes = _lists(I64, _VARINT, most=14)
    statistics = _struct(
        number, _headers(BINARY) + _text(_LONGEST_VALUE), _headers(TRUE, FALSE), _headers(LIST) + sizes
    )
    encodings = _lists(I32, _VARINT, most=6)
    path = _lists(BINARY, _text(_LONGEST_NAME), most=5)
    encoding_counts = _lists(STRUCT, _struct(number), most=6)
    lists = _headers(LIST) + _any(encodings, path, encoding_counts)
    metadata = _struct(number, lists, _headers(STRUCT) + statistics)
    # its offset is field 2 and its metadata field 3; `file_path` would be field 1
    offset, begin = bytes([2 << 4 | I64]), bytes([1 << 4 | STRUCT])
    return re.compile(re.escape(offset) + _VARINT + re.escape(begin) + metadata + _struct(number), re.DOTALL)


def _headers(*types: int) -> bytes:
    """Match the header of a field of one of these types, whose number follows from the number of the previous field."""
    return b"[" + b"".join(rb"\x%02x" % (step << 4 | kind) for step in range(1, 16) for kind in types) + b"]"


def _any(*patterns: bytes) -> bytes:
    return b"(?:" + b"|".join(patterns) + b")"


def _struct(*fields: bytes) -> bytes:
    """Match the fields of a struct and its end."""
    return _any(*fields) + rb"*+\x00"


def _lists(item_type: int, item: bytes, *, most: int) -> bytes:
    """Match a list of up to `most` items, without the header of its field."""
    return _any(*(rb"\x%02x(?:%b){%d}" % (count << 4 | item_type, item, count) for count in range(most + 1)))


def _text(longest: int) -> bytes:
    """Match a binary value of up to `longest` bytes, which is less than 128."""
    return _any(*(rb"\x%02x.{%d}" % (length, length) for length in range(longest + 1)))

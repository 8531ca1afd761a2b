"""How much memory the pages of a Parquet file ask for, by their own heads, before any of them is decoded.

A page may be compressed ten-thousandfold: the length of a file says little of what reading it takes. Heads are looked
at in files that are read whole; in larger ones the file's length is bound enough.
"""

from dataclasses import dataclass

from deltaspec.wire.parquet.thrift_footer import ThriftError, ThriftReader

MAX_PAGE_BYTES = 128 << 20
"""Writers end pages at about one megabyte; a single value may be larger."""
MAX_PAGE_HEADERS = 200_000
_I32, _I64, _LIST, _STRUCT = 5, 6, 9, 12
_BYTE_ARRAY = 6
_DICTIONARY_PAGE = 2
_PAGE_FIELDS = {5: "data", 7: "dictionary", 8: "data"}
"""Fields of a head that hold, as their first, how many values the page has."""
_SKEW = 64
"""How much longer than the average value of a dictionary its longest is taken to be."""


class PagesTooLarge(ValueError):
    """Pages ask for more memory than is given to a file, though nothing shows that they are wrong."""


@dataclass
class _Chunk:
    """Where the pages of a column chunk begin, and their length as stored."""

    kind: int = -1
    start: int = -1
    length: int = 0


def estimate_value_bytes(data: bytes) -> int:
    """What a value of variable length takes at most, roughly, in the worst pages of a file; 0 if there is none.

    Args:
        data: the whole file.

    Raises:
        PagesTooLarge: a page claims more than `MAX_PAGE_BYTES`, or there are more than `MAX_PAGE_HEADERS` of them.
    """
    worst = heads = 0
    try:
        for chunk in _chunks(data):
            for size, values, is_dictionary in _pages(data, chunk):
                heads += 1
                if heads > MAX_PAGE_HEADERS:
                    raise PagesTooLarge(f"it has more than the {MAX_PAGE_HEADERS} pages that are looked at")
                if size > MAX_PAGE_BYTES:
                    raise PagesTooLarge(f"a page of {size} bytes, more than the {MAX_PAGE_BYTES} that are decoded")
                if chunk.kind == _BYTE_ARRAY:
                    longest = size // max(values, 1) * (_SKEW if is_dictionary else 1)
                    worst = max(worst, min(size, longest))
    except ThriftError:
        return worst  # whoever decodes the file says what is wrong
    return worst


def _chunks(data: bytes) -> list[_Chunk]:
    """The column chunks that the footer names."""
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 8:
        return []
    reader = ThriftReader(data[len(data) - 8 - length : len(data) - 8])
    found: list[_Chunk] = []
    for number, kind in reader.fields():
        if number == 4 and kind == _LIST:
            for _ in range(reader.list_of(_STRUCT)):
                _take_group(reader, found)
        else:
            reader.skip(kind)
    return found


def _take_group(reader: ThriftReader, found: list[_Chunk]) -> None:
    for number, kind in reader.fields():
        if number == 1 and kind == _LIST:
            for _ in range(reader.list_of(_STRUCT)):
                for part, form in reader.fields():
                    if part == 3 and form == _STRUCT:
                        found.append(_chunk(reader))
                    else:
                        reader.skip(form)
        else:
            reader.skip(kind)


def _chunk(reader: ThriftReader) -> _Chunk:
    chunk = _Chunk()
    dictionary = 0
    for number, kind in reader.fields():
        if kind not in (_I32, _I64):
            reader.skip(kind)
            continue
        value = reader.integer()
        if number == 1:
            chunk.kind = value
        elif number == 7:
            chunk.length = value
        elif number == 9:
            chunk.start = value
        elif number == 11:
            dictionary = value
    if 0 < dictionary < chunk.start:
        chunk.start = dictionary
    return chunk


def _pages(data: bytes, chunk: _Chunk) -> list[tuple[int, int, bool]]:
    """Of each page its length when decompressed, its number of values, and whether it is a dictionary."""
    found = []
    at, end = chunk.start, min(chunk.start + chunk.length, len(data))
    while 4 <= at < end:
        reader = ThriftReader(data[at : min(end, at + (1 << 16))])
        kind = size = stored = values = 0
        for number, form in reader.fields():
            if number in (1, 2, 3) and form == _I32:
                value = reader.integer()
                kind, size, stored = (
                    value if number == 1 else kind,
                    value if number == 2 else size,
                    value if number == 3 else stored,
                )
            elif number in _PAGE_FIELDS and form == _STRUCT:
                values = _first_number(reader)
            else:
                reader.skip(form)
        found.append((size, values, kind == _DICTIONARY_PAGE))
        if len(found) > MAX_PAGE_HEADERS or stored < 0:
            break
        at += reader.at + stored
    return found


def _first_number(reader: ThriftReader) -> int:
    found = 0
    for number, kind in reader.fields():
        if number == 1 and kind == _I32:
            found = reader.integer()
        else:
            reader.skip(kind)
    return found

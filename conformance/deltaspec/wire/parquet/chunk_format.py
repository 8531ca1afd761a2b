"""How the column chunks of a Parquet file are written: by which codecs, and in data pages of which version.

Footers name the codec of each chunk. That they count pages by version helps nobody: a widely used writer counts all of
them as of version 1. The head of a page tells, in its first two bytes.
"""

from dataclasses import dataclass

from deltaspec.wire.parquet.footer_reader import read_footer
from deltaspec.wire.parquet.thrift_footer import DECODED_BYTES, ThriftError, ThriftReader
from deltaspec.wire.storage.data_access import DataAccess

_I32, _I64, _LIST, _STRUCT = 5, 6, 9, 12
_CODECS = ("uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw")
_PAGE_VERSIONS = {0: 1, 3: 2}
_PAGE_TYPE = 0x15
"""The head of the first field of a page's head, which is its type."""


class UnknownChunkFormat(ValueError):
    """Nothing can be said of how the file is written; says why."""


@dataclass(frozen=True)
class ChunkFormat:
    """What the column chunks of a file that hold values are written as; empty and None where none holds any."""

    codecs: tuple[str, ...]
    """As table properties name them, each once, sorted."""
    page_version: int | None
    """Of the first data page: writers choose it for the whole file."""


def read_chunk_format(access: DataAccess, key: str, size: int | None) -> ChunkFormat:
    """The forms of a file.

    Args:
        access: how to read it.
        key: as `DataAccess` takes it.
        size: its length; None where that is not known.

    Raises:
        UnknownChunkFormat: its footer is too large to be decoded wholly, or names what is not known.
        NotParquet: the file is none.
        StorageError: the storage did not give it.
    """
    footer = read_footer(access, key, size)
    if len(footer) > DECODED_BYTES:
        raise UnknownChunkFormat(
            f"its footer has {len(footer)} bytes, more than the {DECODED_BYTES} that are decoded wholly"
        )
    try:
        chunks = [chunk for chunk in _chunks(footer) if chunk.get(5, 0) > 0]
    except ThriftError as fault:
        raise UnknownChunkFormat(f"its footer is broken: {fault}") from fault
    if not chunks:
        return ChunkFormat((), None)
    numbers = {chunk.get(4, -1) for chunk in chunks}
    if not numbers <= set(range(len(_CODECS))):
        raise UnknownChunkFormat(f"its footer names the codec {max(numbers)}, which is not known")
    return ChunkFormat(tuple(sorted(_CODECS[number] for number in numbers)), _page_version(access, key, chunks[0]))


def _page_version(access: DataAccess, key: str, chunk: dict[int, int]) -> int:
    head = access.read_range(key, chunk[9], 2) if chunk.get(9, -1) >= 0 else b""
    version = _PAGE_VERSIONS.get(head[1] >> 1) if len(head) == 2 and head[0] == _PAGE_TYPE else None
    if version is None:
        raise UnknownChunkFormat("no data page stands where its footer says")
    return version


def _chunks(footer: bytes) -> list[dict[int, int]]:
    """The numbers that the footer has in the metadata of each column chunk, by field."""
    reader = ThriftReader(footer)
    found: list[dict[int, int]] = []
    for number, kind in reader.fields():
        if number == 4 and kind == _LIST:
            for _ in range(reader.list_of(_STRUCT)):
                _take_group(reader, found)
        else:
            reader.skip(kind)
    return found


def _take_group(reader: ThriftReader, found: list[dict[int, int]]) -> None:
    for number, kind in reader.fields():
        if number == 1 and kind == _LIST:
            for _ in range(reader.list_of(_STRUCT)):
                for part, form in reader.fields():
                    if part == 3 and form == _STRUCT:
                        found.append(_numbers(reader))
                    else:
                        reader.skip(form)
        else:
            reader.skip(kind)


def _numbers(reader: ThriftReader) -> dict[int, int]:
    numbers: dict[int, int] = {}
    for number, kind in reader.fields():
        if kind in (_I32, _I64):
            numbers[number] = reader.integer()
        else:
            reader.skip(kind)
    return numbers

"""Count the fields of checkpoint rows outside of `FILE_ACTION_SCHEMA`, and read the Parquet schema of the file.

Counted are statistics as JSON and as columns, typed partition values, and fields that tombstones should not have.
Replay does not need them, so each batch is counted and then dropped.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec
import pyarrow as pa

from deltaspec.protocol.schema.parquet_types import Node
from deltaspec.wire import arrow_compute as pc
from deltaspec.wire.log.line_decoder import LogFile
from deltaspec.wire.log.stats_parsed import PARSED_PARTITION_VALUES, PARSED_STATISTICS
from deltaspec.wire.parquet.chunk_format import ChunkFormat, UnknownChunkFormat, parse_chunk_format
from deltaspec.wire.parquet.footer_reader import MAX_FOOTER_BYTES
from deltaspec.wire.parquet.thrift import ThriftError
from deltaspec.wire.parquet.thrift_footer import SchemaTooLarge, decode_schema

if TYPE_CHECKING:
    import pyarrow.parquet as pq

SHORTEST_STATISTICS = len('{"numRecords":0}')
"""Length of the shortest statistics with content; `{}` and `null` have none."""
_COST = ("BOOLEAN", "INT32", "INT64", "DOUBLE", "FLOAT", "INT96", "FIXED_LEN_BYTE_ARRAY", "BYTE_ARRAY")
_COUNTED_FIELDS = {"add": (PARSED_STATISTICS, PARSED_PARTITION_VALUES), "remove": ("tags",)}


class CheckpointFileSummary(msgspec.Struct):
    """Summary of a checkpoint file or sidecar; complete after its last batch."""

    source: str
    """`checkpoint` or `sidecar`."""
    file: str
    """Path relative to the table."""
    is_parquet: bool = True
    schema: Node | None = None
    """Root of the Parquet schema; None for JSON, or if it could not be read."""
    schema_unread_reason: str | None = None
    chunks: ChunkFormat | None = None
    """How column chunks are written; None for JSON, or if it could not be read."""
    chunks_unread_reason: str | None = None
    adds: int = 0
    adds_with_json: int = 0
    """Adds with statistics as JSON."""
    adds_with_columns: int = 0
    """Adds with statistics as columns."""
    adds_with_json_only: int = 0
    adds_with_columns_only: int = 0
    adds_with_parsed_partition_values: int = 0
    """Adds with typed partition values."""
    removes_with_statistics: int = 0
    removes_with_tags: int = 0

    def take(self, kind: str, column: pa.Array) -> None:
        """Count rows of a kind, given as a struct column without nulls."""
        statistics = _has_json_statistics(column)
        if kind == "remove":
            tags = _member(column, "tags")
            filled = None if tags is None or not pa.types.is_map(tags.type) else _has_entries(tags)
            self.removes_with_statistics += _count_true(statistics)
            self.removes_with_tags += _count_true(filled)
            return
        parsed, partitions = (_is_set(_member(column, name)) for name in _COUNTED_FIELDS["add"])
        both = 0 if statistics is None or parsed is None else _count_true(pc.and_kleene(statistics, parsed))
        as_json, as_columns = _count_true(statistics), _count_true(parsed)
        self.adds += len(column)
        self.adds_with_json += as_json
        self.adds_with_columns += as_columns
        self.adds_with_json_only += as_json - both
        self.adds_with_columns_only += as_columns - both
        self.adds_with_parsed_partition_values += _count_true(partitions)

    def add_counts(self, other: CheckpointFileSummary) -> None:
        """Add the counts of other rows of the same file."""
        self.adds += other.adds
        self.adds_with_json += other.adds_with_json
        self.adds_with_columns += other.adds_with_columns
        self.adds_with_json_only += other.adds_with_json_only
        self.adds_with_columns_only += other.adds_with_columns_only
        self.adds_with_parsed_partition_values += other.adds_with_parsed_partition_values
        self.removes_with_statistics += other.removes_with_statistics
        self.removes_with_tags += other.removes_with_tags


def summarize_json_checkpoint(file: str, log: LogFile) -> CheckpointFileSummary:
    """Return the summary of a JSON checkpoint, which has no columns."""
    found = CheckpointFileSummary("checkpoint", file, is_parquet=False)
    rows = log.files.table()
    has_statistics = pc.greater_equal(pc.utf8_length(rows["stats"]), SHORTEST_STATISTICS)
    adds, removes = pc.equal(rows["kind"], "add"), pc.equal(rows["kind"], "remove")
    found.adds = _count_true(adds)
    found.adds_with_json = found.adds_with_json_only = _count_true(pc.and_kleene(adds, has_statistics))
    found.removes_with_statistics = _count_true(pc.and_kleene(removes, has_statistics))
    found.removes_with_tags = sum(bool(each.tags) for each in log.files.select("remove"))
    return found


def start_parquet_summary(source: str, file: str, handle: Any) -> CheckpointFileSummary:
    """Return the summary of a Parquet file before its first batch: only its schema.

    Args:
        source: `checkpoint` or `sidecar`.
        file: path relative to the table.
        handle: the open file; its position changes.
    """
    found = CheckpointFileSummary(source, file)
    try:
        footer = _read_footer(handle)
        found.schema, _ = decode_schema(footer)
    except (ThriftError, SchemaTooLarge) as fault:
        found.schema_unread_reason = found.chunks_unread_reason = str(fault)
        return found
    try:
        found.chunks = parse_chunk_format(footer, partial(_read_range, handle))
    except UnknownChunkFormat as fault:
        found.chunks_unread_reason = str(fault)
    return found


def _read_range(handle: Any, offset: int, length: int) -> bytes:
    handle.seek(offset)
    return bytes(handle.read(length))


def select_summary_columns(parquet: pq.ParquetFile, kinds: list[str]) -> list[str]:
    """Return the column paths to read in addition to `FILE_ACTION_SCHEMA`.

    Whether a struct is null follows from any leaf that is not repeated, so only the cheapest such leaf is read.
    """
    found = []
    for kind in kinds:
        for name in _COUNTED_FIELDS[kind]:
            prefix = f"{kind}.{name}."
            leaves = [
                (leaf.max_repetition_level > 0, _COST.index(leaf.physical_type), leaf.path)
                for leaf in map(parquet.schema.column, range(len(parquet.schema)))
                if leaf.path.startswith(prefix)
            ]
            if leaves:
                found.append(f"{kind}.{name}" if name == "tags" or min(leaves)[0] else min(leaves)[2])
    return found


def _read_footer(handle: Any) -> bytes:
    """Return the footer of a Parquet file that Arrow could open, with the eight bytes after it."""
    end = handle.seek(0, 2)
    size = handle.tell() if end is None else end
    handle.seek(size - 8)
    length = int.from_bytes(handle.read(8)[:4], "little")
    if length > min(size - 8, MAX_FOOTER_BYTES):
        raise SchemaTooLarge(f"its footer has {length} bytes, more than the limit of {MAX_FOOTER_BYTES} bytes")
    handle.seek(size - 8 - length)
    return bytes(handle.read(length + 8))


def compute_footer_checksum(handle: Any) -> int | None:
    """Return the CRC-32 of the footer of an open file; None if the file has no footer, or too large a one."""
    try:
        return crc32(_read_footer(handle))
    except (SchemaTooLarge, OSError, ValueError):
        return None


def _has_json_statistics(column: pa.Array) -> pa.Array | None:
    """Return whether each row has statistics as JSON; None if no row has."""
    texts = _member(column, "stats")
    if texts is None or texts.null_count == len(texts):
        return None
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    try:
        return pc.greater_equal(pc.binary_length(texts), SHORTEST_STATISTICS)
    except pa.ArrowNotImplementedError:
        pass
    try:  # Arrow has no length function for string views
        return pc.greater_equal(pc.binary_length(pc.cast(texts, pa.large_binary())), SHORTEST_STATISTICS)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # not a string; reading the file actions reports it
        return None


def _member(column: pa.Array, name: str) -> pa.Array | None:
    if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
        return None
    return pc.struct_field(column, name)


def _is_set(column: pa.Array | None) -> pa.Array | None:
    return None if column is None else pc.is_valid(column)


def _has_entries(maps: pa.Array) -> pa.Array:
    offsets = maps.offsets
    return pc.and_(pc.greater(pc.subtract(offsets[1:], offsets[:-1]), 0), pc.is_valid(maps))


def _count_true(mask: pa.Array | None) -> int:
    return 0 if mask is None else pc.sum(mask).as_py() or 0

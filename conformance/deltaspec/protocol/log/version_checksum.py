"""Content of a version checksum. Source: Version Checksum File."""

from bisect import bisect_right
from itertools import pairwise

from deltaspec.protocol.actions import Add, DomainMetadata, Int64, MetaData, Protocol, Txn, WireStruct

DELETED_RECORD_BINS = 10


class FileSizeHistogram(WireStruct, frozen=True):
    """Live files by size. Source: File Size Histogram Schema."""

    sorted_bin_boundaries: list[Int64]
    """Bytes; the first is 0, each bin ends at the next boundary, the last has no end."""
    file_counts: list[Int64]
    total_bytes: list[Int64]


class DeletedRecordCountsHistogram(WireStruct, frozen=True):
    """Live files by number of deleted rows, in ten bins of decades.

    Source: Deleted Record Counts Histogram Schema.
    """

    deleted_record_counts: list[Int64]


class VersionChecksum(WireStruct, frozen=True):
    """Content of a `.crc` file."""

    table_size_bytes: Int64
    num_files: Int64
    num_metadata: Int64
    num_protocol: Int64
    metadata: MetaData
    protocol: Protocol
    txn_id: str | None = None
    in_commit_timestamp_opt: Int64 | None = None
    set_transactions: list[Txn] | None = None
    domain_metadata: list[DomainMetadata] | None = None
    file_size_histogram: FileSizeHistogram | None = None
    all_files: list[Add] | None = None
    num_deleted_records_opt: Int64 | None = None
    num_deletion_vectors_opt: Int64 | None = None
    deleted_record_counts_histogram_opt: DeletedRecordCountsHistogram | None = None


def find_file_size_bin(boundaries: list[int], size: int) -> int:
    """Return the index of the bin for a file of `size` bytes: the last boundary that is not above it.

    Args:
        boundaries: Bytes in ascending order, the first 0.
        size: Bytes, not negative.
    """
    return bisect_right(boundaries, size) - 1


def find_deleted_records_bin(count: int) -> int:
    """Return the bin for `count` deleted rows: 0, then decades, then the two bins at the limit of int."""
    if count < 10_000_000:
        return len(str(count)) if count else 0
    return 8 if count < 2**31 - 1 else 9


def find_histogram_fault(histogram: FileSizeHistogram) -> str | None:
    """Return what is wrong with the form of a file size histogram, or None."""
    boundaries = histogram.sorted_bin_boundaries
    if not boundaries or boundaries[0] != 0:
        return "the first boundary is not 0"
    if any(after < before for before, after in pairwise(boundaries)):  # equal ones are sorted: an empty bin
        return "boundaries are not sorted"
    counts, totals = len(histogram.file_counts), len(histogram.total_bytes)
    if not counts == totals == len(boundaries):
        return f"{len(boundaries)} boundaries, {counts} file counts and {totals} byte totals"
    return None


class OlderChecksum(WireStruct, frozen=True):
    """Content of a `.crc` file as Delta wrote it before the protocol described it: counts only."""

    table_size_bytes: Int64
    num_files: Int64
    num_metadata: Int64
    num_protocol: Int64
    metadata: None = None
    protocol: None = None

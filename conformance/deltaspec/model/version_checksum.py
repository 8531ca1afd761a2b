"""The version checksum: the state of a version in one object. Source: Version Checksum File (current)."""

from bisect import bisect_right

from deltaspec.model.actions import Add, DomainMetadata, Int64, MetaData, Protocol, Txn, Wire
from deltaspec.model.reconciliation import Snapshot

DELETED_RECORD_BINS = 10


class FileSizeHistogram(Wire, frozen=True):
    """Live files by size. Source: File Size Histogram Schema."""

    sorted_bin_boundaries: list[Int64]
    """Bytes; the first is 0, each bin reaches to the next boundary, the last has no end."""
    file_counts: list[Int64]
    total_bytes: list[Int64]


class DeletedRecordCountsHistogram(Wire, frozen=True):
    """Live files by number of deleted rows, in ten bins of decades. Source: Version Checksum File."""

    deleted_record_counts: list[Int64]


class VersionChecksum(Wire, frozen=True):
    """What a `.crc` file claims of the version it is named by."""

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


def file_size_bin(boundaries: list[int], size: int) -> int:
    """The bin of a file of `size` bytes: the last whose boundary is not above it.

    Args:
        boundaries: ascending bytes, the first 0.
        size: bytes, not negative.
    """
    return bisect_right(boundaries, size) - 1


def deleted_records_bin(count: int) -> int:
    """The bin of a file with `count` deleted rows: none, then decades, then the two bins that end the range of int."""
    if count < 10_000_000:
        return len(str(count)) if count else 0
    return 8 if count < 2**31 - 1 else 9


def checksum_of(snapshot: Snapshot, boundaries: list[int] | None = None) -> VersionChecksum:
    """The checksum of a snapshot that has a protocol and a metadata.

    Args:
        snapshot: the state.
        boundaries: of the file size histogram; without them the histogram is left out.

    Raises:
        ValueError: the snapshot lacks one of the two.
    """
    if snapshot.metadata is None or snapshot.protocol is None:
        raise ValueError("a version without metadata or protocol has no checksum")
    files = list(snapshot.files.values())
    deleted = [file.deletion_vector.cardinality if file.deletion_vector else 0 for file in files]
    info = snapshot.commit_info
    return VersionChecksum(
        table_size_bytes=sum(file.size for file in files),
        num_files=len(files),
        num_metadata=1,
        num_protocol=1,
        metadata=snapshot.metadata,
        protocol=snapshot.protocol,
        in_commit_timestamp_opt=info.in_commit_timestamp if info else None,
        set_transactions=list(snapshot.transactions.values()),
        domain_metadata=list(snapshot.domains.values()),
        file_size_histogram=_histogram(files, boundaries) if boundaries else None,
        all_files=files,
        num_deleted_records_opt=sum(deleted),
        num_deletion_vectors_opt=sum(file.deletion_vector is not None for file in files),
        deleted_record_counts_histogram_opt=DeletedRecordCountsHistogram(
            deleted_record_counts=[
                sum(deleted_records_bin(count) == each for count in deleted) for each in range(DELETED_RECORD_BINS)
            ]
        ),
    )


def _histogram(files: list[Add], boundaries: list[int]) -> FileSizeHistogram:
    counts, totals = [0] * len(boundaries), [0] * len(boundaries)
    for file in files:
        each = file_size_bin(boundaries, file.size)
        counts[each] += 1
        totals[each] += file.size
    return FileSizeHistogram(sorted_bin_boundaries=boundaries, file_counts=counts, total_bytes=totals)

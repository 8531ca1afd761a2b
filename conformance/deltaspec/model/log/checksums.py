"""Version checksum: the state of a version in one object. Source: Version Checksum File (current)."""

from msgspec.structs import replace

from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.model.log.state_differences import Difference, compare_keyed, compare_single, read_partition_types
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features.table_properties import has_in_commit_timestamps
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.version_checksum import (
    DELETED_RECORD_BINS,
    DeletedRecordCountsHistogram,
    FileSizeHistogram,
    VersionChecksum,
    find_deleted_records_bin,
    find_file_size_bin,
    find_histogram_fault,
)


def build_checksum(snapshot: Snapshot, boundaries: list[int] | None = None) -> VersionChecksum:
    """Build the checksum of a snapshot that has a protocol and metadata.

    Args:
        snapshot: The state.
        boundaries: Boundaries of the file size histogram; None omits the histogram.

    Raises:
        ValueError: The snapshot has no protocol or no metadata.
    """
    if snapshot.metadata is None or snapshot.protocol is None:
        raise ValueError("a version without metadata or protocol has no checksum")
    files = list(snapshot.files.values())
    deleted = [file.deletion_vector.cardinality if file.deletion_vector else 0 for file in files]
    return VersionChecksum(
        table_size_bytes=sum(file.size for file in files),
        num_files=len(files),
        num_metadata=1,
        num_protocol=1,
        metadata=snapshot.metadata,
        protocol=snapshot.protocol,
        in_commit_timestamp_opt=_in_commit_timestamp(snapshot),
        set_transactions=list(snapshot.transactions.values()),
        domain_metadata=list(snapshot.domains.values()),
        file_size_histogram=_histogram(files, boundaries) if boundaries else None,
        all_files=files,
        num_deleted_records_opt=sum(deleted),
        num_deletion_vectors_opt=sum(file.deletion_vector is not None for file in files),
        deleted_record_counts_histogram_opt=DeletedRecordCountsHistogram(
            deleted_record_counts=[
                sum(find_deleted_records_bin(count) == each for count in deleted) for each in range(DELETED_RECORD_BINS)
            ]
        ),
    )


def _in_commit_timestamp(snapshot: Snapshot) -> int | None:
    """Return the in-commit timestamp; None if the table does not enable it, or the commit is unknown."""
    if not _has_timestamps(snapshot) or snapshot.commit_info is None:
        return None
    timestamp: int | None = snapshot.commit_info.in_commit_timestamp
    return timestamp


def _has_timestamps(snapshot: Snapshot) -> bool:
    if snapshot.protocol is None or snapshot.metadata is None:
        return False
    return has_in_commit_timestamps(snapshot.protocol, snapshot.metadata)


def _histogram(files: list[Add], boundaries: list[int]) -> FileSizeHistogram:
    counts, totals = [0] * len(boundaries), [0] * len(boundaries)
    for file in files:
        each = find_file_size_bin(boundaries, file.size)
        counts[each] += 1
        totals[each] += file.size
    return FileSizeHistogram(sorted_bin_boundaries=boundaries, file_counts=counts, total_bytes=totals)


COUNTS = (
    "tableSizeBytes",
    "numFiles",
    "numMetadata",
    "numProtocol",
    "numDeletedRecordsOpt",
    "numDeletionVectorsOpt",
)
"""Fields with a single number."""


def compare_checksum(snapshot: Snapshot, derived: VersionChecksum, *, base: Snapshot | None = None) -> list[Difference]:
    """Return the differences between a version checksum and its version; omitted fields are not compared.

    A `Difference` of kind `versionChecksum` concerns its own fields. The actions that it lists have their own kinds,
    and `allFiles` has the kind `add`. `txnId` is not compared.

    Args:
        snapshot: State from replay.
        derived: The checksum.
        base: State of the checkpoint that replay started from; None without one.

    Raises:
        ValueError: The snapshot has no protocol or no metadata.
    """
    expected = build_checksum(snapshot)
    types = read_partition_types(snapshot.protocol, snapshot.metadata)
    found = []
    for name in COUNTS:
        ours, theirs = _number(derived, name), _number(expected, name)
        if ours is not None and ours != theirs:
            found.append(_differs(name, ours, theirs))
    found += _timestamp_differences(snapshot, derived)
    found += compare_single("checksum", "protocol", derived.protocol, snapshot.protocol, types)
    found += compare_single("checksum", "metaData", derived.metadata, snapshot.metadata, types)
    if derived.set_transactions is not None:
        transactions = {each.app_id: each for each in derived.set_transactions}
        for each in compare_keyed("checksum", "txn", transactions, snapshot.transactions, types):
            found.append(each if each.what == "differs" else replace(each, retained=None))
    if derived.domain_metadata is not None:
        domains = {each.domain: each for each in derived.domain_metadata}
        found += compare_keyed("checksum", "domainMetadata", domains, snapshot.domains, types)
    if derived.all_files is not None:
        files = {path_key(each.path): each for each in derived.all_files}
        live = {key[0]: add for key, add in snapshot.files.items()}
        inherited = {} if base is None else {key[0]: add for key, add in base.files.items()}
        found += compare_keyed("checksum", "add", files, live, types, inherited=inherited)
    return found + _histogram_differences(snapshot, derived, expected)


def _number(checksum: VersionChecksum, wire_name: str) -> int | None:
    names = dict(zip(VersionChecksum.__struct_encode_fields__, VersionChecksum.__struct_fields__, strict=True))
    number: int | None = getattr(checksum, names[wire_name])
    return number


def _differs(field: str, derived: object, replayed: object) -> Difference:
    return Difference("versionChecksum", None, "differs", field, derived, replayed)


def _timestamp_differences(snapshot: Snapshot, derived: VersionChecksum) -> list[Difference]:
    """Compare the timestamp: it is present exactly if the table enables it, and equals the commit's timestamp."""
    field, ours, theirs = "inCommitTimestampOpt", derived.in_commit_timestamp_opt, _in_commit_timestamp(snapshot)
    if not _has_timestamps(snapshot):
        return [] if ours is None else [_differs(field, ours, None)]
    if ours is None or (theirs is not None and ours != theirs):
        return [_differs(field, ours, theirs)]
    return []


def _histogram_differences(snapshot: Snapshot, derived: VersionChecksum, expected: VersionChecksum) -> list[Difference]:
    found = []
    ours, deleted = derived.file_size_histogram, derived.deleted_record_counts_histogram_opt
    if ours is not None:
        if fault := find_histogram_fault(ours):
            found.append(_differs("fileSizeHistogram", fault, None))
        elif ours != (theirs := _histogram(list(snapshot.files.values()), ours.sorted_bin_boundaries)):
            found.append(_differs("fileSizeHistogram", ours, theirs))
    if deleted is not None and deleted != expected.deleted_record_counts_histogram_opt:
        theirs_deleted = expected.deleted_record_counts_histogram_opt
        found.append(_differs("deletedRecordCountsHistogramOpt", deleted, theirs_deleted))
    return found

"""Rows of `checkpoints`, `sidecars`, `checksums` and `last_checkpoint`, built from decoded files."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import add
from typing import Any, ClassVar

import msgspec
import polars as pl

from deltaspec.protocol.actions import CheckpointMetadata, DomainMetadata, Protocol, Txn
from deltaspec.protocol.features.supported_features import has_known_features, supports
from deltaspec.protocol.json_values import JsonError, parse_lossless
from deltaspec.protocol.log.last_checkpoint import compare_hint_checksum, get_hint_type
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.protocol.log.stated_schema import find_schema_difference
from deltaspec.protocol.log.version_checksum import (
    DELETED_RECORD_BINS,
    OlderChecksum,
    VersionChecksum,
    find_deleted_records_bin,
    find_histogram_fault,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_validation import explain_object
from deltaspec.wire.storage.interface import LOG_DIRECTORY

Row = dict[str, Any]


def build_checkpoint_row(read: ParsedCheckpoint) -> Row:
    """Return the row of `checkpoints` for a completely read checkpoint."""
    checkpoint = read.checkpoint
    location = {
        "version": checkpoint.version,
        "file": f"{LOG_DIRECTORY}/{checkpoint.files[0]}",
        "naming": checkpoint.naming,
        "parts": len(checkpoint.files),
        "unreadable": read.unreadable,
    }
    if read.unread_reason is not None:
        return location
    actions_of = _group_actions(read)
    protocol = next(iter(actions_of(Protocol)), None)
    is_known = protocol is not None and has_known_features(protocol)
    return {
        **location,
        "protocols": read.kinds.get("protocol", 0),
        "metadatas": read.kinds.get("metaData", 0),
        "checkpoint_metadatas": read.kinds.get("checkpointMetadata", 0),
        "checkpoint_metadata_version": read.metadata_version,
        "false_tags": _find_false_tags(read) if read.is_complete else None,
        "sidecars": read.kinds.get("sidecar", 0),
        "commit_infos": read.kinds.get("commitInfo", 0),
        "cdcs": read.kinds.get("cdc", 0),
        "adds": read.kinds.get("add", 0),
        "removes": read.kinds.get("remove", 0),
        "content": "v2" if read.is_v2 else "v1",
        "misplaced_files": read.misplaced_files,
        "split_paths": read.split_paths,
        "row_id_high_water_marks": read.kinds.get("rowIdHighWaterMark", 0),
        "rows_without_action": read.rows_without_action,
        "rows_with_several_actions": read.rows_with_several_actions,
        "removed_domains": sorted(each.domain for each in actions_of(DomainMetadata) if each.removed),
        "repeated_domains": _repeated(each.domain for each in actions_of(DomainMetadata)),
        "repeated_apps": _repeated(each.app_id for each in actions_of(Txn)),
        "v2_checkpoint_supported": supports(protocol, "v2Checkpoint") if protocol and is_known else None,
    }


def _find_false_tags(read: ParsedCheckpoint) -> list[str]:
    """Return the tags of checkpointMetadata that contradict the checkpoint. An empty tag states nothing."""
    tags = next((each.tags or {} for _, _, each in read.actions if isinstance(each, CheckpointMetadata)), {})
    numbers = {
        "sidecarNumActions": read.actions_in_sidecars,
        "sidecarSizeInBytes": read.bytes_in_sidecars,
        "numOfAddFiles": read.kinds.get("add", 0) + read.adds_in_sidecars,
    }
    found = [
        f"{name}: expected {number}, found {tags[name]}"
        for name, number in numbers.items()
        if tags.get(name) and tags[name] != str(number)
    ]
    schema = tags.get("sidecarFileSchema")
    for each in read.contents if schema else ():
        if each.source == "sidecar" and each.schema is not None:
            difference = find_schema_difference(schema or "", each.schema, partial=True)
            if difference is not None:
                return [*found, f"sidecarFileSchema: {difference} ({each.file})"]
    return found


def _group_actions(read: ParsedCheckpoint) -> Any:
    return lambda kind: [action for _, _, action in read.actions if isinstance(action, kind)]


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def build_sidecar_rows(read: ParsedCheckpoint) -> list[Row]:
    """Return the rows of `sidecars` for a completely read checkpoint."""
    file_counts = Counter(each.name or each.action.path for each in read.sidecars)
    return [
        {
            "version": read.checkpoint.version,
            "file": each.file,
            "line": each.line,
            "path": each.action.path,
            "path_is_name": "/" not in each.action.path,
            "path_in_sidecars": each.name is not None,
            "exists": each.actual_size is not None
            or (None if each.name is None or read.was_deleted_while_read else False),
            "size_in_bytes": each.action.size_in_bytes,
            "actual_size": each.actual_size if each.storage_error is None else None,
            "unreadable": each.unreadable,
            "unexpected_actions": each.unexpected_actions,
            "occurrences": file_counts[each.name or each.action.path],
        }
        for each in read.sidecars
    ]


def read_checksum(data: bytes) -> tuple[VersionChecksum | OlderChecksum | None, str | None, str | None]:
    """Return a decoded version checksum, or None with its schema error and the JSON pointer to it."""
    try:
        return msgspec.json.decode(data, type=OlderChecksum), None, None
    except (msgspec.DecodeError, RecursionError, ValueError):
        pass
    try:
        return msgspec.json.decode(data, type=VersionChecksum), None, None
    except (msgspec.DecodeError, RecursionError, ValueError):
        fault, pointer, _ = explain_object("versionChecksum", data)
        return None, fault or "cannot be decoded", pointer


class CommitFacts(msgspec.Struct, frozen=True):
    """Facts of a commit that its version checksum is compared with; None if unknown."""

    in_commit_timestamp: int | None = None
    in_commit_timestamps_enabled: bool | None = None
    txn_id: str | None = None
    catalog_managed: bool | None = None

    @classmethod
    def from_row(cls, row: Row) -> "CommitFacts":
        """Build the facts from a row of `commits`."""
        return cls(
            row["in_commit_timestamp"], row["in_commit_timestamps_enabled"], row["txn_id"], row["catalog_managed"]
        )


def build_checksum_row(
    file: str,
    version: int,
    checksum: VersionChecksum | OlderChecksum | None,
    fault: tuple[str | None, str | None, str | None],
    live: "LiveFileTotals | None",
    commit: CommitFacts,
) -> Row:
    """Return the row of `checksums` for one version checksum.

    Args:
        file: file name, relative to the table root.
        version: version in the file name.
        checksum: decoded content; None if it cannot be decoded.
        fault: schema error, its JSON pointer, and the JSON pointer of a repeated key; None for each that is absent.
        live: totals of the live files of the version; None if replay is undecided.
        commit: facts of the commit of the version.
    """
    error, pointer, repeated = fault
    row: Row = {"version": version, "file": file, "schema_error": error, "pointer": pointer, "repeated_key": repeated}
    if checksum is None:
        return row
    row |= {
        "table_size_bytes": checksum.table_size_bytes,
        "num_files": checksum.num_files,
        "num_metadata": checksum.num_metadata,
        "num_protocol": checksum.num_protocol,
        "is_older_form": isinstance(checksum, OlderChecksum),
    }
    if live is not None:
        row |= {"replayed_table_size_bytes": _clamp_to_int64(live.bytes), "replayed_num_files": live.files}
    if isinstance(checksum, OlderChecksum):
        return row
    histogram, deleted = checksum.file_size_histogram, checksum.deleted_record_counts_histogram_opt
    row |= {
        "num_deletion_vectors": checksum.num_deletion_vectors_opt,
        "num_deleted_records": checksum.num_deleted_records_opt,
        "in_commit_timestamp": checksum.in_commit_timestamp_opt,
        "replayed_in_commit_timestamp": commit.in_commit_timestamp,
        "in_commit_timestamps_enabled": commit.in_commit_timestamps_enabled,
        "txn_id": checksum.txn_id,
        "commit_txn_id": commit.txn_id,
        "catalog_managed": commit.catalog_managed,
        "histogram_schema_error": find_histogram_fault(histogram) if histogram else None,
        "deleted_histogram_schema_error": _deleted_schema_error(deleted.deleted_record_counts) if deleted else None,
    }
    if live is None:
        return row
    row |= {
        "replayed_num_deletion_vectors": live.vectors,
        "replayed_num_deleted_records": _clamp_to_int64(live.deleted_records),
    }
    if histogram and row["histogram_schema_error"] is None:
        row["histogram_fault"] = _histogram_fault(histogram, live)
    if deleted and row["deleted_histogram_schema_error"] is None:
        row["deleted_histogram_fault"] = _deleted_fault(deleted.deleted_record_counts, live.files_by_deleted)
    return row


def _deleted_schema_error(counts: list[int]) -> str | None:
    return None if len(counts) == DELETED_RECORD_BINS else f"expected {DELETED_RECORD_BINS} bins, found {len(counts)}"


def _histogram_fault(histogram: Any, live: "LiveFileTotals") -> str | None:
    if live.has_odd_sizes:
        return None  # a file without a valid size has no bin, and another rule reports it
    for each, boundary in enumerate(histogram.sorted_bin_boundaries):
        files, total = histogram.file_counts[each], histogram.total_bytes[each]
        expected_files, expected_total = live.files_by_size[each], live.bytes_by_size[each]
        if (files, total) != (expected_files, expected_total):
            return (
                f"bin from {boundary} bytes: expected {expected_files} files with {expected_total} bytes, "
                f"found {files} files with {total} bytes"
            )
    return None


def _deleted_fault(recorded: list[int], counts: Counter[int]) -> str | None:
    for each, number in enumerate(recorded):
        if number != counts[each]:
            return f"bin {each}: expected {counts[each]} files, found {number}"
    return None


class LiveFileTotals(msgspec.Struct, frozen=True):
    """Totals over the live files of a version. Totals of several buckets can be added."""

    COLUMNS: ClassVar = ("size", "cardinality", "deletion_vector_id")
    """Columns of `file_replay.REPLAY_COLUMNS` that the totals need."""

    files: int
    bytes: int
    vectors: int
    """Number of files with a deletion vector."""
    deleted_records: int
    files_by_deleted: Counter[int]
    """Number of files by deleted-records bin."""
    files_by_size: tuple[int, ...]
    """Number of files by bin of the compared histogram; empty without a histogram."""
    bytes_by_size: tuple[int, ...]
    has_odd_sizes: bool
    """Whether a file has no size or a negative size."""

    @classmethod
    def from_files(cls, live: pl.DataFrame, checksum: VersionChecksum | OlderChecksum | None) -> "LiveFileTotals":
        """Compute the totals of rows with `COLUMNS`, using the size bins of the checksum's valid histogram, if any."""
        histogram = checksum.file_size_histogram if isinstance(checksum, VersionChecksum) else None
        boundaries = histogram.sorted_bin_boundaries if histogram and find_histogram_fault(histogram) is None else []
        sizes = live["size"]
        has_odd_sizes = bool(((sizes < 0).fill_null(True)).any())
        files, total = [0] * len(boundaries), [0] * len(boundaries)
        if boundaries and not has_odd_sizes:
            # same bins as `protocol.log.version_checksum.find_file_size_bin`: the last boundary not above the size
            bins = pl.Series(boundaries, dtype=pl.Int64).search_sorted(sizes, side="right").cast(pl.Int64) - 1
            frame = pl.DataFrame({"bin": bins, "size": sizes})
            for part in frame.iter_slices(_ROWS_PER_SLICE):
                by_bin = part.group_by("bin").agg(pl.len(), pl.col("size").cast(pl.Int128).sum())
                for each, number, size in by_bin.iter_rows():
                    files[each] += number
                    total[each] += size
        deleted: Counter[int] = Counter()
        for count, number in live["cardinality"].fill_null(0).value_counts().iter_rows():
            deleted[find_deleted_records_bin(max(count, 0))] += number
        return cls(
            files=len(live),
            bytes=_sum(sizes),
            vectors=len(live) - live["deletion_vector_id"].null_count(),
            deleted_records=_sum(live["cardinality"]),
            files_by_deleted=deleted,
            files_by_size=tuple(files),
            bytes_by_size=tuple(total),
            has_odd_sizes=has_odd_sizes,
        )

    def __add__(self, other: "LiveFileTotals") -> "LiveFileTotals":
        return LiveFileTotals(
            files=self.files + other.files,
            bytes=self.bytes + other.bytes,
            vectors=self.vectors + other.vectors,
            deleted_records=self.deleted_records + other.deleted_records,
            files_by_deleted=self.files_by_deleted + other.files_by_deleted,
            files_by_size=tuple(map(add, self.files_by_size, other.files_by_size)),
            bytes_by_size=tuple(map(add, self.bytes_by_size, other.bytes_by_size)),
            has_odd_sizes=self.has_odd_sizes or other.has_odd_sizes,
        )


_ROWS_PER_SLICE = 1_000_000


def _sum(numbers: pl.Series) -> int:
    """Return the exact sum of 64-bit integers, which may exceed 64 bits."""
    parts = (numbers.slice(start, _ROWS_PER_SLICE) for start in range(0, len(numbers), _ROWS_PER_SLICE))
    return sum(int(each.cast(pl.Int128).sum()) for each in parts)


def _clamp_to_int64(number: int) -> int:
    """Clamp a number to the range of a 64-bit column."""
    return max(-(2**63), min(number, 2**63 - 1))


def all_files_fault(listed: pl.DataFrame, differences: Iterable[Row]) -> tuple[int, str, str] | None:
    """Return the first fault of `allFiles` as rank, path and message, or None.

    Args:
        listed: files of `allFiles`, with the columns of `file_replay.REPLAY_COLUMNS`.
        differences: differences from the live files, rows of `replay_differences`.
    """
    return min(_faults(listed, differences), default=None)


def _faults(listed: pl.DataFrame, differences: Iterable[Row]) -> Iterator[tuple[int, str, str]]:
    for path, count in listed.filter(listed["path_key"].is_duplicated())["path_key"].value_counts().iter_rows():
        yield 0, path, f"{path} is listed {count} times"
    for each in differences:
        path = each["path"]
        match each["difference"]:
            case "extra":
                yield 1, path, f"{path} is listed but is not a live file"
            case "missing":
                yield 2, path, f"{path} is a live file but is not listed"
            case _:
                yield 3, path, f"{path}: {each['field']} expected {each['replayed']}, found {each['recorded']}"


def build_hint_row(
    data: bytes,
    complete: Iterable[Checkpoint],
    reads: Mapping[Checkpoint, ParsedCheckpoint],
    sizes: Mapping[str, int],
    revision: Revision = Revision.CURRENT,
) -> Row:
    """Return the row of `last_checkpoint`.

    Args:
        data: content of the file.
        complete: the complete checkpoints of the listing.
        reads: the checkpoints that this run has read.
        sizes: file name to size in bytes, for every listed file.
        revision: protocol revision.
    """
    complete = list(complete)
    row: Row = {
        "file": f"{LOG_DIRECTORY}/_last_checkpoint",
        "newest_checkpoint": max((each.version for each in complete), default=None),
    }
    schema = "lastCheckpoint" if revision.since(Revision.R3) else "lastCheckpoint.r1"
    fault, _, row["repeated_key"] = explain_object(schema, data)
    try:
        document = parse_lossless(data).value
        hint = msgspec.json.decode(data, type=get_hint_type(revision))
    except (JsonError, msgspec.DecodeError, RecursionError, ValueError):
        return {**row, "schema_error": fault or "cannot be decoded"}
    if hint.version < 0:
        return {**row, "schema_error": f"version is {hint.version}, below 0"}
    of_version = [each for each in complete if each.version == hint.version]
    complete_reads = [reads[each] for each in of_version if each in reads and reads[each].is_complete]
    all_are_complete = len(complete_reads) == len(of_version)
    return {
        **row,
        "version": hint.version,
        "checkpoint_listed": bool(of_version),
        "older_checkpoint_listed": any(each.version < hint.version for each in complete),
        "has_checksum": hint.checksum is not None,
        "checksum": compare_hint_checksum(document),
        "parts": hint.parts,
        "listed_part_counts": [len(each.files) if each.naming == "multipart" else 0 for each in of_version],
        "size": hint.size,
        "actual_sizes": [n for each in complete_reads for n in _count_actions(each)] if all_are_complete else None,
        "has_sidecars": any(each.kinds.get("sidecar", 0) for each in complete_reads),
        "size_in_bytes": hint.size_in_bytes,
        "actual_sizes_in_bytes": [n for each in complete_reads for n in _count_bytes(each, sizes)]
        if all_are_complete
        else None,
        "schema_difference": _find_schema_difference(hint.checkpoint_schema, complete_reads),
        "num_of_add_files": hint.num_of_add_files,
        "actual_add_file_counts": [each.kinds.get("add", 0) + each.adds_in_sidecars for each in complete_reads]
        if all_are_complete
        else None,
    }


def _find_schema_difference(stated: Any, reads: Iterable[ParsedCheckpoint]) -> str | None:
    """Return how a stated schema differs from each Parquet checkpoint; None if it fits one, or there is none."""
    schemas = [each.schema for read in reads for each in read.contents if each.source == "checkpoint" and each.schema]
    if stated is None or not schemas:
        return None
    text = stated if isinstance(stated, str) else msgspec.json.encode(stated).decode()
    found = [find_schema_difference(text, each, partial=False) for each in schemas]
    return None if None in found else found[0]


def _count_actions(read: ParsedCheckpoint) -> list[int]:
    counts = []
    for own in {
        sum(read.kinds.values()),
        sum(read.kinds.values()) + read.rows_without_known_action,
    }:  # of unknown actions
        complete = own + read.actions_in_sidecars
        counts += [own, complete, complete - read.kinds.get("sidecar", 0)]
    return counts


def _count_bytes(read: ParsedCheckpoint, sizes: Mapping[str, int]) -> list[int]:
    own = sum(sizes.get(name, 0) for name in read.checkpoint.files)
    return [own, own + read.bytes_in_sidecars]

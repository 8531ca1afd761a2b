"""Rows of `listing`, `commits` and `lines`, built from file names and decoded files."""

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import is_not
from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.protocol.actions import CommitInfo, DomainMetadata, MetaData, Protocol, Txn, WireStruct
from deltaspec.protocol.features import table_features, table_properties
from deltaspec.protocol.features.supported_features import has_known_features
from deltaspec.protocol.log import file_names, segment
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS_SINCE_TIME, IN_COMMIT_TIMESTAMPS_SINCE_VERSION
from deltaspec.protocol.revisions import Revision
from deltaspec.views.log.log_files import lines
from deltaspec.views.table.state import TableState
from deltaspec.wire.arrow_compute import to_series
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.log.line_outcomes import UNREAD, LineOutcomes, Outcome
from deltaspec.wire.log.line_validation import LineError
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry

Row = dict[str, Any]
LINES_PER_FRAME = 100_000
"""Target number of rows of `lines` per frame; a frame has fewer than twice as many."""


def build_listing_rows(
    entries: Iterable[Entry],
    missing: tuple[int, ...],
    known_states: Mapping[int, tuple[Protocol | None, MetaData | None]],
    catalog_managed: bool | None,
    older_gaps: Iterable[tuple[int, int]] = (),
) -> list[Row]:
    """Return the rows of `listing`, one per entry.

    Args:
        entries: the pinned listing of the log directory.
        missing: commits that the validated version needs and that are not listed, ascending.
        known_states: version to protocol and metadata, where known; includes checkpoint versions.
        catalog_managed: whether catalogManaged is supported; None if unknown.
        older_gaps: first and last of missing commits that the validated version does not need, between other commits.
    """
    names = [(entry, entry.log_name) for entry in entries]
    commits = sorted(name.version for _, name in names if isinstance(name, file_names.CommitName))
    latest = commits[-1] if commits else None
    missing_before = _group_missing_commits(commits, missing)
    gaps = {last + 1: first for first, last in older_gaps}
    first = min((each.version for each in segment.find_complete_checkpoints(e.name for e, _ in names)), default=-1)
    # if commits exist but none directly follows the first checkpoint, a later cleanup left that checkpoint behind
    log_starts_with_first_checkpoint = not commits or commits[0] == first + 1
    starts_with_0 = commits[:1] == [0]
    cleaned_up_to = None if missing or starts_with_0 else segment.find_cleanup_version(entry.name for entry, _ in names)
    unreachable = [] if starts_with_0 else segment.find_unreachable_commits(entry.name for entry, _ in names)
    cleanup_revision = None if cleaned_up_to is None else _find_cleanup_revision(names, cleaned_up_to, known_states)
    checksum_versions = {name.version for _, name in names if isinstance(name, file_names.ChecksumName)}
    checksums_of_commits = checksum_versions & set(commits)
    first_checksum, last_checksum = min(checksums_of_commits, default=-1), max(checksums_of_commits, default=-1)
    rows = []
    for entry, name in names:
        row: Row = {
            "cleaned_up_to": cleaned_up_to,
            "cleanup_revision": cleanup_revision,
            "file": f"{LOG_DIRECTORY}/{entry.name}",
            "size_bytes": entry.size_bytes,
            "latest_commit": latest,
            "catalog_managed": catalog_managed,
        }
        match name:
            case file_names.CommitName(version):
                absent = missing_before.get(version, [])
                row |= {"kind": "commit", "version": version, "missing_commits_before": len(absent)}
                row["missing_commits"] = _describe_missing_commits(commits, absent) if absent else None
                if version in gaps:
                    row["older_missing_commits"] = version - gaps[version]
                    row["missing_commits"] = _describe_missing_commits(commits, range(gaps[version], version))
                row["checksum_missing"] = version not in checksum_versions and first_checksum < version < last_checksum
                if version == commits[0] and cleaned_up_to is not None:
                    row["unreachable_commits"] = len(unreachable)
            case file_names.ClassicCheckpoint(version):
                row |= {"kind": "classic checkpoint", "version": version}
            case file_names.MultipartCheckpoint(version, part, parts):
                row |= {"kind": "multipart checkpoint", "version": version, "part": part, "parts": parts}
            case file_names.UuidCheckpoint(version):
                row |= {"kind": "uuid checkpoint", "version": version}
            case file_names.CompactionName(start, end):
                row |= {"kind": "compaction", "version": start, "end_version": end}
            case file_names.ChecksumName(version):
                row |= {"kind": "checksum", "version": version}
            case file_names.LastCheckpointName():
                row |= {"kind": "last checkpoint"}
            case file_names.SidecarName():
                row |= {"kind": "sidecar"}
            case file_names.StagedCommit(version):
                row |= {"kind": "staged commit", "version": version}
            case file_names.OtherFile():
                row |= {"kind": "other", "resembles": file_names.describe_near_miss(entry.name)}
        if row["kind"].endswith("checkpoint") and "version" in row:
            row |= _checkpoint_facts(*known_states.get(row["version"], (None, None)))
            row["commit_cleaned_up"] = row["version"] == first and log_starts_with_first_checkpoint
        rows.append(row)
    return rows


def build_emptied_log_row() -> Row:
    """Return the row of `listing` for the directory of a log without commits and complete checkpoints."""
    missing = "commit 0 is missing, and there is neither another commit nor a complete checkpoint"
    return {"file": LOG_DIRECTORY, "kind": "emptied log", "missing_commits_before": 1, "missing_commits": missing}


def _checkpoint_facts(protocol: Protocol | None, metadata: MetaData | None) -> Row:
    if protocol is None or not has_known_features(protocol):
        return {}
    enabled = None if metadata is None else table_properties.has_in_commit_timestamps(protocol, metadata)
    v2_supported = "v2Checkpoint" in (protocol.writer_features or ())
    return {"v2_checkpoint_supported": v2_supported, "in_commit_timestamps_enabled": enabled}


def _find_cleanup_revision(
    names: Iterable[tuple[Entry, file_names.LogFileName]],
    cleaned_up_to: int,
    known_states: Mapping[int, tuple[Protocol | None, MetaData | None]],
) -> str | None:
    """Return the oldest revision that defines the features of the first retained checkpoint, or None if unknown."""
    complete_checkpoints = segment.find_complete_checkpoints(entry.name for entry, _ in names)
    first = min((each.version for each in complete_checkpoints if each.version >= cleaned_up_to), default=-1)
    protocol, _ = known_states.get(first, (None, None))
    if protocol is None:
        return None
    listed_features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return next((str(each) for each in Revision if listed_features <= table_features.get_known_features(each)), None)


def _group_missing_commits(commits: list[int], missing: tuple[int, ...]) -> dict[int, list[int]]:
    """Group missing commits by the next listed commit; commits missing at the end belong to the last listed one."""
    groups: dict[int, list[int]] = defaultdict(list)
    for absent in sorted(missing) if commits else ():
        groups[commits[min(bisect_right(commits, absent), len(commits) - 1)]].append(absent)
    return groups


def _describe_missing_commits(commits: list[int], absent: Sequence[int]) -> str:
    """Return a text such as "commit 13 is missing (12 and 14 exist)"; both lists are ascending and not empty."""
    first, last = absent[0], absent[-1]
    if len(absent) == 1:
        text = f"commit {first} is missing"
    elif last - first == len(absent) - 1:
        text = f"commits {first} to {last} are missing"
    else:
        text = f"{len(absent)} commits from {first} to {last} are missing"
    before, after = bisect_right(commits, first), bisect_right(commits, last)
    neighbors = [str(version) for version in [*commits[max(before - 1, 0) : before], *commits[after : after + 1]]]
    return f"{text} ({' and '.join(neighbors)} {'exist' if len(neighbors) > 1 else 'exists'})"


def iter_line_frames(read: Iterable[tuple[str, int, LineOutcomes]]) -> Iterator[pl.DataFrame]:
    """Yield the rows of `lines` for JSON log files in bounded frames; `read` gives file, version and outcomes."""
    batch = _LineBatch()
    for file, version, outcomes in read:
        for start in range(0, len(outcomes), LINES_PER_FRAME):
            batch.add(file, version, start + 1, outcomes.codes[start : start + LINES_PER_FRAME], outcomes)
            if len(batch.codes) >= LINES_PER_FRAME:
                yield batch.frame()
                batch = _LineBatch()
    if batch.codes:
        yield batch.frame()


FEW_LINES = 16
"""Fewer rows are built faster from dictionaries than in columns."""


class _LineBatch:
    """Batch of lines that stores each distinct outcome once."""

    def __init__(self) -> None:
        self.outcomes = LineOutcomes()
        self.codes = array("I")
        self.numbers = array("q")
        self.file_numbers = array("I")
        self.files: list[tuple[str, int]] = []
        self._source: tuple[Sequence[int], Sequence[Outcome]] = ((), ())
        """Codes and outcomes that were added last. Most commits of a table have the same ones."""
        self._added = array("I")
        """Codes in this batch of the lines that were added last."""

    def add(self, file: str, version: int, start: int, codes: Sequence[int], source: LineOutcomes) -> None:
        """Add consecutive lines of a file, starting at line `start`; lines that were not decoded are left out."""
        if self._source != (codes, source.distinct):
            batch_codes = {code: self.outcomes.code(*source.distinct[code]) for code in set(codes) if code != UNREAD}
            self._added = array("I", [batch_codes[code] for code in codes if code != UNREAD])
            self._source = codes, source.distinct
        numbers: Iterable[int] = range(start, start + len(codes))
        if UNREAD in codes:
            numbers = [number for number, code in zip(numbers, codes, strict=True) if code != UNREAD]
        self.codes.extend(self._added)
        self.numbers.extend(numbers)
        self.file_numbers.extend(repeat(len(self.files), len(self._added)))
        self.files.append((file, version))

    def frame(self) -> pl.DataFrame:
        """Return the batch as rows of the view `lines`."""
        outcomes = [_outcome_facts(*each) for each in self.outcomes.distinct]
        if len(self.codes) < FEW_LINES:
            located = zip(self.codes, self.numbers, map(self.files.__getitem__, self.file_numbers), strict=True)
            return lines.frame(
                [
                    outcomes[code] | {"file": file, "version": version, "line": line}
                    for code, line, (file, version) in located
                ]
            )
        facts = lines.frame(outcomes)
        files = lines.frame([{"file": file, "version": version} for file, version in self.files])
        location, file_numbers = ["file", "version"], _series(self.file_numbers, pa.uint32())
        return (
            facts[_series(self.codes, pa.uint32())]
            .with_columns(files.select(location)[file_numbers].get_columns())
            .with_columns(_series(self.numbers, pa.int64()).alias("line"))
        )


def _series(values: "array[int]", kind: pa.DataType) -> pl.Series:
    return to_series(pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)]))


def _outcome_facts(kind: str | None, fault: LineError | None) -> Row:
    numbers = {"actions": 1, "known_actions": int(kind is not None)}
    return {"kind": kind, **(numbers if fault is None else _fault_facts(fault))}


def build_fault_row(file: str, version: int, line: int, fault: LineError) -> Row:
    """Return the row of `lines` for an action of a Parquet checkpoint that violates its schema."""
    return {"file": file, "version": version, "line": line, "kind": fault.kind, **_fault_facts(fault)}


def _fault_facts(fault: LineError) -> Row:
    return {
        "json_error": fault.json_error,
        "actions": fault.actions,
        "known_actions": fault.known_actions,
        "unrecognized_key": fault.unrecognized_key,
        "schema_error": fault.schema_error,
        "pointer": fault.pointer,
        "repeated_key": fault.repeated_key,
        "unexpected_whitespace": fault.unexpected_whitespace,
        "has_lone_surrogate": fault.has_lone_surrogate,
    }


def build_commit_row(version: int, file: str, log: LogSummary, before: "PreviousCommit", state: TableState) -> Row:
    """Return the row of `commits` for one commit; `state` is the table state after it."""
    kinds, count = log.kinds, log.kinds.get
    is_fully_decoded = None not in log.undecoded_kinds
    infos = _actions_of(CommitInfo, log.actions)
    info = infos[0] if infos else None
    timestamp = info.in_commit_timestamp if info else None
    of_state = before.build_state_columns(state)
    enabled = of_state["in_commit_timestamps_enabled"] if "commitInfo" not in log.undecoded_kinds else None
    before.enable(version, timestamp, enabled, state.supports("inCommitTimestamp-preview"))
    changes_state = "protocol" in kinds or "metaData" in kinds
    counts = {
        "actions": sum(kinds.values()) - log.blank_lines,
        "protocols": count("protocol", 0),
        "metadatas": count("metaData", 0),
        "commit_infos": count("commitInfo", 0),
        "adds": count("add", 0),
        "removes": count("remove", 0),
        "cdcs": count("cdc", 0),
        "domains": count("domainMetadata", 0),
        "checkpoint_only_actions": count("checkpointMetadata", 0) + count("sidecar", 0),
    }
    return {
        **of_state,
        "version": version,
        "file": file,
        **(counts if is_fully_decoded else {}),
        "first_action": log.first_kind if is_fully_decoded else None,
        "in_commit_timestamp": timestamp,
        "previous_in_commit_timestamp": before.in_commit_timestamp if before.in_commit_timestamps else None,
        "in_commit_timestamps_enabled": enabled,
        "in_commit_timestamps_enabled_before": before.in_commit_timestamps,
        **(before.enablement if changes_state else {}),
        "catalog_managed_before": before.catalog_managed,
        "append_only_before": before.append_only if changes_state else of_state["append_only"],
        "txn_id": info.txn_id if info else None,
        "in_commit_timestamps_differ": len({each.in_commit_timestamp for each in infos}) > 1,
        "txn_ids_differ": len({each.txn_id for each in infos}) > 1,
        "removes_with_data_change": log.removes_with_data_change,
        "repeated_domains": _repeated([each.domain for each in _actions_of(DomainMetadata, log.actions)]),
        "repeated_apps": _repeated([each.app_id for each in _actions_of(Txn, log.actions)]),
        **state.columns.changes,
    }


def _build_state_columns(state: TableState) -> Row:
    """Return the columns of `commits` that depend only on protocol and metadata."""
    settings = state.metadata.configuration if state.metadata else {}
    return {
        "in_commit_timestamps_enabled": state.in_commit_timestamps,
        "recorded_enablement_version": table_properties.get_integer_property(
            settings, IN_COMMIT_TIMESTAMPS_SINCE_VERSION
        ),
        "recorded_enablement_timestamp": table_properties.get_integer_property(
            settings, IN_COMMIT_TIMESTAMPS_SINCE_TIME
        ),
        "catalog_managed": state.supports("catalogManaged"),
        "append_only": state.append_only,
        "domain_metadata_supported": state.supports("domainMetadata"),
    }


def mark_repeated_transaction_ids(rows: list[Row]) -> None:
    """Fill the column `version_with_same_txn_id` of the rows of `commits`, which are in ascending order."""
    first: dict[str, int] = {}
    for row in rows:
        version = first.setdefault(row["txn_id"], row["version"]) if row["txn_id"] is not None else row["version"]
        row["version_with_same_txn_id"] = None if version == row["version"] else version


class PreviousCommit:
    """Facts of the preceding commit that the next commit is compared with."""

    def __init__(self) -> None:
        self.in_commit_timestamp: int | None = None
        self.in_commit_timestamps: bool | None = None
        self.catalog_managed: bool | None = None
        self.append_only: bool | None = None
        self.preview: bool | None = None
        """Whether a preview of in-commit timestamps is supported; the table may then have used them already."""
        self.enablement: Row = {}
        """Version that enabled in-commit timestamps on a table with older commits, and its timestamp; empty if none."""
        self._state: tuple[Any, ...] = ()
        """Parts of the state that `_state_columns` were built from."""
        self._state_columns: Row = {}

    def build_state_columns(self, state: TableState) -> Row:
        """Return the columns of `commits` that depend only on protocol and metadata; rebuild them if these changed."""
        parts = (state.protocol, state.metadata, state.supported)
        if len(self._state) != len(parts) or any(map(is_not, self._state, parts)):
            self._state, self._state_columns = parts, _build_state_columns(state)
        return self._state_columns

    def enable(self, version: int, timestamp: int | None, enabled: bool | None, preview: bool | None) -> None:
        """Record whether the next commit is the one that enables in-commit timestamps."""
        if not enabled:
            self.enablement = {}
        elif self.in_commit_timestamps is False and self.preview is False:
            self.enablement = {"enablement_version": version, "enablement_timestamp": timestamp}
        self.preview = preview

    def follow(self, row: Row) -> None:
        """Make the commit of this row the preceding commit."""
        self.in_commit_timestamp = row["in_commit_timestamp"]
        self.in_commit_timestamps = row["in_commit_timestamps_enabled"]
        self.catalog_managed = row["catalog_managed"]
        self.append_only = row["append_only"]


def _actions_of(kind: Any, actions: list[tuple[int, WireStruct]]) -> list[Any]:
    return [action for _, action in actions if isinstance(action, kind)]


def _repeated(names: list[str]) -> list[str]:
    if len(names) < 2:
        return []
    return sorted(name for name, count in Counter(names).items() if count > 1)

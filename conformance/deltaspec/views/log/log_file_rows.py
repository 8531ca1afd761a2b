"""Fills `listing`, `commits` and `lines` from names and decoded files."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.model.actions import CommitInfo, DomainMetadata, MetaData, Protocol, Txn, WireStruct
from deltaspec.model.features import table_features, table_properties
from deltaspec.model.features.protocol import features_are_known
from deltaspec.model.log import file_names, segment
from deltaspec.model.revisions import Revision
from deltaspec.views.log.log_files import lines
from deltaspec.views.table.state import TableState
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.log.line_outcomes import UNREAD, LineOutcomes
from deltaspec.wire.log.line_validation import LineError
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry

Row = dict[str, Any]
LINES_PER_FRAME = 100_000
"""Rows of `lines` that are looked at together, or up to twice as many."""
_CHECKPOINTS = (file_names.ClassicCheckpoint, file_names.MultipartCheckpoint, file_names.UuidCheckpoint)


def build_listing_rows(
    entries: Iterable[Entry],
    missing: tuple[int, ...],
    held: Mapping[int, tuple[Protocol | None, MetaData | None]],
    catalog_managed: bool | None,
) -> list[Row]:
    """Rows of `listing`.

    Args:
        entries: the pinned listing.
        missing: commits that the judged version needs and that are not listed.
        held: protocol and metadata at versions where they are known, those of checkpoints among them.
        catalog_managed: whether catalogManaged is supported; None where that is not known.
    """
    names = [(entry, file_names.parse_log_file_name(entry.name)) for entry in entries]
    commits = sorted(name.version for _, name in names if isinstance(name, file_names.CommitName))
    latest = commits[-1] if commits else None
    before = _missing_before(commits, missing)
    first = min((name.version for _, name in names if isinstance(name, _CHECKPOINTS)), default=-1)
    # a checkpoint that no commit follows at once, though there are some, was left over by a cleanup up to a later one
    begins = not commits or commits[0] == first + 1
    cleaned_up_to = None if missing else segment.cleaned_up_to(entry.name for entry, _ in names)
    unreachable = segment.unreachable_commits(entry.name for entry, _ in names)
    knew = None if cleaned_up_to is None else _cleanup_knew(names, cleaned_up_to, held)
    summed = {name.version for _, name in names if isinstance(name, file_names.ChecksumName)}
    beside_commits = summed & set(commits)
    first_sum, last_sum = min(beside_commits, default=-1), max(beside_commits, default=-1)
    rows = []
    for entry, name in names:
        row: Row = {
            "cleaned_up_to": cleaned_up_to,
            "cleanup_revision": knew,
            "file": f"{LOG_DIRECTORY}/{entry.name}",
            "size_bytes": entry.size_bytes,
            "latest_commit": latest,
            "catalog_managed": catalog_managed,
        }
        match name:
            case file_names.CommitName(version):
                row |= {"kind": "commit", "version": version, "missing_commits_before": before.get(version, 0)}
                row["checksum_missing"] = version not in summed and first_sum < version < last_sum
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
                row |= {"kind": "other", "near_miss": file_names.near_miss(entry.name)}
        if row["kind"].endswith("checkpoint") and "version" in row:
            row |= _held_at_checkpoint(*held.get(row["version"], (None, None)))
            row["commit_cleaned_up"] = row["version"] == first and begins
        rows.append(row)
    return rows


def _held_at_checkpoint(protocol: Protocol | None, metadata: MetaData | None) -> Row:
    if protocol is None or not features_are_known(protocol):
        return {}
    enabled = None if metadata is None else table_properties.in_commit_timestamps_enabled(protocol, metadata)
    v2_supported = "v2Checkpoint" in (protocol.writer_features or ())
    return {"v2_checkpoint_supported": v2_supported, "in_commit_timestamps_enabled": enabled}


def _cleanup_knew(
    names: Iterable[tuple[Entry, file_names.LogFileName]],
    cleaned_up_to: int,
    held: Mapping[int, tuple[Protocol | None, MetaData | None]],
) -> str | None:
    """The oldest text that defines the features of the first checkpoint that remains: the cleanup came after that."""
    complete = segment.find_complete_checkpoints(entry.name for entry, _ in names)
    first = min((each.version for each in complete if each.version >= cleaned_up_to), default=-1)
    protocol, _ = held.get(first, (None, None))
    if protocol is None:
        return None
    listed = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return next((str(text) for text in Revision if listed <= table_features.get_known_features(text)), None)


def _missing_before(commits: list[int], missing: tuple[int, ...]) -> dict[int, int]:
    """Listed commit to the number of needed commits absent just before it; a gap at the end counts for the last."""
    found: Counter[int] = Counter()
    for absent in missing:
        if commits:
            found[commits[min(bisect_right(commits, absent), len(commits) - 1)]] += 1
    return found


def iter_line_frames(read: Iterable[tuple[str, int, LineOutcomes]]) -> Iterator[pl.DataFrame]:
    """Rows of `lines` for JSON log files, each with its version, in frames that are looked at one by one."""
    batch = _Lines()
    for file, version, outcomes in read:
        for start in range(0, len(outcomes), LINES_PER_FRAME):
            batch.take(file, version, start + 1, outcomes.codes[start : start + LINES_PER_FRAME], outcomes)
            if len(batch.codes) >= LINES_PER_FRAME:
                yield batch.frame()
                batch = _Lines()
    yield batch.frame()


class _Lines:
    """Some lines, of which the same is said once."""

    def __init__(self) -> None:
        self.outcomes = LineOutcomes()
        self.codes = array("I")
        self.numbers = array("q")
        self.places = array("I")
        self.files: list[tuple[str, int]] = []

    def take(self, file: str, version: int, start: int, codes: Sequence[int], of: LineOutcomes) -> None:
        """Lines of a file from one on, but those that were not decoded."""
        mine = {code: self.outcomes.code(*of.distinct[code]) for code in set(codes) if code != UNREAD}
        numbers: Iterable[int] = range(start, start + len(codes))
        if UNREAD in codes:
            numbers = [number for number, code in zip(numbers, codes, strict=True) if code != UNREAD]
        before = len(self.codes)
        self.codes.extend(mine[code] for code in codes if code != UNREAD)
        self.numbers.extend(numbers)
        self.places.extend(repeat(len(self.files), len(self.codes) - before))
        self.files.append((file, version))

    def frame(self) -> pl.DataFrame:
        """All of them as rows of the view."""
        said = lines.frame([_outcome_facts(*each) for each in self.outcomes.distinct])
        files = lines.frame([{"file": file, "version": version} for file, version in self.files])
        place, places = ["file", "version"], _series(self.places, pa.uint32())
        return (
            said[_series(self.codes, pa.uint32())]
            .with_columns(files.select(place)[places].get_columns())
            .with_columns(_series(self.numbers, pa.int64()).alias("line"))
        )


def _series(values: "array[int]", kind: pa.DataType) -> pl.Series:
    return pl.Series(pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)]))


def _outcome_facts(kind: str | None, fault: LineError | None) -> Row:
    return {"kind": kind, "actions": 1, **({} if fault is None else _fault_facts(fault))}


def build_fault_row(file: str, version: int, line: int, fault: LineError) -> Row:
    """The row of `lines` for an action of a Parquet checkpoint that breaks its form."""
    return {"file": file, "version": version, "line": line, "kind": fault.kind, **_fault_facts(fault)}


def _fault_facts(fault: LineError) -> Row:
    return {
        "json_error": fault.json_error,
        "actions": fault.actions,
        "schema_error": fault.schema_error,
        "pointer": fault.pointer,
        "repeated_key": fault.repeated_key,
        "unexpected_whitespace": fault.unexpected_whitespace,
        "has_lone_surrogate": fault.has_lone_surrogate,
    }


def build_commit_row(version: int, file: str, log: LogSummary, before: "PreviousCommit", state: TableState) -> Row:
    """The row of `commits` for one commit; `state` is the state after it."""
    kinds = log.kinds
    whole = None not in log.undecoded_kinds
    info = next((action for _, action in log.actions if isinstance(action, CommitInfo)), None)
    timestamp = info.in_commit_timestamp if info else None
    enabled = state.in_commit_timestamps if "commitInfo" not in log.undecoded_kinds else None
    before.enable(version, timestamp, enabled, state.supports("inCommitTimestamp-preview"))
    counts = {
        "actions": sum(kinds.values()) - log.blank_lines,
        "protocols": kinds["protocol"],
        "metadatas": kinds["metaData"],
        "commit_infos": kinds["commitInfo"],
        "adds": kinds["add"],
        "removes": kinds["remove"],
        "cdcs": kinds["cdc"],
        "domains": kinds["domainMetadata"],
        "checkpoint_only_actions": kinds["checkpointMetadata"] + kinds["sidecar"],
    }
    return {
        "version": version,
        "file": file,
        **(counts if whole else {}),
        "first_action": log.first_kind if whole else None,
        "in_commit_timestamp": timestamp,
        "previous_in_commit_timestamp": before.in_commit_timestamp if before.in_commit_timestamps else None,
        "in_commit_timestamps_enabled": enabled,
        "in_commit_timestamps_enabled_before": before.in_commit_timestamps,
        **(before.enablement if kinds["protocol"] + kinds["metaData"] else {}),
        **_recorded_enablement(state),
        "catalog_managed": state.supports("catalogManaged"),
        "txn_id": info.txn_id if info else None,
        "append_only": state.append_only,
        "removes_with_data_change": log.removes_with_data_change,
        "repeated_domains": _repeated(each.domain for each in _of(DomainMetadata, log.actions)),
        "repeated_apps": _repeated(each.app_id for each in _of(Txn, log.actions)),
        "domain_metadata_supported": state.supports("domainMetadata"),
        **state.columns.changes,
    }


class PreviousCommit:
    """What a commit is compared with: the commit before it."""

    def __init__(self) -> None:
        self.in_commit_timestamp: int | None = None
        self.in_commit_timestamps: bool | None = None
        self.preview: bool | None = None
        """Whether a preview of in-commit timestamps is supported, by which they may have been in use."""
        self.enablement: Row = {}
        """Which version enabled in-commit timestamps on a table with older commits, and at what time."""

    def enable(self, version: int, timestamp: int | None, enabled: bool | None, preview: bool | None) -> None:
        """Take note if this commit, not stepped to yet, is the one that enables in-commit timestamps."""
        if not enabled:
            self.enablement = {}
        elif self.in_commit_timestamps is False and self.preview is False:
            self.enablement = {"enablement_version": version, "enablement_timestamp": timestamp}
        self.preview = preview

    def follow(self, row: Row) -> None:
        """Step to the commit of this row."""
        self.in_commit_timestamp = row["in_commit_timestamp"]
        self.in_commit_timestamps = row["in_commit_timestamps_enabled"]


def _recorded_enablement(state: TableState) -> Row:
    settings = state.metadata.configuration if state.metadata else {}
    return {
        "recorded_enablement_version": table_properties.get_integer_property(
            settings, table_properties.ENABLEMENT_VERSION
        ),
        "recorded_enablement_timestamp": table_properties.get_integer_property(
            settings, table_properties.ENABLEMENT_TIMESTAMP
        ),
    }


def _of(kind: Any, actions: list[tuple[int, WireStruct]]) -> list[Any]:
    return [action for _, action in actions if isinstance(action, kind)]


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)

"""Faults in the choice of the log files that make up a version."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import CorruptLog, LoadedTable, LogReader
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, build_checkpoint_snapshot, replay_commit
from deltaspec.protocol.actions import Action, Add, MetaData, Protocol, Remove
from deltaspec.protocol.json_values import parse_lossless
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    CompactionName,
    MultipartCheckpoint,
    checksum_name,
    compaction_name,
    parse_log_file_name,
)
from deltaspec.protocol.log.segment import Checkpoint, Segment, choose_segment, find_complete_checkpoints, list_commits
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry

MAX_FILE_BYTES = 1 << 26


def read_json(log: LogReader, name: str) -> Any:
    """Return the JSON value of a file of the log."""
    return msgspec.json.decode(log.store.read(f"{LOG_DIRECTORY}/{name}", MAX_FILE_BYTES))


def find_newest_checkpoint(log: LogReader) -> Checkpoint | None:
    """Return the newest complete checkpoint."""
    return next(reversed(find_complete_checkpoints(log.entries)), None)


@mutant(LogReader.read_state, "last-checkpoint.newer-found", suites=("snapshot", "read"), origin="ckpt-006")
def hint_taken_for_newest_version(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Takes the version in `_last_checkpoint` for the newest."""
    if version is None and "_last_checkpoint" in log.entries:
        stated = parse_lossless(log.store.read(f"{LOG_DIRECTORY}/_last_checkpoint", 1 << 20).decode()).value
        version = int(stated["version"]) if isinstance(stated, dict) else None
    state: LoadedTable = original(log, version)
    return state


@mutant(LogReader.read_state, "last-checkpoint.newer-found", suites=("snapshot", "read"))
def hinted_checkpoint_required(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Fails if the checkpoint that `_last_checkpoint` names was cleaned up, although there is a newer one."""
    if version is None and "_last_checkpoint" in log.entries:
        stated = parse_lossless(log.store.read(f"{LOG_DIRECTORY}/_last_checkpoint", 1 << 20).decode()).value
        named = int(stated["version"]) if isinstance(stated, dict) else None
        if named not in {each.version for each in find_complete_checkpoints(log.entries)}:
            raise CorruptLog(f"there is no checkpoint of version {named}")
    state: LoadedTable = original(log, version)
    return state


@mutant(LogReader.list_entries, "last-checkpoint.hint-not-needed", suites=("snapshot", "read"))
def checkpoints_only_found_by_hint(original: Method, log: LogReader) -> dict[str, Entry]:
    """Ignores checkpoints if `_last_checkpoint` is missing."""
    found: dict[str, Entry] = original(log)
    if "_last_checkpoint" in found:
        return found
    return {name: entry for name, entry in found.items() if ".checkpoint." not in name}


@mutant(LogReader.list_entries, "checkpoint.newest-preferred", suites=("snapshot", "read"))
def checkpoints_ignored(original: Method, log: LogReader) -> dict[str, Entry]:
    """Reads commits only, and fails once cleanup has removed the first ones."""
    return {name: entry for name, entry in original(log).items() if ".checkpoint." not in name}


@mutant(LogReader.list_entries, "checkpoint.newest-preferred", suites=("snapshot", "read"))
def uuid_checkpoints_ignored(original: Method, log: LogReader) -> dict[str, Entry]:
    """Does not recognize checkpoints whose name has a UUID."""
    return {
        name: entry for name, entry in original(log).items() if not (".checkpoint." in name and name.count("-") >= 4)
    }


@mutant(LogReader.list_entries, "checkpoint.newest-preferred", suites=("snapshot", "read"))
def json_checkpoints_ignored(original: Method, log: LogReader) -> dict[str, Entry]:
    """Takes only Parquet files for checkpoints."""
    found = original(log).items()
    return {name: entry for name, entry in found if not (".checkpoint." in name and name.endswith(".json"))}


@mutant(LogReader.list_entries, "checkpoint.newest-preferred", suites=("snapshot", "read"))
def multipart_checkpoints_ignored(original: Method, log: LogReader) -> dict[str, Entry]:
    """Does not recognize checkpoints with several parts."""
    return {
        name: entry
        for name, entry in original(log).items()
        if not isinstance(parse_log_file_name(name), MultipartCheckpoint)
    }


@mutant(LogReader.choose_segment, "log.replay-in-order", "checkpoint.not-counted-on", suites=("snapshot", "read"))
def commits_after_checkpoint_ignored(original: Method, log: LogReader, version: int | None) -> Segment:
    """Takes the newest checkpoint for the newest version."""
    newest = find_newest_checkpoint(log)
    segment: Segment = original(log, newest.version if version is None and newest is not None else version)
    return segment


@mutant(LogReader.choose_segment, "log.replay-in-order", suites=("snapshot", "read"))
def first_commit_after_checkpoint_skipped(original: Method, log: LogReader, version: int | None) -> Segment:
    """Starts to replay one commit too late after a checkpoint."""
    chosen: Segment = original(log, version)
    if chosen.checkpoint is None:
        return chosen
    return Segment(chosen.version, chosen.checkpoint, chosen.compactions, chosen.commits[1:])


@mutant(LogReader.choose_segment, "checkpoint.not-beyond-version", suites=("time-travel",))
def checkpoint_beyond_version_used(original: Method, log: LogReader, version: int | None) -> Segment:
    """Starts from the newest checkpoint even if it is newer than the version."""
    newest = find_newest_checkpoint(log)
    chosen: Segment = original(log, version)
    if newest is None or newest.version <= chosen.version:
        return chosen
    return Segment(chosen.version, newest, (), ())


@mutant(LogReader.choose_segment, "log.replay-in-order", suites=("snapshot", "read"))
def commits_counted_for_newest_version(original: Method, log: LogReader, version: int | None) -> Segment:
    """Takes the number of commits for the newest version, which cleanup makes wrong."""
    if version is None:
        checkpoints = [each.version for each in find_complete_checkpoints(log.entries)]
        version = max(len(list_commits(log.entries)) - 1, *checkpoints, 0)
    segment: Segment = original(log, version)
    return segment


@mutant(LogReader.choose_segment, "log.versions-contiguous", suites=("refuse",), origin="log-009")
def missing_commits_skipped(original: Method, log: LogReader, version: int | None) -> Segment:
    """Replays the commits that it finds, and does not notice a missing one."""
    commits = list_commits(log.entries)
    newest = commits[-1] if commits else 0
    at = newest if version is None else version
    older = [each for each in find_complete_checkpoints(log.entries) if each.version <= at]
    base = older[-1] if older else None
    start = base.version + 1 if base else 0
    return Segment(at, base, (), tuple(each for each in commits if start <= each <= at))


@mutant(LogReader.choose_segment, "checkpoint.incomplete-ignored", suites=("refuse",), origin="ckpt-009")
def incomplete_checkpoint_used(original: Method, log: LogReader, version: int | None) -> Segment:
    """Uses a checkpoint of several parts although one of them is missing."""
    parts: dict[int, list[str]] = {}
    for name in sorted(log.entries):
        parsed = parse_log_file_name(name)
        if isinstance(parsed, MultipartCheckpoint):
            parts.setdefault(parsed.version, []).append(name)
    if version is not None or not parts:
        segment: Segment = original(log, version)
        return segment
    newest = max(parts)
    commits = tuple(each for each in list_commits(log.entries) if each > newest)
    return Segment(max([newest, *commits]), Checkpoint(newest, "multipart", tuple(parts[newest])), (), commits)


@mutant(LogReader.choose_segment, "checkpoint.several-of-one-version", suites=("snapshot", "read"))
def several_checkpoints_of_a_version_refused(original: Method, log: LogReader, version: int | None) -> Segment:
    """Refuses a log with two checkpoints of the same version."""
    chosen: Segment = original(log, version)
    versions = [each.version for each in find_complete_checkpoints(log.entries)]
    if chosen.checkpoint is not None and versions.count(chosen.checkpoint.version) > 1:
        raise CorruptLog(f"two checkpoints of version {chosen.checkpoint.version}")
    return chosen


@mutant(LogReader.read_commit, "log.commit-lines", suites=("refuse",))
def damaged_commit_read_as_empty(original: Method, log: LogReader, version: int) -> list[Any]:
    """Skips commits that cannot be parsed."""
    try:
        actions: list[Any] = original(log, version)
    except CorruptLog:
        return []
    return actions


@mutant(LogReader.build_state, "checksum.absence-tolerated", suites=("snapshot", "read"))
def checksum_required(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Refuses versions without a checksum."""
    if f"{snapshot.version:020}.crc" not in log.entries:
        raise CorruptLog(f"version {snapshot.version} has no checksum")
    state: LoadedTable = original(log, snapshot)
    return state


@mutant(
    LogReader.build_state,
    "checksum.absence-tolerated",
    "metadata.replaces-whole",
    suites=("snapshot", "read"),
    origin="crc-003",
)
def older_checksum_trusted(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Takes protocol and metadata from the newest checksum, even if it belongs to an older version."""
    checksums = [each for each in map(parse_log_file_name, log.entries) if isinstance(each, ChecksumName)]
    versions = [each.version for each in checksums if each.version <= snapshot.version]
    if versions:
        stated = read_json(log, checksum_name(max(versions)))
        protocol = msgspec.convert(stated["protocol"], Protocol)
        snapshot = replace(snapshot, protocol=protocol, metadata=msgspec.convert(stated["metadata"], MetaData))
    state: LoadedTable = original(log, snapshot)
    return state


def read_with_compactions(
    log: LogReader, version: int | None, change: Callable[[list[Action]], list[Action]]
) -> LoadedTable:
    """Return the state of a version, read from compactions where they fit, with their actions changed."""
    segment = choose_segment(log.entries, at=version, use_compactions=True)
    snapshot = EMPTY_SNAPSHOT
    if segment.checkpoint is not None:
        snapshot = build_checkpoint_snapshot(segment.checkpoint.version, log.read_checkpoint(segment.checkpoint))
    steps: list[tuple[int, CompactionName | None]] = [(each, None) for each in segment.commits]
    steps += [(each.end, each) for each in segment.compactions]
    for end, compaction in sorted(steps, key=lambda each: each[0]):
        if compaction is None:
            snapshot = replay_commit(snapshot, end, log.read_commit(end))
        else:
            name = compaction_name(compaction.start, compaction.end)
            snapshot = replay_commit(snapshot, end, change(log.read_actions(name)))
    return log.build_state(snapshot)


@mutant(LogReader.read_state, "compaction.replaces-commits", suites=("snapshot", "read"))
def removes_in_compactions_ignored(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Reads the adds of a log compaction and ignores its removes."""
    return read_with_compactions(
        log, version, lambda actions: [each for each in actions if not isinstance(each, Remove)]
    )


@mutant(LogReader.read_state, "compaction.replaces-commits", suites=("snapshot",))
def compactions_read_for_files_only(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Takes only adds and removes from a log compaction, so that metadata and transactions in it are lost."""
    return read_with_compactions(
        log, version, lambda actions: [each for each in actions if isinstance(each, Add | Remove)]
    )


@mutant(LogReader.choose_segment, "compaction.replaces-commits", suites=("snapshot", "read"))
def commit_after_compaction_skipped(original: Method, log: LogReader, version: int | None) -> Segment:
    """Believes that a log compaction also covers the commit after its last one."""
    chosen: Segment = original(log, version)
    compactions = choose_segment(log.entries, at=version, use_compactions=True).compactions
    skipped = {each.end + 1 for each in compactions}
    return replace(chosen, commits=tuple(each for each in chosen.commits if each not in skipped))


@mutant(LogReader.read_commit, "compaction.replaces-commits", suites=("snapshot", "read", "time-travel"))
def compaction_read_for_its_first_commit(original: Method, log: LogReader, version: int) -> list[Action]:
    """Takes a log compaction for the commit with its first version."""
    names = [parsed for name in log.entries if isinstance(parsed := parse_log_file_name(name), CompactionName)]
    found = next((each for each in names if each.start == version), None)
    actions: list[Action] = (
        original(log, version) if found is None else log.read_actions(compaction_name(found.start, found.end))
    )
    return actions

"""Suite time travel: earlier versions, by number and by timestamp."""

import datetime
import itertools

from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.messages import At, Scan, Snapshot
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, check, describe_refusal
from deltaspec.suites.outcomes import FILE_TIMES, Cause
from deltaspec.suites.read import compare_rows
from deltaspec_generators.table_files import LOG
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable


def _require(candidate: Candidate, form: str) -> None:
    if form not in candidate.capabilities.at:
        raise NotAsked(f"the candidate cannot travel to a {form.removesuffix('_ms')}")


@check("time-travel", "log.replay-in-order", "table.snapshot-isolation")
def check_every_version(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The rows of every readable version."""
    _require(candidate, "version")
    for each in subject.table.versions:
        answer = candidate.scan(Scan(str(subject.location), "", at=At(version=each.version)))
        try:
            compare_rows(each.rows, answer.table, version=each)
        except Mismatch as error:
            raise error.with_text(f"at version {each.version}: {error}") from None
        notes.add("versions", 1)


def describe_commit_times(table: ReadableTable) -> list[str]:
    """Return a line for each version: its timestamp, and the modification time of its commit file if that differs."""
    lines = []
    for each in table.versions:
        written = table.files.written_ms.get(LOG + commit_name(each.version), each.timestamp_ms)
        source = "in-commit timestamp" if _has_in_commit_timestamp(each) else "modification time of the commit file"
        other = f"; modification time {_show_time(written)}" if written != each.timestamp_ms else ""
        lines.append(f"  version {each.version}: {_show_time(each.timestamp_ms)}, {source}{other}")
    return lines


def _show_time(milliseconds: int) -> str:
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return f"{milliseconds} ({moment:%Y-%m-%d %H:%M:%S.}{milliseconds % 1000:03} UTC)"


def _has_in_commit_timestamp(version: ExpectedVersion) -> bool:
    return version.state.is_enabled(IN_COMMIT_TIMESTAMPS)


def _find_cause(table: ReadableTable, moment: int, actual: int) -> Cause:
    """Return the cause of a wrong version at a timestamp: the version by the times of files, or any other."""
    if actual == _find_version_by_file_times(table, moment):
        return FILE_TIMES
    return Cause("wrong version at a timestamp", ("table.snapshot-isolation",))


def _find_version_by_file_times(table: ReadableTable, moment: int) -> int | None:
    found, latest = None, 0
    for each in table.versions:
        latest = max(latest, table.files.written_ms.get(LOG + commit_name(each.version), each.timestamp_ms))
        found = each.version if latest <= moment else found
    return found


def _has_commit_times(table: ReadableTable) -> bool:
    return bool(table.files.written_ms)


@check("time-travel", needs=_has_commit_times, operation="snapshot")
def check_timestamps(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The version at the timestamp of every commit, and between two commits."""
    _require(candidate, "timestamp_ms")
    versions = subject.table.versions
    moments = [(each.timestamp_ms, each.version) for each in versions]
    for each, later in itertools.pairwise(versions):
        moments.append(((each.timestamp_ms + later.timestamp_ms) // 2, each.version))
        moments.append((later.timestamp_ms - 1, each.version))
    for moment, version in sorted(set(moments)):
        try:
            answer = candidate.snapshot(Snapshot(str(subject.location), at=At(timestamp_ms=moment)))
        except Refused as error:
            if error.refusal.category != "not-found" or _find_version_by_file_times(subject.table, moment) is not None:
                raise
            text = f"refused: {describe_refusal(error.refusal)}\n  at timestamp {moment}: expected version {version}"
            text = "\n".join([text, *describe_commit_times(subject.table)])
            raise Mismatch(text, FILE_TIMES) from None
        if answer.version != version:
            head = f"wrong version at timestamp {moment}: expected {version}, got {answer.version}"
            raise Mismatch(
                "\n".join([head, *describe_commit_times(subject.table)]),
                _find_cause(subject.table, moment, answer.version),
            )
        notes.add("timestamps", 1)

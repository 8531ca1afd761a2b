"""Suite time travel: earlier versions, by number and by timestamp."""

import itertools

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.messages import At, Scan, Snapshot
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, check
from deltaspec.suites.read import compare_rows
from deltaspec_generators.tables.readable import ReadableTable


def _require(candidate: Candidate, form: str) -> None:
    if form not in candidate.capabilities.at:
        raise NotAsked(f"the candidate cannot travel to a {form.removesuffix('_ms')}")


def _prefix(at: str, message: Mismatch) -> Mismatch:
    return Mismatch(f"at {at}: {message}")


@check("time-travel", "log.replay-in-order", "table.snapshot-isolation")
def check_every_version(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The rows of every readable version."""
    _require(candidate, "version")
    for each in subject.table.versions:
        answer = candidate.scan(Scan(str(subject.location), "", at=At(version=each.version)))
        try:
            compare_rows(each.rows, answer.table)
        except Mismatch as error:
            raise _prefix(f"version {each.version}", error) from None
        notes.add("versions", 1)


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
        answer = candidate.snapshot(Snapshot(str(subject.location), at=At(timestamp_ms=moment)))
        if answer.version != version:
            raise Mismatch(f"wrong version at timestamp {moment}: expected {version}, got {answer.version}")
        notes.add("timestamps", 1)

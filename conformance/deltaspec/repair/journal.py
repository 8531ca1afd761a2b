"""The journal of a plan's application: what was begun and what was done, one JSON line each.

A line is on disk before the step that it announces, so that a later process can continue or undo the steps. It contains
names and digests, and no content of the table.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.output_files import translate_write_errors
from deltaspec.repair.plan_format import LogFileDigest

JOURNAL_FILE = "journal.jsonl"
MAX_JOURNAL_BYTES = 64 << 20
Event = Literal["begin", "create", "created", "copied", "delete", "deleted", "left", "lost", "end", "undo", "undone"]
"""`create` and `delete` announce a step of one file, `created` and `deleted` end it; `left` says that a file was not
changed, because another process had changed it. The others concern the plan: `lost` if another writer committed first.
"""
_CLOSED: tuple[Event, ...] = ("lost", "undone")
_JSON = msgspec.json.Encoder()


class JournalLine(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One event."""

    event: Event
    time_ms: int
    name: str | None = None
    """File of the log, relative to `_delta_log`."""
    plan: str | None = None
    """SHA-256 of `plan.json`, in `begin`."""
    set_aside: list[LogFileDigest] = []
    """In `begin`: every file that is set aside, in this order."""
    reason: str | None = None


class Journal:
    """The lines since the last `begin`, and the open file that new lines are appended to."""

    def __init__(self, path: Path, handle: int, lines: list[JournalLine]) -> None:
        self._path, self._handle = path, handle
        starts = [number for number, each in enumerate(lines) if each.event == "begin"]
        self.lines = lines[starts[-1] :] if starts else []

    @property
    def is_open(self) -> bool:
        """An application was begun, and neither lost nor undone."""
        return bool(self.lines) and not any(each.event in _CLOSED for each in self.lines)

    @property
    def is_finished(self) -> bool:
        """All steps were done, and none was undone."""
        return self.is_open and self.has("end")

    def has(self, event: Event, name: str | None = None) -> bool:
        """Return whether the current application has an event, of a file if one is named."""
        return any(each.event == event and each.name == name for each in self.lines)

    def add(
        self,
        event: Event,
        name: str | None = None,
        *,
        plan: str | None = None,
        set_aside: list[LogFileDigest] | None = None,
        reason: str | None = None,
    ) -> None:
        """Append an event; it is on disk when this returns. Raise `InvalidUsage` if it cannot be written."""
        line = JournalLine(event, time.time_ns() // 1_000_000, name, plan, set_aside or [], reason)
        with translate_write_errors(str(self._path)):
            data = memoryview(_JSON.encode(line) + b"\n")
            while data:
                data = data[os.write(self._handle, data) :]
            os.fsync(self._handle)
        self.lines = [line] if event == "begin" else [*self.lines, line]


@contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """Open the journal of a plan folder for this process alone, and create it if it does not exist.

    A last line without an end is what a killed process left; the step that it announces was not begun.

    Raises:
        InvalidUsage: another process uses it, it cannot be written, or it is not a journal.
    """
    path = folder / JOURNAL_FILE
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with translate_write_errors(str(path)):
        handle = os.open(path, flags, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            raise InvalidUsage(f"{folder}: another process applies this plan; wait for it, or stop it") from fault
        data = os.pread(handle, MAX_JOURNAL_BYTES + 1, 0)
        if len(data) > MAX_JOURNAL_BYTES:
            raise InvalidUsage(f"{path}: has more than {MAX_JOURNAL_BYTES:,} bytes")
        complete, _, rest = data.rpartition(b"\n")
        if rest:
            with translate_write_errors(str(path)):
                os.ftruncate(handle, len(data) - len(rest))
        try:
            lines = [msgspec.json.decode(each, type=JournalLine) for each in complete.splitlines()]
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise InvalidUsage(f"{path}: is not a journal: {fault}") from fault
        yield Journal(path, handle, lines)
    finally:
        os.close(handle)


def sync_directory(folder: Path) -> None:
    """Flush the names of a directory to disk. Raise `InvalidUsage` if that fails."""
    with translate_write_errors(str(folder)):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

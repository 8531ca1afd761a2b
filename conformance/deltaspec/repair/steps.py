"""The steps of an application: create a file, set a file aside, and the reverse of both.

Every step leaves a readable table: the commit comes first, because only its creation shows whether another writer was
faster; then the hint and derived files that are wrong are set aside; then correct ones are written, the hint last. A
step is announced in the journal before it begins, so that a later process continues or undoes it.
"""

from collections.abc import Callable
from hashlib import sha256

from deltaspec.errors import InvalidUsage
from deltaspec.output_files import write_file
from deltaspec.protocol.log.file_names import parse_log_file_name
from deltaspec.protocol.log.segment import SegmentError, choose_segment, find_complete_checkpoints
from deltaspec.repair.journal import Journal, sync_directory
from deltaspec.repair.plan_checks import (
    HINT,
    check_readable,
    check_table,
    is_checkpoint,
    is_needed_to_read,
    order_set_aside,
    order_writes,
    parse_hint_version,
    read_hint_version,
    returns_to_version,
)
from deltaspec.repair.plan_folder import MAX_CONTENT_BYTES, LoadedPlan
from deltaspec.repair.plan_format import LogFileDigest
from deltaspec.repair.refusal import PlanRefused
from deltaspec.repair.table_writer import TableWriter, require_exclusive_creation
from deltaspec.repair.verdicts import Validate
from deltaspec.validation.options import Options
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, FileGone, Store

ASIDE_FOLDER = "aside"
Say = Callable[[str], object]
"""Receives a line about each step."""


class Application:
    """One process that applies or undoes a plan."""

    def __init__(
        self,
        loaded: LoadedPlan,
        store: Store,
        writer: TableWriter,
        journal: Journal,
        options: Options,
        say: Say,
        validate: Validate,
    ) -> None:
        self.plan, self.loaded = loaded.plan, loaded
        self.store, self.writer, self.journal, self.say = store, writer, journal, say
        self.options, self.validate = options, validate
        self.aside = loaded.folder / ASIDE_FOLDER

    def apply(self) -> None:
        if self.journal.has("undo") and self.journal.is_open:
            raise InvalidUsage(f"{self.loaded.folder}: an undo was begun; finish it with --undo first")
        self._delete_temporary()
        if not self.journal.is_open:
            self._begin()
        self._check_journal()
        require_exclusive_creation(self.writer, self.loaded.token)
        if self.plan.commit is not None:
            self._commit(self.plan.commit)
        after = {each.name for each in self.plan.set_aside_after}
        aside = self.journal.lines[0].set_aside
        for each in aside:
            if each.name not in after:
                self._set_aside(each)
        for each in order_writes(self.plan.writes):
            self._write(each)
        if after and not self.journal.has("end"):
            check_readable(self._list_names() - {each.name for each in aside}, self.plan.version)
        for each in aside:
            if each.name in after:
                self._set_aside(each)
        self.journal.add("end")

    def undo(self) -> None:
        self._check_journal()
        self._delete_temporary()
        self.journal.add("undo")
        after = {each.name for each in self.plan.set_aside_after}
        aside = [each for each in reversed(self.journal.lines[0].set_aside) if self.journal.has("delete", each.name)]
        for each in aside:
            if each.name in after:
                self._restore(each)
        for each in reversed(order_writes(self.plan.writes)):
            if self.journal.has("create", each.name):
                self._take_back(each)
        for each in aside:
            if each.name not in after and self._is_restorable(each.name):
                self._restore(each)
        commit = self.plan.commit
        self.journal.add("undone")
        if commit is not None and self._digest(commit.name) == commit.sha256:
            self.say(
                f"commit {commit.name} stays: readers may have read it, and a writer may build upon it. To get the "
                f"rows of version {self.plan.version} back, run RESTORE TABLE to that version"
            )

    def _begin(self) -> None:
        """Check everything, and begin the journal with all files that are set aside."""
        listed = self._list()
        check_table(self.loaded, self.store, listed, self.options, self.validate)
        names = {entry.name: entry for entry in listed}
        created = [*self.plan.writes, *([] if self.plan.commit is None else [self.plan.commit])]
        aside: list[LogFileDigest] = []
        for each in (*order_set_aside(self.plan.set_aside), *self.plan.set_aside_after):
            aside += [*self._list_hadoop_checksum(each.name, names), each]
        aside_names = {each.name for each in aside}
        for each in created:
            aside += [found for found in self._list_hadoop_checksum(each.name, names) if found.name not in aside_names]
        for each in aside:
            self.writer.stamp(each.name)  # refuses links
        self.journal.add("begin", plan=self.loaded.sha256, set_aside=aside)
        sync_directory(self.loaded.folder)

    def _list_hadoop_checksum(self, name: str, listed: dict[str, Entry]) -> list[LogFileDigest]:
        """Return the checksum file that Hadoop wrote for a file: Spark could not read another file of that name."""
        entry = listed.get(f".{name}.crc")
        if entry is None or "/" in name:
            return []
        data = self.store.read(f"{LOG_DIRECTORY}/{entry.name}", MAX_CONTENT_BYTES)
        return [LogFileDigest(entry.name, len(data), sha256(data).hexdigest())]

    def _check_journal(self) -> None:
        """Check that the journal is of this plan, and names only files that this plan sets aside."""
        begin = self.journal.lines[0]
        planned = {each.name: each for each in (*self.plan.set_aside, *self.plan.set_aside_after)}
        changed = {*planned, *self.loaded.contents}
        for each in begin.set_aside:
            is_checksum = "/" not in each.name and _get_checked_name(each.name) in changed
            if each != planned.get(each.name) and not is_checksum:
                raise InvalidUsage(f"{self.loaded.folder}: the journal sets {each.name} aside, and the plan does not")
        if begin.plan != self.loaded.sha256:
            raise InvalidUsage(f"{self.loaded.folder}: the journal is of another plan; make a new plan in a new folder")

    def _commit(self, commit: LogFileDigest) -> None:
        """Create the commit if no commit has its version."""
        if self.journal.has("created", commit.name):
            return
        self.journal.add("create", commit.name)
        is_latest = self._find_latest() == self.plan.version
        is_created = is_latest and self.writer.create(commit.name, self.loaded.contents[commit.name])
        # a store may have stored the commit without an answer
        if not is_created and self._digest(commit.name) != commit.sha256:
            self.journal.add("lost")
            raise PlanRefused(
                f"another writer committed after version {self.plan.version}, and nothing was changed; make a new plan"
            )
        self.journal.add("created", commit.name)
        self.say(f"committed {commit.name}")

    def _set_aside(self, each: LogFileDigest) -> None:
        """Copy a file out of the table, compare the copy, and delete the file if it is still the same."""
        journal = self.journal
        if journal.has("deleted", each.name) or journal.has("left", each.name):
            return
        stamp = self.writer.stamp(each.name)
        if stamp is None:
            if journal.has("delete", each.name):
                self._end_delete(each.name)
            else:
                self._leave(each.name, "no longer exists")
            return
        if self._digest(each.name) != each.sha256:
            self._leave(each.name, "another process replaced it")
            return
        if not journal.has("copied", each.name):
            self._copy(each)
            journal.add("copied", each.name)
        if is_needed_to_read(each.name):
            self._require_readable_without(each.name)
        journal.add("delete", each.name)
        if self.writer.stamp(each.name) != stamp:
            self._leave(each.name, "another process replaced it")
            return
        self.writer.delete(each.name)
        if is_needed_to_read(each.name):
            self._restore_if_needed(each)
        self._end_delete(each.name)

    def _write(self, each: LogFileDigest) -> None:
        """Create a derived file, unless another process created one of that name."""
        if self.journal.has("created", each.name) or self.journal.has("left", each.name):
            return
        if each.name == HINT and not self._has_checkpoint_of_hint():
            self._leave(each.name, "the checkpoint that it would name was not written")
            return
        self.journal.add("create", each.name)
        is_created = self.writer.create(each.name, self.loaded.contents[each.name])
        if not is_created and self._digest(each.name) != each.sha256:
            self._leave(each.name, "another process wrote a file of this name")
            return
        self.journal.add("created", each.name)
        self.say(f"wrote {each.name}")

    def _take_back(self, each: LogFileDigest) -> None:
        """Delete a file that the application created, unless it was replaced since."""
        if self._digest(each.name) != each.sha256:
            return
        if is_needed_to_read(each.name):
            self._require_readable_without(each.name)
        self.writer.delete(each.name)
        self.say(f"deleted {each.name}")

    def _is_restorable(self, name: str) -> bool:
        """Return whether a file may be restored: a checksum of Hadoop only with the file that it was written for."""
        checked = _get_checked_name(name)
        digests = {each.name: each.sha256 for each in (*self.plan.set_aside, *self.plan.set_aside_after)}
        return checked is None or (checked in digests and self._digest(checked) == digests[checked])

    def _restore(self, each: LogFileDigest) -> None:
        """Create a file that was set aside again, unless another process created one of that name."""
        data = self._read_copy(each)
        if self.writer.create(each.name, data):
            self.say(f"restored {each.name}")
        elif self._digest(each.name) != each.sha256:
            self._leave(each.name, "another process wrote a file of this name")

    def _copy(self, each: LogFileDigest) -> None:
        copy = self.aside / each.name
        self.aside.mkdir(mode=0o700, exist_ok=True)
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        write_file(copy, self.store.read(f"{LOG_DIRECTORY}/{each.name}", each.size_bytes))
        sync_directory(copy.parent)
        self._read_copy(each)

    def _read_copy(self, each: LogFileDigest) -> bytes:
        """Return the copy of a file that was set aside. Raise `InvalidUsage` if it is not what the journal states."""
        path = self.aside / each.name
        try:
            data = path.read_bytes()
        except OSError as fault:
            raise InvalidUsage(f"{path}: cannot be read: {fault.strerror}") from fault
        if sha256(data).hexdigest() != each.sha256:
            raise InvalidUsage(f"{path}: is not a copy of the file that was set aside")
        return data

    def _restore_if_needed(self, each: LogFileDigest) -> None:
        """Restore a checkpoint at once if a cleanup has deleted commits that were complete before."""
        try:
            self._check_readable(self._list_names())
        except PlanRefused:
            self.writer.create(each.name, self._read_copy(each))
            raise

    def _require_readable_without(self, name: str) -> None:
        """Raise `PlanRefused` if the table could not be read without a checkpoint, or a hint names it."""
        self._check_readable(self._list_names() - {name})
        if not is_checkpoint(name):
            return
        version = getattr(parse_log_file_name(name), "version", None)
        if read_hint_version(self.store) == version:
            raise PlanRefused(
                f"`{HINT}`, which another process has written, names {name}; stop the writers, and try again"
            )

    def _check_readable(self, names: set[str]) -> None:
        """Raise `PlanRefused` if these files do not make up the version that the plan keeps, or a later one."""
        if returns_to_version(self.plan):  # the latest version cannot be read before all files are set aside
            check_readable(names - {each.name for each in self.plan.set_aside}, 0)
        else:
            check_readable(names, self.plan.version)

    def _has_checkpoint_of_hint(self) -> bool:
        """Return whether the checkpoint that the plan's hint names is complete."""
        complete = {each.version for each in find_complete_checkpoints(self._list_names())}
        return parse_hint_version(self.loaded.contents[HINT]) in complete

    def _leave(self, name: str, reason: str) -> None:
        self.journal.add("left", name, reason=reason)
        self.say(f"left {name}: {reason}")

    def _end_delete(self, name: str) -> None:
        self.journal.add("deleted", name)
        self.say(f"set {name} aside")

    def _digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file of the log; None if there is none."""
        try:
            return sha256(self.store.read(f"{LOG_DIRECTORY}/{name}", MAX_CONTENT_BYTES)).hexdigest()
        except FileGone:
            return None

    def _find_latest(self) -> int | None:
        """Return the latest version of the log; None if it cannot be read."""
        try:
            return choose_segment(self._list_names() - {each.name for each in self.plan.set_aside}).version
        except SegmentError:
            return None

    def _list(self) -> list[Entry]:
        return [each for each in self.store.list_log() if not each.name.startswith(f".deltaspec-{self.loaded.token}")]

    def _list_names(self) -> set[str]:
        return {entry.name for entry in self._list()}

    def _delete_temporary(self) -> None:
        for name in self.writer.list_temporary():
            self.writer.delete(name)


def _get_checked_name(name: str) -> str | None:
    """Return the file that a checksum file of Hadoop is for; None for other names."""
    return name[1:-4] if name.startswith(".") and name.endswith(".crc") else None

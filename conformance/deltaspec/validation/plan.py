"""The plan of a run: the files of the log that it reads, replays and compares, and why it does not read the others."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby, islice, pairwise

import msgspec
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    CommitName,
    CompactionName,
    LastCheckpointName,
    LogFileName,
    MultipartCheckpoint,
    OtherFile,
    SidecarName,
    StagedCommit,
    checksum_name,
    commit_name,
    compaction_name,
    is_defined,
    parse_log_file_name,
)
from deltaspec.protocol.log.segment import (
    BrokenLog,
    Checkpoint,
    NoCommits,
    VersionMissing,
    choose_segment,
    find_commit_ranges,
    find_complete_checkpoints,
    find_readable_ranges,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.report.report_types import DerivedFileNotCompared, FilesNotRead, MissingCommits, VersionAt
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry

MAX_LISTED_GAPS = 1000
"""Number of missing commits that are listed: a single odd file name can make billions of commits appear missing."""
SNAPSHOT = "snapshot"
"""History that reads what a snapshot needs and compares nothing."""
MAX_RANGES = 100
"""Ranges of commits before the validated history that are read: every gap costs a replay."""
MAX_UNREAD_FILES = 1000
"""Names of unread files that a report lists for each reason."""


NO_VERSION = -1
"""Version of the plan of an emptied log."""
EMPTIED = "the log has neither a commit nor a complete checkpoint"
UNPUBLISHED = "no commit is published, and only the catalog knows which staged commits are part of the table"


class EmptiedLog(TableUnreadable):
    """The log directory exists, but has neither a commit nor a complete checkpoint."""


class Plan(msgspec.Struct, frozen=True, dict=True):
    """The files that a run reads, from one pinned listing."""

    version: int
    """The validated version; `NO_VERSION` if the log was emptied, or nothing is published yet."""
    entries: dict[str, Entry]
    """The listing without files that the revision does not define, by name relative to `_delta_log`."""
    revision: Revision
    base: Checkpoint | None
    """Checkpoint that the validated history starts from; None starts from version 0."""
    commits: tuple[int, ...]
    """Versions of the commits that are replayed, ascending."""
    compared_checkpoints: tuple[Checkpoint, ...]
    """Other complete checkpoints, from the version of the base on, which replay must reproduce."""
    compactions: tuple[CompactionName, ...]
    checksums: tuple[int, ...]
    has_hint: bool
    missing: tuple[int, ...]
    """First commits that the version needs and that are not listed; empty for a valid log."""
    ignored: tuple[Entry, ...] = ()
    """Listed files that the revision does not define."""
    missing_in_revision: tuple[int, ...] = ()
    """First commits that the version needs in the revision, which does not define a checkpoint of this plan."""
    earlier_commits: tuple[int, ...] = ()
    """Commits up to the version of the base, ascending and without a gap. They are not replayed. They are checked one
    by one and compared with the base."""
    all_checkpoints: tuple[Checkpoint, ...] = ()
    not_compared: tuple[DerivedFileNotCompared, ...] = ()
    not_read: tuple[FilesNotRead, ...] = ()
    gaps: tuple[MissingCommits, ...] = ()
    """Missing commits that the version does not need."""
    is_range: bool = False
    """It is part of the log before the validated history."""
    earlier_ranges: tuple[Plan, ...] = ()
    """Parts of the log before the validated history. Missing commits separate them from each other and from it."""
    at: VersionAt | None = None
    """How the version was found, if the user named a time; None otherwise."""
    listed: tuple[Entry, ...] | None = None
    """The listing as it is, if a catalog was asked: `entries` then has what it ratified under the names of published
    commits. None without a catalog."""
    is_unpublished: bool = False
    """The log has only staged commits, and nothing that a published commit leaves behind."""

    @cached_property
    def listed_checkpoints(self) -> tuple[Checkpoint, ...]:
        """Complete checkpoints of the listing, also of later versions than the catalog knows."""
        if self.listed is None:
            return self.all_checkpoints
        return tuple(
            find_complete_checkpoints(each.name for each in self.listed if is_defined(each.name, self.revision))
        )

    @cached_property
    def commits_after_gaps(self) -> set[int]:
        """Listed commits whose predecessor is missing."""
        if not self.missing:
            return set()
        listed = set(self.commits)
        return {version for version in self.commits if version - 1 not in listed}

    @cached_property
    def compared_versions(self) -> set[int]:
        """Versions of the derived files and of the base."""
        versions = {each.version for each in self.all_checkpoints} | {each.end for each in self.compactions}
        versions |= {getattr(parse_log_file_name(name), "version", -1) for name in self._incomplete_parts}
        return versions | set(self.checksums) | ({self.base.version} if self.base else set())

    @property
    def history_is_complete(self) -> bool:
        """The plan has every commit from version 0 to the validated one."""
        return self.base is None and bool(self.commits) and self.commits[0] == 0

    @property
    def first_commit(self) -> int:
        """First commit from which all commits are read, up to the validated version."""
        return min((*self.earlier_commits[:1], *self.commits[:1]), default=self.version + 1)

    def has_commits_of(self, compaction: CompactionName) -> bool:
        """Return whether every commit of a compaction is read."""
        return not self.missing and self.first_commit <= compaction.start

    def is_replayed(self, version: int) -> bool:
        """Return whether replay knows the files of a version."""
        start = self.base.version if self.base is not None else min(self.commits, default=self.version + 1)
        return not self.missing and version >= start

    @property
    def read_files(self) -> Iterator[str]:
        """Names of the commits, checkpoints without sidecars, compactions and checksums that are read."""
        yield from map(commit_name, (*self.earlier_commits, *self.commits))
        for checkpoint in (*self.compared_checkpoints, *([self.base] if self.base else [])):
            yield from checkpoint.files
        yield from (compaction_name(each.start, each.end) for each in self.compactions)
        yield from map(checksum_name, self.checksums)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Size in bytes of every listed file, by name."""
        return {name: entry.size_bytes for name, entry in self.entries.items()}

    @cached_property
    def _incomplete_parts(self) -> list[str]:
        """Parts of multipart checkpoints that are incomplete."""
        complete = {name for each in self.all_checkpoints for name in each.files}
        candidates = (name for name in self.entries if ".checkpoint." in name and name not in complete)
        return [name for name in candidates if isinstance(parse_log_file_name(name), MultipartCheckpoint)]


def parse_history(value: str | int) -> str:
    """Check a history: `latest`, `all`, or a number of versions from 1.

    Raises:
        InvalidUsage: it is none of these.
    """
    history = str(value)
    if history not in ("latest", "all") and not (history.isascii() and history.isdigit() and int(history) > 0):
        raise InvalidUsage(f"invalid history {history!r}; choose latest, all, or a number of versions from 1")
    return history


def build_plan(
    uri: str,
    listed: list[Entry],
    *,
    at: int | None,
    history: str,
    revision: Revision = Revision.CURRENT,
    since: int | None = None,
) -> Plan:
    """Choose the files of the log to read.

    Args:
        uri: the table, for messages.
        listed: the pinned listing of `_delta_log`.
        at: the version to validate; None for the latest.
        history: `latest`, `all`, or how many versions to go back. `snapshot` compares nothing.
        revision: protocol revision. Files that it does not define are not read, unless the version needs them: a table
            with such a checkpoint may require a feature that the revision does not define.
        since: version after which every commit is read, whatever the history; None for none.

    Raises:
        EmptiedLog: the listing has neither a commit nor a complete checkpoint.
        InvalidUsage: the version does not exist.
    """
    plan = _build_plan(uri, listed, at=at, history=history, revision=revision, since=since)
    if plan.missing and revision is not Revision.CURRENT:
        complete = _build_plan(uri, listed, at=at, history=history, revision=Revision.CURRENT, since=since)
        if not complete.missing:
            return replace(complete, revision=revision, missing_in_revision=plan.missing)
    return plan


def plan_emptied_log(listed: list[Entry], history: str, revision: Revision) -> Plan:
    """Plan a run over a log without commits and complete checkpoints: nothing is replayed.

    Commit 0 is missing, unless the log belongs to a catalog-managed table whose commits are not published yet.
    """
    entries = {entry.name: entry for entry in listed if is_defined(entry.name, revision)}
    log = _Log(entries, NO_VERSION, history, revision, None)
    unread = [name for name in entries if not isinstance(parse_log_file_name(name), LastCheckpointName)]
    is_unpublished = _is_unpublished(entry.log_name for entry in entries.values())
    return replace(
        log.plan_nothing(),
        missing=(0,),
        has_hint=len(unread) < len(entries),
        ignored=tuple(entry for entry in listed if entry.name not in entries),
        not_read=(list_unread_files(UNPUBLISHED if is_unpublished else EMPTIED, unread),) if unread else (),
        is_unpublished=is_unpublished,
    )


def _is_unpublished(names: Iterable[LogFileName]) -> bool:
    """Return whether a log without commits has staged commits and nothing else that needs a published commit.

    A version checksum may precede the publication of its commit.
    """
    kinds = {type(name) for name in names} - {OtherFile, ChecksumName}
    return kinds == {StagedCommit}


def _build_plan(
    uri: str, listed: list[Entry], *, at: int | None, history: str, revision: Revision, since: int | None
) -> Plan:
    entries = {entry.name: entry for entry in listed if is_defined(entry.name, revision)}
    needs_commits = False
    try:
        version = choose_segment(entries, at=at).version
    except NoCommits as fault:
        if _is_unpublished(entry.log_name for entry in entries.values()):
            raise EmptiedLog(f"{uri}: {UNPUBLISHED}") from fault
        raise EmptiedLog(f"{uri}: {LOG_DIRECTORY} has neither a commit nor a complete checkpoint") from fault
    except VersionMissing as fault:
        names = (entry.log_name for entry in entries.values())
        staged = any(isinstance(name, StagedCommit) and name.version == at for name in names)
        why = f"; only the catalog knows whether a staged commit of version {at} is ratified" if staged else ""
        raise InvalidUsage(f"{uri}: version {at} is not readable; {_describe_readable(entries)}{why}") from fault
    except BrokenLog as fault:
        version, needs_commits = fault.version, True
    log = _Log(entries, version, history, revision, since)
    plan = log.plan_broken_history() if needs_commits else log.plan_history()
    if history == "all":
        plan = log.plan_remaining_files(plan)
    ignored = tuple(entry for entry in listed if entry.name not in entries)
    return replace(plan, gaps=log.find_gaps(plan), ignored=ignored, not_read=log.explain_unread_files(plan, ignored))


def _describe_readable(names: Iterable[str]) -> str:
    ranges = [f"{first} to {last}" if last > first else str(first) for first, last in find_readable_ranges(names)]
    return f"versions {', '.join(ranges)} are" if ranges else "no version is"


class _Log:
    """The log up to the validated version, and the history to read of it."""

    def __init__(
        self, entries: dict[str, Entry], version: int, history: str, revision: Revision, since: int | None
    ) -> None:
        self._entries, self._version, self._history, self._revision = entries, version, history, revision
        self._since = version if since is None else since
        self._names = {name: entry.log_name for name, entry in entries.items()}
        parsed = self._names.values()
        self._commits = {name.version for name in parsed if isinstance(name, CommitName) and name.version <= version}
        self._ranges = [(first, min(last, version)) for first, last in find_commit_ranges(entries) if first <= version]
        self._range_starts = [first for first, _ in self._ranges]
        self._all_checkpoints = find_complete_checkpoints(entries)
        self._complete_parts = {name for each in self._all_checkpoints for name in each.files}
        self._checkpoints = [each for each in self._all_checkpoints if each.version <= version]
        compactions = (name for name in parsed if isinstance(name, CompactionName))
        fitting = (name for name in compactions if name.start <= name.end <= version)
        self._compactions = sorted(fitting, key=lambda name: (name.end, name.start))
        self._checksums = sorted(
            name.version for name in parsed if isinstance(name, ChecksumName) and name.version <= version
        )

    def plan_history(self) -> Plan:
        """Plan the history of a version that has every commit that it needs."""
        newest = self._checkpoints[-1] if self._checkpoints else None
        start = self._find_range_start(newest.version if newest else self._version)
        base = None if newest is None else self._choose_base(newest, start)
        earlier = () if base is None else self._choose_earlier_commits(base, start)
        first = 0 if base is None else base.version + 1
        compactions = [name for name in self._compactions if min((*earlier[:1], first)) <= name.start]
        checksums = [version for version in self._checksums if version >= (base.version if base else 0)]
        if self._history == "latest":
            compactions, checksums = compactions[-1:], checksums[-1:]
        elif self._history == SNAPSHOT:
            compactions, checksums = [], []
        plan = self._plan(self._version, base, first, earlier, compactions, checksums)
        if base is not None and self._history == SNAPSHOT:
            plan = replace(plan, compared_checkpoints=_select_checkpoints(plan, base.version + 1))
        elif self._history == "latest" and newest is not None and (base is None or base.version < newest.version):
            plan = replace(plan, compared_checkpoints=_select_checkpoints(plan, newest.version))
        return replace(
            plan,
            has_hint=any(isinstance(name, LastCheckpointName) for name in self._names.values()),
            not_compared=self._explain_uncompared(plan, start),
        )

    def plan_broken_history(self) -> Plan:
        """Plan the history of a version that is missing commits that it needs: replay is not possible."""
        start = self._checkpoints[-1].version + 1 if self._checkpoints else 0
        absent = (version for version in range(start, self._version + 1) if version not in self._commits)
        missing = tuple(islice(absent, MAX_LISTED_GAPS))
        plan = self._plan(self._version, None, missing[0], (), [], [])
        has_hint = any(isinstance(name, LastCheckpointName) for name in self._names.values())
        return replace(plan, missing=missing, compared_checkpoints=(), has_hint=has_hint)

    def plan_nothing(self) -> Plan:
        """Plan no replay at all."""
        return self._plan(self._version, None, 0, (), [], [])

    def plan_remaining_files(self, plan: Plan) -> Plan:
        """Add the files before the history: ranges of commits, checkpoints, and derived files of missing commits."""
        history_start = plan.missing[0] if plan.missing else plan.first_commit
        planned = {plan.base, *plan.compared_checkpoints}
        left = [each for each in self._checkpoints if each not in planned]
        ranges: list[Plan] = []
        for first, last in [each for each in self._ranges if each[0] < history_start][-MAX_RANGES:]:
            checkpoints = [each for each in left if first - 1 <= each.version <= last]
            ranges.append(self._plan_range(first, min(last, history_start - 1), checkpoints))
        in_ranges = {each for part in ranges for each in (part.base, *part.compared_checkpoints)}
        alone = groupby((each for each in left if each not in in_ranges), lambda each: each.version)
        for version, (base, *others) in islice(alone, MAX_RANGES):
            part = self._plan(version, base, version + 1, (), [], [v for v in self._checksums if v == version])
            ranges.append(replace(part, compared_checkpoints=tuple(others)))
        ranges.sort(key=lambda part: part.version)
        of_others = {name for part in ranges for name in (*part.compactions, *part.checksums)}
        plan = replace(
            plan,
            compactions=tuple(name for name in self._compactions if name not in of_others),
            checksums=tuple(version for version in self._checksums if version not in of_others),
        )
        parts = [
            replace(part, is_range=True, not_compared=self._explain_uncompared(part, part.first_commit))
            for part in ranges
        ]
        start = history_start if plan.missing else self._find_range_start(plan.base.version if plan.base else 0)
        return replace(plan, earlier_ranges=tuple(parts), not_compared=self._explain_uncompared(plan, start))

    def _plan_range(self, first: int, last: int, checkpoints: list[Checkpoint]) -> Plan:
        """Plan the commits from `first` to `last`, whose predecessor is missing or does not exist."""
        compactions = [name for name in self._compactions if first <= name.end <= last]
        base = None if first == 0 or not checkpoints else checkpoints[0]
        low = first if base is None else min(first, base.version)
        checksums = [version for version in self._checksums if low <= version <= last]
        if base is not None:
            earlier = tuple(range(first, base.version + 1))
            return self._plan(last, base, base.version + 1, earlier, compactions, checksums)
        if first > 0:
            return self._plan(last, None, last + 1, tuple(range(first, last + 1)), compactions, checksums)
        return self._plan(last, None, 0, (), compactions, checksums)

    def _plan(
        self,
        version: int,
        base: Checkpoint | None,
        first: int,
        earlier: tuple[int, ...],
        compactions: list[CompactionName],
        checksums: list[int],
    ) -> Plan:
        """Build the plan of commits from `first` to `version` and of the checkpoints from the base on."""
        low = first if base is None else base.version
        return Plan(
            version=version,
            entries=self._entries,
            revision=self._revision,
            base=base,
            commits=tuple(sorted(each for each in self._commits if first <= each <= version)),
            earlier_commits=earlier,
            compared_checkpoints=tuple(c for c in self._checkpoints if low <= c.version <= version and c != base),
            compactions=tuple(compactions),
            checksums=tuple(checksums),
            has_hint=False,
            missing=(),
            all_checkpoints=tuple(self._all_checkpoints),
        )

    def _find_range_start(self, version: int) -> int:
        """Return the first of the consecutive commits that end with a version; the next version if it has none."""
        if version not in self._commits:
            return version + 1
        return self._range_starts[bisect_right(self._range_starts, version) - 1]

    def _choose_base(self, newest: Checkpoint, start: int) -> Checkpoint | None:
        """Choose the checkpoint to start from: as far back as the history requires and the commits allow.

        A number of versions goes back at least as far as `latest`, which compares the newest checkpoint with replay.
        """
        if self._history == SNAPSHOT:
            wanted = newest.version
        elif self._history == "all":
            wanted = -1
        elif self._history == "latest":
            wanted = newest.version - 1
        else:
            wanted = min(newest.version - 1, self._version - int(self._history))
        reachable = [each for each in self._checkpoints if each.version >= start - 1]
        if self._history != SNAPSHOT:
            wanted = min(wanted, self._since)
        older = [each for each in reachable if each.version <= wanted]
        if older:
            return older[-1]
        return None if start == 0 else reachable[0]

    def _choose_earlier_commits(self, base: Checkpoint, start: int) -> tuple[int, ...]:
        if self._history == SNAPSHOT or start > base.version:
            return ()
        return tuple(range(start if self._history == "all" else base.version, base.version + 1))

    def find_gaps(self, plan: Plan) -> tuple[MissingCommits, ...]:
        """Return the missing commits that the validated version does not need."""
        end = plan.missing[0] - 1 if plan.missing else self._version
        found = []
        first_listed = min((first for first, _ in self._ranges), default=end + 1)
        if first_listed > 0:
            found.append(MissingCommits(first=0, last=min(first_listed - 1, end), explained=True))
        for (_, last), (first, _) in pairwise(self._ranges):
            if last < end:
                found.append(MissingCommits(first=last + 1, last=min(first - 1, end), explained=False))
        return tuple(each for each in found if each.first <= each.last)

    def _explain_uncompared(self, plan: Plan, start: int) -> tuple[DerivedFileNotCompared, ...]:
        """List the files of a plan that are read but cannot be compared with replay, with the reason."""
        found: dict[str, str] = {}
        base = plan.base
        if base is not None:
            starts = [each.version for each in self._checkpoints if start - 1 <= each.version < base.version]
            found[base.files[0]] = (
                f"history is {self._history}"
                if self._history != "all" and (start == 0 or starts)
                else "no older checkpoint remains with every commit after it"
            )
        replayed_from = plan.first_commit if base is None else base.version
        unreplayed = plan.earlier_commits if base is None else plan.earlier_commits[:-1]
        found |= {commit_name(version): self._explain_gap(version) for version in unreplayed}
        for name in plan.compactions:
            if not plan.has_commits_of(name):
                found[compaction_name(name.start, name.end)] = self._explain_gap(name.end)
        for version in plan.checksums:
            if plan.missing or version < replayed_from or (base is None and not plan.commits):
                found[checksum_name(version)] = self._explain_gap(version)
        return tuple(DerivedFileNotCompared(file=f"{LOG_DIRECTORY}/{name}", reason=why) for name, why in found.items())

    def _explain_gap(self, version: int) -> str:
        """Name the last missing commit up to a version, without which the version cannot be replayed."""
        return f"commit {self._find_range_start(version) - 1 if version in self._commits else version} is missing"

    def explain_unread_files(self, plan: Plan, ignored: Iterable[Entry]) -> tuple[FilesNotRead, ...]:
        """List the files of the log that the run does not read, by reason.

        Sidecars and staged commits are left out, because checkpoints and the protocol decide whether they are read.
        """
        read = {name for part in (plan, *plan.earlier_ranges) for name in part.read_files}
        found: dict[str, list[str]] = defaultdict(list)
        for name, parsed in self._names.items():
            if name not in read and not isinstance(parsed, SidecarName | StagedCommit | LastCheckpointName):
                found[self._explain_unread_file(plan, name, parsed)].append(name)
        for entry in ignored:
            found[f"revision {self._revision} does not define such files"].append(entry.name)
        return tuple(list_unread_files(reason, names) for reason, names in found.items())

    def _explain_unread_file(self, plan: Plan, name: str, parsed: LogFileName) -> str:
        match parsed:
            case OtherFile() if name.rpartition("/")[2].startswith("."):
                return "readers ignore hidden files"
            case OtherFile():
                return "readers ignore files with such names"
            case MultipartCheckpoint() if name not in self._complete_parts:
                return "other parts of the checkpoint are missing, so readers ignore it"
            case CompactionName(start, end) if start > end:
                return "its first version is higher than its last"
            case CompactionName(end=version):
                pass
            case _:
                version = getattr(parsed, "version", 0)
        if version > self._version:
            return f"later than version {self._version}"
        if self._history != "all":
            return f"history is {self._history}; use --history all"
        return f"the log has more than {MAX_RANGES} gaps"


def _select_checkpoints(plan: Plan, first: int) -> tuple[Checkpoint, ...]:
    """Return the compared checkpoints from a version on."""
    return tuple(each for each in plan.compared_checkpoints if each.version >= first)


def list_unread_files(reason: str, names: Iterable[str]) -> FilesNotRead:
    """Group files of the log directory, by name, that are not read for the same reason."""
    return group_files(reason, (f"{LOG_DIRECTORY}/{name}" for name in names))


def group_files(reason: str, files: Iterable[str]) -> FilesNotRead:
    """Group files, relative to the table, to which the same reason applies. The first in sort order are listed."""
    found = sorted(files)
    return FilesNotRead(reason=reason, count=len(found), files=found[:MAX_UNREAD_FILES])

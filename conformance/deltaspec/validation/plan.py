"""What a run reads: which base the judged history starts from, which commits, and which claims meet replay."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.model.log.file_names import (
    ChecksumName,
    CommitName,
    CompactionName,
    LastCheckpointName,
    parse_log_file_name,
)
from deltaspec.model.log.segment import (
    BrokenLog,
    Checkpoint,
    NoCommits,
    VersionMissing,
    choose_segment,
    find_complete_checkpoints,
)
from deltaspec.report.report_types import DerivedFileNotCompared
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry

MAX_LISTED_GAPS = 1000
"""Missing commits that are named: one odd file name can make any number of them."""


@dataclass(frozen=True)
class Plan:
    """The files a run judges, all of them of one pinned listing."""

    version: int
    entries: dict[str, Entry]
    """By name relative to `_delta_log`."""
    base: Checkpoint | None
    """Checkpoint that the judged history starts from; None: from version 0."""
    commits: tuple[int, ...]
    """Commits judged, ascending."""
    compared_checkpoints: tuple[Checkpoint, ...]
    """Complete checkpoints after the base, each to equal replay."""
    compactions: tuple[CompactionName, ...]
    checksums: tuple[int, ...]
    has_hint: bool
    missing: tuple[int, ...]
    """Commits that the version needs and that are not listed, the first of them; none in a sound log."""
    not_compared: tuple[DerivedFileNotCompared, ...]
    all_checkpoints: tuple[Checkpoint, ...] = field(default=())

    @cached_property
    def commits_after_gaps(self) -> set[int]:
        """Listed commits just before which others are missing."""
        if not self.missing:
            return set()
        listed = set(self.commits)
        return {version for version in self.commits if version - 1 not in listed}

    @cached_property
    def compared_versions(self) -> set[int]:
        """Versions at which something claims to equal replay, and that of the base."""
        versions = {each.version for each in self.compared_checkpoints} | {each.end for each in self.compactions}
        return versions | set(self.checksums) | ({self.base.version} if self.base else set())

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Length of every listed file."""
        return {name: entry.size_bytes for name, entry in self.entries.items()}


def parse_history(asked: str | int) -> str:
    """A user's history as `build_plan` takes it: `latest`, `all`, or a number of versions from 1 on.

    Raises:
        InvalidUsage: it is none of these.
    """
    history = str(asked)
    if history not in ("latest", "all") and not (history.isascii() and history.isdigit() and int(history) > 0):
        raise InvalidUsage(f"history {history!r} is neither latest, all nor a number of versions")
    return history


def build_plan(uri: str, listed: list[Entry], *, at: int | None, history: str) -> Plan:
    """Choose what to read.

    Args:
        uri: the table, for messages.
        listed: the pinned listing of `_delta_log`.
        at: the version to judge; the latest where None.
        history: `latest`, `all`, or the number of versions back from the judged one; `snapshot` compares nothing.

    Raises:
        TableUnreadable: the listing holds neither commit nor checkpoint.
        InvalidUsage: no such version.
    """
    entries = {entry.name: entry for entry in listed}
    names = [parse_log_file_name(name) for name in entries]
    commits = {name.version for name in names if isinstance(name, CommitName)}
    missing: tuple[int, ...] = ()
    try:
        segment = choose_segment(entries, at=at)
        version, newest = segment.version, segment.checkpoint
    except NoCommits as fault:
        raise TableUnreadable(f"{uri}: {LOG_DIRECTORY} holds neither a commit nor a complete checkpoint") from fault
    except VersionMissing as fault:
        raise InvalidUsage(f"{uri}: version {at} is not readable; {fault.earliest} to {fault.latest} are") from fault
    except BrokenLog as fault:
        version, newest = fault.version, _newest_at(entries, fault.version)
        start = newest.version + 1 if newest else 0
        absent = (each for each in range(start, version + 1) if each not in commits)
        missing = tuple(islice(absent, MAX_LISTED_GAPS))
    complete = [each for each in find_complete_checkpoints(entries) if each.version <= version]
    base = _base(complete, commits, newest, version, history)
    first = 0 if base is None else base.version + 1
    if missing:
        base, first = None, min(missing)
    compared_checkpoints = tuple(each for each in complete if each.version >= first and not missing)
    return Plan(
        version=version,
        entries=entries,
        base=base,
        commits=tuple(sorted(each for each in commits if first <= each <= version)),
        compared_checkpoints=compared_checkpoints,
        compactions=_compactions(names, first, version, history) if not missing else (),
        checksums=_checksums(names, base.version if base else 0, version, history) if not missing else (),
        has_hint=any(isinstance(name, LastCheckpointName) for name in names),
        missing=missing,
        not_compared=_not_compared(complete, base, compared_checkpoints, history),
        all_checkpoints=tuple(find_complete_checkpoints(entries)),
    )


def _newest_at(names: dict[str, Entry], version: int) -> Checkpoint | None:
    usable = [each for each in find_complete_checkpoints(names) if each.version <= version]
    return usable[-1] if usable else None


def _base(
    complete: list[Checkpoint], commits: set[int], newest: Checkpoint | None, version: int, history: str
) -> Checkpoint | None:
    """The checkpoint to start from: far enough back to compare what history asks for, as far as commits remain."""
    if newest is None:
        return None
    earliest = newest.version
    while earliest in commits:
        earliest -= 1
    if history == "snapshot":
        wanted = newest.version
    elif history == "all":
        wanted = -1
    elif history == "latest":
        wanted = newest.version - 1
    else:
        wanted = min(newest.version, version - int(history))
    reachable = [each for each in complete if each.version >= earliest]
    behind = [each for each in reachable if each.version <= wanted]
    if behind:
        return behind[-1]
    return None if earliest == -1 else reachable[0]


def _compactions(names: Sequence[object], first: int, version: int, history: str) -> tuple[CompactionName, ...]:
    fitting = sorted(
        (
            n
            for n in names
            if isinstance(n, CompactionName) and n.start <= n.end and first <= n.start and n.end <= version
        ),
        key=lambda name: (name.end, name.start),
    )
    return tuple(fitting[-1:] if history == "latest" else fitting)


def _checksums(names: Sequence[object], first: int, version: int, history: str) -> tuple[int, ...]:
    fitting = sorted(n.version for n in names if isinstance(n, ChecksumName) and first <= n.version <= version)
    return tuple(fitting[-1:] if history == "latest" else fitting)


def _not_compared(
    complete: list[Checkpoint], base: Checkpoint | None, compared_checkpoints: tuple[Checkpoint, ...], history: str
) -> tuple[DerivedFileNotCompared, ...]:
    """Checkpoints whose content no replay was compared with."""
    routes = []
    compared = set(compared_checkpoints)
    for each in complete:
        if each not in compared:
            cleaned_up = history == "all" or each == base == complete[-1]
            why = "no older base with every commit after it remains" if cleaned_up else f"history is {history}"
            routes.append(DerivedFileNotCompared(file=f"{LOG_DIRECTORY}/{each.files[0]}", reason=why))
    return tuple(routes)

"""The plan of a run: the base of the validated history, its commits, and the derived files to compare with replay."""

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
"""Number of missing commits that are listed: a single odd file name can make billions of commits appear missing."""


@dataclass(frozen=True)
class Plan:
    """The files that a run reads, from one pinned listing."""

    version: int
    entries: dict[str, Entry]
    """The listing, by name relative to `_delta_log`."""
    base: Checkpoint | None
    """Checkpoint that the validated history starts from; None starts from version 0."""
    commits: tuple[int, ...]
    """Versions of the validated commits, ascending."""
    compared_checkpoints: tuple[Checkpoint, ...]
    """Complete checkpoints after the base, which replay must reproduce."""
    compactions: tuple[CompactionName, ...]
    checksums: tuple[int, ...]
    has_hint: bool
    missing: tuple[int, ...]
    """First commits that the version needs and that are not listed; empty for a valid log."""
    not_compared: tuple[DerivedFileNotCompared, ...]
    all_checkpoints: tuple[Checkpoint, ...] = field(default=())

    @cached_property
    def commits_after_gaps(self) -> set[int]:
        """Listed commits whose predecessor is missing."""
        if not self.missing:
            return set()
        listed = set(self.commits)
        return {version for version in self.commits if version - 1 not in listed}

    @cached_property
    def compared_versions(self) -> set[int]:
        """Versions of derived files, and that of the base."""
        versions = {each.version for each in self.compared_checkpoints} | {each.end for each in self.compactions}
        return versions | set(self.checksums) | ({self.base.version} if self.base else set())

    @property
    def history_is_complete(self) -> bool:
        """The plan has every commit from version 0 to the validated one."""
        return self.base is None and bool(self.commits) and self.commits[0] == 0

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Size in bytes of every listed file, by name."""
        return {name: entry.size_bytes for name, entry in self.entries.items()}


def parse_history(value: str | int) -> str:
    """Check a history: `latest`, `all`, or a number of versions from 1.

    Raises:
        InvalidUsage: it is none of these.
    """
    history = str(value)
    if history not in ("latest", "all") and not (history.isascii() and history.isdigit() and int(history) > 0):
        raise InvalidUsage(f"invalid history {history!r}; choose latest, all, or a number of versions from 1")
    return history


def build_plan(uri: str, listed: list[Entry], *, at: int | None, history: str) -> Plan:
    """Choose what to read.

    Args:
        uri: the table, for messages.
        listed: the pinned listing of `_delta_log`.
        at: the version to validate; None for the latest.
        history: `latest`, `all`, or how many versions to go back. `snapshot` compares nothing.

    Raises:
        TableUnreadable: the listing has neither a commit nor a checkpoint.
        InvalidUsage: the version does not exist.
    """
    entries = {entry.name: entry for entry in listed}
    names = [parse_log_file_name(name) for name in entries]
    commits = {name.version for name in names if isinstance(name, CommitName)}
    missing: tuple[int, ...] = ()
    try:
        segment = choose_segment(entries, at=at)
        version, newest = segment.version, segment.checkpoint
    except NoCommits as fault:
        raise TableUnreadable(f"{uri}: {LOG_DIRECTORY} has neither a commit nor a complete checkpoint") from fault
    except VersionMissing as fault:
        raise InvalidUsage(
            f"{uri}: version {at} is not readable; versions {fault.earliest} to {fault.latest} are"
        ) from fault
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
    """Choose the checkpoint to start from: as far back as the history requires and the remaining commits allow."""
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
    """List the checkpoints that are not compared with replay, with the reason."""
    entries = []
    compared = set(compared_checkpoints)
    for each in complete:
        if each not in compared:
            cleaned_up = history == "all" or each == base == complete[-1]
            why = "no older checkpoint remains with every commit after it" if cleaned_up else f"history is {history}"
            entries.append(DerivedFileNotCompared(file=f"{LOG_DIRECTORY}/{each.files[0]}", reason=why))
    return tuple(entries)

"""Which log files make up a version. Source: chapters Checkpoints, Log Compaction Files, Last Checkpoint File."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from deltaspec.model.log.file_names import (
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    MultipartCheckpoint,
    UuidCheckpoint,
    classic_checkpoint_name,
    multipart_checkpoint_name,
    parse_log_file_name,
    uuid_checkpoint_name,
)


class SegmentError(ValueError):
    """The listed files do not give the version asked for."""


class NoCommits(SegmentError):
    """Neither a commit nor a complete checkpoint is listed."""


class VersionMissing(SegmentError):
    """The version asked for cannot be read."""

    def __init__(self, version: int, earliest: int, latest: int) -> None:
        super().__init__(f"version {version} is not readable: {earliest} to {latest} are")
        self.earliest = earliest
        self.latest = latest


class BrokenLog(SegmentError):
    """A commit that the version needs is not listed."""

    def __init__(self, missing: int, version: int) -> None:
        super().__init__(f"commit {missing} is missing, which version {version} needs")
        self.missing = missing
        self.version = version


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint all of whose parts are listed."""

    version: int
    naming: str
    """`classic`, `multipart` or `uuid`."""
    files: tuple[str, ...]
    """Relative to `_delta_log`, parts in order."""


@dataclass(frozen=True)
class Segment:
    """The files that give one version."""

    version: int
    checkpoint: Checkpoint | None
    compactions: tuple[CompactionName, ...]
    commits: tuple[int, ...]
    """Commits to replay, ascending, those that a compaction stands for left out."""


def listed_commits(names: Iterable[str]) -> list[int]:
    """Versions of the commits among the names, ascending."""
    alike = (name for name in names if name.endswith(".json"))
    return sorted(name.version for name in map(parse_log_file_name, alike) if isinstance(name, CommitName))


def find_complete_checkpoints(names: Iterable[str]) -> list[Checkpoint]:
    """Every checkpoint with all its parts, by version; of one version classic, then multipart, then UUID-named.

    A multipart checkpoint counts with all parts of one part count; parts beyond that count are nobody's (S27). One of
    a single part counts too, although its name breaks the text: it holds what it claims. Any of one version may be
    used.
    """
    parts: dict[tuple[int, int], set[int]] = {}
    found: list[Checkpoint] = []
    for name in dict.fromkeys(name for name in names if ".checkpoint." in name):
        match parse_log_file_name(name):
            case ClassicCheckpoint(version):
                found.append(Checkpoint(version, "classic", (classic_checkpoint_name(version),)))
            case UuidCheckpoint(version, uuid, kind):
                found.append(Checkpoint(version, "uuid", (uuid_checkpoint_name(version, uuid, kind),)))
            case MultipartCheckpoint(version, part, of):
                parts.setdefault((version, of), set()).add(part)
    for (version, of), seen in parts.items():
        if of >= 1 and sum(1 <= part <= of for part in seen) == of:
            files = tuple(multipart_checkpoint_name(version, part, of) for part in range(1, of + 1))
            found.append(Checkpoint(version, "multipart", files))
    order = ("classic", "multipart", "uuid")
    return sorted(found, key=lambda each: (each.version, order.index(each.naming), each.files))


def choose_segment(
    names: Iterable[str], *, at: int | None = None, use_compactions: bool = False, ratified: Collection[int] = ()
) -> Segment:
    """The files that give a version: the newest complete checkpoint not beyond it, and every commit after that.

    `_last_checkpoint` is only a hint and changes nothing in the answer, so it is not asked for.

    Args:
        names: every name listed, relative to `_delta_log`.
        at: the version; the latest where None.
        use_compactions: let a compaction that fits whole stand for its commits. A snapshot's commitInfo is in none:
            where the last commit is among those left out it is read from that commit all the same.
        ratified: versions of the commits that a managing catalog returns, which need not be listed; the newest of
            them is the latest version, whatever is listed beyond it. Staged commits alone say nothing.
            Source: Reading Catalog-managed Tables (current).

    Raises:
        NoCommits, VersionMissing, BrokenLog: see there.
    """
    names = list(names)
    commits = {*listed_commits(names), *ratified}
    checkpoints = find_complete_checkpoints(names)
    if ratified:
        commits = {version for version in commits if version <= max(ratified)}
        checkpoints = [checkpoint for checkpoint in checkpoints if checkpoint.version <= max(ratified)]
    if not commits and not checkpoints:
        raise NoCommits("neither a commit nor a complete checkpoint is listed")
    latest = max(commits | {checkpoint.version for checkpoint in checkpoints})
    version = latest if at is None else at
    earliest = min({checkpoint.version for checkpoint in checkpoints} | ({0} & commits), default=None)
    if version > latest or version < 0 or (at is not None and earliest is not None and version < earliest):
        raise VersionMissing(version, latest if earliest is None else earliest, latest)
    usable = [checkpoint for checkpoint in checkpoints if checkpoint.version <= version]
    newest = usable[-1] if usable else None
    start = newest.version + 1 if newest else 0
    for needed in range(start, version + 1):
        if needed not in commits:
            raise BrokenLog(needed, version)
    chosen = _compactions(names, start, version) if use_compactions else ()
    covered = {each for compaction in chosen for each in range(compaction.start, compaction.end + 1)}
    left = tuple(each for each in range(start, version + 1) if each not in covered)
    return Segment(version, newest, chosen, left)


def find_readable_versions(names: Iterable[str]) -> tuple[int, int]:
    """The oldest version from which on every version can be read, and the latest.

    Clean-up may leave versions before that which can still be read one by one; `choose_segment` tells.

    Raises:
        NoCommits, BrokenLog: the latest version cannot be read.
    """
    names = list(names)
    latest = choose_segment(names).version
    commits = set(listed_commits(names))
    checkpoints = {checkpoint.version for checkpoint in find_complete_checkpoints(names)}
    readable: set[int] = set()
    for version in sorted(commits | checkpoints):
        if version == 0 or version in checkpoints or version - 1 in readable:
            readable.add(version)
    oldest = latest
    while oldest - 1 in readable:
        oldest -= 1
    return oldest, latest


def cleaned_up_to(names: Iterable[str]) -> int | None:
    """The version that a cleanup spared, and nothing before it; None for a log that begins with version 0.

    It is that of the first commit, or of the checkpoint just before that; where no commit remains, of the first
    complete checkpoint. Commits are deleted up to a checkpoint, so the cut-off checkpoint was not before this version.
    Source: Metadata Cleanup (r3, current).
    """
    names = list(names)
    commits = listed_commits(names)
    bases = {each.version for each in find_complete_checkpoints(names)}
    first = min(commits, default=min(bases, default=0))
    if first - 1 in bases:  # older texts let the commit of the checkpoint go as well
        return first - 1 or None
    return first or None


def unreachable_commits(names: Iterable[str]) -> list[int]:
    """Commits at the beginning of a log to which neither version 0 nor a complete checkpoint leads, ascending.

    Cleanup deleted the checkpoint that they need, or was to delete them as well.
    Source: Metadata Cleanup (r3, current).
    """
    names = list(names)
    commits = listed_commits(names)
    bases = {each.version for each in find_complete_checkpoints(names)}
    if not commits or commits[0] == 0 or commits[0] - 1 in bases:
        return []
    base = min((each for each in bases if each >= commits[0]), default=None)
    return [version for version in commits if base is None or version < base]


def _compactions(names: list[str], start: int, version: int) -> tuple[CompactionName, ...]:
    """Compactions within the range that do not overlap, those that reach furthest first."""
    every = [
        name for name in map(parse_log_file_name, names) if isinstance(name, CompactionName) and name.start < name.end
    ]
    chosen: list[CompactionName] = []
    at = start
    while fitting := [each for each in every if at <= each.start and each.end <= version]:
        nearest = min(fitting, key=lambda each: (each.start, -each.end))
        chosen.append(nearest)
        at = nearest.end + 1
    return tuple(chosen)
